package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// What calls methods by names that are known only when the program runs. As soon
// as one of these can be reached, the linker may drop no exported method of any
// type that is in use, ours or theirs: the program was 5.4 MB larger with them, and
// over its bound. cobra's own help and version need none of them while no
// template is set.
var (
	templates = []string{`"text/template"`, `"html/template"`}
	byName    = []string{"MethodByName", "SetHelpTemplate", "SetUsageTemplate", "SetVersionTemplate"}
)

func TestNoMethodsByName(t *testing.T) {
	for _, file := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range methodsByName(f) {
			t.Errorf("%s uses %s: the linker then keeps every method", file, use)
		}
	}
}

// methodsByName returns what a file uses of these.
func methodsByName(f *ast.File) (uses []string) {
	for _, imp := range f.Imports {
		if slices.Contains(templates, imp.Path.Value) {
			uses = append(uses, imp.Path.Value)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(byName, s.Sel.Name) {
			uses = append(uses, s.Sel.Name)
		}
		return true
	})
	return uses
}

func TestMethodsByName(t *testing.T) {
	const source = `package x

import "html/template"

func f() { root.SetVersionTemplate(""); template.New("") }`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := methodsByName(f), []string{`"html/template"`, "SetVersionTemplate"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
