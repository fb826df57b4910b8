package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// bannedStems are metaphors that earlier versions used for standard terms.
var bannedStems = []string{
	"wish", "heard", "musing", "purse", "outfit", "wardrobe", "shelf", "undercurrent", "telling", "mould", "rival", "unsay", "lineup", "beside",
}

// positions are prepositions and adverbs: a function needs a verb or a noun.
var positions = []string{
	"about", "above", "across", "after", "again", "against", "ahead", "along", "among", "anew", "apart", "around", "at", "away", "back", "before",
	"behind", "below", "beneath", "beside", "besides", "between", "beyond", "by", "down", "during", "else", "ever", "for", "from", "here", "in",
	"inside", "into", "near", "never", "of", "off", "on", "once", "onto", "out", "outside", "over", "since", "so", "then", "there", "thereby",
	"through", "thus", "till", "to", "together", "toward", "under", "until", "up", "upon", "via", "with", "within", "without",
}

// participleTypes are standard nouns that end in -ing or -ed.
var participleTypes = []string{"feed", "finding", "posting", "reasoning", "recording", "setting", "speed", "thinking"}

// maxOneWord is the share of unexported functions and methods with names of one word.
const maxOneWord = 0.35

var oneWord = regexp.MustCompile(`^[a-z]+[0-9]*$`)

// TestVocabulary checks the names of declarations against the rules of CONTRIBUTING.md.
func TestVocabulary(t *testing.T) {
	all, short := 0, 0
	for _, file := range goFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range nameFaults(f, file == filepath.Join(root, "body.go")) {
			t.Errorf("%s: %s", file, fault)
		}
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.IsExported() || slices.Contains([]string{"main", "init", "_"}, fn.Name.Name) {
				continue
			}
			all++
			if oneWord.MatchString(fn.Name.Name) {
				short++
			}
		}
	}
	if all < 1000 {
		t.Fatalf("found only %d functions", all)
	}
	if share := float64(short) / float64(all); share > maxOneWord {
		t.Errorf("%.0f %% of %d unexported functions have names of one word, limit %.0f %%", 100*share, all, 100*maxOneWord)
	}
}

func goFiles(t *testing.T) []string {
	return slices.DeleteFunc(texts(t), func(file string) bool {
		return !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, filepath.Join("layers", "vocabulary_test.go"))
	})
}

// nameFaults returns the faults of the names that a file declares. Types of events are named by what happened.
func nameFaults(f *ast.File, events bool) (faults []string) {
	note := func(name *ast.Ident, fault string) { faults = append(faults, name.Name+": "+fault) }
	declared := func(name *ast.Ident) {
		words := wordsOf(name.Name)
		for _, stem := range bannedStems {
			if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, stem) }) {
				note(name, "has the banned stem "+stem)
			}
		}
		if len(words) > 1 && (words[0] == "most" || words[0] == "least") {
			note(name, "use max or min")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			declared(n.Name)
			if slices.Contains(positions, strings.ToLower(n.Name.Name)) {
				note(n.Name, "is a preposition or an adverb, a function needs a verb or a noun")
			}
		case *ast.TypeSpec:
			declared(n.Name)
			words := wordsOf(n.Name.Name)
			last := words[len(words)-1]
			if (strings.HasSuffix(last, "ing") || strings.HasSuffix(last, "ed")) && !slices.Contains(participleTypes, last) && !events {
				note(n.Name, "is a participle, a type needs a noun")
			}
		case *ast.Field:
			for _, name := range n.Names {
				declared(name)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				declared(name)
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					declared(name)
				}
			}
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					declared(name)
				}
			}
		}
		return true
	})
	return faults
}

// wordsOf returns the words of a name in camel case, in lower case.
func wordsOf(name string) (words []string) {
	runes := []rune(name)
	start := 0
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || runes[i] == '_' || unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			if word := strings.ToLower(strings.Trim(string(runes[start:i]), "_")); word != "" {
				words = append(words, word)
			}
			start = i
		}
	}
	return append(words, "")[:max(len(words), 1)]
}

func TestNameFaults(t *testing.T) {
	const source = `package x

type asking struct{ wishes int }

func of(mostWords int) { for arrival, rivals := range m {} }

func readHeading() {}`
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := nameFaults(f, false); len(got) != 5 {
		t.Errorf("%d faults, want 5: %q", len(got), got)
	}
	if got := wordsOf("newHTTPServer_v2"); !slices.Equal(got, []string{"new", "http", "server", "v2"}) {
		t.Errorf("words %q", got)
	}
}

// TestGlossary checks that the names of packages and of exported types consist of words of docs/glossary.md,
// or of testdata/words.txt. A new word belongs in the glossary, or, if every engineer knows it, in that list.
func TestGlossary(t *testing.T) {
	known := make(map[string]bool)
	for _, file := range []string{filepath.Join(root, "docs", "glossary.md"), filepath.Join("testdata", "words.txt")} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`[A-Za-z0-9]+`).FindAllString(string(text), -1) {
			known[strings.ToLower(name)] = true
			for _, word := range wordsOf(name) {
				known[word] = true
			}
		}
	}
	unknown := make(map[string]string)
	for _, file := range listSources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{f.Name.Name}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, s := range g.Specs {
					if typ, ok := s.(*ast.TypeSpec); ok && typ.Name.IsExported() {
						names = append(names, typ.Name.Name)
					}
				}
			}
		}
		for _, name := range names {
			for _, word := range wordsOf(name) {
				if !known[word] && !known[strings.TrimSuffix(word, "s")] {
					unknown[word] = file + " " + name
				}
			}
		}
	}
	for word, use := range unknown {
		t.Errorf("%s: the word %q is in neither docs/glossary.md nor testdata/words.txt", use, word)
	}
}
