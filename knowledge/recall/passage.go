package recall

import (
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

// Bounds on a passage, in words. A passage of one sentence may be longer, and one
// that ends with its section, or its speaker, shorter.
const (
	passageLeast = 60
	passageMost  = 120
)

// cut cuts a text into passages that follow each other without gaps, so that
// they are the text when put together. They end where a sentence ends, and where
// a section or somebody's turn does.
func cut(d *document.Document, turns []turn) []index.Passage {
	c := cutter{doc: d, turns: turns}
	for i := range d.Sentences {
		c.sentence(i)
	}
	c.end(len(d.Text))
	return c.passages
}

type cutter struct {
	doc      *document.Document
	turns    []turn
	passages []index.Passage

	first    int  // the first sentence of the open passage
	open     bool // there is an open passage
	words    int  // in it
	content  bool // it has more than headings
	speaking int  // how many turns have begun
}

// sentence adds a sentence to the open passage, or begins another with it.
func (c *cutter) sentence(i int) {
	s := c.doc.Sentences[i]
	n := countWords(c.doc.Text[s.Start:s.End])
	begun := c.speaking
	for c.speaking < len(c.turns) && c.turns[c.speaking].start <= s.Start {
		c.speaking++
	}
	if c.open && (c.speaking != begun || c.full(i, n)) {
		c.end(s.Start)
	}
	if !c.open {
		c.open, c.first, c.words, c.content = true, i, 0, false
	}
	c.words += n
	c.content = c.content || s.Kind != document.Heading
}

// full reports whether the open passage ends before the ith sentence, of n
// words.
func (c *cutter) full(i, n int) bool {
	s, before := c.doc.Sentences[i], c.doc.Sentences[i-1]
	switch {
	case !c.content:
		return c.words+n > 2*passageMost // headings stand with what is below them
	case s.Section != before.Section:
		return true
	case c.words+n > passageMost:
		return true
	}
	return c.words >= passageLeast && s.Kind == document.Prose && c.gap(i)
}

// gap reports whether another paragraph begins with the ith sentence.
func (c *cutter) gap(i int) bool {
	between := c.doc.Text[c.doc.Sentences[i-1].End:c.doc.Sentences[i].Start]
	return len(between) > 1 && between[0] == '\n'
}

// end ends the open passage.
func (c *cutter) end(at int) {
	start := 0
	if n := len(c.passages); n > 0 {
		start = c.passages[n-1].End
	}
	if at == start {
		c.open = false
		return
	}
	p := index.Passage{Start: start, End: at, Text: c.doc.Text[start:at]}
	if c.open {
		p.Heading = textkit.Prefix(c.doc.Heading(c.doc.Sentences[c.last(at)].Section), maxField)
		p.Page = c.doc.Page(c.doc.Sentences[c.first].Start)
	}
	for i := len(c.turns) - 1; i >= 0; i-- { // the newest that began before the passage ends
		if c.turns[i].start < at {
			p.Speaker = c.turns[i].speaker
			break
		}
	}
	c.passages = append(c.passages, p)
	c.open = false
}

// last returns the last sentence that begins before a place.
func (c *cutter) last(at int) int {
	i := c.doc.At(at)
	for i > c.first && (i == len(c.doc.Sentences) || c.doc.Sentences[i].Start >= at) {
		i--
	}
	return i
}

// countWords returns about how many words a text has: what is between spaces,
// and pairs of letters where a script does not use them.
func countWords(s string) int {
	n, wide, in := 0, 0, false
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			space := c <= ' '
			if !space && !in {
				n++
			}
			in = !space
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r >= 0x2e80 && r < 0xe000 || r >= 0xf900 && r < 0xfb00 || r >= 0x20000 {
			wide++
		} else if !in {
			n, in = n+1, true
		}
		i += size
	}
	return n + wide/2
}
