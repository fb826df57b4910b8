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

// formMark begins the folded unstemmed form of a word that differs from its stem. It
// sorts before letters.
const formMark = "\x01"

const (
	maxTerm     = 1 << 10
	maxPostings = 1 << 30 // bytes of a list
)

type termEntry struct {
	df      int
	written bool  // some passage has this form, not only this stem
	at      int64 // of its postings
	size    int   // bytes, with padding
}

type dictionary struct{ pages []termPage }

// A termPage is a row of terms; see the package comment for the format.
type termPage struct {
	row   int
	at    int64
	first string
	data  []byte
}

// newTermPage reads the head of a page; ok is false if it is empty.
func newTermPage(row int, data []byte) (p termPage, ok bool) {
	c := cursor{data: data}
	p = termPage{row: row, at: int64(c.readUint())}
	p.data = data[c.at:]
	if c.atEnd() {
		return p, false
	}
	c.readUint()
	p.first = string(c.readBytes())
	return p, !c.damaged
}

func (d *dictionary) findTerm(term string) (e termEntry, ok bool) {
	i := sort.Search(len(d.pages), func(i int) bool { return d.pages[i].first > term }) - 1
	if i < 0 {
		return e, false
	}
	p := &d.pages[i]
	c := cursor{data: p.data}
	at, same := p.at, 0
	for !c.atEnd() {
		shared := c.readInt(maxTerm)
		rest := c.readBytes()
		df, size := c.readInt(maxPostings), c.readInt(maxPostings)
		switch {
		case shared < same:
			return e, false
		case shared == same:
			n := commonPrefix(rest, term[same:])
			if n == len(rest) && same+n == len(term) {
				return termEntry{df >> 1, df&1 != 0, at, size}, !c.damaged
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

// commonPrefix returns the length of the common prefix.
func commonPrefix(a []byte, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// eachTermFrom yields terms in order from term on, until yield returns false. The slice is
// valid during the call. Shared is the length of the prefix in common with the previous
// term, or 0 for the first.
func (d *dictionary) eachTermFrom(term string, yield func(term []byte, shared int, e termEntry) bool) {
	i := max(0, sort.Search(len(d.pages), func(i int) bool { return d.pages[i].first > term })-1)
	var key []byte
	started := false
	for ; i < len(d.pages); i++ {
		c := cursor{data: d.pages[i].data}
		at := d.pages[i].at
		for !c.atEnd() {
			shared := c.readInt(len(key))
			key = append(key[:shared], c.readBytes()...)
			df, size := c.readInt(maxPostings), c.readInt(maxPostings)
			if string(key) >= term {
				if !started {
					started, shared = true, 0
				}
				if c.damaged || !yield(key, shared, termEntry{df >> 1, df&1 != 0, at, size}) {
					return
				}
			}
			at += int64(size)
		}
	}
}

type termWriter struct {
	page   []byte
	last   string
	at     int64 // of the next postings
	emit   func(page []byte) error
	opened bool
}

func (w *termWriter) addTerm(term string, df int, written bool, size int) error {
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

// appendTerm appends a term after last.
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

func isForm(term string) bool { return strings.HasPrefix(term, formMark) }

const (
	// maxPhraseChecks limits the passages that are read for phrases.
	maxPhraseChecks = 2_000

	phraseStep = 64
)

// filterPhrases returns the first n passages that have each phrase in one field.
func (s *search) filterPhrases(ctx context.Context, list []foundPassage, n int) (out []foundPassage, err error) {
	var phrases [][]string
	for _, p := range s.q.Phrases {
		if f := foldWords(p); len(f) > 0 {
			phrases = append(phrases, f)
		}
	}
	titles := map[int64][]string{}
	for part := range slices.Chunk(list, phraseStep) {
		texts, err := s.fetchPassages(ctx, part)
		if err != nil {
			return nil, err
		}
		for _, f := range part {
			e, ok := texts[f.num]
			if !ok {
				return nil, errDamaged
			}
			if titles[e.Doc] == nil {
				if titles[e.Doc], err = s.fetchTitles(ctx, e.Doc); err != nil {
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

func foldWords(text string) (out []string) {
	lexical.Tokens(text, func(t lexical.Token) { out = append(out, lexical.Fold(text[t.Start:t.End])) })
	return out
}

// hasAll reports whether each phrase is in a text.
func hasAll(texts []string, phrases [][]string) bool {
	in := make([][]string, len(texts))
	for i, t := range texts {
		in[i] = foldWords(t)
	}
	return !slices.ContainsFunc(phrases, func(p []string) bool {
		return !slices.ContainsFunc(in, func(t []string) bool { return containsPhrase(t, p) })
	})
}

func containsPhrase(text, phrase []string) bool {
	for i := 0; i+len(phrase) <= len(text); i++ {
		if slices.Equal(text[i:i+len(phrase)], phrase) {
			return true
		}
	}
	return false
}

func (s *search) fetchPassages(ctx context.Context, list []foundPassage) (map[int64]Entry, error) {
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

func (s *search) fetchTitles(ctx context.Context, doc int64) ([]string, error) {
	var title, names string
	err := s.tx.QueryRowContext(ctx, s.x.db.Bind(`SELECT title, names FROM index_doc WHERE id = ?`), doc).Scan(&title, &names)
	return append([]string{title}, strings.Split(names, "\n")...), err
}

type wordForms struct {
	stem string
	form string // with formMark; "" if equal to the stem
	stop bool
}

// formCache caches the readings of words. It is safe for concurrent use.
type formCache struct {
	mu    sync.RWMutex
	langs map[lexical.Language]map[string]wordForms
}

// maxCachedForms limits a language's cached words; a full cache is emptied.
const maxCachedForms = 100_000

func newFormCache() *formCache { return &formCache{langs: map[lexical.Language]map[string]wordForms{}} }

func (r *formCache) findForms(word string, lang lexical.Language) wordForms {
	r.mu.RLock()
	out, ok := r.langs[lang][word]
	r.mu.RUnlock()
	if ok {
		return out
	}
	word = strings.Clone(word) // frees the text around it
	out = newWordForms(word, lang)
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.langs[lang]
	if known == nil || len(known) >= maxCachedForms {
		known = map[string]wordForms{}
		r.langs[lang] = known
	}
	known[word] = out
	return out
}

func newWordForms(word string, lang lexical.Language) wordForms {
	folded := lexical.Fold(word)
	out := wordForms{stem: stemWord(word, lang), stop: lexical.Stop(folded, lang)}
	if out.stem != folded {
		out.form = formMark + folded
	}
	return out
}
