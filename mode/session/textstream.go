package session

import (
	"encoding/json"
	"strings"
	"unicode"

	"ponder/internal/textkit"
	"ponder/llm"
)

// TextStream extracts the displayable text from a streamed synthesis or answer, without reasoning,
// JSON and labels. It is a preview: the logged answer may be parsed more leniently or retried. The
// zero value is ready. The result does not depend on how the stream is cut.
type TextStream struct {
	pending string
	read    func(*TextStream) (string, bool) // parses rest: returns text and whether to continue; nil: readLine
	output  *llm.OutputReader                // skips reasoning
	open    bool                             // lines belong to the text
	inLine  bool                             // the start of the line is shown
	free    bool                             // lines without a label do too, as in a final answer
	held    string                           // blank lines and rules before more text
	written int
	ended   bool
}

const (
	maxUnread = maxAnswer // bytes of buffered input
	labelSpan = 64        // bytes at the start of a line that contain a label, if the line has one
)

// textNames are JSON names of the text, including common variants.
var textNames = map[string]bool{"synthesis": true, "answer": true, "synthesis_text": true, "final_answer": true}

// Add appends input and returns the new text.
func (w *TextStream) Add(piece string) string {
	if w.ended {
		return ""
	}
	if w.read == nil {
		w.read, w.output = (*TextStream).readLine, llm.NewOutputReader(llm.OutputConfig{Verbatim: true})
	}
	_, piece = w.output.Add(piece)
	return w.addText(piece)
}

func (w *TextStream) addText(piece string) string {
	w.pending += piece
	var shown strings.Builder
	for more := true; more && !w.ended; {
		var text string
		text, more = w.read(w)
		if room := maxAnswer - w.written; len(text) >= room {
			text, w.ended = textkit.Prefix(text, room), true
		}
		w.written += len(text)
		shown.WriteString(text)
	}
	if w.ended = w.ended || len(w.pending) > maxUnread; w.ended {
		w.pending = ""
	}
	return strings.Map(dropControl, shown.String())
}

func dropControl(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// readLine reads a line, or the start of JSON before any text.
func (w *TextStream) readLine() (text string, more bool) {
	if w.written == 0 && !w.open {
		start := strings.TrimLeft(w.pending, blanks)
		if fence, rest, ok := strings.Cut(start, "\n"); w.free && strings.HasPrefix(fence, "```") {
			if start = strings.TrimLeft(rest, blanks); !ok || start == "" {
				return "", false // JSON may follow
			}
		}
		if object, ok := strings.CutPrefix(start, "{"); ok {
			w.pending, w.read = object, (*TextStream).readMember
			return "", true
		}
	}
	line, rest, ok := strings.Cut(w.pending, "\n")
	if !ok {
		line = line[:textkit.WholeRunes(line)]
		if rest = w.pending[len(line):]; !w.inLine && (!w.free || len(line) <= labelSpan || strings.TrimSpace(line) == "" || isRuleLine(line)) {
			return "", false
		}
	}
	inLine := w.inLine
	if w.pending, w.inLine = rest, !ok; inLine {
		return line, ok
	}
	name, said, isLabel := summaryAnswer.Label(line)
	if i := strings.Index(line, said); !ok && i > 0 {
		said = line[i:] // with the blanks at its end
	}
	switch {
	case isLabel && name != "synthesis":
		w.ended = w.open
		return "", true
	case isLabel && !w.open:
		w.open = true
	case w.free && strings.TrimSpace(line) != "":
		w.open, said = true, line
	default:
		said = line
	}
	if !w.open || w.written == 0 && strings.TrimSpace(said) == "" {
		return "", true
	}
	if bare := strings.TrimSpace(said); w.free && (bare == "" || isRuleLine(bare)) {
		w.held += "\n" + said
		return "", true
	}
	if w.written > 0 {
		text = w.held + "\n"
	}
	w.held = ""
	return text + said, ok
}

// Close returns the rest of the text at the end of the stream.
func (w *TextStream) Close() string {
	if w.output == nil || w.ended {
		return ""
	}
	_, text := w.output.Close(false)
	shown := w.addText(text)
	if !w.free || w.pending == "" {
		return shown
	}
	return shown + w.addText("\n")
}

// readMember skips a JSON member, or the start of the text member.
func (w *TextStream) readMember() (string, bool) {
	const between = blanks + ",:"
	w.pending = strings.TrimLeft(w.pending, between)
	if w.ended = w.pending != "" && w.pending[0] != '"'; w.ended || w.pending == "" { // end of the object, or invalid JSON
		return "", false
	}
	name, n, ok := readString(w.pending[1:])
	if !ok {
		return "", false
	}
	value := strings.TrimLeft(w.pending[1+n:], between)
	switch {
	case value == "":
		return "", false
	case value[0] != '"':
		n = valueLen(value)
	case textNames[strings.ToLower(name)]:
		w.pending, w.read = value[1:], (*TextStream).readText
		return "", true
	default:
		if _, n, ok = readString(value[1:]); !ok {
			return "", false
		}
		n++
	}
	if w.ended = n < 0; n > 0 {
		w.pending = value[n:]
	}
	return "", n > 0
}

func (w *TextStream) readText() (text string, more bool) {
	text, n, end := readString(w.pending[:textkit.WholeRunes(w.pending)])
	w.pending, w.ended = w.pending[n:], end
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
