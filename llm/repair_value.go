package llm

import (
	"strings"
	"unicode/utf8"
)

// A scanner reads values leniently and writes JSON. Its look-ahead is bounded; a test
// counts the steps.
type scanner struct {
	text  string
	i     int
	out   []byte
	found []foundValue
	steps int

	arrays, objects int  // open
	parent          byte // '[' or '{', or 0
	rich            bool // has a string or container
	cut             bool // it ends without its bracket
	inFence         bool
	fenced          bool
	unescape        bool // try double escapes
}

// byteAt returns the byte at i. Of full-width punctuation it returns the ASCII form.
func (s *scanner) byteAt(i int) byte {
	s.steps++
	if i >= len(s.text) {
		return 0
	}
	c := s.text[i]
	if c == fullWidthLead {
		if ascii := fullWidth(s.text[i:]); ascii != 0 {
			return ascii
		}
	}
	return c
}

// fullWidthLead is the first byte of full-width forms.
const fullWidthLead = 0xEF

// fullWidth returns the ASCII form of the full-width punctuation of JSON at the start of text, or 0.
func fullWidth(text string) byte {
	if len(text) < fullWidthLen {
		return 0
	}
	switch text[:fullWidthLen] {
	case "，":
		return ','
	case "：":
		return ':'
	case "；":
		return ';'
	case "｛":
		return '{'
	case "｝":
		return '}'
	case "［":
		return '['
	case "］":
		return ']'
	}
	return 0
}

const fullWidthLen = len("，")

// widthAt returns the length of the byte or full-width punctuation at i.
func (s *scanner) widthAt(i int) int {
	if i < len(s.text) && s.text[i] == fullWidthLead && fullWidth(s.text[i:]) != 0 {
		return fullWidthLen
	}
	return 1
}

// skipPunctuation skips one byte, or full-width punctuation.
func (s *scanner) skipPunctuation() { s.i += s.widthAt(s.i) }

// atEnd includes the end of a fence.
func (s *scanner) atEnd(i int) bool { return i >= len(s.text) || s.fenceAt(i) }

func (s *scanner) fenceAt(i int) bool {
	return s.byteAt(i) == '`' && strings.HasPrefix(s.text[i:], "```")
}

func (s *scanner) skipSpaceOrComment(i int) int {
	for {
		n := spaceLen(s.text, i)
		s.steps++
		switch {
		case n > 0:
			i += n
		case s.commentAt(i):
			i = s.commentEnd(i)
		default:
			return i
		}
	}
}

