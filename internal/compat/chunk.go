package compat

import (
	"unicode"
	"unicode/utf8"
)

// A chunker cuts a text into pieces, at the same places however it comes in: behind the
// space between two words, and else before a piece gets too long. So whoever reads a text
// from the log gets the same pieces as one who saw it being written.
type chunker struct {
	rest []byte
	list []string
}

// maxPiece is how many bytes a piece has at most.
const maxPiece = 64

// add takes in more of the text, and returns the pieces that are whole, until it is
// called again.
func (c *chunker) add(text string) []string {
	c.rest, c.list = append(c.rest, text...), c.list[:0]
	at := 0
	for {
		n := pieceEnd(c.rest[at:])
		if n == 0 {
			c.rest = append(c.rest[:0], c.rest[at:]...)
			return c.list
		}
		c.list = append(c.list, string(c.rest[at:at+n]))
		at += n
	}
}

// end returns what is left, if anything is.
func (c *chunker) end() (list []string) {
	if len(c.rest) > 0 {
		list = append(list, string(c.rest))
	}
	c.rest = c.rest[:0]
	return list
}

// pieceEnd returns where the first piece of a text ends, or 0 if that is not known before
// there is more of it.
func pieceEnd(text []byte) int {
	spaced := false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 && len(text)-i < utf8.UTFMax && !utf8.FullRune(text[i:]) {
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
