package recall

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
)

// An earlierText records that an original had a text that left the index; without a hash it
// is the original alone. Evidence refers to it, so it stays until the user forgets its
// source or a part.
type earlierText struct{ source, part, kind, hash, original string }

// maxEarlierOriginals is the number of a source's originals to search for a text.
const maxEarlierOriginals = 16

func (l *Library) putEarlier(ctx context.Context, tx *preparedTx, list []earlierText) error {
	for _, e := range list {
		err := tx.exec(ctx, l.db.Bind(`INSERT INTO recall_earlier (owner, source, part, kind, hash, original) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, source, original, hash, part) DO NOTHING`), l.owner, e.source, e.part, e.kind, e.hash, e.original)
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Library) dropEarlier(ctx context.Context, tx *preparedTx, source string) error {
	rows, err := tx.QueryContext(ctx, l.db.Bind(`SELECT DISTINCT original FROM recall_earlier WHERE owner = ? AND source = ?`), l.owner, source)
	if err != nil {
		return err
	}
	defer rows.Close()
	var list []archivedOriginal
	for rows.Next() {
		c := archivedOriginal{source: source}
		if err := rows.Scan(&c.hash); err != nil {
			return err
		}
		list = append(list, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if err := tx.exec(ctx, l.db.Bind(`DELETE FROM recall_earlier WHERE owner = ? AND source = ?`), l.owner, source); err != nil {
		return err
	}
	for _, c := range list {
		if err := l.dropOriginal(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}

func (l *Library) earlierSources(ctx context.Context, roots ...string) ([]string, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT DISTINCT source FROM recall_earlier WHERE owner = ?`), l.owner)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		source := ""
		if err := rows.Scan(&source); err != nil {
			return nil, err
		}
		for _, root := range roots {
			if isInside(source, root) {
				list = append(list, source)
				break
			}
		}
	}
	return list, rows.Err()
}

// checkEarlier checks a place in a text that left the index, by parsing its original
// again.
func (l *Library) checkEarlier(ctx context.Context, id string) (CheckResult, error) {
	hash, start, end, ok := document.ParseRangeID(id)
	if !ok || l.archive == nil {
		return CheckResult{}, nil
	}
	list, err := l.findEarlier(ctx, hash)
	if err != nil {
		return CheckResult{}, err
	}
	for _, e := range list {
		o, err := l.archive.Get(ctx, e.original)
		if errors.Is(err, archive.ErrNone) {
			continue
		}
		if err != nil {
			return CheckResult{}, err
		}
		if it, text, ok := e.parseText(o, hash); ok && end <= len(text) {
			it.Owner = l.owner
			return CheckResult{Stored: true, Original: true, Exact: true, Earlier: true, Quote: text[start:end], Item: it}, nil
		}
	}
	return CheckResult{}, nil
}

// findEarlier returns originals that may have a text with this hash prefix, the known one
// first.
func (l *Library) findEarlier(ctx context.Context, hash string) ([]earlierText, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT e.source, e.part, e.kind, e.hash, o.original FROM recall_earlier e
		JOIN recall_earlier o ON o.owner = e.owner AND o.source = e.source
		WHERE e.owner = ? AND e.hash >= ? AND e.hash < ? GROUP BY e.source, e.part, e.kind, e.hash, o.original
		ORDER BY max(CASE WHEN o.original = e.original THEN 1 ELSE 0 END) DESC LIMIT ?`), l.owner, hash, hash+"g", maxEarlierOriginals)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []earlierText
	for rows.Next() {
		var e earlierText
		if err := rows.Scan(&e.source, &e.part, &e.kind, &e.hash, &e.original); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

func (e earlierText) parseText(o archive.Original, hash string) (Item, string, bool) {
	base := Item{Path: e.source, Source: e.source}
	for _, kind := range []Kind{"", Kind(e.kind)} {
		base.Kind = kind
		for found, err := range fileEntries(source{path: e.source, userNamed: true}, o.Bytes, base) {
			if err != nil || !strings.HasPrefix(found.doc.Hash, hash) {
				continue
			}
			it := found.item
			it.Kind, it.Hash, it.Original, it.Size, it.Text, it.Raw = Kind(e.kind), found.doc.Hash, e.original, len(found.doc.Text), "", ""
			return it, found.doc.Text, true
		}
	}
	return Item{}, "", false
}

// Bounds on a passage, in words. A long sentence may exceed them; the end of a section
// or turn may cut a passage short.
const (
	minPassageWords = 60
	maxPassageWords = 120
)

// cutPassages cuts a text into passages without gaps; joined, they are the text. They end with
// sentences, sections and turns.
func cutPassages(d *document.Document, turns []turn) []index.Passage {
	c := passageCutter{doc: d, turns: turns}
	for i := range d.Sentences {
		c.addSentence(i)
	}
	c.endPassage(len(d.Text))
	return c.passages
}

type passageCutter struct {
	doc      *document.Document
	turns    []turn
	passages []index.Passage

	first     int
	open      bool
	words     int
	content   bool // not only headings
	turnsSeen int  // turns begun
}

func (c *passageCutter) addSentence(i int) {
	s := c.doc.Sentences[i]
	n := countWords(c.doc.Text[s.Start:s.End])
	begun := c.turnsSeen
	for c.turnsSeen < len(c.turns) && c.turns[c.turnsSeen].start <= s.Start {
		c.turnsSeen++
	}
	if c.open && (c.turnsSeen != begun || c.isFull(i, n)) {
		c.endPassage(s.Start)
	}
	if !c.open {
		c.open, c.first, c.words, c.content = true, i, 0, false
	}
	c.words += n
	c.content = c.content || s.Kind != document.Heading
}

func (c *passageCutter) isFull(i, n int) bool {
	s, before := c.doc.Sentences[i], c.doc.Sentences[i-1]
	switch {
	case !c.content:
		return c.words+n > 2*maxPassageWords // keep headings with the text below
	case s.Section != before.Section:
		return true
	case c.words+n > maxPassageWords:
		return true
	}
	return c.words >= minPassageWords && s.Kind == document.Prose && c.hasGapBefore(i)
}

func (c *passageCutter) hasGapBefore(i int) bool {
	between := c.doc.Text[c.doc.Sentences[i-1].End:c.doc.Sentences[i].Start]
	return len(between) > 1 && between[0] == '\n'
}

func (c *passageCutter) endPassage(at int) {
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
		p.Heading = textkit.Prefix(c.doc.Heading(c.doc.Sentences[c.lastSentence(at)].Section), maxField)
		p.Page = c.doc.Page(c.doc.Sentences[c.first].Start)
	}
	for i := len(c.turns) - 1; i >= 0; i-- {
		if c.turns[i].start < at {
			p.Speaker = c.turns[i].speaker
			break
		}
	}
	c.passages = append(c.passages, p)
	c.open = false
}

func (c *passageCutter) lastSentence(at int) int {
	i := c.doc.SentenceAt(at)
	for i > c.first && (i == len(c.doc.Sentences) || c.doc.Sentences[i].Start >= at) {
		i--
	}
	return i
}

// countWords estimates the words of a text: fields, and pairs of letters in scripts
// without spaces.
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
