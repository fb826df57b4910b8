package session

import (
	"encoding/json"
	"strings"
	"unicode"

	"ponder/internal/textkit"
	"ponder/llm"
)

// Writing extracts the displayable text from a streamed synthesis or answer, without reasoning,
// JSON and labels. It is a preview: the logged answer may be parsed more leniently or retried. The
// zero value is ready. The result does not depend on how the stream is cut.
type Writing struct {
	rest  string
	read  func(*Writing) (string, bool) // parses rest: returns text and whether to continue; nil: readStart
	aside string                        // end mark of skipped reasoning; see [llm.Aside]
	open  bool                          // lines belong to the text
	wrote int
	over  bool
}

// maxUnread is the maximum size of buffered input in bytes.
const maxUnread = maxAnswer

// textNames are JSON names of the text, including common variants.
var textNames = map[string]bool{"synthesis": true, "answer": true, "synthesis_text": true, "final_answer": true}

// Add appends input and returns the new text.
func (w *Writing) Add(piece string) string {
	if w.over {
		return ""
	}
	if w.read == nil {
		w.read = (*Writing).readStart
	}
	w.rest += piece
	var shown strings.Builder
	for more := true; more && !w.over; {
		var text string
		text, more = w.read(w)
		if room := maxAnswer - w.wrote; len(text) >= room {
			text, w.over = textkit.Prefix(text, room), true
		}
		w.wrote += len(text)
		shown.WriteString(text)
	}
	if w.over = w.over || len(w.rest) > maxUnread; w.over {
		w.rest = ""
	}
	return strings.Map(printable, shown.String())
}

func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

func (w *Writing) readStart() (string, bool) {
	w.rest = strings.TrimLeft(w.rest, blanks)
	end, more := llm.Aside(w.rest)
	switch {
	case end != "":
		w.aside, w.read = end, (*Writing).readAside
	case !more:
		w.read = (*Writing).readLine
	}
	return "", end != "" || !more
}

func (w *Writing) readAside() (string, bool) {
	i := strings.Index(w.rest, w.aside)
	if i < 0 { // keep a possible start of the end mark
		w.rest = w.rest[max(0, len(w.rest)-len(w.aside)+1):]
		return "", false
	}
	w.rest, w.read = w.rest[i+len(w.aside):], (*Writing).readStart
	return "", true
}

// readLine reads a line, or the start of JSON before any text.
func (w *Writing) readLine() (text string, more bool) {
	if object, ok := strings.CutPrefix(strings.TrimLeft(w.rest, blanks), "{"); ok && w.wrote == 0 && !w.open {
		w.rest, w.read = object, (*Writing).readMember
		return "", true
	}
	line, rest, ok := strings.Cut(w.rest, "\n")
	if !ok {
		return "", false
	}
	w.rest = rest
	name, said, isLabel := summaryAnswer.Label(line)
	switch {
	case isLabel && name != "synthesis":
		w.over = w.open
		return "", true
	case isLabel && !w.open:
		w.open = true
	default:
		said = line
	}
	if !w.open || w.over || w.wrote == 0 && strings.TrimSpace(said) == "" {
		return "", true
	}
	if w.wrote > 0 {
		text = "\n"
	}
	text += said
	return text, true
}

// readMember skips a JSON member, or the start of the text member.
func (w *Writing) readMember() (string, bool) {
	const between = blanks + ",:"
	w.rest = strings.TrimLeft(w.rest, between)
	if w.over = w.rest != "" && w.rest[0] != '"'; w.over || w.rest == "" { // end of the object, or invalid JSON
		return "", false
	}
	name, n, ok := readString(w.rest[1:])
	if !ok {
		return "", false
	}
	value := strings.TrimLeft(w.rest[1+n:], between)
	switch {
	case value == "":
		return "", false
	case value[0] != '"':
		n = valueLen(value)
	case textNames[strings.ToLower(name)]:
		w.rest, w.read = value[1:], (*Writing).readText
		return "", true
	default:
		if _, n, ok = readString(value[1:]); !ok {
			return "", false
		}
		n++
	}
	if w.over = n < 0; n > 0 {
		w.rest = value[n:]
	}
	return "", n > 0
}

func (w *Writing) readText() (text string, more bool) {
	text, n, end := readString(w.rest[:textkit.WholeRunes(w.rest)])
	w.rest, w.over = w.rest[n:], end
	return text, false
}

const blanks = " \n\t\r"

// valueLen returns the length of a JSON value other than a string, up to the next comma: 0 if
// incomplete, -1 if the object ends.
func valueLen(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			if depth--; depth < 0 {
				return -1
			}
		case c == ',' && depth == 0:
			return i
		}
	}
	return 0
}

// readString decodes a JSON string after its opening quote. It returns the bytes consumed, up to
// the closing quote or an incomplete escape.
func readString(raw string) (text string, n int, end bool) {
	var b strings.Builder
	for n < len(raw) {
		size := strings.IndexAny(raw[n:], `"\`)
		switch {
		case size < 0:
			size = len(raw) - n
			fallthrough
		case size > 0:
			b.WriteString(raw[n : n+size])
		case raw[n] == '"':
			return b.String(), n + 1, true
		default:
			if size = escapeLen(raw[n:]); size == 0 {
				return b.String(), n, false
			}
			var char string
			if json.Unmarshal([]byte(`"`+raw[n:n+size]+`"`), &char) != nil {
				char = raw[n+1 : n+size] // an escaped literal
			}
			b.WriteString(char)
		}
		n += size
	}
	return b.String(), n, false
}

// escapeLen returns the length of the escape sequence at the start of text, including both
// surrogates; 0 if incomplete.
func escapeLen(text string) int {
	half := func(at int, kinds string) bool { // as in \ud83d\ude00
		return len(text) >= at+6 && text[at] == '\\' && (text[at+1] == 'u') && (text[at+2] == 'd' || text[at+2] == 'D') && strings.IndexByte(kinds, text[at+3]) >= 0
	}
	switch {
	case len(text) < 2:
		return 0
	case text[1] != 'u':
		return 2
	case len(text) < 6:
		return 0
	case !half(0, "89abAB"):
		return 6
	case half(6, "cdefCDEF"):
		return 12
	case len(text) < 12 && strings.HasPrefix(`\u`, text[6:min(len(text), 8)]):
		return 0
	}
	return 6
}
