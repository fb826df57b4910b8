package seeds

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var root = filepath.Join("..", "..")

// scriptDir has the scripts that TestScripts of cmd/ponder runs.
const scriptDir = "cmd/ponder/testdata/script"

// A testFinder resolves references to tests of the module in a directory. It parses each file once.
type testFinder struct {
	dir   string
	files map[string][]string // by path: names of tests
}

func newTestFinder(dir string) *testFinder {
	return &testFinder{dir: dir, files: make(map[string][]string)}
}

// findTest returns an error unless reference names a test that go test runs here: a script, or a
// file and a function of it.
func (f *testFinder) findTest(reference string) error {
	file, name, isFunction := strings.Cut(reference, ":")
	if path.Clean(file) != file || path.IsAbs(file) || strings.HasPrefix(file, "..") {
		return fmt.Errorf("%q is not a path inside the module", file)
	}
	if !isFunction {
		if path.Dir(file) != scriptDir || path.Ext(file) != ".txt" {
			return fmt.Errorf("%q is neither path/file_test.go:TestName nor a script in %s", reference, scriptDir)
		}
		_, err := os.Stat(filepath.Join(f.dir, filepath.FromSlash(file)))
		return err
	}
	names, err := f.testsOf(file)
	if err == nil && !slices.Contains(names, name) {
		err = fmt.Errorf("%s has no test %q", file, name)
	}
	return err
}

func (f *testFinder) testsOf(file string) ([]string, error) {
	if names, ok := f.files[file]; ok {
		return names, nil
	}
	if err := f.checkRuns(file); err != nil {
		return nil, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(f.dir, filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, decl := range parsed.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && isTest(fn) {
			names = append(names, fn.Name.Name)
		}
	}
	f.files[file] = names
	return names, nil
}

// checkRuns returns an error if go test excludes a file of the module: by its name, folder, system or
// build tags, or because it is in another module.
func (f *testFinder) checkRuns(file string) error {
	if !strings.HasSuffix(file, "_test.go") {
		return fmt.Errorf("%s is no file of tests", file)
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		base := path.Base(dir)
		if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return fmt.Errorf("go test ignores %s", file)
		}
		if _, err := os.Stat(filepath.Join(f.dir, filepath.FromSlash(dir), "go.mod")); err == nil {
			return fmt.Errorf("%s is in another module", file)
		}
	}
	dir, base := filepath.Split(filepath.Join(f.dir, filepath.FromSlash(file)))
	linux := build.Default
	linux.GOOS, linux.GOARCH = "linux", "amd64"
	switch ok, err := linux.MatchFile(dir, base); {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("the build tags of %s exclude it", file)
	}
	return nil
}

// isTest reports whether go test runs a function: a test, or a fuzz test with its seeds.
func isTest(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || fn.Type.TypeParams != nil || fn.Type.Results != nil || len(fn.Type.Params.List) != 1 {
		return false
	}
	star, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	param, ok := star.X.(*ast.SelectorExpr)
	return ok && (param.Sel.Name == "T" && strings.HasPrefix(fn.Name.Name, "Test") || param.Sel.Name == "F" && strings.HasPrefix(fn.Name.Name, "Fuzz"))
}

func TestFindTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go":                           "package a\nfunc TestOne(t *testing.T) {}\nfunc FuzzTwo(f *testing.F) {}\nfunc TestHelper(t *testing.T, n int) {}\nfunc (x X) TestMethod(t *testing.T) {}\nfunc BenchmarkOne(b *testing.B) {}\n// func TestGone(t *testing.T) {}\n",
		"a/a.go":                                "package a\nfunc TestOne(t *testing.T) {}\n",
		"a/tagged_test.go":                      "//go:build special\n\npackage a\nfunc TestOne(t *testing.T) {}\n",
		"a/a_windows_test.go":                   "package a\nfunc TestOne(t *testing.T) {}\n",
		"a/bad_test.go":                         "package a\nfunc TestOne(",
		"a/testdata/b_test.go":                  "package a\nfunc TestOne(t *testing.T) {}\n",
		"other/go.mod":                          "module other\n",
		"other/x/c_test.go":                     "package x\nfunc TestOne(t *testing.T) {}\n",
		scriptDir + "/mind.txt":                 "exec ponder\n",
		"cmd/ponder/testdata/terminal/chat.txt": "exec ponder\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f := newTestFinder(dir)
	for _, reference := range []string{"a/a_test.go:TestOne", "a/a_test.go:FuzzTwo", scriptDir + "/mind.txt"} {
		if err := f.findTest(reference); err != nil {
			t.Errorf("%s: %v", reference, err)
		}
	}
	for _, reference := range []string{
		"", "TestOne", "a/a_test.go", "a/a_test.go:", "a/a_test.go:TestTwo", "a/a_test.go:TestHelper", "a/a_test.go:TestMethod", "a/a_test.go:BenchmarkOne",
		"a/a_test.go:TestGone", "a/a.go:TestOne", "a/none_test.go:TestOne", "a/tagged_test.go:TestOne", "a/a_windows_test.go:TestOne", "a/bad_test.go:TestOne",
		"a/testdata/b_test.go:TestOne", "other/x/c_test.go:TestOne", "a/../a/a_test.go:TestOne", "../a_test.go:TestOne", scriptDir + "/none.txt",
		"cmd/ponder/testdata/terminal/chat.txt", "`a/a_test.go:TestOne`", " a/a_test.go:TestOne",
	} {
		if err := f.findTest(reference); err == nil {
			t.Errorf("%q is accepted", reference)
		}
	}
}
