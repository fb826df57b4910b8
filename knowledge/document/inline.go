package document

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// Bounds on the search for closing marks.
const (
	maxTag  = 1024
	maxURL  = 1024
	maxNest = 4
)

// stripInlineMarks returns a line of Markdown without marks, in linear time within the bounds
// above.
func stripInlineMarks(s string) string {
	if !strings.ContainsAny(s, "\\`[]*_~<&=") {
		return s
	}
	l := &lineWriter{}
	l.writeText(s, maxNest)
	return l.out.String()
}

type lineWriter struct{ out strings.Builder }

func (l *lineWriter) writeText(s string, nest int) {
	ends := matchBrackets(s)
	for i := 0; i < len(s); {
		n := 0
		switch s[i] {
		case '\\':
			n = l.writeEscape(s[i:])
		case '`':
			n = l.writeCode(s[i:])
		case '!':
			n = boolToInt(i+1 < len(s) && s[i+1] == '[' && ends[i+1] > 0)
		case '[':
			n = l.writeLink(s, i, ends[i], nest)
		case '*', '_', '~', '=':
			n = emphasisRun(s, i)
		case '<':
			n = l.writeTag(s[i:])
		case '&':
			n = l.writeEntity(s[i:])
		}
		if n == 0 {
			l.out.WriteByte(s[i])
			n = 1
		}
		i += n
	}
}

// matchBrackets maps opening to closing brackets.
func matchBrackets(s string) map[int]int {
	if !strings.Contains(s, "[") {
		return nil
	}
	ends := map[int]int{}
	var open []int
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			open = append(open, i)
		case ']':
			if len(open) > 0 {
				ends[open[len(open)-1]] = i
				open = open[:len(open)-1]
			}
		}
	}
	return ends
}

// Each of the next methods writes the element at the start of s and returns its
// length, or 0.

func (l *lineWriter) writeEscape(s string) int {
	if len(s) < 2 || !strings.ContainsRune("\\`*_{}[]()#+-.!|<>~&=$\"'", rune(s[1])) {
		return 0
	}
	l.out.WriteByte(s[1])
	return 2
}

func (l *lineWriter) writeCode(s string) int {
	run := len(s) - len(strings.TrimLeft(s, "`"))
	end := strings.Index(s[run:min(len(s), run+maxTag)], s[:run])
	if end < 0 {
		l.out.WriteString(s[:run])
		return run
	}
	l.out.WriteString(strings.TrimSpace(s[run : run+end]))
	return run + end + run
}

func (l *lineWriter) writeLink(s string, i, end, nest int) int {
	if end == 0 || nest == 0 {
		return 0
	}
	label, rest := s[i+1:end], s[end+1:]
	length := end + 1 - i
	switch {
	case strings.HasPrefix(label, "^"):
		return length + len(rest) - len(strings.TrimPrefix(rest, ":")) // a footnote
	case strings.HasPrefix(label, "[") && strings.HasSuffix(label, "]"): // [[Page|words]]
		page := label[1 : len(label)-1]
		if _, alias, ok := strings.Cut(page, "|"); ok {
			page = alias
		}
		l.writeText(page, nest-1)
		return length
	case strings.HasPrefix(rest, "("):
		if n := linkTargetLen(rest); n > 0 {
			l.writeText(label, nest-1)
			return length + n
		}
	case strings.HasPrefix(rest, "["):
		if n := strings.IndexByte(rest[:min(len(rest), maxURL)], ']'); n > 0 {
			l.writeText(label, nest-1)
			return length + n + 1
		}
	}
	return 0
}

func linkTargetLen(s string) int {
	depth := 0
	for i := 0; i < len(s) && i < maxURL; i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

func emphasisRun(s string, i int) int {
	if i > 0 && s[i-1] == s[i] {
		return 0 // in a run that is no mark
	}
	run := len(s[i:]) - len(strings.TrimLeft(s[i:], s[i:i+1]))
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+run:])
	left, right := i > 0 && !unicode.IsSpace(before), i+run < len(s) && !unicode.IsSpace(after)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	switch {
	case !left && !right, run > 3:
		return 0
	case s[i] == '*' && unicode.IsDigit(before) && unicode.IsDigit(after):
		return 0
	case s[i] == '_' && left && right && word(before) && word(after):
		return 0
	case (s[i] == '~' || s[i] == '=') && (run != 2 || left && right && s[i] == '='):
		return 0
	}
	return run
}

func (l *lineWriter) writeTag(s string) int {
	if rest, ok := strings.CutPrefix(s, "<!--"); ok {
		if end := strings.Index(rest[:min(len(rest), maxTag)], "-->"); end >= 0 {
			return 4 + end + 3
		}
		return 0
	}
	end := strings.IndexByte(s[:min(len(s), maxTag)], '>')
	if end < 2 {
		return 0
	}
	body := s[1:end]
	if strings.Contains(body, "://") && !strings.ContainsAny(body, " \"") || strings.HasPrefix(body, "mailto:") {
		l.out.WriteString(body)
		return end + 1
	}
	name := strings.TrimPrefix(body, "/")
	if name == "" || !unicode.IsLetter(rune(name[0])) {
		return 0
	}
	name, _, _ = strings.Cut(strings.ToLower(name), " ")
	if strings.Trim(strings.Trim(name, "/"), "abcdefghijklmnopqrstuvwxyz0123456789-:.") != "" {
		return 0
	}
	switch strings.Trim(name, "/") {
	case "br", "p", "div", "li", "td", "tr", "hr":
		l.out.WriteByte(' ')
	}
	return end + 1
}

func (l *lineWriter) writeEntity(s string) int {
	end := strings.IndexByte(s[:min(len(s), 32)], ';')
	if end < 2 {
		return 0
	}
	text := html.UnescapeString(s[:end+1])
	if text == s[:end+1] {
		return 0
	}
	l.out.WriteString(text)
	return end + 1
}
