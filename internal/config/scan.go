package config

import (
	"slices"
	"strings"
)

// An entry is a key with its value, or the header of a table, in a TOML text.
type entry struct {
	key    []string // with the names of its table
	table  []string // the table it stands in
	header bool
	line   int // counts from 1
	start  int // byte offsets: of the line it begins on
	end    int // behind the line it ends on, with the line break
	value  int // of the value; of a key only
	after  int // behind the value
}

// scan finds the entries of a text that is valid TOML. Of any other text it
// finds something or other.
func scan(text string) []entry {
	var found []entry
	var table []string
	s := &scanner{text: text}
	for s.pos < len(text) {
		start := s.pos
		s.blank()
		switch {
		case s.peek() == '[':
			for s.peek() == '[' {
				s.pos++
			}
			table = s.path()
			e := entry{key: table, header: true, start: start}
			s.restOfLine()
			e.end = s.pos
			found = append(found, e)
		case s.peek() == '#' || s.peek() == '\n' || s.peek() == '\r' || s.peek() == 0:
			s.restOfLine()
		default:
			e := entry{key: append(table[:len(table):len(table)], s.path()...), table: table, start: start}
			s.blank()
			if s.peek() == '=' {
				s.pos++
				s.blank()
				e.value = s.pos
				s.skipValue()
				e.after = e.value + len(strings.TrimRight(text[e.value:s.pos], " \t\r"))
				s.restOfLine()
				e.end = s.pos
				found = append(found, e)
			} else {
				s.restOfLine()
			}
		}
	}
	countLines(text, found)
	return found
}

func countLines(text string, entries []entry) {
	line, pos := 1, 0
	for i := range entries {
		line += strings.Count(text[pos:entries[i].start], "\n")
		pos = entries[i].start
		entries[i].line = line
	}
}

type scanner struct {
	text string
	pos  int
}

func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) blank() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.pos++
	}
}

func (s *scanner) restOfLine() {
	if i := strings.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
		s.pos += i + 1
		return
	}
	s.pos = len(s.text)
}

// path reads names between dots.
func (s *scanner) path() (names []string) {
	for {
		s.blank()
		start := s.pos
		switch q := s.peek(); q {
		case '"', '\'':
			s.quoted(string(q))
			names = append(names, unquote(s.text[start:s.pos]))
		default:
			for s.pos < len(s.text) && !strings.ContainsRune(" \t\r\n.=]#", rune(s.peek())) {
				s.pos++
			}
			names = append(names, s.text[start:s.pos])
		}
		s.blank()
		if s.peek() != '.' {
			return names
		}
		s.pos++
	}
}

// quoted skips a string that begins and ends with quote, which has one or
// three characters.
func (s *scanner) quoted(quote string) {
	s.pos += len(quote)
	for s.pos < len(s.text) {
		switch {
		case strings.HasPrefix(s.text[s.pos:], quote):
			s.pos += len(quote)
			for len(quote) == 3 && s.peek() == quote[0] { // up to two more may end the string itself
				s.pos++
			}
			return
		case s.peek() == '\\' && quote[0] == '"':
			s.pos = min(s.pos+2, len(s.text))
		case s.peek() == '\n' && len(quote) == 1:
			return
		default:
			s.pos++
		}
	}
}

// skipValue goes behind a value: to the end of its line, or to a comment.
func (s *scanner) skipValue() {
	for depth := 0; s.pos < len(s.text); {
		switch c := s.peek(); c {
		case '"', '\'':
			quote := string(c)
			if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[s.pos:], triple) {
				quote = triple
			}
			s.quoted(quote)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '#':
			if depth <= 0 {
				return
			}
			s.restOfLine()
			continue
		case '\n':
			if depth <= 0 {
				return
			}
		}
		s.pos++
	}
}

// unquote returns what a quoted name says. Escapes other than of quotes and
// backslashes are left as they are: no key of ours needs them.
func unquote(q string) string {
	if len(q) < 2 {
		return q
	}
	in := q[1 : len(q)-1]
	if q[0] == '"' {
		in = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(in)
	}
	return in
}

// lineOf returns the line that sets a key, or the nearest above it in the tree.
func lineOf(entries []entry, key []string) int {
	line, best := 1, 0
	for _, e := range entries {
		if n := len(e.key); n > best && n <= len(key) && slices.Equal(e.key, key[:n]) {
			line, best = e.line, n
		}
	}
	return line
}
