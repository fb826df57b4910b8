package session

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"ponder/llm"
)

// A Writing takes in what a model writes for a synthesis or the answer, piece by piece, and
// gives out what of it is for the user, as soon as that is known: the text, without the
// reasoning before it and the JSON or the labels around it. It is a preview: what the log has in the end may be read
// more patiently, and be asked for again. The zero Writing has heard nothing. It is the
// same however the pieces are cut.
type Writing struct {
	do   func(*Writing, byte) // what takes the next byte; nil: firstByte
	over bool                 // nothing more will be given out

	aside string // the end of what is passed over: see [llm.Aside]
	line  []byte // that is not whole yet
	wrote int    // bytes of the text that were given out or wait
	open  bool   // lines belong to the text
	text  []byte // that waits to be given out

	name    []byte // of the member
	isName  bool   // the string that is read is a name
	isText  bool   // or the text
	depth   int    // of values that are passed over
	quoted  bool   // in a string in them
	escaped bool   // behind a backslash in it
	jsonString
}

// maxName is how long the name of a member may be that is looked at, in bytes.
const maxName = 64

// textNames are the names of the text in JSON, as the prompts have them or as they are
// often misread.
var textNames = map[string]bool{"synthesis": true, "answer": true, "synthesis_text": true, "final_answer": true}

// Add takes in a piece, and returns what it adds to the text.
func (w *Writing) Add(piece string) string {
	for i := 0; i < len(piece) && !w.over; i++ {
		if w.do == nil {
			w.do = (*Writing).firstByte
		}
		w.do(w, piece[i])
	}
	n := len(w.text)
	for back := 1; back < utf8.UTFMax && back <= n && !w.over; back++ { // the last letter may not be whole
		if tail := w.text[n-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				n -= back
			}
			break
		}
	}
	said := strings.Map(shown, string(w.text[:n]))
	w.text = append(w.text[:0], w.text[n:]...)
	return said
}

