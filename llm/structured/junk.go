package structured

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Validator rejects texts that say nothing of their own, as small models write them. It
// knows the prompts, which such models copy. It is safe for concurrent use.
type Validator struct {
	prompts []string        // in the form of joinWords
	holders map[string]bool // placeholders and lines of the prompts
	grams   map[string]bool
	tags    map[string]bool // of the prompts, such as "question"
	members map[string]bool // of the JSON in the prompts
}

const (
	gramWords   = 4
	minEcho     = 4   // words; fewer may be in a prompt by chance
	echoShare   = 0.8 // of the words that are in such grams of the prompts
	minCJK      = 4   // letters of a text without spaces
	maxBracket  = 8   // words of a placeholder
	maxEchoText = 2000
)

// reaskWords are the words of [llm.Reask].
const reaskWords = "That answer cannot be used. Answer again, with one JSON value of this form and nothing else."

// NewValidator returns a Validator for answers to prompts, which may include schemas.
func NewValidator(prompts ...string) *Validator {
	prompts = append(slices.Clip(prompts), reaskWords)
	v := &Validator{grams: make(map[string]bool), holders: make(map[string]bool), tags: make(map[string]bool), members: make(map[string]bool)}
	for _, p := range prompts {
		words := splitWords(p)
		v.prompts = append(v.prompts, joinWords(words))
		for _, m := range placeholder.FindAllString(p, -1) {
			v.holders[joinWords(splitWords(m))] = true
		}
		for _, m := range tagName.FindAllStringSubmatch(p, -1) {
			v.tags[m[1]] = true
		}
		for _, m := range memberName.FindAllStringSubmatch(p, -1) {
			v.members[m[1]] = true
		}
		for line := range strings.Lines(p) {
			v.holders[joinWords(splitWords(line))] = true
		}
		for i := 0; i+gramWords <= len(words); i++ {
			v.grams[joinWords(words[i:i+gramWords])] = true
		}
	}
	return v
}

// Fault returns why a text is no thought on a question and no new question, or "".
func (v *Validator) Fault(text, question string) string {
	words := splitWords(text)
	if echo := v.echoFault(text, words); echo != "" {
		return echo
	}
	switch {
	case (len(words) < 2 || len(strings.Fields(text)) < 2) && !hasUnspaced(text) && !isSentence(text, words[0]):
		return "it is a single word"
	case v.IsQuestion(text, question):
		return "it only repeats the question"
	}
	return ""
}

// IsQuestion reports whether a text is only the question, perhaps with labels such as "The question
// is:".
func (v *Validator) IsQuestion(text, question string) bool {
	asked := splitWords(question)
	said := joinWords(splitWords(text))
	before, after, ok := strings.Cut(said, joinWords(asked))
	if !ok && len(asked) > 2 && slices.Contains([]string{"the", "a", "an"}, asked[0]) {
		before, after, ok = strings.Cut(said, joinWords(asked[1:]))
	}
	return ok && len(asked) > 0 && isOnlyLabels(strings.Fields(before+" "+after))
}

// labelWords are words of prompts and labels, which say nothing alone.
var labelWords = newWordSet("the a an is are to of my your this that user s original current main focus question questions answer answers final thought thoughts insight critique connection " +
	"exploration synthesis type kind confidence importance json format response output")

func newWordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		set[w] = true
	}
	return set
}

var passageID = regexp.MustCompile(`^[eq]\d+$`)

func isOnlyLabels(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !labelWords[w] && !passageID.MatchString(w) })
}

// frameLine matches a line that frames a text: a tag, or a placeholder.
var frameLine = regexp.MustCompile(`^(?:</?[A-Za-z][A-Za-z_ -]*>|\[[^\]]*\])$`)

// hasOnlyFrames reports whether no line of text says anything: all are labels, tags and
// placeholders.
func hasOnlyFrames(text string) bool {
	for line := range strings.Lines(text) {
		bare := strings.Trim(line, " \t\r\n*_#>-")
		if isLabel := strings.HasSuffix(bare, ":") && isOnlyLabels(splitWords(bare)); bare != "" && !isLabel && !frameLine.MatchString(strings.TrimSpace(line)) {
			return false
		}
	}
	return true
}

