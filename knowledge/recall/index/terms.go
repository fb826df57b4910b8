package index

import (
	"context"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"sync"

	"ponder/internal/textkit/lexical"
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

const (
	// maxPhraseChecks is how many passages are read at most to see whether they
	// have a phrase: the best of those that have all its words.
	maxPhraseChecks = 2_000

	// phraseStep is how many are read at a time.
	phraseStep = 64
)

// withPhrases returns the first n that have all phrases, in one of their texts.
func (s *search) withPhrases(ctx context.Context, list []found, n int) (out []found, err error) {
	var phrases [][]string
	for _, p := range s.q.Phrases {
		if f := folded(p); len(f) > 0 {
			phrases = append(phrases, f)
		}
	}
	titles := map[int64][]string{}
	for part := range slices.Chunk(list, phraseStep) {
		texts, err := s.passages(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, f := range part {
			e, ok := texts[f.num]
			if !ok {
				return nil, errDamaged
			}
			if titles[e.Doc] == nil {
				if titles[e.Doc], err = s.title(ctx, e.Doc); err != nil {
					return nil, err
				}
			}
			fields := append([]string{e.Text, e.Heading, e.Speaker}, titles[e.Doc]...)
			if hasAll(fields, phrases) {
				if out = append(out, f); len(out) == n {
					return out, nil
				}
			}
		}
	}
	return out, nil
}

// folded returns the words of a text without case and accents.
func folded(text string) (out []string) {
	lexical.Tokens(text, func(t lexical.Token) { out = append(out, lexical.Fold(text[t.Start:t.End])) })
	return out
}

// hasAll reports whether each phrase is in one of the texts.
func hasAll(texts []string, phrases [][]string) bool {
	in := make([][]string, len(texts))
	for i, t := range texts {
		in[i] = folded(t)
	}
	return !slices.ContainsFunc(phrases, func(p []string) bool {
		return !slices.ContainsFunc(in, func(t []string) bool { return contains(t, p) })
	})
}

// contains reports whether words have others among them that follow each other.
func contains(text, phrase []string) bool {
	for i := 0; i+len(phrase) <= len(text); i++ {
		if slices.Equal(text[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}

func (s *search) passages(ctx context.Context, list []found) (map[int64]Entry, error) {
	const query = `SELECT num, doc, heading, speaker, body FROM index_passage WHERE num IN (?`
	args := make([]any, 0, len(list))
	for _, f := range list {
		args = append(args, f.num)
	}
	rows, err := s.tx.QueryContext(ctx, s.x.db.Bind(query+strings.Repeat(", ?", len(list)-1)+")"), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := map[int64]Entry{}
	for rows.Next() {
		var e Entry
		if err := rows.Scan(&e.Num, &e.Doc, &e.Heading, &e.Speaker, &e.Text); err != nil {
			return nil, err
		}
		out[e.Num] = e
	}
	return out, rows.Err()
}

// title returns what a document is called and by whom it is.
func (s *search) title(ctx context.Context, doc int64) ([]string, error) {
	var title, names string
	err := s.tx.QueryRowContext(ctx, s.x.db.Bind(`SELECT title, names FROM index_doc WHERE id = ?`), doc).Scan(&title, &names)
	return append([]string{title}, strings.Split(names, "\n")...), err
}

// A reading is what a word is indexed by.
type reading struct {
	stem string
	form string // marked; "" if it is the stem
	stop bool
}

// Readings remember the readings of words, which take longer to make than to
// find again. They are safe for concurrent use.
type readings struct {
	mu    sync.RWMutex
	langs map[lexical.Language]map[string]reading
}

// maxReadings is how many words of a language are remembered. Then it begins
// anew.
const maxReadings = 100_000

func newReadings() *readings { return &readings{langs: map[lexical.Language]map[string]reading{}} }

func (r *readings) read(word string, lang lexical.Language) reading {
	r.mu.RLock()
	out, ok := r.langs[lang][word]
	r.mu.RUnlock()
	if ok {
		return out
	}
	word = strings.Clone(word) // not the text around it
	out = newReading(word, lang)
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.langs[lang]
	if known == nil || len(known) >= maxReadings {
		known = map[string]reading{}
		r.langs[lang] = known
	}
	known[word] = out
	return out
}

func newReading(word string, lang lexical.Language) reading {
	folded := lexical.Fold(word)
	out := reading{stem: stemOf(word, lang), stop: lexical.Stop(folded, lang)}
	if out.stem != folded {
		out.form = formMark + folded
	}
	return out
}
