package lookup

import (
	"bytes"
	"strings"
)

// Cites returns text with its citations replaced, each with the blanks before it. By also
// says whether nothing of that name is known: such a one stays where code has an index,
// right behind what may be indexed. What looks like a citation in code is none. One that is
// replaced by nothing leaves no hole: see mended and Nowhere.
func Cites(text string, by func(mark string) (other string, unknown bool)) string {
	return marks(text, &verbatim{code: true}, by)
}

// marks returns text with what looks like a citation replaced, but where in says
// that it is verbatim, if that is given.
func marks(text string, in *verbatim, by func(mark string) (other string, unknown bool)) string {
	last, indexes := -1, false // where the brackets before end, and whether those are an index
	return replaced(text, func(at, end int) (int, string, bool) {
		indexes = at > 0 && (isWord(text[at-1]) || text[at-1] == ')' || text[at-1] == ']' && (at != last || indexes))
		last = end
		if !citation.MatchString(text[at:end]) || in != nil && in.reaches(text, at) {
			return 0, "", false
		}
		from := len(strings.TrimRight(text[:at], " \t"))
		other, unknown := by(text[from:end])
		indexes = indexes && unknown
		return from, other, !indexes
	})
}

// Uncited returns the text of one that had nothing to cite with other in the place of its
// citations, or nothing. A line where something is indexed, called or quoted with what looks
// like one is code, though nothing marks it so, and stays as it is.
func Uncited(text, other string) string {
	in := verbatim{code: true}
	till, stays := 0, false // of the line
	return replaced(text, func(at, end int) (int, string, bool) {
		if !citation.MatchString(text[at:end]) || in.reaches(text, at) {
			return 0, "", false
		}
		if at >= till {
			line, _, _ := strings.Cut(text[at:], "\n")
			till = at + len(line)
			stays = indexes(text[strings.LastIndexByte(text[:at], '\n')+1 : till])
		}
		if other != "" {
			return at, other, !stays
		}
		return len(strings.TrimRight(text[:at], " \t")), "", !stays
	})
}

// indexes reports whether a line has what looks like a citation where code has an
// index or an argument.
func indexes(line string) (yes bool) {
	after := 0 // the citation or mark before
	replaced(line, func(at, end int) (int, string, bool) {
		index := at > after && glued(line[:at])
		if cites := citation.MatchString(line[at:end]); cites || !index && isMark(line[at:end]) {
			yes = yes || cites && index
			after = end
		}
		return 0, "", false
	})
	return yes
}

// glued reports whether text, which is not empty, ends in what code has before an
// index or an argument.
func glued(text string) bool {
	c := text[len(text)-1]
	return isWord(c) || strings.IndexByte(")]\"'", c) >= 0 || c == '(' && len(text) > 1 && isWord(text[len(text)-2])
}

// unverified is what claim.Mark writes at the end of a sentence.
const unverified = "[unverified]"

// mended closes the hole between two parts of a text where something was taken away:
// it returns the first without a comma that would stand before the end of a clause, and
// how much of the rest goes: a comma that would come first, or a second point. Parentheses that would be
// empty go from both, but for those of a call.
func mended(out []byte, rest string) ([]byte, int) {
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

// isWord reports whether c may end the name of what is called.
func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
