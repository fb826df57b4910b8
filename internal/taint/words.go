package taint

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ponder/internal/textkit/lexical"
)

// listWords returns the words of a text, without case and accents. In scripts without spaces, each
// pair of letters is a word.
func listWords(text string) (list []string) {
	lexical.Tokens(text, func(t lexical.Token) { list = append(list, lexical.Fold(text[t.Start:t.End])) })
	return list
}

func wordSet(texts ...string) map[string]bool {
	set := make(map[string]bool)
	for _, text := range texts {
		for _, w := range listWords(text) {
			set[w] = true
		}
	}
	return set
}

// splitQuestions splits a message of a user into its questions and its statements. A question ends
// with a question mark.
func splitQuestions(text string) (questions, statements []string) {
	start := 0
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		switch r {
		case '?', '？', '؟', '\u037e':
			questions = append(questions, text[start:i])
			start = next
		case '.', '!', '。', '！', '\n':
			if rest := text[next:]; r < utf8.RuneSelf && r != '\n' && rest != "" && !strings.ContainsAny(rest[:1], " \t\r\n") {
				continue // "1.26"
			}
			statements = append(statements, text[start:i])
			start = next
		}
	}
	return questions, append(statements, text[start:])
}

// A wordFilter finds words that only private texts have.
type wordFilter struct {
	known   map[string]bool // words that strangers know or that the user asked about
	private map[string]bool // words of private texts
	exact   map[string]bool // of them, parts of tokens like secrets
}

// Shortest words that are found inside other text, in characters.
const (
	minHidden       = 4
	minHiddenNumber = 3
)

func (v View) newFilter() wordFilter {
	questions, statements := splitQuestions(v.Message)
	asked, public := wordSet(questions...), wordSet(append(slices.Clip(v.Public), v.Words...)...)
	f := wordFilter{known: wordSet(v.Message), private: wordSet(v.Private...), exact: make(map[string]bool)}
	for w := range public {
		f.known[w] = true
	}
	for _, m := range v.Earlier {
		questions, statements := splitQuestions(m)
		for w := range wordSet(questions...) {
			f.known[w] = true
		}
		for w := range wordSet(statements...) {
			f.private[w] = true
		}
	}
	for _, text := range append(statements, v.Earlier...) {
		for token := range strings.FieldsSeq(text) {
			if !isSecretLike(token) {
				continue
			}
			for _, w := range listWords(token) {
				if !public[w] && !asked[w] {
					f.private[w], f.exact[w], f.known[w] = true, true, false
				}
			}
		}
	}
	return f
}

// stems finds other forms of words: recovery, if recover is known. The keys are the first letters of
// words, the values their lengths.
type stems map[string][]int

const (
	stemLength   = 5 // characters that both forms begin with
	maxExtension = 3 // by which one form may be longer
)

func newStems(known map[string]bool) stems {
	s := make(stems)
	for w, ok := range known {
		if r := []rune(w); ok && len(r) >= stemLength && !hasDigit(w) {
			s[string(r[:stemLength])] = append(s[string(r[:stemLength])], len(r))
		}
	}
	return s
}

func (s stems) has(word string) bool {
	r := []rune(word)
	return len(r) >= stemLength && !hasDigit(word) && slices.ContainsFunc(s[string(r[:stemLength])], func(n int) bool {
		return max(n-len(r), len(r)-n) <= maxExtension
	})
}

// markPrivate reports for each token of a text whether it may carry private text: a word, forwards
// or backwards, also in pieces over several tokens, or a token that looks like a secret.
func (f wordFilter) markPrivate(tokens []string) []bool {
	var found []string // words
	var of []int       // token of each word
	for i, token := range tokens {
		for _, w := range listWords(token) {
			found, of = append(found, w), append(of, i)
		}
	}
	marks, stems := make([]bool, len(tokens)), newStems(f.known)
	for i, hidden := range f.findHidden(found) {
		w := found[i]
		switch {
		case f.known[w], isYear(w), stems.has(w) && !f.exact[w]:
		case hidden, isSecretLike(w), isSecretLike(tokens[of[i]]):
			marks[of[i]] = true
		case utf8.RuneCountInString(w) >= 3 || hasDigit(w) || isUnspaced(w):
			marks[of[i]] = marks[of[i]] || f.private[w] || f.private[reverse(w)]
		}
	}
	return marks
}

// findHidden reports for each word whether private words cover most of it. The words are read as one
// text, so that "s w o r d" is found, and "swords".
func (f wordFilter) findHidden(list []string) []bool {
	text := strings.Join(list, "")
	covered := make([]bool, len(text))
	backwards := reverse(text)
	for w := range f.private {
		n := utf8.RuneCountInString(w)
		if f.known[w] || n < 2 || !isUnspaced(w) && n < minHidden && (n < minHiddenNumber || !hasDigit(w)) {
			continue
		}
		for i := range findAll(text, w) {
			markAll(covered[i : i+len(w)])
		}
		for i := range findAll(backwards, w) {
			markAll(covered[len(text)-i-len(w) : len(text)-i])
		}
	}
	hidden, start := make([]bool, len(list)), 0
	for i, w := range list {
		n := 0
		for _, c := range covered[start : start+len(w)] {
			if c {
				n++
			}
		}
		hidden[i], start = 5*n >= 4*len(w), start+len(w)
	}
	return hidden
}

// findAll returns the positions of a part in a text.
func findAll(text, part string) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for from := 0; ; {
			i := strings.Index(text[from:], part)
			if i < 0 || !yield(from+i) {
				return
			}
			from += i + 1
		}
	}
}

func markAll(list []bool) {
	for i := range list {
		list[i] = true
	}
}

// isSecretLike reports whether a token looks like a password, a key, or the number of a card or an
// account: it has four digits and is no year, it mixes letters and digits in at least six
// characters, it is longer than words are, or it is an address of a person. Letters of scripts without
// spaces do not count, because numbers stand among them.
func isSecretLike(token string) bool {
	token = strings.Trim(token, ".,;:!?()[]{}\"'“”„*_`<>")
	digits, letters := 0, 0
	for _, r := range token {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r) && !lexical.Unspaced(r):
			letters++
		}
	}
	if isYear(token) {
		return false
	}
	return digits >= 4 || digits > 0 && letters > 0 && digits+letters >= 6 || letters > maxLetters || strings.Contains(token, "@")
}

func isYear(word string) bool {
	return len(word) == 4 && word >= "1500" && word < "2100" && strings.Trim(word, "0123456789") == ""
}

func isUnspaced(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return lexical.Unspaced(r)
}

func reverse(word string) string {
	r := []rune(word)
	slices.Reverse(r)
	return string(r)
}

func hasDigit(word string) bool { return strings.ContainsFunc(word, unicode.IsDigit) }

func countLetters(text string) (n int) {
	for _, w := range listWords(text) {
		n += utf8.RuneCountInString(w)
	}
	return n
}
