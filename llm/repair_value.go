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
	found []found
	steps int

	arrays, objects int  // open
	parent          byte // '[' or '{', or 0
	rich            bool // has a string or container
	inFence         bool
	fenced          bool
	unescape        bool // try double escapes
}

func (s *scanner) at(i int) byte {
	s.steps++
	if i < len(s.text) {
		return s.text[i]
	}
	return 0
}

// end includes the end of a fence.
func (s *scanner) end(i int) bool { return i >= len(s.text) || s.fenceAt(i) }

func (s *scanner) fenceAt(i int) bool {
	return s.at(i) == '`' && strings.HasPrefix(s.text[i:], "```")
}

func (s *scanner) space(i int) int {
	for {
		n := spaceLen(s.text, i)
		s.steps++
		switch {
		case n > 0:
			i += n
		case s.commentAt(i):
			i = s.comment(i)
		default:
			return i
		}
	}
}

// spaceLen includes no-break and zero-width spaces and byte order marks.
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
	case c == 0xEF && strings.HasPrefix(text[i:], "\ufeff"):
		return 3
	}
	return 0
}

func (s *scanner) commentAt(i int) bool {
	switch s.at(i) {
	case '#':
		return true
	case '/':
		c := s.at(i + 1)
		return c == '/' || c == '*'
	}
	return false
}

func (s *scanner) comment(i int) int {
	n, after := 0, 0
	if s.at(i) == '/' && s.at(i+1) == '*' {
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

func (s *scanner) gap() {
	for {
		s.i = s.space(s.i)
		switch c := s.at(s.i); {
		case c == ',' || c == ';':
			s.i++
		case c == '.' && s.at(s.i+1) == '.':
			for s.at(s.i) == '.' {
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

func (s *scanner) object(depth int) error {
	if depth > maxRepairDepth {
		return errDepth
	}
	s.out = append(s.out, '{')
	outer := s.parent
	s.objects, s.parent = s.objects+1, '{'
	defer func() { s.objects, s.parent = s.objects-1, outer }()
	first := true
	for {
		s.gap()
		if s.end(s.i) {
			break
		}
		c := s.at(s.i)
		if c == '}' {
			s.i++
			break
		}
		if c == ']' && s.arrays > 0 || c == '{' && outer == '[' && !first { // unclosed object
			break
		}
		if c == ']' || c == '{' || c == '[' || c == ':' { // cannot start a member
			s.i++
			continue
		}
		wrote, err := s.member(depth, first)
		if err != nil {
			return err
		}
		first = first && !wrote
	}
	s.out = append(s.out, '}')
	return nil
}

// member writes nothing without a value.
func (s *scanner) member(depth int, first bool) (wrote bool, err error) {
	mark := len(s.out)
	if !first {
		s.out = append(s.out, ',')
	}
	q := s.quoteAt(s.i)
	if q != 0 {
		s.string(q, inKey)
	} else {
		s.bareKey()
	}
	s.i = s.space(s.i)
	switch c := s.at(s.i); {
	case c == ':':
		s.i++
	case c == '=':
		s.i++
		if s.at(s.i) == '>' {
			s.i++
		}
	case q == 0 || s.end(s.i) || c == ',' || c == '}' || c == ']':
		s.out = s.out[:mark]
		return false, nil
	}
	s.out = append(s.out, ':')
	s.i = s.space(s.i)
	if s.end(s.i) {
		s.out = s.out[:mark]
		return false, nil
	}
	return true, s.value(depth, inObject)
}

func (s *scanner) bareKey() {
	start := s.i
	for s.i < len(s.text) && strings.IndexByte(":=,{}[]\"\n", s.at(s.i)) < 0 {
		s.i++
	}
	if s.i == start {
		s.i++
	}
	s.quote(strings.TrimSpace(s.text[start:s.i]))
}

func (s *scanner) array(depth int) error {
	if depth > maxRepairDepth {
		return errDepth
	}
	s.out = append(s.out, '[')
	outer := s.parent
	s.arrays, s.parent = s.arrays+1, '['
	defer func() { s.arrays, s.parent = s.arrays-1, outer }()
	first := true
	for {
		s.gap()
		if s.end(s.i) {
			break
		}
		c := s.at(s.i)
		if c == ']' {
			s.i++
			break
		}
		if s.objects > 0 && (c == '}' || s.quoteAt(s.i) != 0 && s.keyAt(s.i, false)) { // unclosed array
			break
		}
		if c == '}' || c == ':' {
			s.i++
			continue
		}
		if !first {
			s.out = append(s.out, ',')
		}
		first = false
		if err := s.value(depth, inArray); err != nil {
			return err
		}
	}
	s.out = append(s.out, ']')
	return nil
}

// value writes null for a missing one.
func (s *scanner) value(depth int, where place) error {
	c := s.at(s.i)
	switch {
	case c == '{':
		s.rich = true
		s.i++
		return s.object(depth + 1)
	case c == '[':
		s.rich = true
		s.i++
		return s.array(depth + 1)
	case c == '}' || c == ']' || c == ',':
		s.out = append(s.out, "null"...) // missing value
		return nil
	}
	if q := s.quoteAt(s.i); q != 0 {
		s.rich = true
		s.string(q, where)
		s.concatenate(where)
		return nil
	}
	s.word()
	return nil
}

// concatenate joins strings with +.
func (s *scanner) concatenate(where place) {
	for {
		i := s.space(s.i)
		if s.at(i) != '+' {
			return
		}
		i = s.space(i + 1)
		q := s.quoteAt(i)
		if q == 0 {
			return
		}
		s.i = i
		end := len(s.out) - 1
		s.string(q, where)
		s.out = append(s.out[:end], s.out[end+2:]...)
	}
}

func (s *scanner) word() {
	start := s.i
	for s.i < len(s.text) {
		c := s.at(s.i)
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
		s.i++
	}
	text := strings.TrimSpace(s.text[start:s.i])
	if lit, ok := literal(text); ok {
		s.out = append(s.out, lit...)
		return
	}
	if lit := prefixed(text); s.i >= len(s.text) && lit != "" {
		s.out = append(s.out, lit...)
		return
	}
	s.quote(text)
}

func (s *scanner) quote(text string) {
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
