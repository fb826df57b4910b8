package lookup

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var sanitizer = strings.NewReplacer("<", "‹", ">", "›", "](", "] (", "![", "! [", "```", "'''")

// Sanitize sanitizes untrusted text: no frame marks, Markdown links or images, and no invisible
// characters.
func Sanitize(text string) string {
	return sanitizer.Replace(strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, text))
}

// isHidden reports whether r is invisible but read by models: tags, variation selectors, zero-width
// spaces.
func isHidden(r rune) bool {
	return 0xe0000 <= r && r <= 0xe0fff || 0xfe00 <= r && r <= 0xfe0f || 0x200b <= r && r <= 0x200f || 0x2060 <= r && r <= 0x2064 || r == 0xfeff || r == 0xad || r == 0x180e
}

// citationPattern matches [e3], [e3, e4] and similar.
var citationPattern = regexp.MustCompile(`^[\[【]\s*(?:[A-Za-z]{1,12}:?\s)?[eE]\d{1,6}(?:\s*[,;–-]\s*[eE]?\d{1,6})*\s*[\]】]$`)

// DefuseCitations replaces the brackets of citations in quoted text, including code, so that only answers
// cite.
func DefuseCitations(text string) string {
	return mapCitations(text, nil, func(m string) (string, bool) {
		return strings.NewReplacer("[", "(", "]", ")", "【", "(", "】", ")").Replace(m), false
	})
}

type verbatimScanner struct {
	at    int
	fence int // length of the open code fence, or 0
	mark  byte
	code  bool // quotations count as other text
}

var quoteMarks = map[string]string{`"`: `"`, "“": "”", "„": "“", "«": "»", "»": "«", "「": "」"}

// isVerbatim scans to an offset and reports whether it is inside code or a quotation. A quotation
// extends to the last end mark of its line, because it may nest.
func (v *verbatimScanner) isVerbatim(text string, to int) bool {
	for v.at < to {
		rest := text[v.at:]
		_, n := utf8.DecodeRuneInString(rest)
		switch {
		case rest[0] == '`', rest[0] == '~':
			n = v.skipTicks(rest, startsLine(text[:v.at]))
		case v.fence > 0 || v.code:
		case quoteMarks[rest[:n]] != "":
			line, _, _ := strings.Cut(rest[n:], "\n")
			end := quoteMarks[rest[:n]]
			if last := strings.LastIndex(line, end); last >= 0 {
				line = line[:last+len(end)]
			}
			n += len(line)
		}
		v.at += n
	}
	return v.fence > 0 || v.at > to
}

func startsLine(text string) bool {
	text = strings.TrimRight(text, " \t")
	return text == "" || text[len(text)-1] == '\n'
}

// skipTicks consumes backticks or tildes, including inline code, and returns their length. Unclosed
// backticks and tildes without a block are plain text.
func (v *verbatimScanner) skipTicks(rest string, first bool) int {
	c := rest[0]
	n := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	if v.fence > 0 {
		if first && c == v.mark && n >= v.fence {
			v.fence = 0
		}
		return n
	}
	line, _, _ := strings.Cut(rest, "\n")
	if n >= 3 && first && (c == '~' || strings.IndexByte(line[n:], '`') < 0) {
		v.fence, v.mark = n, c
		return n
	}
	if c == '~' {
		return n
	}
	for at := n; ; {
		i := strings.IndexByte(line[at:], '`')
		if i < 0 {
			return n
		}
		at += i
		run := len(line[at:]) - len(strings.TrimLeft(line[at:], "`"))
		if at += run; run == n {
			return at
		}
	}
}

// replaceBrackets applies by to each pair of brackets. by returns where the replacement starts, its text,
// and whether to replace.
func replaceBrackets(text string, by func(at, end int) (from int, other string, ok bool)) string {
	if strings.IndexByte(text, '[') < 0 && !strings.Contains(text, "【") {
		return text
	}
	var out []byte
	last := 0
	var held string // blanks before removed marks, for text adjacent to them
	for next := 0; ; {
		at, end := nextBrackets(text, next)
		if at < 0 {
			break
		}
		next = end
		from, other, ok := by(at, end)
		if !ok {
			continue
		}
		if from = max(from, last); from > last || other != "" {
			out, held = append(out, held...), ""
		}
		out = append(append(out, text[last:from]...), other...)
		last = end
		switch {
		case other != "":
		case strings.HasPrefix(text[end:], "[") || strings.HasPrefix(text[end:], "【"):
			held += text[from:max(from, at)]
		default:
			held = ""
			if !needsObject(out, text[end:]) {
				var n int
				out, n = repairPunctuation(out, text[end:])
				last += n
			}
			if needsObject(out, text[last:]) {
				if n := len(out); n > 0 && out[n-1] != '\n' && out[n-1] != '(' {
					out = append(out, ' ')
				}
				out = append(out, NoSuchSource...)
			}
		}
	}
	if last == 0 {
		return text
	}
	return string(append(append(out, held...), text[last:]...))
}

// nextBrackets returns the range of the next innermost brackets at or after next, or -1.
func nextBrackets(text string, next int) (at, end int) {
	const wide = 0xe3
	at = -1
	for i := next; i < len(text); i++ {
		switch c := text[i]; {
		case c == '[', c == wide && strings.HasPrefix(text[i:], "【"):
			at = i
		case at < 0:
		case c == ']':
			return at, i + 1
		case c == wide && strings.HasPrefix(text[i:], "】"):
			return at, i + len("】")
		}
	}
	return -1, 0
}
