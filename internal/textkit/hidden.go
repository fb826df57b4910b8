package textkit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is the highest number of marks on one letter. Tibetan needs five; many more would cover
// other lines.
const maxMarks = 8

// A filter drops the characters of a text that are hidden, or that reorder others. It keeps joiners and
// selectors where a script or a pictograph needs them. The zero value is at the start of a text.
type filter struct {
	last  rune   // that stays
	marks int    // since the last letter
	tags  string // after a black flag
}

// filterRune returns r, or '\n' for an end of a line, or -1 if the text is better without r.
func (f *filter) filterRune(r rune) rune {
	switch {
	case ' ' <= r && r < 0x7f, 0xa0 <= r && r < 0x300 && r != '\u00ad', r == '\t': // the common case
		f.last, f.marks = r, 0
		return r
	case r == '\n', r == '\r', r == '\f', r == '\v', r == '\u0085', r == '\u2028', r == '\u2029':
		f.last, f.marks = '\n', 0
		return '\n'
	case !f.isNeeded(r):
		return -1
	}
	switch {
	case !unicode.In(r, unicode.Mn, unicode.Me, unicode.Join_Control):
		f.marks = 0
	case f.marks == maxMarks:
		return -1
	default:
		f.marks++
	}
	f.last = r
	return r
}

// isNeeded reports whether r is visible, or changes how its predecessor looks.
func (f *filter) isNeeded(r rune) bool {
	switch {
	case r == '\u200c', r == '\u200d':
		return takesJoiner(f.last)
	case r == '\ufe0e', r == '\ufe0f':
		return isPictograph(f.last)
	case 0x180b <= r && r <= 0x180d, r == 0x180f: // Mongolian selectors
		return 0x1820 <= f.last && f.last <= 0x18aa
	case 0xe0020 <= r && r <= 0xe007f:
		return f.isFlagTag(r)
	}
	return unicode.Is(unicode.Prepended_Concatenation_Mark, r) ||
		!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// flagTags are the tags after a black flag that make the flags of England, Scotland and Wales.
var flagTags = []string{"gbeng\x7f", "gbsct\x7f", "gbwls\x7f"}

func (f *filter) isFlagTag(r rune) bool {
	if f.last == '\U0001f3f4' {
		f.tags = ""
	} else if f.last < 0xe0020 || f.last > 0xe007f {
		return false
	}
	tags := f.tags + string(r-0xe0000)
	for _, flag := range flagTags {
		if strings.HasPrefix(flag, tags) {
			f.tags = tags
			return true
		}
	}
	return false
}

// takesJoiner reports whether a joiner may follow r: in scripts whose letters join or stack, and in
// pictographs.
func takesJoiner(r rune) bool {
	script := 0x600 <= r && r < 0x1d00 || 0xa800 <= r && r < 0xac00 || 0x10a00 <= r && r < 0x12000 || 0x1e900 <= r && r < 0x1e960
	return script && unicode.In(r, unicode.L, unicode.M) || isPictograph(r) || r == '\ufe0f'
}

// isPictograph reports whether r may be a part of an emoji.
func isPictograph(r rune) bool {
	return r >= 0xa9 && unicode.In(r, unicode.So, unicode.Sk, unicode.Sm) || strings.ContainsRune("\u203c\u2049\u2139\u3030\u303d", r)
}

// isPlain reports whether r is visible whatever precedes it.
func isPlain(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Mc) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// maxCluster is the highest number of characters to wait for after a letter.
const maxCluster = 32

// clusterStart returns the length of text without a last letter that later characters may change.
func clusterStart(text string) int {
	at := len(text)
	for range maxCluster {
		r, n := utf8.DecodeLastRuneInString(text[:at])
		isMark := unicode.In(r, unicode.M, unicode.Cf)
		switch at -= n; {
		case isMark && at > 0:
		case isMark, at+n < len(text), takesJoiner(r):
			return at
		default:
			return len(text)
		}
	}
	return len(text)
}
