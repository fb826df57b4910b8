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
var citation = regexp.MustCompile(`[ \t]*[\[【]\s*(?:[A-Za-z]{1,12}:?\s)?[eE]\d{1,6}(?:\s*[,;–-]\s*[eE]?\d{1,6})*\s*[\]】]`)

// Defused returns the text of a document without brackets around what would be
// a citation: only what was made here cites.
func Defused(text string) string {
	return Cites(text, func(m string) string {
		return strings.NewReplacer("[", "(", "]", ")", "【", "(", "】", ")").Replace(m)
	})
}

// bare matches [45] and the like, which a reader takes for a citation of a source
// that is not there.
var bare = regexp.MustCompile(`(?:^|[ \t])\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]`)

// Unnumbered returns text without numbers in brackets, but for those of links.
func Unnumbered(text string) string {
	if !strings.Contains(text, "[") {
		return text
	}
	var b strings.Builder
	last := 0
	for _, at := range bare.FindAllStringIndex(text, -1) {
		if rest := text[at[1]:]; strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, ":") {
			continue
		}
		b.WriteString(text[last:at[0]])
		last = at[1]
	}
	return b.String() + text[last:]
}

// Cites returns text with its citations replaced.
func Cites(text string, by func(string) string) string {
	if !strings.ContainsAny(text, "[【") { // as most have none
		return text
	}
	return citation.ReplaceAllStringFunc(text, by)
}
