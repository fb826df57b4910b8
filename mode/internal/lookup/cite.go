package lookup

import (
	"bytes"
	"strings"
)

// ReplaceCitations replaces each citation, and the blanks before it, by by's result. Citations in code stay,
// and unknown ones that look like a code index. A removal also fixes punctuation; see Nowhere.
func ReplaceCitations(text string, by func(mark string) (other string, unknown bool)) string {
	return mapCitations(text, &verbatimScanner{code: true}, by)
}

// mapCitations replaces citations except inside verbatim text, if in is given.
func mapCitations(text string, in *verbatimScanner, by func(mark string) (other string, unknown bool)) string {
	last, indexes := -1, false
	return replaceBrackets(text, func(at, end int) (int, string, bool) {
		indexes = at > 0 && (isWord(text[at-1]) || text[at-1] == ')' || text[at-1] == ']' && (at != last || indexes))
		last = end
		if !citationPattern.MatchString(text[at:end]) || in != nil && in.isVerbatim(text, at) {
			return 0, "", false
		}
		from := len(strings.TrimRight(text[:at], " \t"))
		other, unknown := by(text[from:end])
		indexes = indexes && unknown
		return from, other, !indexes
	})
}

// ReplaceAllCitations replaces all citations of a text without evidence by other. Lines that use them like code
// stay unchanged.
func ReplaceAllCitations(text, other string) string {
	in := verbatimScanner{code: true}
	till, stays := 0, false
	return replaceBrackets(text, func(at, end int) (int, string, bool) {
		if !citationPattern.MatchString(text[at:end]) || in.isVerbatim(text, at) {
			return 0, "", false
		}
		if at >= till {
			line, _, _ := strings.Cut(text[at:], "\n")
			till = at + len(line)
			stays = hasIndexCitation(text[strings.LastIndexByte(text[:at], '\n')+1 : till])
		}
		if other != "" {
			return at, other, !stays
		}
		return len(strings.TrimRight(text[:at], " \t")), "", !stays
	})
}

func hasIndexCitation(line string) (yes bool) {
	after := 0
	replaceBrackets(line, func(at, end int) (int, string, bool) {
		index := at > after && endsLikeCode(line[:at])
		if cites := citationPattern.MatchString(line[at:end]); cites || !index && isMark(line[at:end]) {
			yes = yes || cites && index
			after = end
		}
		return 0, "", false
	})
	return yes
}

func endsLikeCode(text string) bool {
	c := text[len(text)-1]
	return isWord(c) || strings.IndexByte(")]\"'", c) >= 0 || c == '(' && len(text) > 1 && isWord(text[len(text)-2])
}

const unverified = "[unverified]"

// repairPunctuation repairs punctuation around a removal. It returns out without a dangling comma, and how
// many bytes of rest to skip.
func repairPunctuation(out []byte, rest string) ([]byte, int) {
	before := bytes.TrimRight(out, " \t")
	after := strings.TrimLeft(rest, " \t")
	blanks := len(rest) - len(after)
	first := len(before) == 0 || before[len(before)-1] == '\n' || before[len(before)-1] == '('
	switch {
	case first && after != "" && strings.IndexByte(",;", after[0]) >= 0:
		after = strings.TrimLeft(after[1:], " \t")
		if blanks = len(rest) - len(after); !bytes.HasSuffix(before, []byte("(")) || !strings.HasPrefix(after, ")") {
			return out, blanks
		}
		fallthrough
	case bytes.HasSuffix(before, []byte("(")) && strings.HasPrefix(after, ")"):
		before = before[:len(before)-1]
		if n := len(before); n > 0 && isWord(before[n-1]) {
			return out, blanks
		}
		return bytes.TrimRight(before, " \t"), blanks + 1
	case first:
	case strings.IndexByte(",;:", before[len(before)-1]) >= 0 && (after == "" || strings.IndexByte(".,;!?)", after[0]) >= 0):
		return bytes.TrimRight(before[:len(before)-1], " \t"), blanks
	case before[len(before)-1] == ',' && strings.HasPrefix(after, unverified):
		return before[:len(before)-1], 0
	case before[len(before)-1] == '.' && (after == "." || strings.HasPrefix(after, ". ") || strings.HasPrefix(after, ".\n")):
		return before, blanks + 1
	}
	return out, 0
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
