package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// otherFileCalls are calls of package os that create a file, or may wait for another process, outside of
// package fileio.
var otherFileCalls = map[string]string{
	"cmd/ponder-bench os.Open":       "reads data sets",
	"cmd/ponder-bench os.ReadFile":   "reads data sets",
	"cmd/ponder-sim os.Open":         "reads answers, which a test may pipe",
	"internal/auth os.Open":          "reads the sockets of /proc",
	"internal/placement os.ReadFile": "reads /proc and the ID of the machine",
	"internal/server os.Open":        "opens its own copy of the database",
	"llm/llmtest os.Open":            "reads recordings for tests",
}

func TestFileCalls(t *testing.T) {
	used := make(map[string]bool)
	for _, file := range listSources(t) {
		pkg := packageOf(t, file)
		if pkg == "internal/fileio" || strings.HasPrefix(pkg, "examples/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range fileCalls(f) {
			if used[pkg+" "+call] = true; otherFileCalls[pkg+" "+call] == "" {
				t.Errorf("%s calls %s: use package fileio", file, call)
			}
		}
	}
	for call := range otherFileCalls {
		if !used[call] {
			t.Errorf("no call: %s", call)
		}
	}
}

// fileCalls returns the calls that create a file or folder without the rules of package fileio, or that
// open a file that may be a pipe. It permits temporary files, which are private.
func fileCalls(f *ast.File) (calls []string) {
	ast.Inspect(f, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, _ := fn.X.(*ast.Ident)
		name := fn.Sel.Name
		switch {
		case pkg != nil && pkg.Name == "os" && slices.Contains([]string{"Create", "WriteFile", "Mkdir", "MkdirAll", "Link", "Symlink", "Open", "ReadFile"}, name):
			calls = append(calls, "os."+name)
		case name == "OpenFile" && (pkg == nil || pkg.Name != "fileio") && namesCreate(call):
			calls = append(calls, "OpenFile with O_CREATE")
		}
		return true
	})
	return calls
}

func namesCreate(call *ast.CallExpr) (found bool) {
	for _, arg := range call.Args {
		ast.Inspect(arg, func(node ast.Node) bool {
			id, ok := node.(*ast.Ident)
			found = found || ok && id.Name == "O_CREATE"
			return true
		})
	}
	return found
}

func TestFileCallsFound(t *testing.T) {
	const source = `package x

func f(root *os.Root) {
	os.WriteFile(name, nil, 0o600)
	root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	os.OpenFile(name, os.O_RDWR, 0)
	os.CreateTemp("", "")
	fileio.OpenState(name, os.O_CREATE)
	g(os.Open(name))
}`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := fileCalls(f); !slices.Equal(got, []string{"os.WriteFile", "OpenFile with O_CREATE", "os.Open"}) {
		t.Errorf("found %q", got)
	}
}
