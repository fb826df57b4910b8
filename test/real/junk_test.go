package real

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// maxRepeats is the number of equal lines or sentences in an answer.
const maxRepeats = 2

// findJunk returns the parts of an answer, thought or question that no careful writer would leave
// in it. Question is the user's, prompts are texts that models read.
func findJunk(text, question string, prompts []string) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	bare := foldText(text)
	switch {
	case countWords(text) < 3:
		add("less than three words: %q", text)
	case bare == foldText(question):
		add("the user's question: %q", text)
	}
	for line := range strings.Lines(text) {
		if part := foldText(line); countWords(part) >= 3 && slices.ContainsFunc(prompts, func(p string) bool { return strings.Contains(" "+p+" ", " "+part+" ") }) {
			add("words of the prompt: %q", shorten(strings.TrimSpace(line)))
		}
	}
	if m := jsonRemains.FindString(text); m != "" {
		add("remains of JSON %q in %q", m, shorten(text))
	}
	if m := emptyLabel.FindString(text); m != "" {
		add("a label of the answer's format %q in %q", m, shorten(text))
	}
	for _, part := range repeatedParts(text) {
		add("a line or sentence more than %d times: %q", maxRepeats, shorten(part))
	}
	return problems
}

var (
	// jsonRemains matches members and brackets of the requested JSON.
	jsonRemains = regexp.MustCompile(`"(thoughts?|type|confidence|importance|cites|questions?|priority|why|parent|ranked|settled|synthesis|insights|remaining|answer|plan|queries|steps)"\s*:|(?m)^\s*[\[{]\s*(["{\[]|$)|\\"`)
	emptyLabel  = regexp.MustCompile(`(?m)^\W{0,3}(THOUGHT|TYPE|CONFIDENCE|IMPORTANCE|CITES|QUESTION|PRIORITY|WHY|RANK|SYNTHESIS|INSIGHTS|REMAINING|ANSWER)\s*:|exploration[,/|] ?critique[,/|] ?connection`)
)

// repeatedParts returns lines of three words or more, and sentences of five, that occur more than
// maxRepeats times.
func repeatedParts(text string) (parts []string) {
	count := map[string]int{}
	note := func(part string, words int) {
		if part = foldText(part); len(strings.Fields(part)) >= words {
			if count[part]++; count[part] == maxRepeats+1 {
				parts = append(parts, part)
			}
		}
	}
	for line := range strings.Lines(text) {
		sentences := sentenceEnd.Split(strings.TrimSpace(line), -1)
		if len(sentences) == 1 {
			note(line, 3)
			continue
		}
		for _, s := range sentences {
			note(s, 5)
		}
	}
	return parts
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')\]]*(\s+|$)`)

// foldText returns the words of a text in lower case, without citations and punctuation.
func foldText(text string) string {
	text = citation.ReplaceAllString(text, " ")
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// countWords counts words with letters. In scripts without spaces, each letter counts.
func countWords(text string) (n int) {
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, unicode.IsLetter) {
			n++
		}
	}
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			n++
		}
	}
	return n
}

func shorten(text string) string {
	if r := []rune(text); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return text
}

// promptTexts returns the folded prompts of the program, and of the requests.
func promptTexts(t *testing.T, requests []requestRecord) (list []string) {
	t.Helper()
	files, err := filepath.Glob("../../mode/*/prompts/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no prompts: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, foldText(string(text)))
	}
	for _, r := range requests {
		for _, m := range r.Messages {
			if p := foldText(string(m.Content)); m.Role == "system" && !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list
}

func TestFindJunk(t *testing.T) {
	prompts := []string{foldText("Each thought has\n- thought: the thought itself, in one to four sentences\n- type: exploration, critique, connection, insight, question or synthesis")}
	const question = "Why do projects run late?"
	for name, c := range map[string]struct {
		text string
		junk bool
	}{
		"a thought":            {"Estimates ignore the work that is not known yet.", false},
		"an answer":            {"**Late projects**\n\n- Estimates are low. [e1]\n- Scope grows. [e2]\n\nBoth have the same cause: \"optimism\".", false},
		"quoted names":         {"The field \"type\" of an event is never empty.", false},
		"code":                 {"Write `{\"id\": 1}` into the file.", false},
		"two equal headings":   {"Reasons of delay\n\nscope\n\nReasons of delay", false},
		"one word":             {"the", true},
		"the question":         {"why do projects run late", true},
		"the prompt":           {"The thought itself, in one to four sentences.", true},
		"a placeholder":        {"The answer is:\n[one to four sentences]", true},
		"the enum":             {"exploration, critique, connection, insight, question or synthesis", true},
		"an object":            {"{\"thought\": \"Estimates ignore the unknown work\"", true},
		"a member":             {"Estimates are low\", \"confidence\": 0.5", true},
		"an escape":            {`He says \"optimism\" is the cause`, true},
		"a label":              {"THOUGHT: Estimates are low for most projects", true},
		"lines":                {strings.Repeat("- The scope of projects grows.\n", 40), true},
		"sentences in a line":  {strings.Repeat("The scope of projects grows. ", 3), true},
		"lines with citations": {"The scope of it grows [e1]\nThe scope of it grows [e2]\nThe scope of it grows [e3]", true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := findJunk(c.text, question, prompts); (len(got) > 0) != c.junk {
				t.Errorf("findJunk(%q) = %q", c.text, got)
			}
		})
	}
}
