package mimic

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	windowBytes = 4000 // of a prompt
	maxPhrases  = 40
	maxNumbers  = 20
)

// promptWindow returns a text's start and end, where prompts state their task.
func promptWindow(s string) string {
	if len(s) <= windowBytes {
		return s
	}
	head, tail := s[:windowBytes/2], s[len(s)-windowBytes/2:]
	return strings.ToValidUTF8(head, "") + "\n" + strings.ToValidUTF8(tail, "")
}

// findPhrases returns runs of up to three content words, those of questions first.
func findPhrases(text string) []string {
	var asked, rest, found []string
	seen := make(map[string]bool, 2*maxPhrases)
	for clause := range splitClauses(text) {
		found = appendRuns(found[:0], clause.text)
		for _, p := range found {
			if seen[p] {
				continue
			}
			seen[p] = true
			if clause.question {
				asked = append(asked, p)
			} else {
				rest = append(rest, p)
			}
		}
		if len(seen) > 2*maxPhrases {
			break
		}
	}
	all := append(asked, rest...)
	return all[:min(len(all), maxPhrases)]
}

type clause struct {
	text     string
	question bool
}

// splitClauses splits at punctuation and skips brackets.
func splitClauses(text string) iter.Seq[clause] {
	return func(yield func(clause) bool) {
		from, depth := 0, 0
		for i := range len(text) {
			switch text[i] {
			case '.', '?', '!', ';', ':', ',', '(', ')', '"', '|', '/', '\n', '[', ']', '{', '}', '<', '>':
			default:
				continue
			}
			if depth == 0 && i > from && !yield(clause{text[from:i], text[i] == '?'}) {
				return
			}
			from = i + 1
			switch text[i] {
			case '[', '{', '<':
				depth++
			case ']', '}', '>':
				depth = max(depth-1, 0)
			case '\n':
				depth = 0
			}
		}
		if from < len(text) && depth == 0 {
			yield(clause{text: text[from:]})
		}
	}
}

func appendRuns(out []string, clause string) []string {
	var words [3]string
	run := words[:0]
	end := func() {
		if len(run) > 0 {
			out = append(out, strings.Join(run, " "))
		}
		run = run[:0]
	}
	first := true
	for word := range strings.FieldsSeq(clause) {
		word = trimMarks(word)
		if !isContentWord(word) {
			end()
			first = false
			continue
		}
		if first {
			word, first = lowerFirst(word), false
		}
		if run = append(run, word); len(run) == cap(run) {
			end()
		}
	}
	end()
	return out
}

// trimMarks removes marks around a word.
func trimMarks(word string) string {
	if isLetter(word[0]) && isLetter(word[len(word)-1]) {
		return word
	}
	return strings.Trim(word, "*_#`'~=+-–—“”‘’&%$@^\\")
}

func isContentWord(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	if !unicode.IsLetter(r) || len(word) > 60 || len(word) < 4 && r < 0x2e80 || strings.IndexByte(word, '_') >= 0 {
		return false
	}
	if next, _ := utf8.DecodeRuneInString(word[size:]); unicode.IsUpper(r) && unicode.IsUpper(next) {
		return false // a label
	}
	return !isStopWord(strings.ToLower(word))
}

// lowerFirst lowers the first letter, except in names such as eBPF.
func lowerFirst(word string) string {
	if rest := word[1:]; rest == strings.ToLower(rest) {
		return strings.ToLower(word)
	}
	return word
}

// isStopWord reports whether word is a function word, or typical of instructions.
func isStopWord(word string) bool {
	switch word {
	case "about", "above", "after", "again", "against", "also", "among", "another", "answer", "answers", "apply",
		"array", "asked", "because", "been", "before", "being", "below", "between", "both", "brief", "cannot", "could",
		"confidence", "current", "describe", "distinct", "focus", "insight", "insights", "reason", "summarize", "synthesis", "synthesize", "does", "doing", "during", "each", "either", "else", "every", "exactly",
		"explain", "false", "few", "following", "format", "from", "further", "generate", "give", "given", "have",
		"having", "help", "here", "how", "into", "its", "itself", "json", "just", "know", "known", "less", "like",
		"list", "make", "many", "more", "most", "much", "must", "need", "none", "null", "number", "numbers", "object",
		"only", "other", "over", "please", "priority", "properties", "provide", "question", "questions", "reply",
		"respond", "return", "same", "schema", "should", "since", "some", "string", "such", "tell", "text", "than",
		"that", "their", "them", "then", "there", "these", "they", "thing", "things", "this", "those", "thought",
		"thoughts", "through", "true", "type", "under", "until", "upon", "used", "user", "using", "value", "very",
		"want", "were", "what", "when", "where", "whether", "which", "while", "whose", "will", "with", "within",
		"without", "would", "write", "your", "yours", "yourself", "assistant", "output", "input", "example",
		"line", "lines", "word", "words", "sentence", "sentences", "think", "thinking", "instructions", "original":
		return true
	}
	return false
}

func findNumbers(text string) (out []string) {
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, ".,;:?!()[]\"'")
		if isNumber(word) {
			out = append(out, word)
		}
		if len(out) == maxNumbers {
			break
		}
	}
	return out
}

// isNumber reports whether s is a JSON number of usual size.
func isNumber(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	whole, frac, dot := strings.Cut(digits, ".")
	if len(whole) == 0 || len(s) > 12 || len(whole) > 1 && whole[0] == '0' || dot && frac == "" {
		return false
	}
	return strings.Trim(whole+frac, "0123456789") == ""
}

// A passage is numbered source material.
type passage struct {
	label string // in brackets
	words []string
}

const maxPassages = 64

// findPassages finds lines such as "[3] text".
func findPassages(text string) (out []passage) {
	for len(out) < maxPassages {
		i := strings.IndexByte(text, '[')
		if i < 0 {
			return out
		}
		begins := strings.TrimRight(text[:i], " \t-*>") == "" || endsLine(text[:i])
		text = text[i+1:]
		label, rest, ok := strings.Cut(text[:min(len(text), 400)], "]")
		if !begins || !ok || !isNumbered(label) {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimLeft(rest, ": \n"), "\n")
		if words := strings.Fields(strings.ToValidUTF8(line, "")); len(words) > 0 {
			out = append(out, passage{label, words})
		}
	}
	return out
}

// endsLine ignores list marks.
func endsLine(s string) bool {
	s = strings.TrimRight(s, " \t-*>")
	return s == "" || s[len(s)-1] == '\n'
}

// isNumbered matches 3, S3 or doc-12.
func isNumbered(label string) bool {
	name := strings.TrimRight(label, "0123456789")
	if len(name) == len(label) || len(label)-len(name) > 3 || len(name) > 9 {
		return false
	}
	return strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz-_ ") == ""
}
