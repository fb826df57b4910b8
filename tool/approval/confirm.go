package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
)

// maxYes limits the length of a plain yes, in bytes.
const maxYes = 120

// The words that start a plain yes, and the words that it must not contain.
const (
	yesWords = "yes|y|yep|yeah|yup|sure|ok|okay|confirm|confirmed|approved|approve|agreed|correct|go ahead|do it|please do|sounds good|looks good|" +
		"ja|jawohl|genau|einverstanden|mach das|mach es|oui|d'accord|sí|sì|vale|claro|sim|va bene|はい|是|是的|好|好的|可以|да|давай"
	butWords = "but|not|no|don't|dont|do not|never|except|without|instead|only|wait|stop|first|unless|if|change|rather|later|hold|cancel|" +
		"aber|nicht|nein|kein|keine|ohne|sondern|nur|erst|warte|statt|wenn|mais|pas|non|sauf|pero|sin|ma|mas|não|senza"
)

// isYes reports whether a message is a plain yes. It must be short, start with a word for
// yes, and contain no question, reservation or number.
func isYes(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) > maxYes || strings.ContainsAny(text, "?？¿\n") || strings.ContainsFunc(text, unicode.IsDigit) {
		return false
	}
	if strings.HasPrefix(text, "👍") || strings.HasPrefix(text, "✅") {
		return len(splitWords(text)) == 0
	}
	words := splitWords(text)
	joined := " " + strings.Join(words, " ") + " "
	for but := range strings.SplitSeq(butWords, "|") {
		if strings.Contains(joined, " "+but+" ") {
			return false
		}
	}
	for word := range strings.SplitSeq(yesWords, "|") {
		if strings.HasPrefix(joined, " "+word+" ") {
			return true
		}
	}
	return false
}

// An arg is an argument of a call: a scalar value and its key.
type arg struct{ key, value string }

// Limits on arguments that can be confirmed.
const (
	maxArgs  = 100
	maxBytes = 64 << 10
)

var errNotArgs = errors.New("the arguments are no object, or too many")

// parseArgs returns the scalar values of a JSON object, in order.
func parseArgs(js json.RawMessage) (list []arg, err error) {
	if len(js) > maxBytes || !json.Valid(js) || len(bytes.TrimSpace(js)) == 0 || bytes.TrimSpace(js)[0] != '{' {
		return nil, errNotArgs
	}
	d := json.NewDecoder(bytes.NewReader(js))
	d.UseNumber()
	r := reader{d: d}
	if err := r.readValue(""); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.list, nil
}

type reader struct {
	d    *json.Decoder
	list []arg
}

// readValue reads a value with the given key.
func (r *reader) readValue(key string) error {
	tok, err := r.d.Token()
	if err != nil {
		return err
	}
	switch v := tok.(type) {
	case json.Delim:
		return r.readRest(v, key)
	case string:
		return r.addArg(key, v)
	case json.Number:
		return r.addArg(key, v.String())
	case bool:
		if v {
			return r.addArg(key, "true")
		}
		return r.addArg(key, "false")
	}
	return nil // null is ignored
}

