package index

import (
	"encoding/binary"
	"sort"
	"strings"
)

// formMark begins a term that is a word as it was written, without case and
// accents, whose stem is another. It is before all letters.
const formMark = "\x01"

// Bounds on what is read.
const (
	maxTerm     = 1 << 10
	maxPostings = 1 << 30 // bytes of a list
)

// A termEntry is a word of a segment and where its postings are.
type termEntry struct {
	df      int   // passages that have it
	written bool  // some passage has it in this form, not only with this stem
	at      int64 // where its postings begin in the segment's
	size    int   // their bytes, padding included
}

// A dictionary has the terms of a segment in order, on pages.
type dictionary struct{ pages []termPage }

// A termPage has the number of its row, where the postings of its first term
// begin, and its terms: each with how many bytes it shares with the one before,
// the rest of it, its df doubled and 1 if it is written so, and its size.
type termPage struct {
	row   int
	at    int64
	first string
	data  []byte
}

// newTermPage reads the head of a page. It has no first term if it is empty.
func newTermPage(row int, data []byte) (p termPage, ok bool) {
	c := cursor{data: data}
	p = termPage{row: row, at: int64(c.uint())}
	p.data = data[c.at:]
	if c.done() {
		return p, false
	}
	c.uint()
	p.first = string(c.bytes())
	return p, !c.bad
}

// find returns what is known of a term.
func (d *dictionary) find(term string) (e termEntry, ok bool) {
	i := sort.Search(len(d.pages), func(i int) bool { return d.pages[i].first > term }) - 1
	if i < 0 {
		return e, false
	}
	p := &d.pages[i]
	c := cursor{data: p.data}
	at, same := p.at, 0
	for !c.done() {
		shared := c.int(maxTerm)
		rest := c.bytes()
		df, size := c.int(maxPostings), c.int(maxPostings)
		switch {
		case shared < same:
			return e, false
		case shared == same:
			n := common(rest, term[same:])
			if n == len(rest) && same+n == len(term) {
				return termEntry{df >> 1, df&1 != 0, at, size}, !c.bad
			}
			if n < len(rest) && (same+n == len(term) || rest[n] > term[same+n]) {
				return e, false
			}
			same += n
		}
		at += int64(size)
	}
	return e, false
}

// common returns how many bytes a and b begin with alike.
func common(a []byte, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// from calls yield with the terms from one on, in order, until yield returns
// false. The term is valid during the call. Shared is how many bytes it has in
// common with the one before; 0 at the first.
func (d *dictionary) from(term string, yield func(term []byte, shared int, e termEntry) bool) {
	i := max(0, sort.Search(len(d.pages), func(i int) bool { return d.pages[i].first > term })-1)
	var key []byte
	started := false
	for ; i < len(d.pages); i++ {
		c := cursor{data: d.pages[i].data}
		at := d.pages[i].at
		for !c.done() {
			shared := c.int(len(key))
			key = append(key[:shared], c.bytes()...)
			df, size := c.int(maxPostings), c.int(maxPostings)
			if string(key) >= term {
				if !started {
					started, shared = true, 0
				}
				if c.bad || !yield(key, shared, termEntry{df >> 1, df&1 != 0, at, size}) {
					return
				}
			}
			at += int64(size)
		}
	}
}

// A termWriter makes the pages of a dictionary from terms in order.
type termWriter struct {
	page   []byte
	last   string // the term before on the page
	at     int64  // where the next postings begin
	emit   func(page []byte) error
	opened bool
}

func (w *termWriter) add(term string, df int, written bool, size int) error {
	if !w.opened {
		w.page, w.last, w.opened = binary.AppendUvarint(nil, uint64(w.at)), "", true
	}
	w.page = appendTerm(w.page, w.last, term, df, written, size)
	w.last = term
	w.at += int64(size)
	if len(w.page) < pageSize-128 {
		return nil
	}
	return w.flush()
}

func (w *termWriter) flush() error {
	if !w.opened {
		return nil
	}
	w.opened = false
	return w.emit(w.page)
}

// appendTerm appends a term to a page on which last is before it.
func appendTerm(page []byte, last, term string, df int, written bool, size int) []byte {
	n := min(len(last), len(term))
	shared := 0
	for shared < n && last[shared] == term[shared] {
		shared++
	}
	page = binary.AppendUvarint(page, uint64(shared))
	page = appendString(page, term[shared:])
	flag := uint64(0)
	if written {
		flag = 1
	}
	page = binary.AppendUvarint(page, uint64(df)<<1|flag)
	return binary.AppendUvarint(page, uint64(size))
}

// isForm reports whether a term is a word as it was written.
func isForm(term string) bool { return strings.HasPrefix(term, formMark) }
