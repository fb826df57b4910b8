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

// maxYes is how long a message may be that is a plain yes, in bytes.
const maxYes = 120

// What a plain yes begins with, and what must not be in it.
const (
	yeses = "yes|y|yep|yeah|yup|sure|ok|okay|confirm|confirmed|approved|approve|agreed|correct|go ahead|do it|please do|sounds good|looks good|" +
		"ja|jawohl|genau|einverstanden|mach das|mach es|oui|d'accord|sí|sì|vale|claro|sim|va bene|はい|是|是的|好|好的|可以|да|давай"
	buts = "but|not|no|don't|dont|do not|never|except|without|instead|only|wait|stop|first|unless|if|change|rather|later|hold|cancel|" +
		"aber|nicht|nein|kein|keine|ohne|sondern|nur|erst|warte|statt|wenn|mais|pas|non|sauf|pero|sin|ma|mas|não|senza"
)

// yes reports whether a message is a yes and nothing but that: short, beginning with a
// word for it, without a question, a reserve or a number.
func yes(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) > maxYes || strings.ContainsAny(text, "?？¿\n") || strings.ContainsFunc(text, unicode.IsDigit) {
		return false
	}
	if strings.HasPrefix(text, "👍") || strings.HasPrefix(text, "✅") {
		return len(split(text)) == 0
	}
	words := split(text)
	said := " " + strings.Join(words, " ") + " "
	for but := range strings.SplitSeq(buts, "|") {
		if strings.Contains(said, " "+but+" ") {
			return false
		}
	}
	for word := range strings.SplitSeq(yeses, "|") {
		if strings.HasPrefix(said, " "+word+" ") {
			return true
		}
	}
	return false
}

// An arg is an argument of a call: a value, and the name that it stands under.
type arg struct{ key, value string }

// Bounds on arguments that can be confirmed.
const (
	maxArgs  = 100
	maxBytes = 64 << 10
)

var errNotArgs = errors.New("the arguments are no object, or too many")

// args returns the values of an object, in order: texts, numbers, true and false.
func args(js json.RawMessage) (list []arg, err error) {
	if len(js) > maxBytes || !json.Valid(js) || len(bytes.TrimSpace(js)) == 0 || bytes.TrimSpace(js)[0] != '{' {
		return nil, errNotArgs
	}
	d := json.NewDecoder(bytes.NewReader(js))
	d.UseNumber()
	r := reader{d: d}
	if err := r.value(""); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.list, nil
}

// A reader reads arguments.
type reader struct {
	d    *json.Decoder
	list []arg
}

// value reads a value that stands under a name.
func (r *reader) value(key string) error {
	tok, err := r.d.Token()
	if err != nil {
		return err
	}
	switch v := tok.(type) {
	case json.Delim:
		return r.inner(v, key)
	case string:
		return r.add(key, v)
	case json.Number:
		return r.add(key, v.String())
	case bool:
		if v {
			return r.add(key, "true")
		}
		return r.add(key, "false")
	}
	return nil // null is nothing
}

// inner reads an object or a list that has begun.
func (r *reader) inner(open json.Delim, key string) error {
	for r.d.More() {
		if open == '{' {
			name, err := r.d.Token()
			if err != nil {
				return err
			}
			key, _ = name.(string)
		}
		if err := r.value(key); err != nil {
			return err
		}
	}
	_, err := r.d.Token()
	return err
}

func (r *reader) add(key, value string) error {
	if len(r.list) == maxArgs {
		return errNotArgs
	}
	if value = spaced(value); value != "" {
		r.list = append(r.list, arg{key, value})
	}
	return nil
}

// spaced returns a text with all white space as single spaces.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// line returns a call as it is to be shown to a user.
func line(tool string, js json.RawMessage) string {
	list, err := args(js)
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

// names reports whether an answer names a tool and all arguments of a call: each
// value, letter by letter but for white space; where there are several, in their
// order, and each behind its name.
func names(t Tool, w Wish, answer string) bool {
	list, err := args(w.Args)
	if err != nil || !calls(t, answer) {
		return false
	}
	answer = spaced(answer)
	if len(list) == 1 {
		_, ok := find(answer, list[0].value, 0)
		return ok
	}
	at, before := 0, ""
	for _, a := range list {
		ok := false
		if a.key == before { // of a list
			at, ok = find(answer, a.value, at)
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

// calls reports whether an answer names a tool, in one of its words.
func calls(t Tool, answer string) bool {
	if named(answer, t.Name) {
		return true
	}
	said := split(answer)
	return slices.ContainsFunc(t.Words, func(word string) bool { return slices.Contains(said, word) })
}

// named reports whether a text has the name of a tool, which may be written with
// spaces.
func named(text, tool string) bool {
	text = strings.ToLower(text)
	tool = strings.ToLower(tool)
	if tool == "" {
		return false
	}
	_, ok := find(text, tool, 0)
	if !ok {
		_, ok = find(spaced(text), strings.ReplaceAll(tool, "_", " "), 0)
	}
	return ok
}

// find returns where a value ends that stands by itself in a text, from at on: not
// as a part of a longer word, number, path or address.
func find(text, value string, at int) (end int, ok bool) {
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

// findPair is find for a value behind its name.
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

// indexFold returns where a name begins, from at on: as it is, or with spaces.
func indexFold(text, name string, at int) int {
	if name == "" {
		return -1
	}
	for i := at; i+len(name) <= len(text); i++ {
		if same(text[i:i+len(name)], name) {
			return i
		}
	}
	return -1
}

// same reports whether a text is a name but for case, and for spaces that are
// underscores there.
func same(text, name string) bool {
	for i := range len(name) {
		a, b := lowered(text[i]), lowered(name[i])
		if a != b && (b != '_' || a != ' ') {
			return false
		}
	}
	return true
}

func lowered(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// joiners stand within words, paths, numbers and addresses.
const joiners = "-._/@+\\#~"

func joinedBefore(text string, i int) bool {
	if i == 0 {
		return false
	}
	r := []rune(text[max(0, i-4):i])
	c := r[len(r)-1]
	return letter(c) || strings.ContainsRune(joiners, c)
}

func joinedAfter(text string, i int) bool {
	if i >= len(text) {
		return false
	}
	r := []rune(text[i:min(len(text), i+8)])
	if letter(r[0]) {
		return true
	}
	return strings.ContainsRune(joiners+",:", r[0]) && len(r) > 1 && (letter(r[1]) || strings.ContainsRune(joiners, r[1]))
}

// letter reports whether a rune is of a word or a number.
func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