// spaceLen includes no-break, zero-width and ideographic spaces and byte order marks.
func spaceLen(text string, i int) int {
	if i >= len(text) {
		return 0
	}
	switch c := text[i]; {
	case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		return 1
	case c == 0xC2 && strings.HasPrefix(text[i:], "\u00a0"):
		return 2
	case c == 0xE2 && (strings.HasPrefix(text[i:], "\u200b") || strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
		return 3
	case c == 0xE3 && strings.HasPrefix(text[i:], "\u3000"), c == 0xEF && strings.HasPrefix(text[i:], "\ufeff"):
		return 3
	}
	return 0
}

func (s *scanner) commentAt(i int) bool {
	switch s.byteAt(i) {
	case '#':
		return true
	case '/':
		c := s.byteAt(i + 1)
		return c == '/' || c == '*'
	}
	return false
}

func (s *scanner) commentEnd(i int) int {
	n, after := 0, 0
	if s.byteAt(i) == '/' && s.byteAt(i+1) == '*' {
		n, after = strings.Index(s.text[i:], "*/"), 2
	} else {
		n = strings.IndexByte(s.text[i:], '\n')
	}
	if n < 0 {
		n, after = len(s.text)-i, 0
	}
	s.steps += n
	return i + n + after
}

func (s *scanner) skipGap() {
	for {
		s.i = s.skipSpaceOrComment(s.i)
		switch c := s.byteAt(s.i); {
		case c == ',' || c == ';':
			s.skipPunctuation()
		case c == '.' && s.byteAt(s.i+1) == '.':
			for s.byteAt(s.i) == '.' {
				s.i++
			}
		case c == 0xE2 && strings.HasPrefix(s.text[s.i:], "…"):
			s.i += len("…")
		case c == '.' && s.i+1 >= len(s.text):
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) readObject(depth int) error {
	if depth > maxRepairDepth {
		return errDepth
	}
	s.out = append(s.out, '{')
	outer := s.parent
	s.objects, s.parent = s.objects+1, '{'
	defer func() { s.objects, s.parent = s.objects-1, outer }()
	first := true
	for {
		s.skipGap()
		if s.atEnd(s.i) {
			s.cut = true
			break
		}
		c := s.byteAt(s.i)
		if c == '}' {
			s.skipPunctuation()
			break
		}
		if c == ']' && s.arrays > 0 || c == '{' && outer == '[' && !first { // unclosed object
			break
		}
		if c == ']' || c == '{' || c == '[' || c == ':' { // cannot start a member
			s.skipPunctuation()
			continue
		}
		wrote, err := s.readMember(depth, first)
		if err != nil {
			return err
		}
		first = first && !wrote
	}
	s.out = append(s.out, '}')
	return nil
}

// readMember writes nothing without a value.
func (s *scanner) readMember(depth int, first bool) (wrote bool, err error) {
	mark := len(s.out)
	if !first {
		s.out = append(s.out, ',')
	}
	q := s.quoteAt(s.i)
	if q != 0 {
		s.readString(q, inKey)
	} else {
		s.bareKey()
	}
	s.i = s.skipSpaceOrComment(s.i)
	switch c := s.byteAt(s.i); {
	case c == ':':
		s.skipPunctuation()
	case c == '=':
		s.i++
		if s.byteAt(s.i) == '>' {
			s.i++
		}
	case q == 0 || s.atEnd(s.i) || c == ',' || c == '}' || c == ']':
		s.out = s.out[:mark]
		return false, nil
	}
	s.out = append(s.out, ':')
	s.i = s.skipSpaceOrComment(s.i)
	if s.atEnd(s.i) {
		s.out = s.out[:mark]
		return false, nil
	}
	return true, s.readValue(depth, inObject)
}

func (s *scanner) bareKey() {
	start := s.i
	for s.i < len(s.text) && strings.IndexByte(":=,{}[]\"\n", s.byteAt(s.i)) < 0 {
		s.i++
	}
	if s.i == start {
		s.skipPunctuation()
	}
	s.writeString(strings.TrimSpace(s.text[start:s.i]))
}

func (s *scanner) readArray(depth int) error {
	if depth > maxRepairDepth {
		return errDepth
	}
	s.out = append(s.out, '[')
	outer := s.parent
	s.arrays, s.parent = s.arrays+1, '['
	defer func() { s.arrays, s.parent = s.arrays-1, outer }()
	first := true
	for {
		s.skipGap()
		if s.atEnd(s.i) {
			s.cut = true
			break
		}
		c := s.byteAt(s.i)
		if c == ']' {
			s.skipPunctuation()
			break
		}
		if s.objects > 0 && (c == '}' || s.quoteAt(s.i) != 0 && s.keyAt(s.i, false)) { // unclosed array
			break
		}
		if c == '}' || c == ':' {
			s.skipPunctuation()
			continue
		}
		if !first {
			s.out = append(s.out, ',')
		}
		first = false
		if err := s.readValue(depth, inArray); err != nil {
			return err
		}
	}
	s.out = append(s.out, ']')
	return nil
}

// readValue writes null for a missing one.
func (s *scanner) readValue(depth int, where stringContext) error {
	c := s.byteAt(s.i)
	switch {
	case c == '{':
		s.rich = true
		s.skipPunctuation()
		return s.readObject(depth + 1)
	case c == '[':
		s.rich = true
		s.skipPunctuation()
		return s.readArray(depth + 1)
	case c == '}' || c == ']' || c == ',':
		s.out = append(s.out, "null"...) // missing value
		return nil
	}
	if q := s.quoteAt(s.i); q != 0 {
		s.rich = true
		s.readString(q, where)
		s.joinStrings(where)
		return nil
	}
	s.readWord()
	return nil
}

// joinStrings joins strings with +.
func (s *scanner) joinStrings(where stringContext) {
	for {
		i := s.skipSpaceOrComment(s.i)
		if s.byteAt(i) != '+' {
			return
		}
		i = s.skipSpaceOrComment(i + 1)
		q := s.quoteAt(i)
		if q == 0 {
			return
		}
		s.i = i
		end := len(s.out) - 1
		s.readString(q, where)
		s.out = append(s.out[:end], s.out[end+2:]...)
	}
}

func (s *scanner) readWord() {
	start := s.i
	for s.i < len(s.text) {
		c := s.byteAt(s.i)
		if c == '"' || strings.IndexByte(",{}[]\n", c) >= 0 || s.fenceAt(s.i) {
			break
		}
		if c == '/' && s.i > start && spaceLen(s.text, s.i-1) > 0 && s.commentAt(s.i) {
			break
		}
		if c == ';' && s.i-start < 32 && isLiteral(s.text[start:s.i]) {
			break
		}
		s.i++
	}
	if s.i == start { // a stray quote
		s.skipPunctuation()
	}
	text := strings.TrimSpace(s.text[start:s.i])
	if lit, ok := parseLiteral(narrowWidth(text)); ok {
		s.out = append(s.out, lit...)
		return
	}
	if lit := completePrefix(text); s.i >= len(s.text) && lit != "" {
		s.out = append(s.out, lit...)
		return
	}
	s.writeString(text)
}

func (s *scanner) writeString(text string) {
	s.out = append(s.out, '"')
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		s.writeRune(r)
		text = text[n:]
	}
	s.out = append(s.out, '"')
}

func (s *scanner) writeRune(r rune) {
	switch {
	case r == '"' || r == '\\':
		s.out = append(s.out, '\\', byte(r))
	case r == '\n':
		s.out = append(s.out, `\n`...)
	case r == '\t':
		s.out = append(s.out, `\t`...)
	case r == '\r':
		s.out = append(s.out, `\r`...)
	case r < ' ':
		const hex = "0123456789abcdef"
		s.out = append(s.out, `\u00`...)
		s.out = append(s.out, hex[r>>4], hex[r&15])
	default:
		s.out = utf8.AppendRune(s.out, r)
	}
}
