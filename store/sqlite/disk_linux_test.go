package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ponder"
	"ponder/store/sqlite"
)

// mountTmpfs mounts a file system in memory. It reports false if this process may not mount.
func mountTmpfs(t *testing.T, options string) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options)
	if err != nil {
		return "", false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

func TestFullDisk(t *testing.T) {
	dir, ok := mountTmpfs(t, "size=2m")
	if !ok {
		return // TestFull covers this case, as far as SQLite can simulate it
	}
	file := filepath.Join(dir, "ponder.db")
	s := openStore(t, file)
	appendMessages(t, s, "thr_1")
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	n := fillDisk(t, s, strings.Repeat("x", 5000))
	if got := len(threadTexts(t, s, "thr_1")); got != n {
		t.Errorf("%d events are there, and %d were acknowledged", got, n)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	appendMessages(t, s, "thr_1", "there is room again")
	if got := len(threadTexts(t, s, "thr_1")); got != n+1 {
		t.Errorf("%d events are there, want %d", got, n+1)
	}
}

// TestReadOnlyDisk opens a database after a close and after a crash.
func TestReadOnlyDisk(t *testing.T) {
	for _, c := range []struct {
		name  string
		leave []string // the files that the writing process left
		want  string
	}{
		{"closed", []string{""}, "hello"},
		{"died", []string{"", "-wal", "-shm"}, "hello"},
		{"died, and rebooted without its lock file", []string{"", "-wal"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, ok := mountTmpfs(t, "size=20m")
			if !ok {
				return // only root can make a file read-only for itself and others
			}
			file := filepath.Join(dir, "ponder.db")
			leaveDatabase(t, file, c.leave)
			readOnly(t, dir)
			if _, err := sqlite.Open(t.Context(), file); !errors.Is(err, ponder.ErrReadOnly) || strings.Contains(err.Error(), "\n") {
				t.Errorf("open: got error %v, want ErrReadOnly", err)
			}
			s, err := sqlite.OpenReadOnly(t.Context(), file)
			if c.want == "" {
				if !errors.Is(err, ponder.ErrReadOnly) || !strings.Contains(err.Error(), "copy both files") {
					t.Errorf("open to read: got error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := strings.Join(threadTexts(t, s, "thr_1"), " "); got != c.want {
				t.Errorf("said %q, want %q", got, c.want)
			}
			checkRefused(t, s)
			copied := filepath.Join(t.TempDir(), "copy.db")
			if err := s.Copy(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(threadTexts(t, openStore(t, copied), "thr_1"), " "); got != c.want {
				t.Errorf("the copy said %q, want %q", got, c.want)
			}
		})
	}
}

// leaveDatabase creates a database with the files that a process leaves.
func leaveDatabase(t *testing.T, file string, suffixes []string) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, from)
	appendMessages(t, s, "thr_1", "hello")
	if len(suffixes) == 1 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, suffix := range suffixes {
		if err := os.WriteFile(file+suffix, readFile(t, from+suffix), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDiskTurnsReadOnly makes the disk of an open store read-only.
func TestDiskTurnsReadOnly(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "ponder.db"))
	appendMessages(t, s, "thr_1", "hello")
	if _, err := s.DB().ExecContext(t.Context(), "PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), "thr_1", 0, userMessage("x")); !errors.Is(err, ponder.ErrReadOnly) {
		t.Errorf("append: got error %v, want ErrReadOnly", err)
	}
	if _, err := s.DB().ExecContext(t.Context(), "PRAGMA query_only = 0"); err != nil {
		t.Fatal(err)
	}
	appendMessages(t, s, "thr_1", "again")
	if got := strings.Join(threadTexts(t, s, "thr_1"), " "); got != "hello again" {
		t.Errorf("said %q", got)
	}
}

// TestUnwritable opens files and folders without write permission.
func TestUnwritable(t *testing.T) {
	asNobody(t)
	for _, c := range []struct {
		name         string
		file, folder os.FileMode
	}{
		{"file", 0o444, 0o755},
		{"folder", 0o644, 0o555},
		{"both", 0o444, 0o555},
		{"unreadable", 0o000, 0o755},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ponder.db")
			leaveDatabase(t, file, []string{""})
			for name, mode := range map[string]os.FileMode{file: c.file, filepath.Dir(file): c.folder} {
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
			defer os.Chmod(filepath.Dir(file), 0o755)
			if _, err := sqlite.Open(t.Context(), file); !errors.Is(err, ponder.ErrReadOnly) || strings.Contains(err.Error(), "\n") {
				t.Errorf("open: got error %v, want ErrReadOnly", err)
			}
			s, err := sqlite.OpenReadOnly(t.Context(), file)
			if c.file == 0 {
				if err == nil {
					t.Error("opened what cannot be read")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := strings.Join(threadTexts(t, s, "thr_1"), " "); got != "hello" {
				t.Errorf("said %q", got)
			}
		})
	}
}

// asNobody drops the rights of root for a test, because root may write everything.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	dir := t.TempDir()
	for ; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	if err := os.Chmod(os.TempDir(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Seteuid(nobody); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Seteuid(0); err != nil {
			t.Error(err)
		}
	})
}
