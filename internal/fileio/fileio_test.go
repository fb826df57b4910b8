package fileio

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder/internal/limitio"
)

func TestExplainFolder(t *testing.T) {
	here := t.TempDir()
	gone := filepath.Join(here, "gone")
	for _, tt := range []struct{ dir, want string }{
		{gone, "no such folder: " + gone},
		{here, "cannot create a file in folder " + here},
	} {
		if got := ExplainFolder(tt.dir, &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}); got.Error() != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestReadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	if err := WriteState(file, []byte("abc")); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]error{2: limitio.ErrTooLarge, 3: nil, 4: nil} {
		text, err := ReadFile(file, limit)
		if !errors.Is(err, want) || string(text) != "abc"[:min(limit, 3)] {
			t.Errorf("limit %d: %q, %v", limit, text, err)
		}
	}
	if _, err := ReadFile(filepath.Dir(file), 10); err == nil || !strings.HasSuffix(err.Error(), ": a folder, not a file") {
		t.Errorf("folder: %v", err)
	}
	if _, err := ReadFile(file+"b", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// A result replaces a file, whether it is a link or has other names, and never changes a target.
func TestReplaceLink(t *testing.T) {
	dir := t.TempDir()
	target, link, other := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "other")
	if err := errors.Join(WriteShared(target, []byte("old")), os.Symlink(target, link), os.Link(target, other)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, other} {
		if err := WritePrivate(name, []byte("new")); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		kept, err2 := os.ReadFile(target)
		if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		if string(got) != "new" || string(kept) != "old" || err != nil || err2 != nil {
			t.Errorf("%s has %q, its target %q: %v, %v", name, got, kept, err, err2)
		}
	}
	if names, err := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 || err != nil {
		t.Errorf("left %q, %v", names, err)
	}
}

// Two writers of one file both succeed, and the file has the text of one of them.
func TestReplaceTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	done := make(chan error)
	for i := range 8 {
		go func() { done <- WritePrivate(file, bytes.Repeat([]byte{byte('a' + i)}, 1<<16)) }()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || len(got) != 1<<16 || !bytes.Equal(got, bytes.Repeat(got[:1], 1<<16)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
