package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ownedTexts are tool names that only package toolname may contain. "think" and "remember" have other
// meanings too.
var ownedTexts = []string{
	"deep_think", "knowledge_search", "knowledge_read", "personaMemorySearch", "earlier_sessions", "thread_read", "web_search", "web_fetch",
}

// ownedConstants are prefixes of action keys, which only their mode declares.
var ownedConstants = []string{"turnKey", "finalKey", "writeKey"}

func TestOwnedNames(t *testing.T) {
	found := make(map[string][]string)
	for _, file := range listSources(t) {
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

// ownedFunctions are function names for cutting text, which belong to package textkit, with few exceptions.
var ownedFunctions = []string{"clip", "clipped", "truncate", "oneline", "shorten", "ellipsis"}

var otherFunctions = map[string]string{
	"internal/tui clip":          "cuts at a width in cells",
	"internal/report oneLine":    "writes Markdown",
	"knowledge/document oneLine": "leaves out marks of damaged characters",
	"mode/chat clipped":          "leaves out the middle",
	"cmd/ponder truncate":        "calls textkit",
	"cmd/ponder oneLine":         "calls textkit",
}

// TestOwnedFunctions checks that only textkit cuts texts and limitio bounds readers.
func TestOwnedFunctions(t *testing.T) {
	seen := 0
	for _, file := range listSources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		pkg := packageOf(t, file)
		seen++
		for _, name := range cutterNames(f) {
			if pkg != "internal/textkit" && otherFunctions[pkg+" "+name] == "" {
				t.Errorf("%s declares %s: use package textkit", file, name)
			}
		}
		if n := boundedReaders(f); n > 0 && pkg != "internal/limitio" && otherReaders[pkg] < n {
			t.Errorf("%s bounds %d readers by itself: use limitio.ReadAll", file, n)
		}
	}
	if seen < 100 {
		t.Fatalf("found only %d files to check", seen)
	}
}

// otherReaders counts the bounded readers in packages that must handle excess input themselves.
var otherReaders = map[string]int{
	"client":              1, // imports nothing internal
	"cmd/ponder":          1, // package app refuses the text
	"internal/compat/mcp": 1, // restores the body
	"internal/transcript": 1, // limits a line
	"knowledge/document":  1, // knows the size of the file
	"knowledge/web":       1, // may return a prefix
	"llm":                 1, // the parser refuses the text
}

func cutterNames(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && slices.Contains(ownedFunctions, strings.ToLower(fn.Name.Name)) {
			names = append(names, fn.Name.Name)
		}
	}
	return names
}

// boundedReaders counts the reads of one byte beyond a limit.
func boundedReaders(f *ast.File) (n int) {
	ast.Inspect(f, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		limit, sum := call.Args[1].(*ast.BinaryExpr)
		if ok && sel.Sel.Name == "LimitReader" && sum && limit.Op == token.ADD {
			if one, ok := limit.Y.(*ast.BasicLit); ok && one.Value == "1" {
				n++
			}
		}
		return true
	})
	return n
}

func TestOwnedFunctionsFound(t *testing.T) {
	const source = `package x

func clip(text string) string { return text }

func (s style) OneLine() {}

func f(r io.Reader) { io.ReadAll(io.LimitReader(r, max+1)); io.ReadAll(io.LimitReader(r, max)) }`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := cutterNames(f); !slices.Equal(got, []string{"clip", "OneLine"}) || boundedReaders(f) != 1 {
		t.Errorf("found %q and %d readers", got, boundedReaders(f))
	}
}
