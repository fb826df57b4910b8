package approval

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxStatement limits a statement to remember, in bytes.
const maxStatement = 4 << 10

// Words that ask to remember something, and words that may stand around them.
var (
	rememberWords = []string{"remember", "note", "keep", "save", "memorize", "memorise", "merke", "merk", "notiere", "retiens", "recuerda", "ricorda"}
	politeWords   = []string{"please", "and", "now", "also", "ok", "okay", "yes", "can", "could", "you", "bitte", "ja", "und", "s'il", "te", "plaît", "por", "favor"}
	questionWords = []string{"what", "how", "who", "when", "where", "why", "which", "whose", "whatever", "everything", "all", "was", "wie", "wer", "wann", "wo", "warum", "welche", "alles", "ce", "quoi", "comment", "lo", "cosa"}
	linkWords     = []string{"that", "this", "down", "in", "mind", "the", "fact", "dir", "dass", "daß", "que", "che", "for", "me"}
)

// ownStatement returns the arguments that store the statement in the message of the user, or nil
// if the message does not ask for that. Then no word of a model is stored: the text is the user's
// own, and the title and tags are left out unless the user wrote them.
func ownStatement(r Request) json.RawMessage {
	if len(r.Turns) == 0 {
		return nil
	}
	statement, ok := statementIn(r.Turns[len(r.Turns)-1].User)
	if !ok || !r.View.OverlapsMessage(textOf(r.Args, "text")) {
		return nil
	}
	var in struct {
		Kind string   `json:"kind,omitempty"`
		Tags []string `json:"tags,omitempty"`
		Date string   `json:"date,omitempty"`
		Text string   `json:"text"`
	}
	if json.Unmarshal(r.Args, &in) != nil {
		return nil
	}
	in.Text = statement
	in.Tags = slices.DeleteFunc(in.Tags, func(tag string) bool { return !r.View.IsReturned(tag) })
	if len(in.Date) > len("2006-01-02T15:04:05+00:00") {
		in.Date = ""
	}
	args, err := json.Marshal(in)
	if err != nil {
		return nil
	}
	return args
}

// markUntrusted returns the arguments of a memory with a mark if the model has read untrusted text.
// A mark of the model itself is removed.
func markUntrusted(r Request) json.RawMessage {
	var in map[string]json.RawMessage
	if json.Unmarshal(r.Args, &in) != nil || in == nil {
		return nil
	}
	delete(in, "untrusted")
	if r.View.IsTainted() {
		in["untrusted"] = json.RawMessage("true")
	}
	args, err := json.Marshal(in)
	if err != nil {
		return nil
	}
	return args
}

// statementIn returns the statement in a message that asks to remember it: the message without
// the words of the request.
func statementIn(message string) (statement string, ok bool) {
	rest := strings.TrimSpace(message)
	if len(rest) > maxStatement || strings.ContainsRune(rest, '?') {
		return "", false
	}
	for range 4 {
		word, after := cutWord(rest)
		if slices.Contains(rememberWords, word) {
			rest, ok = after, true
			break
		}
		if !slices.Contains(politeWords, word) {
			return "", false
		}
		rest = after
	}
	for ok {
		word, after := cutWord(rest)
		if !slices.Contains(linkWords, word) || after == "" {
			break
		}
		if rest = after; strings.HasPrefix(rest, ":") {
			break
		}
	}
	rest = strings.TrimSpace(strings.TrimLeft(rest, " ,:;–—-"))
	if first, _ := cutWord(rest); !ok || len(strings.Fields(rest)) < 2 || slices.Contains(questionWords, first) {
		return "", false // "what the page says" is no statement of the user
	}
	first, size := utf8.DecodeRuneInString(rest)
	return string(unicode.ToUpper(first)) + rest[size:], true
}

// cutWord cuts the first word of a text, in lower case.
func cutWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t\r\n,")
	end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' })
	if end < 0 {
		end = len(text)
	}
	return strings.ReplaceAll(strings.ToLower(text[:end]), "’", "'"), strings.TrimLeft(text[end:], " \t\r\n,")
}
