package document

import "sync"

// A Collection is documents with an index. It does not change and is safe for
// concurrent use.
type Collection struct {
	*index
	tallies sync.Pool // of *tally
}

// NewCollection returns the collection of documents.
func NewCollection(docs []*Document) *Collection {
	b := newBuilder()
	for _, d := range docs {
		b.add(d)
	}
	return b.collection()
}

func (b *builder) collection() *Collection {
	c := &Collection{index: b.seal()}
	c.tallies.New = func() any { return newTally(c.index) }
	return c
}

// Documents returns the documents in order. The slice is the collection's own.
func (c *Collection) Documents() []*Document { return c.docs }

// Sentences returns how many sentences the documents have.
func (c *Collection) Sentences() int { return len(c.units) }

// Bytes returns how long the texts are together.
func (c *Collection) Bytes() int64 {
	var n int64
	for _, d := range c.docs {
		n += int64(len(d.Text))
	}
	return n
}
