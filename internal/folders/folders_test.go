//go:build unix

package folders

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// makeTree returns a root with folders, and a folder outside.
func makeTree(t *testing.T) (root, outside string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, outside = filepath.Join(dir, "notes"), filepath.Join(dir, "notes-private")
	for _, path := range []string{filepath.Join(root, "papers", "2026"), filepath.Join(root, ".git"), outside} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"a.md", "b.md", ".hidden"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": outside, "in": filepath.Join(root, "papers"), "lost": filepath.Join(dir, "missing")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	return root, outside
}

func TestResolve(t *testing.T) {
	root, outside := makeTree(t)
	roots := NewRoots([]string{root, root, filepath.Join(root, "a.md"), filepath.Join(root, "missing")})
	if len(roots) != 1 {
		t.Fatalf("roots %v", roots)
	}
	for path, want := range map[string]string{
		root: root, root + "/": root, root + "/papers": root + "/papers", root + "/papers/../papers/2026": root + "/papers/2026", root + "/in/2026": root + "/papers/2026",

		outside: "", root + "/out": "", root + "/../notes-private": "", root + "/..": "", "/": "", "": "", "papers": "", "./": "", root + "/lost": "", root + "/missing": "", root + "/a.md": "",
	} {
		got, err := roots.Resolve(path)
		if got != want || (want == "") != errors.Is(err, ErrOutside) {
			t.Errorf("%s: %q (%v), want %q", path, got, err, want)
		}
	}
	if _, err := Roots(nil).Resolve(root); !errors.Is(err, ErrOutside) {
		t.Errorf("without roots: %v", err)
	}
}

func TestList(t *testing.T) {
	root, _ := makeTree(t)
	roots := NewRoots([]string{root})
	top, err := roots.List("")
	if err != nil || len(top.Folders) != 1 || top.Folders[0] != (Folder{root, root, true}) {
		t.Fatalf("%+v %v", top, err)
	}
	l, err := roots.List(root)
	if err != nil || l.Path != root || l.Parent != "" || l.Files != 2 || len(l.Folders) != 2 || l.Folders[0] != (Folder{root + "/papers", "in", true}) || l.Folders[1].Name != "papers" {
		t.Errorf("%+v %v", l, err)
	}
	if l, err := roots.List(root + "/papers"); err != nil || l.Parent != root || len(l.Folders) != 1 {
		t.Errorf("%+v %v", l, err)
	}
	if l, err := roots.List(root + "/papers/2026"); err != nil || len(l.Folders) != 0 {
		t.Errorf("an empty folder: %+v %v", l, err)
	}
}
