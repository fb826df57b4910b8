package lookup

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// tamer takes from the text of strangers what a prompt or a report could obey.
var tamer = strings.NewReplacer("<", "‹", ">", "›", "](", "] (", "![", "! [", "```", "'''")

// Tame returns text of strangers without what could end or begin a frame, without
// links and images of Markdown, and without characters that nobody sees.
func Tame(text string) string {
	return tamer.Replace(strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, text))
}

// isHidden reports whether r is a mark that is not seen but that models read: tags,
// selectors of variants, and blanks without width.
func isHidden(r rune) bool {
	return 0xe0000 <= r && r <= 0xe0fff || 0xfe00 <= r && r <= 0xfe0f || 0x200b <= r && r <= 0x200f || 0x2060 <= r && r <= 0x2064 || r == 0xfeff || r == 0xad || r == 0x180e
}

// citation matches [e3], [e3, e4] and the like.
var citation = regexp.MustCompile(`^[\[【]\s*(?:[A-Za-z]{1,12}:?\s)?[eE]\d{1,6}(?:\s*[,;–-]\s*[eE]?\d{1,6})*\s*[\]】]$`)

// Defused returns the text of a document without brackets around what would be
// a citation: only what was made here cites. It does so in code as well, for what
// is code in a document need not be where it is quoted.
func Defused(text string) string {
	return marks(text, nil, func(m string) (string, bool) {
		return strings.NewReplacer("[", "(", "]", ")", "【", "(", "】", ")").Replace(m), false
	})
}

// verbatim tells what is code or a quotation from other text, from its beginning on.
type verbatim struct {
	at    int  // as far as it has come
	fence int  // the backticks or tildes of the code block that it is in, or 0
	mark  byte // of those
	code  bool // quotations are as other text
}

// quotes are the marks that quotations begin and end with.
var quotes = map[string]string{`"`: `"`, "“": "”", "„": "“", "«": "»", "»": "«", "「": "」"}

// reaches goes on to a place in the text, and reports whether that is in code or a
// quotation. One goes to the last end of any on its line, for there may be others in it.
func (v *verbatim) reaches(text string, to int) bool {
	for v.at < to {
		rest := text[v.at:]
		_, n := utf8.DecodeRuneInString(rest)
		switch {
		case rest[0] == '`', rest[0] == '~':
			n = v.tick(rest, startsLine(text[:v.at]))
		case v.fence > 0 || v.code:
		case quotes[rest[:n]] != "":
			line, _, _ := strings.Cut(rest[n:], "\n")
			end := quotes[rest[:n]]
			if last := strings.LastIndex(line, end); last >= 0 {
				line = line[:last+len(end)]
			}
			n += len(line)
		}
		v.at += n
	}
	return v.fence > 0 || v.at > to
}

// startsLine reports whether what comes after text is the first of its line.
func startsLine(text string) bool {
	text = strings.TrimRight(text, " \t")
	return text == "" || text[len(text)-1] == '\n'
}

// tick takes the backticks or tildes that rest begins with, which may be the first of
// their line, and returns how far that goes: code within a line is gone through to its
// end. Backticks that nothing closes on their line are as other text, and so are tildes
// that begin no block.
func (v *verbatim) tick(rest string, first bool) int {
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

// replaced returns text with other text for what is in brackets: by is given where
// that begins and ends, and returns from where on to replace it, by what, and
// whether to do so.
func replaced(text string, by func(at, end int) (from int, other string, ok bool)) string {
	if strings.IndexByte(text, '[') < 0 && !strings.Contains(text, "【") {
		return text // as most
	}
	var out []byte
	last := 0
	var held string // the blanks before marks that were taken away, for what follows those at once
	for next := 0; ; {
		at, end := bracketed(text, next)
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
			if !lacking(out, text[end:]) {
				var n int
				out, n = mended(out, text[end:])
				last += n
			}
			if lacking(out, text[last:]) {
				if n := len(out); n > 0 && out[n-1] != '\n' && out[n-1] != '(' {
					out = append(out, ' ')
				}
				out = append(out, Nowhere...)
			}
		}
	}
	if last == 0 {
		return text
	}
	return string(append(append(out, held...), text[last:]...))
}

// bracketed returns where the next brackets with no other within begin and end, or -1.
func bracketed(text string, next int) (at, end int) {
	const wide = 0xe3 // begins the wide brackets
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