// EchoFault returns why a text has no words of its own, or "": it is empty, a fragment of
// JSON, a placeholder or a part of the prompts. A single word is no fault.
func (v *Validator) EchoFault(text string) string { return v.echoFault(text, splitWords(text)) }

func (v *Validator) echoFault(text string, words []string) string {
	switch {
	case !HasContent(text) || len(words) == 0:
		return "it is empty"
	case isFragment(text), v.isMember(text):
		return "it is a fragment of JSON"
	case len(words) > 1 && isOnlyLabels(words):
		return "it has only labels"
	case isPlaceholder(text, len(words)):
		return "it is a placeholder"
	case isPassageLabel(text):
		return "it is the label of a passage"
	case hasOnlyFrames(text):
		return "it has only labels and placeholders"
	case len(text) <= maxEchoText && v.isEcho(words):
		return "it repeats words of the prompt"
	}
	return ""
}

// isEcho reports whether words are in the prompts as they are, or nearly so.
func (v *Validator) isEcho(words []string) bool {
	said := joinWords(words)
	if v.holders[said] {
		return true
	}
	if len(words) < minEcho {
		return false
	}
	if v.grams[joinWords(words[:gramWords])] && v.isInPrompt(said) {
		return true
	}
	covered, end := 0, 0
	for i := 0; i+gramWords <= len(words); i++ {
		if v.grams[joinWords(words[i:i+gramWords])] {
			covered += i + gramWords - max(i, end)
			end = i + gramWords
		}
	}
	return float64(covered) >= echoShare*float64(len(words))
}

// DropPrefixes returns the texts without those with which a later or an earlier one begins, and
// without those that differ from an earlier one only in ids and marks. It keeps the order.
func DropPrefixes[E any](list []E, textOf func(E) string) (kept []E) {
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = repeatKey(textOf(e))
	}
	for i, e := range list {
		drop := false
		for j := range list {
			if i != j && strings.HasPrefix(words[j], words[i]) && (words[i] != words[j] || j < i) {
				drop = true
				break
			}
		}
		if !drop {
			kept = append(kept, e)
		}
	}
	return kept
}

// splitWords returns the words in lower case. A mark alone is no word.
func splitWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// joinWords returns the words with a blank before each and one at the end.
func joinWords(words []string) string { return " " + strings.Join(words, " ") + " " }

// hasUnspaced reports whether text is long enough to be a sentence of a script without spaces.
func hasUnspaced(text string) bool {
	n := 0
	for _, r := range text {
		if r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) {
			n++
		}
	}
	return n >= minCJK
}

// loneWords are single words that are no sentence, even with a full stop.
const loneWords = " a an the and or but of to in on at by for with from as is are was be it its this that these those there here i you he she we they " +
	"exploration critique connection insight question synthesis thought type confidence importance answer summary none yes no true false null "

// isSentence reports whether a text of one word is a sentence.
func isSentence(text, word string) bool {
	text = strings.TrimRight(text, " \t\r\n\"”’')*_")
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(".!?…。！？।॥؟۔", last) && !strings.Contains(loneWords, " "+word+" ")
}

var (
	jsonMember  = regexp.MustCompile(`^[\s,{\[}\]]*["'“]?[A-Za-z_ ]{1,40}["'”]\s*:\s*["'\[{\d]`)
	placeholder = regexp.MustCompile(`\[[^\]\n]{1,100}\]`)
	onlySigns   = regexp.MustCompile(`^[\s{}\[\]",:]*$`)
)

// isFragment reports whether a text begins like a part of a JSON value.
func isFragment(text string) bool {
	return IsJSON(text) || jsonMember.MatchString(text) || onlySigns.MatchString(text)
}

// isPlaceholder reports whether a text of some words is all in brackets, such as "[your thought]", of which the
// end may be cut.
func isPlaceholder(text string, words int) bool {
	text = strings.Trim(text, " \t\r\n.*_`\"")
	if len(text) < 2 || words > maxBracket {
		return false
	}
	closer := map[byte]string{'[': "]", '<': ">"}[text[0]]
	if closer == "" || strings.Count(text, text[:1]) > 1 {
		return false
	}
	at := strings.Index(text, closer)
	return at == len(text)-1 || at < 0 && closer == "]" // "< 5 ms" is an answer
}
