package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// flagless are packages whose errors also reach callers without a command line: HTTP, other protocols, MCP.
// Subfolders are included.
var flagless = []string{"internal/app", "internal/httpapi", "internal/compat", "internal/quota", "internal/stream", "engine", "mode", "tool"}

var flagName = regexp.MustCompile(`--[a-z]`)

// TestNoFlagsInAnswers rejects flag names in these packages. The command line adds its flags to the errors
// that it prints.
func TestNoFlagsInAnswers(t *testing.T) {
	seen := 0
	for _, file := range listSources(t) {
		dir, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.ToSlash(dir) + "/"
		if !slices.ContainsFunc(flagless, func(p string) bool { return strings.HasPrefix(dir, p+"/") }) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		for _, text := range flagsIn(f) {
			t.Errorf("%s names a flag, which its callers don't have: %q", file, text)
		}
	}
	if seen < 100 {
		t.Fatalf("found only %d files to check", seen)
	}
}

func flagsIn(f *ast.File) (list []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil && flagName.MatchString(text) {
				list = append(list, text)
			}
		}
		return true
	})
	return list
}

func TestFlagsIn(t *testing.T) {
	const source = `package x

// --in-a-comment
var a, b, c = "pass --docs", "a -- b", ` + "`--cost is too low`"
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := flagsIn(f), []string{"pass --docs", "--cost is too low"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
