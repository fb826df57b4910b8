package layers

import (
	"bytes"
	"cmp"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The limits of the layout, for top-level folders and for Go files without tests.
const (
	maxTopFolders   = 15
	maxRootFiles    = 20
	maxCommandFiles = 60 // of cmd/ponder
	maxCommandLines = 12_000
	maxPackageFiles = 45 // of any other package
)

func TestTopFolders(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	entries = slices.DeleteFunc(entries, func(d fs.DirEntry) bool {
		return !d.IsDir() || strings.HasPrefix(d.Name(), ".") || strings.Contains("\n"+string(ignored), "\n/"+d.Name()+"/\n")
	})
	if len(entries) > maxTopFolders {
		t.Errorf("%d folders at the top, limit %d: %v", len(entries), maxTopFolders, entries)
	}
}

func TestPackageFiles(t *testing.T) {
	files := make(map[string]int)
	for _, file := range listSources(t) {
		files[packageOf(t, file)]++
	}
	limits := map[string]int{".": maxRootFiles, "cmd/ponder": maxCommandFiles}
	for pkg, n := range files {
		limit := cmp.Or(limits[pkg], maxPackageFiles)
		if n > limit {
			t.Errorf("%s has %d files, limit %d", pkg, n, limit)
		}
	}
	for _, pkg := range []string{".", "cmd/ponder", "engine"} {
		if files[pkg] == 0 {
			t.Errorf("found no file of %s", pkg)
		}
	}
}

func TestCommandLine(t *testing.T) {
	lines := 0
	for _, file := range listSources(t) {
		pkg, imports := packageOf(t, file), importsOf(t, file)
		cobra := slices.ContainsFunc(imports, func(p string) bool { return strings.HasPrefix(p, "github.com/spf13/cobra") })
		if cobra && !strings.HasPrefix(pkg, "cmd/") {
			t.Errorf("%s imports cobra outside cmd", file)
		}
		if pkg == "internal/app" && (cobra || slices.Contains(imports, module+"/internal/tui")) {
			t.Errorf("%s imports the command line or the terminal", file)
		}
		if pkg != "cmd/ponder" {
			continue
		}
		if slices.ContainsFunc(imports, func(p string) bool { return strings.HasPrefix(p, module+"/mode/") }) {
			t.Errorf("%s imports a mode", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines > maxCommandLines {
		t.Errorf("cmd/ponder has %d lines, limit %d", lines, maxCommandLines)
	}
}

func packageOf(t *testing.T, file string) string {
	t.Helper()
	dir, err := filepath.Rel(root, filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	return path.Clean(filepath.ToSlash(dir))
}

func importsOf(t *testing.T, file string) (paths []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range f.Imports {
		paths = append(paths, strings.Trim(imp.Path.Value, `"`))
	}
	return paths
}
