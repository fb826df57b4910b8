//go:build unix

package fileio

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// setUmask sets the umask of the process during a test. No test of this package runs in parallel.
func setUmask(t *testing.T, mask int) {
	old := syscall.Umask(mask)
	t.Cleanup(func() { syscall.Umask(old) })
}

func modeOf(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestModes(t *testing.T) {
	for _, mask := range []int{0, 0o022, 0o077, 0o027, 0o277, 0o777} {
		setUmask(t, 0o022)
		dir := t.TempDir()
		setUmask(t, mask)
		path := func(name string) string { return filepath.Join(dir, name) }
		open := func(name string, flags int) error {
			f, err := OpenState(path(name), flags)
			return errors.Join(err, f.Close())
		}
		temp, err := MakeTempDir(dir, "t")
		if err := errors.Join(err, MakeStateDir(path("a/b")), WriteState(path("a/b/state"), nil), open("log", os.O_CREATE|os.O_APPEND|os.O_WRONLY),
			WritePrivate(path("private"), nil), WriteShared(path("shared"), nil), MakeSharedDir(path("pages")),
			WriteState(filepath.Join(temp, "copy"), nil), MovePrivate(filepath.Join(temp, "copy"), path("backup")),
		); err != nil {
			t.Fatalf("umask %o: %v", mask, err)
		}
		umask := fs.FileMode(mask)
		for name, want := range map[string]fs.FileMode{
			"a": 0o700, "a/b": 0o700, "a/b/state": 0o600, "log": 0o600, filepath.Base(temp): 0o700,
			"private": 0o600 &^ umask, "backup": 0o600 &^ umask, "shared": 0o666 &^ umask, "pages": 0o777 &^ umask,
		} {
			if got := modeOf(t, path(name)); got != want {
				t.Errorf("umask %o: %s has mode %o, want %o", mask, name, got, want)
			}
		}
	}
}

// A new file is never open to more users than the old one.
func TestOverwriteModes(t *testing.T) {
	setUmask(t, 0o022)
	for _, tt := range []struct{ old, private, shared, state fs.FileMode }{
		{0o666, 0o600, 0o644, 0o600}, {0o644, 0o600, 0o644, 0o600}, {0o600, 0o600, 0o600, 0o600}, {0o400, 0o400, 0o400, 0o600}, {0o777, 0o600, 0o644, 0o600},
	} {
		for name, write := range map[string]func(string, []byte) error{"private": WritePrivate, "shared": WriteShared, "state": WriteState} {
			file := filepath.Join(t.TempDir(), "f")
			if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, tt.old), write(file, []byte("new"))); err != nil {
				t.Fatal(err)
			}
			want := map[string]fs.FileMode{"private": tt.private, "shared": tt.shared, "state": tt.state}[name]
			if got := modeOf(t, file); got != want {
				t.Errorf("%s over %o: %o, want %o", name, tt.old, got, want)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "log")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chmod(file, 0o666)); err != nil {
		t.Fatal(err)
	}
	f, err := OpenState(file, os.O_APPEND|os.O_WRONLY)
	if err != nil || modeOf(t, file) != 0o600 {
		t.Errorf("open %v, %o", err, modeOf(t, file))
	}
	f.Close()
}

// specialFiles returns one file of each kind in a new folder.
func specialFiles(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"a pipe": filepath.Join(dir, "pipe"), "a socket": filepath.Join(dir, "socket"), "a folder": dir}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", files["a socket"])
	if err := errors.Join(err, syscall.Mkfifo(files["a pipe"], 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return files
}

func TestSpecialFiles(t *testing.T) {
	files := specialFiles(t)
	files["a device"] = "/dev/zero"
	for kind, name := range files {
		if _, err := ReadFile(name, 10); err == nil || kind != "a socket" && !strings.HasSuffix(err.Error(), name+": "+kind+", not a file") {
			t.Errorf("read %s: %v", kind, err)
		}
		if f, err := OpenState(name, os.O_RDWR); err == nil {
			f.Close()
			t.Errorf("opened %s as state", kind)
		}
	}
	delete(files, "a device")
	for kind, name := range files {
		if err := WritePrivate(name, []byte("x")); err == nil || kind == "a pipe" && !strings.Contains(err.Error(), "no program reads this pipe") {
			t.Errorf("write to %s: %v", kind, err)
		}
	}
	root, err := os.OpenRoot(filepath.Dir(files["a pipe"]))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := OpenIn(root, "pipe"); err == nil || !strings.HasSuffix(err.Error(), "a pipe, not a file") {
		t.Errorf("pipe below a root: %v", err)
	}
}

// A pipe with a reader gets the whole text, however slowly the reader reads.
func TestWritePipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text := strings.Repeat("0123456789", 50_000)
	done := make(chan error, 1)
	go func() { done <- WritePrivate(name, []byte(text)) }()
	var got []byte
	buf := make([]byte, 1<<15)
	for len(got) < len(text) {
		_ = r.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := r.Read(buf)
		if got = append(got, buf[:n]...); err != nil && len(got) > 0 {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, device := range []string{"/dev/null", "/dev/zero"} {
		if err := WritePrivate(device, []byte("x")); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Fatalf("/dev/null is %v, %v", info.Mode(), err)
	}
	if err := WritePrivate("/dev/full", []byte("x")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full device: %v", err)
	}
}

// Files of /proc of Linux have no size.
func TestReadProc(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		return
	}
	if text, err := ReadFile("/proc/self/status", 1<<16); err != nil || len(text) == 0 {
		t.Errorf("%q, %v", text, err)
	}
}
