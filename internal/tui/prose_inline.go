package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks are what is around parts of a line, the longest first.
var marks = []struct {
	mark string
	ink  ink
}{{"***", ink{bold: true, italic: true}}, {"**", ink{bold: true}}, {"__", ink{bold: true}}, {"*", ink{italic: true}}, {"_", ink{italic: true}}}

// maxSpan is how far a part of a line may reach, in bytes.
const maxSpan = 2000

// inline returns a line with what is marked in it shown as the marks say.
func inline(line string, s Style) string {
	if s.Plain {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); {
		n, shown := span(line, i, s)
		if n == 0 {
			_, n = utf8.DecodeRuneInString(line[i:])
			shown = line[i : i+n]
		}
		b.WriteString(shown)
		i += n
	}
	return b.String()
}

// plainly returns a line without its marks.
func plainly(line string) string {
	shown := inline(line, Style{})
	var b strings.Builder
	for shown != "" {
		before, after, ok := strings.Cut(shown, "\x1b[")
		b.WriteString(before)
		if !ok {
			break
		}
		_, shown, _ = strings.Cut(after, "m")
	}
	return b.String()
}

// span returns how many bytes at a place are marked, and how they are shown; zero if
// none are.
func span(line string, i int, s Style) (int, string) {
	rest := line[i:min(len(line), i+maxSpan)]
	switch rest[0] {
	case '\\':
		if len(rest) > 1 && strings.IndexByte("\\`*_{}[]()#+-.!|~>", rest[1]) >= 0 {
			return 2, rest[1:2]
		}
	case '`':
		return codeSpan(rest, s)
	case '*', '_':
		return emphasis(line, i, rest, s)
	case '!':
		if len(rest) > 1 && rest[1] == '[' {
			if n, text, url := link(rest[1:]); n > 0 {
				return n + 1, faint().on("[image: "+text+"]", s) + " " + faint().on("("+url+")", s)
			}
		}
	case '[':
		n, text, url := link(rest)
		switch {
		case n == 0:
		case text == url || text == "":
			return n, bright().on(url, s)
		default:
			return n, inline(text, s) + " " + faint().on("("+url+")", s)
		}
	}
	return 0, ""
}

// codeSpan returns the code that a text begins with.
func codeSpan(rest string, s Style) (int, string) {
	n := len(rest) - len(strings.TrimLeft(rest, "`"))
	end := strings.Index(rest[n:], rest[:n])
	if end < 0 {
		return n, rest[:n]
	}
	code := rest[n : n+end]
	if trimmed := strings.TrimSpace(code); trimmed != "" {
		code = trimmed
	}
	return n + end + n, bright().on(code, s)
}

// emphasis returns what is marked at a place as important.
func emphasis(line string, i int, rest string, s Style) (int, string) {
	before, _ := utf8.DecodeLastRuneInString(line[:i])
	for _, m := range marks {
		inner, ok := strings.CutPrefix(rest, m.mark)
		if !ok {
			continue
		}
		after, _ := utf8.DecodeRuneInString(inner)
		if m.mark[0] == '_' && (unicode.IsLetter(before) || unicode.IsDigit(before)) || unicode.IsDigit(before) && unicode.IsDigit(after) {
			break // in_the_middle of a word, or of 2*3
		}
		end := closing(inner, m.mark)
		if end <= 0 {
			continue
		}
		return end + 2*len(m.mark), m.ink.on(plainly(inner[:end]), s)
	}
	n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	return n, rest[:n]
}

// closing returns where what a mark has opened ends, or a number below one.
func closing(inner, mark string) int {
	if r, _ := utf8.DecodeRuneInString(inner); unicode.IsSpace(r) {
		return -1
	}
	for from := 0; ; {
		i := strings.Index(inner[from:], mark)
		if i < 0 {
			return -1
		}
		i += from
		last, _ := utf8.DecodeLastRuneInString(inner[:i])
		next, _ := utf8.DecodeRuneInString(inner[i+len(mark):])
		inWord := mark[0] == '_' && (unicode.IsLetter(next) || unicode.IsDigit(next))
		longer := i+len(mark) < len(inner) && inner[i+len(mark)] == mark[0] && len(mark) < 3
		if !unicode.IsSpace(last) && !inWord && !longer && i > 0 {
			return i
		}
		from = i + len(mark)
		for from < len(inner) && inner[from] == mark[0] {
			from++
		}
	}
}

// link returns of how many bytes the link is that a text begins with, what it says
// and where it leads.
func link(rest string) (n int, text, url string) {
	end := strings.Index(rest, "](")
	if end < 0 || strings.Contains(rest[1:end], "[") {
		return 0, "", ""
	}
	close := strings.IndexByte(rest[end:], ')')
	if close < 0 {
		return 0, "", ""
	}
	url, _, _ = strings.Cut(rest[end+2:end+close], " ")
	return end + close + 1, rest[1:end], url
}
