package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// ownedTexts are names of tools that only package toolname spells out. "think" and
// "remember" are words of other things, too.
var ownedTexts = []string{
	"deep_think", "knowledge_search", "knowledge_read", "personaMemorySearch", "earlier_sessions", "thread_read", "web_search", "web_fetch",
}

// ownedConstants are constants with the beginnings of keys of actions. Their mode alone
// declares each, and has a function for others.
var ownedConstants = []string{"turnKey", "finalKey", "writeKey"}

// Each name that several packages use is declared once.
func TestOwnedNames(t *testing.T) {
	found := make(map[string][]string)
	for _, file := range sources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					found["text "+text] = append(found["text "+text], file)
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					found["name "+name.Name] = append(found["name "+name.Name], file)
				}
			}
			return true
		})
	}
	for _, text := range ownedTexts {
		if files := found["text "+text]; len(files) != 1 {
			t.Errorf("%q is in %v, want it in package toolname alone", text, files)
		}
	}
	for _, name := range ownedConstants {
		if files := found["name "+name]; len(files) > 1 {
			t.Errorf("%s is declared in %v, want it in its mode alone", name, files)
		}
	}
}
