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

// findJunk returns the parts of an answer, thought or question that no careful writer would leave
// in it. Question is the user's, prompts are texts that models read. A streamed text is one that the user
// saw while it was written: only its loops are cut.
func findJunk(text, question string, prompts []string, streamed bool) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if m := jsonRemains.FindString(text); m != "" {
		add("remains of JSON %q in %q", m, shorten(text))
	}
	if streamed {
		if strings.TrimSpace(text) == "" {
			add("an empty text")
		}
		for _, part := range repeatedParts(text, streamedRepeats) {
			add("a line or sentence more than %d times in a row: %q", streamedRepeats, shorten(part))
		}
		return problems
	}
	bare := foldText(text)
	switch {
	case countWords(text) < 2 && !sentenceEnd.MatchString(text):
		add("no words: %q", text)
	case bare == foldText(question):
		add("the user's question: %q", text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if loneLabel.MatchString(line) {
			add("a lone label: %q", line)
		}
		isHeading := strings.HasPrefix(line, "#") || strings.HasPrefix(line, "**") || strings.HasSuffix(line, ":")
		if part := foldText(line); !isHeading && countWords(part) >= minPromptWords && slices.ContainsFunc(prompts, func(p string) bool { return strings.Contains(" "+p+" ", " "+part+" ") }) {
			add("words of the prompt: %q", shorten(line))
		}
	}
	if m := emptyLabel.FindString(text); m != "" {
		add("a label of the answer's format %q in %q", m, shorten(text))
	}
	for _, part := range repeatedParts(text, 1) {
		add("a line or sentence again and again: %q", shorten(part))
	}
	return problems
}

const (
	streamedRepeats = 6 // of long lines, without others between them
	minPromptWords  = 5 // of a line: less are in a prompt by chance
	minRepeatWords  = 5 // of a repeated line or sentence
)

var (
	// jsonRemains matches members and brackets of the requested JSON.
	jsonRemains = regexp.MustCompile(`(?m)^[\s,{\[]*"(thoughts?|type|confidence|importance|cites|questions?|priority|why|parent|ranked|settled|synthesis|insights|remaining|answer|plan|queries|steps)"\s*:|", "\w+":`)
	emptyLabel  = regexp.MustCompile(`(?m)^\W{0,3}(THOUGHT|TYPE|CONFIDENCE|IMPORTANCE|CITES|QUESTION|PRIORITY|WHY|RANK|SYNTHESIS|INSIGHTS|REMAINING|ANSWER)\s*:|exploration[,/|] ?critique[,/|] ?connection`)
	loneLabel   = regexp.MustCompile(`(?i)^(the )?(final )?(answer|question)( to the question)?( is)?:$|^</?(question|answer|passages|response)>$|^\[e\d+\] \([^()]*\)$`)
)

// repeatedParts returns lines and sentences that occur more than limit times again without a new word
// between them. A refrain has new words before it.
func repeatedParts(text string, limit int) (parts []string) {
	type place struct{ fresh, times int }
	last, seen := map[string]place{}, map[string]bool{}
	note := func(part string) {
		words := strings.Fields(foldText(part))
		for _, w := range words {
			seen[w] = true
		}
		if countWords(strings.Join(words, " ")) < minRepeatWords {
			return
		}
		key := strings.Join(words, " ")
		p, known := last[key]
		if known && p.fresh == len(seen) {
			if p.times++; p.times == limit+1 {
				parts = append(parts, key)
			}
		}
		last[key] = place{len(seen), p.times}
	}
	for line := range strings.Lines(text) {
		for _, s := range sentenceEnd.Split(strings.TrimSpace(line), -1) {
			note(s)
		}
	}
	return parts
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')\]]*(\s+|$)`)

// foldText returns the words of a text in lower case, without citations, numbers and punctuation.
func foldText(text string) string {
	text = textMarks.ReplaceAllString(text, " ")
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

var textMarks = regexp.MustCompile(`\[(?:e?\d+(?:,\s*e?\d+)*|unverified|partly supported|contradicted(?: by \d+)?)\]|(?m)^\s*\d{1,3}[.)]\s`)

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

// promptTexts returns a function that returns the folded prompts of a mode.
func promptTexts(t *testing.T) func(mode string) []string {
	t.Helper()
	files, err := filepath.Glob("../../mode/*/prompts/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no prompts: %v", err)
	}
	texts := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mode := filepath.Base(filepath.Dir(filepath.Dir(file)))
		texts[mode] = append(texts[mode], foldText(string(text)))
	}
	return func(mode string) []string { return texts[mode] }
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
		"a label":              {"Estimates are low.\n\nThe answer is:\n\nToo low.", true},
		"a label of a passage": {"Estimates are low.\n[e1] (Estimates, Reasons)", true},
		"the enum":             {"exploration, critique, connection, insight, question or synthesis", true},
		"an object":            {"{\"thought\": \"Estimates ignore the unknown work\"", true},
		"a member":             {"Estimates are low\", \"confidence\": 0.5", true},
		"a label of the form":  {"THOUGHT: Estimates are low for most projects", true},
		"lines":                {strings.Repeat("- The scope of projects grows.\n", 40), true},
		"sentences in a line":  {strings.Repeat("The scope of projects grows. ", 3), true},
		"lines with citations": {"The scope of it grows [e1]\nThe scope of it grows [e2]\nThe scope of it grows [unverified]", true},
		"a refrain":            {"It grows, and we follow it.\nNew plans\nIt grows, and we follow it.\nOld debts\nIt grows, and we follow it.", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := findJunk(c.text, question, prompts, false); (len(got) > 0) != c.junk {
				t.Errorf("findJunk(%q) = %q", c.text, got)
			}
		})
	}
}
