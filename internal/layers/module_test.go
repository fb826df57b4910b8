package layers

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModulePath sets another module path in a copy of the tree. Each import must then resolve,
// and the old path must restore the tree byte for byte.
func TestModulePath(t *testing.T) {
	const other = "example.org/you/thinker"
	dir := t.TempDir()
	before := copyTree(t, dir)
	guide := filepath.Join(dir, "guide.md")
	before["guide.md"] = []byte("go install " + module + "/cmd/ponder@latest\n\n\timport \"" + module + "/client\"\n\nponder think\n")
	write(t, guide, before["guide.md"], 0o644)
	set := func(name string) string {
		t.Helper()
		out, err := exec.Command(filepath.Join(dir, "scripts", "module"), name).CombinedOutput()
		if err != nil {
			t.Fatalf("scripts/module %s: %v\n%s", name, err, out)
		}
		return string(out)
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %q: %v\n%s", args, err, out)
		}
		return string(out)
	}

	set(other)
	for _, pkg := range strings.Fields(run("list", "-deps", "-test", "./...")) {
		if pkg == module || strings.HasPrefix(pkg, module+"/") {
			t.Errorf("a package still imports %s", pkg)
		}
	}
	if got := run("list", "./cmd/ponder"); got != other+"/cmd/ponder\n" {
		t.Errorf("the program is %q", got)
	}
	want := "go install " + other + "/cmd/ponder@latest\n\n\timport \"" + other + "/client\"\n\nponder think\n"
	if got, err := os.ReadFile(guide); err != nil || string(got) != want {
		t.Errorf("the guide is %q: %v", got, err)
	}
	run("build", "-trimpath", "./internal/textkit/...")
	if out, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt wants changes: %v\n%s", err, out)
	}
	tests := exec.Command(filepath.Join(dir, "scripts", "tests"), "race")
	tests.Dir = dir
	if out, err := tests.Output(); err != nil || !strings.Contains(string(out), other+"/engine\n") || strings.Contains("\n"+string(out), "\n"+module+"/engine\n") {
		t.Errorf("scripts/tests race lists other packages: %v\n%s", err, out)
	}

	if out := set(other); !strings.Contains(out, "changed 0 files") {
		t.Errorf("the same path again: %s", out)
	}
	set(module)
	after := readTree(t, dir)
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if !bytes.Equal(before[name], after[name]) {
			t.Errorf("%s is not restored", name)
		}
	}
	if len(before) != len(after) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

func TestModulePathRefused(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "scripts/module"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), text, 0o755)
	}
	for _, args := range [][]string{{}, {""}, {"a", "b"}, {"https://example.org/x"}, {"example.org/x/v2"}, {"example.org/a b"}, {"-h"}, {"a//b"}} {
		cmd := exec.Command(filepath.Join(dir, "scripts", "module"), args...)
		if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "Usage: scripts/module NAME") {
			t.Errorf("scripts/module %q: %v\n%s", args, err, out)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !bytes.HasPrefix(got, []byte("module "+module+"\n")) {
		t.Errorf("go.mod changed: %v", err)
	}
}

// copyTree copies the tree to dir, without what git ignores, and returns the contents.
func copyTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	tree := readTree(t, root)
	for name, text := range tree {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), text, info.Mode().Perm())
	}
	return tree
}

func readTree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	tree := make(map[string][]byte)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if slices.Contains([]string{".git", "bin", "node_modules", ".newest", ".venv", "results"}, d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil // a worktree's .git
		}
		if d.Type().IsRegular() {
			tree[name], err = os.ReadFile(filepath.Join(dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func write(t *testing.T, file string, text []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, mode); err != nil {
		t.Fatal(err)
	}
}
