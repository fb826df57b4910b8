package layers

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The limits of prose, in phrases to avoid per 1,000 words, and in words of a sentence.
const (
	maxPhrases        = 1.0
	maxPackagePhrases = 2.0
	maxSentence       = 35 // of a package comment
	maxShortHelp      = 60 // characters
)

// phrases hide the actor or the noun of a sentence.
var phrases = regexp.MustCompile(`\b(?:` + strings.Join([]string{
	`([Ww]hat|[Ww]ho|[Ww]hoever|[Ww]hatever) (is|was|are|were|has|have|had|it|they|he|stands?|comes?|came|goes|went|says?|said|rests?|can|may|cannot|does|do|begins?|began|follows?|lasts?|waits?|ends?|of)`,
	`goes? on|went on|gone on|come to rest|came to|came of|comes? of|at rest|taken for|is told|are told|was told|told of|stands? (there|for|beside|before|behind|in)|bears? out|borne? out|anew|of its own`,
	`[Nn]obody|[Ss]omebody|[Ww]hoever|[Ww]hatever`,
	`[Ww]ish(es|ed)?|[Hh]ears?|[Hh]eard|[Oo]beys?|[Oo]beyed|[Ff]orgives?`,
}, "|") + `)\b|\bcomes? to\b`)

var (
	commentText = regexp.MustCompile(`(?:^|\s)//\s(.*)$`)
	errorText   = regexp.MustCompile("(?:Errorf|errors\\.New|usagef|Short:|Long:|say|note)\\(?\\s*[`\"](.*)$")
)

// TestProse counts phrases to avoid in comments, errors, help and documents.
func TestProse(t *testing.T) {
	words, found := make(map[string]int), make(map[string][]string)
	for _, file := range texts(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pkg := packageOf(t, file)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			if strings.HasSuffix(file, ".go") {
				line = prose(line)
			}
			words[pkg] += len(strings.Fields(line))
			if hits := countPhrases(line); hits > 0 {
				for range hits {
					found[pkg] = append(found[pkg], file+": "+strings.TrimSpace(line))
				}
			}
		}
	}
	allWords, allFound := 0, 0
	for pkg, n := range words {
		allWords, allFound = allWords+n, allFound+len(found[pkg])
		if density := 1000 * float64(len(found[pkg])) / float64(max(n, 1)); density > maxPackagePhrases {
			t.Errorf("%s has %.1f phrases to avoid per 1,000 words, limit %.1f:\n  %s", pkg, density, maxPackagePhrases, strings.Join(found[pkg], "\n  "))
		}
	}
	if allWords < 50_000 {
		t.Fatalf("found only %d words", allWords)
	}
	density := 1000 * float64(allFound) / float64(allWords)
	if density > maxPhrases {
		t.Errorf("%.1f phrases to avoid per 1,000 words, limit %.1f", density, maxPhrases)
	}
	t.Logf("%.2f phrases to avoid per 1,000 words of %d", density, allWords)
}

// prose returns the comment of a line of Go, or the text of an error or of help.
func prose(line string) string {
	if m := commentText.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	if m := errorText.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

func countPhrases(line string) (n int) {
	for _, m := range phrases.FindAllStringIndex(line, -1) {
		if !strings.HasPrefix(line[m[1]:], " mind") || !strings.HasPrefix(line[m[0]:], "come") {
			n++
		}
	}
	return n
}

// texts returns the Go files and documents. Prompts and data are not prose of the project.
func texts(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules", "dist", "prompts", "bin"}, d.Name()) {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(file); !d.IsDir() && (ext == ".go" || ext == ".md") && !strings.HasSuffix(file, filepath.Join("layers", "prose_test.go")) {
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCountPhrases(t *testing.T) {
	for line, want := range map[string]int{
		"nobody knows what is here": 2, "it comes to mind": 0, "it comes to rest at rest": 2,
		"The holder appends events.": 0, "Whoever wishes anew": 3,
	} {
		if got := countPhrases(line); got != want {
			t.Errorf("%q has %d phrases, want %d", line, got, want)
		}
	}
	for line, want := range map[string]string{
		"x := 1 // a reason": "a reason", `return errors.New("read it: gone")`: `read it: gone")`, "x := 1": "",
	} {
		if got := prose(line); got != want {
			t.Errorf("prose of %q is %q, want %q", line, got, want)
		}
	}
}

// listed matches lines of lists and of tables.
var listed = regexp.MustCompile(`(?m)^(\t| {2,}).*$`)

var sentenceEnd = regexp.MustCompile(`[.!?:](?:\s|$)|\n\n`)

// TestPackageComments limits the sentences of package comments.
func TestPackageComments(t *testing.T) {
	seen := 0
	for _, file := range listSources(t) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc == nil {
			continue
		}
		seen++
		for _, sentence := range sentenceEnd.Split(listed.ReplaceAllString(f.Doc.Text(), "\n\n"), -1) {
			if n := len(strings.Fields(sentence)); n > maxSentence {
				t.Errorf("%s: the package comment has a sentence of %d words, limit %d: %s", file, n, maxSentence, sentence)
			}
		}
	}
	if seen < 50 {
		t.Fatalf("found only %d package comments", seen)
	}
}

var shortHelp = regexp.MustCompile(`\bShort:\s*"([^"]*)"`)

// TestShortHelp checks that the short help of a command is short and imperative.
func TestShortHelp(t *testing.T) {
	seen := 0
	for _, file := range listSources(t) {
		if packageOf(t, file) != "cmd/ponder" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range shortHelp.FindAllStringSubmatch(string(text), -1) {
			seen++
			verb, _, _ := strings.Cut(m[1], " ")
			if len(m[1]) > maxShortHelp || strings.HasSuffix(m[1], ".") || !isImperative(verb) {
				t.Errorf("%s: short help %q: want a verb in the imperative, at most %d characters, no period", file, m[1], maxShortHelp)
			}
		}
	}
	if seen < 20 {
		t.Fatalf("found only %d short helps", seen)
	}
}

// isImperative reports whether a capital letter begins the word, and no ending of another form ends it.
func isImperative(verb string) bool {
	return verb != "" && 'A' <= verb[0] && verb[0] <= 'Z' && !strings.HasSuffix(verb, "ing") && !strings.HasSuffix(verb, "ed") &&
		!slices.Contains([]string{"A", "An", "The", "What", "How", "Whether", "Be", "Let"}, verb)
}
