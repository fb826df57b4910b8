package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Limits on calls that skip a test, or exclude code from the race detector. A change that removes a call
// lowers the number.
const (
	maxSkips    = 33
	maxRaceless = 75
)

// TestSkips enforces the limits and requires a reason in each call.
func TestSkips(t *testing.T) {
	var all skips
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"node_modules", "testdata", "racetest", "layers"}, d.Name()) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s := skipsOf(f)
		for _, name := range s.wrong {
			t.Errorf("%s: %s skips a test without a reason, or calls racetest and is no test", file, name)
		}
		all.tests, all.raceless = all.tests+s.tests, all.raceless+s.raceless
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if all.tests > maxSkips || all.raceless > maxRaceless {
		t.Errorf("%d calls skip a test, and %d one under the race detector; at most %d and %d may", all.tests, all.raceless, maxSkips, maxRaceless)
	}
}

type skips struct {
	tests    int      // methods of testing.TB
	raceless int      // functions of internal/racetest
	wrong    []string // functions whose call lacks a reason, or is where scripts/tests does not search
}

func skipsOf(f *ast.File) (all skips) {
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		ast.Inspect(fn, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if !ok {
				return true
			}
			wrong := false
			switch {
			case x.Name == "racetest":
				all.raceless++
				wrong = !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz")
			case slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name):
				all.tests++
				wrong = len(call.Args) == 0
			}
			if wrong {
				all.wrong = append(all.wrong, name)
			}
			return true
		})
	}
	return all
}

func TestSkipsOf(t *testing.T) {
	const source = `package x

func TestA(t *testing.T) {
	t.Skip("no network")
	b.Skipf("%v", err)
	racetest.Skip(t, "one goroutine")
	if s.Skip() { t.SkipNow() }
}

func helper() int { return racetest.Stride(3) }`
	f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := skipsOf(f); got.tests != 3 || got.raceless != 2 || !slices.Equal(got.wrong, []string{"TestA", "helper"}) {
		t.Errorf("%+v", got)
	}
}