// readRest reads the rest of an object or a list.
func (r *reader) readRest(open json.Delim, key string) error {
	for r.d.More() {
		if open == '{' {
			name, err := r.d.Token()
			if err != nil {
				return err
			}
			key, _ = name.(string)
		}
		if err := r.readValue(key); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

func (r *reader) addArg(key, value string) error {
	if len(r.list) == maxArgs {
		return errNotArgs
	}
	if value = collapseSpace(value); value != "" {
		r.list = append(r.list, arg{key, value})
	}
	return nil
}

// collapseSpace returns a text with single spaces for all white space.
func collapseSpace(text string) string { return strings.Join(strings.Fields(text), " ") }

// callText returns a call in the form for users.
func callText(tool string, js json.RawMessage) string {
	list, err := parseArgs(js)
	if err != nil {
		return tool + " with arguments that are a JSON object"
	}
	var parts []string
	for _, a := range list {
		parts = append(parts, a.key+": "+a.value)
	}
	if len(parts) == 0 {
		return tool
	}
	return tool + " with " + strings.Join(parts, "; ")
}

// namesCall reports whether an answer names the tool and all arguments of a call. Each value
// must appear literally, except for white space. Several values must appear in order, each
// after its key.
func namesCall(t Tool, w Request, answer string) bool {
	list, err := parseArgs(w.Args)
	if err != nil || !mentionsTool(t, answer) {
		return false
	}
	answer = collapseSpace(answer)
	if len(list) == 1 {
		_, ok := findValue(answer, list[0].value, 0)
		return ok
	}
	at, before := 0, ""
	for _, a := range list {
		ok := false
		if a.key == before { // an element of a list
			at, ok = findValue(answer, a.value, at)
		} else {
			at, ok = findPair(answer, a, at)
		}
		if !ok {
			return false
		}
		before = a.key
	}
	return true
}

// mentionsTool reports whether an answer names a tool by one of its words.
func mentionsTool(t Tool, answer string) bool {
	if namesTool(answer, t.Name) {
		return true
	}
	words := splitWords(answer)
	return slices.ContainsFunc(t.Words, func(word string) bool { return slices.Contains(words, word) })
}

// namesTool reports whether a text contains the name of a tool, possibly with spaces.
func namesTool(text, tool string) bool {
	text = strings.ToLower(text)
	tool = strings.ToLower(tool)
	if tool == "" {
		return false
	}
	_, ok := findValue(text, tool, 0)
	if !ok {
		_, ok = findValue(collapseSpace(text), strings.ReplaceAll(tool, "_", " "), 0)
	}
	return ok
}

// findValue returns the end of the first occurrence of a value after at that is not part of a
// longer word, number, path or address.
func findValue(text, value string, at int) (end int, ok bool) {
	for {
		i := strings.Index(text[at:], value)
		if i < 0 {
			return 0, false
		}
		from := at + i
		end = from + len(value)
		if !joinedBefore(text, from) && !joinedAfter(text, end) {
			return end, true
		}
		at = end
	}
}

// findPair is find for a value after its key.
func findPair(text string, a arg, at int) (end int, ok bool) {
	for {
		i := indexFold(text, a.key, at)
		if i < 0 {
			return 0, false
		}
		at = i + len(a.key)
		rest := text[at:]
		value := strings.TrimLeft(rest, " :=*`\"'“”_([")
		skipped := len(rest) - len(value)
		if !joinedBefore(text, i) && skipped > 0 && skipped <= 8 && strings.HasPrefix(value, a.value) && !joinedAfter(text, at+skipped+len(a.value)) {
			return at + skipped + len(a.value), true
		}
	}
}

// indexFold returns the position of a name after at, as equalName compares it, or -1.
func indexFold(text, name string, at int) int {
	if name == "" {
		return -1
	}
	for i := at; i+len(name) <= len(text); i++ {
		if equalName(text[i:i+len(name)], name) {
			return i
		}
	}
	return -1
}

// equalName reports whether a text equals a name, apart from case and spaces in place of
// underscores.
func equalName(text, name string) bool {
	for i := range len(name) {
		a, b := lowerByte(text[i]), lowerByte(name[i])
		if a != b && (b != '_' || a != ' ') {
			return false
		}
	}
	return true
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// joiners are characters within words, paths, numbers and addresses.
const joiners = "-._/@+\\#~"

func joinedBefore(text string, i int) bool {
	if i == 0 {
		return false
	}
	r := []rune(text[max(0, i-4):i])
	c := r[len(r)-1]
	return isWordRune(c) || strings.ContainsRune(joiners, c)
}

func joinedAfter(text string, i int) bool {
	if i >= len(text) {
		return false
	}
	r := []rune(text[i:min(len(text), i+8)])
	if isWordRune(r[0]) {
		return true
	}
	return strings.ContainsRune(joiners+",:", r[0]) && len(r) > 1 && (isWordRune(r[1]) || strings.ContainsRune(joiners, r[1]))
}

// isWordRune reports whether a rune is part of a word or a number.
func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
