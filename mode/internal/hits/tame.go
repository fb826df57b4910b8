package hits

import (
	"regexp"
	"strings"
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
// a citation: only what was made here cites.
func Defused(text string) string {
	return Cites(text, func(m string) string {
		return strings.NewReplacer("[", "(", "]", ")", "【", "(", "】", ")").Replace(m)
	})
}

// bare matches [45] and the like, which a reader takes for a citation of a source
// that is not there, if it begins the text or stands behind a blank.
var bare = regexp.MustCompile(`^\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]$`)

// Unnumbered returns text without numbers in brackets, but for those of links.
func Unnumbered(text string) string {
	return replaced(text, func(at, end int) (int, string, bool) {
		if rest := text[end:]; strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, ":") {
			return 0, "", false
		}
		if at > 0 && text[at-1] != ' ' && text[at-1] != '\t' {
			return 0, "", false
		}
		return max(0, at-1), "", bare.MatchString(text[at:end])
	})
}

// Cites returns text with its citations replaced, each with the blanks before it.
func Cites(text string, by func(string) string) string {
	return replaced(text, func(at, end int) (int, string, bool) {
		if !citation.MatchString(text[at:end]) {
			return 0, "", false
		}
		from := len(strings.TrimRight(text[:at], " \t"))
		return from, by(text[from:end]), true
	})
}

// replaced returns text with other text for what is in brackets: by is given where
// that begins and ends, and returns from where on to replace it, by what, and
// whether to do so.
func replaced(text string, by func(at, end int) (from int, other string, ok bool)) string {
	var b strings.Builder
	last := 0
	for next := 0; ; {
		at, end := bracketed(text, next)
		if at < 0 {
			break
		}
		if from, other, ok := by(at, end); ok {
			b.WriteString(text[last:from])
			b.WriteString(other)
			last = end
		}
		next = end
	}
	if last == 0 { // as of most
		return text
	}
	b.WriteString(text[last:])
	return b.String()
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
