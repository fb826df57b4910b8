package claim

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type stripper struct {
	in    string
	out   strings.Builder
	cites []string
	depth int
}

// stripMarkdown returns text on one line without citations, marks and Markdown, and the cited
// IDs.
func stripMarkdown(in string) (string, []string) {
	s := stripper{in: in}
	s.strip()
	return normalizeSpaces(s.out.String()), s.cites
}

func (s *stripper) strip() {
	for i := 0; i < len(s.in); {
		n := s.readMark(i)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(s.in[i:])
			s.out.WriteString(s.in[i : i+n])
		}
		i += n
	}
}

func (s *stripper) readMark(i int) int {
	rest := s.in[i:]
	switch rest[0] {
	case '[':
		return s.readBracket(rest)
	case '!':
		if strings.HasPrefix(rest, "![") {
			return 1
		}
	case '<':
		return tagLength(rest)
	case '`':
		return len(rest) - len(strings.TrimLeft(rest, "`"))
	case '*', '_', '~':
		return s.emphasisLength(i)
	case '|':
		s.out.WriteString("; ")
		return 1
	case '\\':
		if len(rest) > 1 && rest[1] < utf8.RuneSelf && unicode.In(rune(rest[1]), unicode.P, unicode.S) {
			s.out.WriteByte(rest[1])
			return 2
		}
	case '\n':
		s.out.WriteByte(' ')
		return 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], " >"))
	}
	return 0
}

func (s *stripper) readBracket(rest string) int {
	if n := citationLength(rest); n > 0 {
		for _, id := range parseIDs(rest[:n]) {
			s.cites = appendNew(s.cites, id)
		}
		return n
	}
	if n := markLength(rest); n > 0 {
		return n
	}
	words, n := parseLink(rest)
	if n == 0 {
		return 0
	}
	if s.depth < 3 {
		in := stripper{in: words, depth: s.depth + 1}
		in.strip()
		s.out.WriteString(in.out.String())
		for _, id := range in.cites {
			s.cites = appendNew(s.cites, id)
		}
	}
	return n
}

// parseLink returns the words and length of the Markdown link at the start of rest.
func parseLink(rest string) (words string, n int) {
	end := strings.IndexByte(rest[:min(len(rest), maxSentence)], ']')
	if end < 0 || end+1 >= len(rest) || rest[end+1] != '(' {
		return "", 0
	}
	to := linkEnd(rest, end+1)
	if to == 0 {
		return "", 0
	}
	return rest[1:end], to
}

// linkEnd returns the end of the link address in parentheses at i, or 0. Nested
// parentheses are balanced.
func linkEnd(s string, i int) int {
	depth := 0
	for j := i; j < min(len(s), i+maxSentence); j++ {
		switch s[j] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return j + 1
			}
		case '\n':
			return 0
		}
	}
	return 0
}

func tagLength(rest string) int {
	end := strings.IndexByte(rest[:min(len(rest), 512)], '>')
	if end < 2 {
		return 0
	}
	c := rest[1]
	if c == '/' || c == '!' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
		return end + 1
	}
	return 0
}

func (s *stripper) emphasisLength(i int) int {
	c := s.in[i]
	n := 1
	for i+n < len(s.in) && s.in[i+n] == c {
		n++
	}
	before, _ := utf8.DecodeLastRuneInString(s.in[:i])
	after, _ := utf8.DecodeRuneInString(s.in[i+n:])
	open := i > 0 && !unicode.IsSpace(before)
	close := i+n < len(s.in) && !unicode.IsSpace(after)
	switch {
	case c == '~' && n < 2, !open && !close && i > 0 && i+n < len(s.in):
		return 0
	case c == '_' && open && close && isWordRune(before) && isWordRune(after):
		return 0
	case c == '*' && unicode.IsDigit(before) && unicode.IsDigit(after):
		return 0
	}
	return n
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func normalizeSpaces(s string) string {
	s = strings.Trim(strings.Join(strings.Fields(s), " "), " ;")
	for _, stop := range []string{".", ",", ":", "!", "?", ";"} {
		if strings.Contains(s, " "+stop) {
			s = strings.ReplaceAll(s, " "+stop+" ", stop+" ")
			if t, ok := strings.CutSuffix(s, " "+stop); ok {
				s = t + stop
			}
		}
	}
	return s
}

func hasLetter(s string) bool { return strings.IndexFunc(s, isWordRune) >= 0 }

// citationLength returns the length of a citation such as [e3] or [e3, e4] at the start of
// s, or 0.
func citationLength(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	end := strings.IndexByte(s[:min(len(s), 256)], ']')
	if end < 0 || end+1 < len(s) && s[end+1] == '(' {
		return 0
	}
	if len(parseIDs(s[:end+1])) == 0 {
		return 0
	}
	return end + 1
}

func parseIDs(s string) []string {
	var ids []string
	for _, f := range strings.FieldsFunc(s[1:len(s)-1], func(r rune) bool { return r == ',' || r == ';' || r == ' ' }) {
		if !isID(f) {
			return nil
		}
		ids = append(ids, f)
	}
	return ids
}

// isID reports whether s has the form of an evidence ID: a few lower-case letters and
// a number.
func isID(s string) bool {
	n := len(s) - len(strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz"))
	return n > 0 && n <= 8 && len(s) > n && len(s)-n <= 9 && isDigitString(s[n:])
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}
