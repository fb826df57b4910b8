package dialect

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A cutter cuts a text into pieces, at the same places however it comes in: behind the
// space between two words, and else before a piece gets too long. So whoever reads a text
// from the log gets the same pieces as one who saw it being written.
type cutter struct{ rest string }

// maxPiece is how many bytes a piece has at most.
const maxPiece = 64

// add takes in more of the text, and returns the pieces that are whole.
func (c *cutter) add(text string) (list []string) {
	c.rest += text
	for {
		n := pieceEnd(c.rest)
		if n == 0 {
			return list
		}
		list = append(list, strings.Clone(c.rest[:n]))
		c.rest = c.rest[n:]
	}
}

// end returns what is left, if anything is.
func (c *cutter) end() (list []string) {
	if c.rest != "" {
		list = append(list, c.rest)
	}
	c.rest = ""
	return list
}

// pieceEnd returns where the first piece of a text ends, or 0 if that is not known before
// there is more of it.
func pieceEnd(text string) int {
	spaced := false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 && len(text)-i < utf8.UTFMax && !utf8.FullRuneInString(text[i:]) {
			return 0 // the rest of a letter is to come
		}
		space := unicode.IsSpace(r)
		if spaced && !space || i > 0 && i+n > maxPiece {
			return i
		}
		spaced = spaced || space && i > 0
		i += n
	}
	return 0
}