// shown drops what controls a terminal.
func shown(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// say adds to the text, which is over when it is as long as an answer may be.
func (w *Writing) say(s ...byte) {
	s = s[:min(len(s), maxAnswer-w.wrote)]
	w.text, w.wrote = append(w.text, s...), w.wrote+len(s)
	w.over = w.over || w.wrote == maxAnswer
}

// firstByte takes a byte of the beginning, which may be that of reasoning.
func (w *Writing) firstByte(c byte) {
	if len(w.line) == 0 && isBlank(c) {
		return
	}
	w.line = append(w.line, c)
	end, more := llm.Aside(string(w.line))
	switch {
	case end != "":
		w.do, w.aside = (*Writing).asideByte, end
		w.endAside()
	case !more:
		first := w.line
		w.do, w.line = (*Writing).lineByte, nil
		for _, c := range first {
			w.do(w, c)
		}
	}
}

// asideByte passes over a byte of reasoning.
func (w *Writing) asideByte(c byte) {
	if n := len(w.aside); len(w.line) >= 8*n {
		w.line = append(w.line[:0], w.line[len(w.line)-n:]...)
	}
	w.line = append(w.line, c)
	w.endAside()
}

func (w *Writing) endAside() {
	if bytes.HasSuffix(w.line, []byte(w.aside)) {
		w.do, w.line = (*Writing).firstByte, w.line[:0]
	}
}

// lineByte takes a byte outside of JSON, which may begin with a line.
func (w *Writing) lineByte(c byte) {
	switch {
	case c == '\n':
		line := string(w.line)
		w.line = w.line[:0]
		w.lineEnd(line)
	case c == '{' && w.wrote == 0 && !w.open && strings.TrimSpace(string(w.line)) == "":
		w.do = (*Writing).memberByte
	case len(w.line) == maxAnswer:
		w.over = true
	default:
		w.line = append(w.line, c)
	}
}

// lineEnd takes a line of labelled text.
func (w *Writing) lineEnd(line string) {
	for _, t := range tokens(line, summaryLabels, summaryInline) {
		text := t.text
		switch {
		case t.kind == label && t.label != "answer":
			w.over = w.open
			continue
		case t.kind == label && w.open:
			text = t.line
		case t.kind == label:
			w.open = true
		}
		if !w.open || w.over || w.wrote == 0 && strings.TrimSpace(text) == "" {
			continue
		}
		if w.wrote > 0 {
			w.say('\n')
		}
		w.say([]byte(text)...)
	}
}

// memberByte takes a byte before the name of a member, between that and its value, or
// before the value.
func (w *Writing) memberByte(c byte) {
	switch {
	case isBlank(c), c == ',', c == ':':
	case c == '"':
		w.isText = w.name != nil && textNames[strings.ToLower(string(w.name))]
		w.isName = w.name == nil
		if w.isName {
			w.name = make([]byte, 0, maxName)
		}
		w.do, w.jsonString = (*Writing).stringByte, jsonString{}
	case w.name == nil: // the end, or no JSON
		w.over = true
	default:
		w.do, w.depth, w.quoted, w.escaped = (*Writing).passByte, 0, false, false
		w.passByte(c)
	}
}

// stringByte takes a byte of a name, or of a value that is a string.
func (w *Writing) stringByte(c byte) {
	part, end := w.read(c)
	switch {
	case w.isText:
		w.say(part...)
		w.over = w.over || end
	case w.isName && len(w.name)+len(part) <= maxName:
		w.name = append(w.name, part...)
	}
	if !end {
		return
	}
	if w.do = (*Writing).memberByte; !w.isName {
		w.name = nil
	}
}

// passByte passes over a value that is no string.
func (w *Writing) passByte(c byte) {
	switch {
	case w.escaped:
		w.escaped = false
	case w.quoted:
		w.escaped, w.quoted = c == '\\', c != '"'
	case c == '"':
		w.quoted = true
	case c == '{' || c == '[':
		w.depth++
	case c == '}' || c == ']':
		w.depth--
		w.over = w.depth < 0
	}
	if c == ',' && w.depth == 0 && !w.quoted {
		w.do, w.name = (*Writing).memberByte, nil
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// A jsonString reads a string of JSON, behind its first quotation mark.
type jsonString struct {
	slash bool   // a backslash was read
	hex   int    // digits of a code that are still to come
	code  uint16 // as far as it was read
	high  uint16 // the first half of a letter, if the second is to come
}

// read takes a byte, and returns what it adds to the string, or that it ends it.
func (s *jsonString) read(c byte) (part []byte, end bool) {
	switch {
	case s.hex > 0:
		return s.digit(c), false
	case s.slash:
		s.slash = false
		if c == 'u' {
			s.hex, s.code = 4, 0
			return nil, false
		}
		return append(s.half(), unescaped(c)), false
	case c == '\\':
		s.slash = true
		return nil, false
	case c == '"':
		return s.half(), true
	}
	return append(s.half(), c), false
}

// half returns what stands for the first half of a letter whose second does not come.
func (s *jsonString) half() []byte {
	if s.high == 0 {
		return nil
	}
	s.high = 0
	return utf8.AppendRune(nil, utf8.RuneError)
}

// digit takes a digit of a code.
func (s *jsonString) digit(c byte) []byte {
	s.code, s.hex = s.code<<4|hexOf(c), s.hex-1
	if s.hex > 0 {
		return nil
	}
	r := rune(s.code)
	if s.high != 0 {
		if whole := utf16.DecodeRune(rune(s.high), r); whole != utf8.RuneError {
			s.high = 0
			return utf8.AppendRune(nil, whole)
		}
	}
	part := s.half()
	if r >= 0xd800 && r < 0xdc00 {
		s.high = s.code
		return part
	}
	return utf8.AppendRune(part, r)
}

func hexOf(c byte) uint16 {
	switch {
	case '0' <= c && c <= '9':
		return uint16(c - '0')
	case 'a' <= c && c <= 'f':
		return uint16(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return uint16(c-'A') + 10
	}
	return 0
}

// unescaped returns what a byte stands for behind a backslash.
func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}
