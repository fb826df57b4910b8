package index

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder/internal/racetest"
	"ponder/internal/textkit/lexical"
	"ponder/store/sqldb"
	"ponder/store/sqlite"

	"github.com/google/go-cmp/cmp"
)

func openIndex(t testing.TB, file string) (*Index, sqldb.DB) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	x, err := Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	return x, store.SQL()
}

func newIndex(t testing.TB) (*Index, sqldb.DB) {
	return openIndex(t, filepath.Join(t.TempDir(), "test.db"))
}

func addDocs(t testing.TB, x *Index, docs ...Doc) {
	t.Helper()
	b := x.Prepare(docs)
	if err := x.db.Tx(t.Context(), func(tx *sql.Tx) error { return x.AddBatch(t.Context(), tx, b) }); err != nil {
		t.Fatal(err)
	}
}

func removeDocs(t testing.TB, x *Index, ids ...int64) {
	t.Helper()
	if err := x.db.Tx(t.Context(), func(tx *sql.Tx) error { return x.Remove(t.Context(), tx, ids...) }); err != nil {
		t.Fatal(err)
	}
}

func mergeAll(t testing.TB, x *Index) {
	t.Helper()
	for {
		more, err := x.Merge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

func searchHits(t testing.TB, x *Index, q Query, n int) []Hit {
	t.Helper()
	hits, err := x.Search(t.Context(), q, n)
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

func queryTerms(text string) (out []Term) {
	for _, w := range strings.Fields(text) {
		out = append(out, Term{Word: w})
	}
	return out
}

// newDoc returns a document with a passage for each text.
func newDoc(id int64, texts ...string) Doc {
	d := Doc{ID: id, Language: "en"}
	at := 0
	for _, t := range texts {
		d.Passages = append(d.Passages, Passage{Start: at, End: at + len(t), Text: t})
		at += len(t)
	}
	return d
}

// A reference is a plain list of documents.
type reference struct{ docs map[int64]Doc }

type scoredDoc struct {
	doc   int64
	place int
	score float64
}

func fieldCounts(d Doc, p Passage) (tf map[string]float64, n float64) {
	tf = map[string]float64{}
	lang := stemLanguage(&d)
	for _, text := range append([]string{p.Text, d.Title, p.Heading, p.Speaker}, d.Names...) {
		lexical.Tokens(text, func(k lexical.Token) {
			w := text[k.Start:k.End]
			tf[lexical.Stem(w, lang)]++
			if !lexical.Stop(w, lang) {
				n++
			}
		})
	}
	return tf, n
}

// search scores everything by BM25.
func (r *reference) search(q Query, n int) (out []scoredDoc) {
	type passage struct {
		doc   Doc
		place int
		tf    map[string]float64
		n     float64
	}
	var all []passage
	langs := map[lexical.Language]bool{}
	length := 0.0
	for _, d := range r.docs {
		langs[stemLanguage(&d)] = true
		for i, p := range d.Passages {
			tf, n := fieldCounts(d, p)
			all = append(all, passage{d, i, tf, n})
			length += n
		}
	}
	sums := make([]float64, len(all))
	met := make([]int, len(all))
	must := 0
	for _, t := range q.Terms {
		if t.Must && !t.Not {
			must++
		}
		tfs := make([]float64, len(all))
		df := 0.0
		for i, p := range all {
			tfs[i] = p.tf[lexical.Stem(t.Word, stemLanguage(&p.doc))]
			if tfs[i] > 0 {
				df++
			}
		}
		idf := math.Log(1 + (float64(len(all))-df+0.5)/(df+0.5))
		for i, p := range all {
			switch {
			case tfs[i] == 0:
			case t.Not:
				met[i] = -1000
			default:
				b, k1 := lengthNormWritten, 1.2
				if p.doc.Passages[p.place].Speaker != "" {
					b = lengthNormSpoken
				}
				sums[i] += idf * tfs[i] * (k1 + 1) / (tfs[i] + k1*(1-b+b*p.n/(length/float64(len(all)))))
				if t.Must && !t.Not {
					met[i]++
				}
			}
		}
	}
	sv := newDocFilter(q.Filter)
	for i, p := range all {
		m := newMeta(&p.doc, "en", 0)
		if sums[i] > 0 && met[i] == must && sv.matchesDoc(&m) {
			out = append(out, scoredDoc{p.doc.ID, p.place, sums[i]})
		}
	}
	slices.SortFunc(out, func(a, b scoredDoc) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	return out[:min(n, len(out))]
}

func (r *reference) compareSearch(t *testing.T, x *Index, q Query) {
	t.Helper()
	const n = 20
	want := r.search(q, 1_000)
	got := searchHits(t, x, q, n)
	if len(got) != min(n, len(want)) {
		t.Fatalf("%+v: %d hits, want %d", q, len(got), min(n, len(want)))
	}
	scores := map[scoredDoc]float64{}
	for _, s := range want {
		scores[scoredDoc{s.doc, s.place, 0}] = s.score
	}
	for i, h := range got {
		p, d, err := x.Passage(t.Context(), h.Passage)
		if err != nil || d != h.Doc {
			t.Fatalf("passage of %+v: %d, %v", h, d, err)
		}
		place := slices.IndexFunc(r.docs[d].Passages, func(k Passage) bool { return cmp.Equal(k, p) })
		if place < 0 {
			t.Fatalf("document %d has no passage %+v", d, p)
		}
		if s := scores[scoredDoc{d, place, 0}]; !isNearlyEqual(h.Score, s) || !isNearlyEqual(h.Score, want[i].score) {
			t.Fatalf("%+v: hit %d has the score %f, it should %f, and the place %f", q, i, h.Score, s, want[i].score)
		}
		if h.Relevance < 0 || h.Relevance > 1 {
			t.Fatalf("relevance %f", h.Relevance)
		}
	}
}

func isNearlyEqual(a, b float64) bool { return math.Abs(a-b) < 1e-4*max(1, a) }

type docMaker struct {
	*rand.Rand
	next int64
}

func (m *docMaker) randomWord() string {
	stems := []string{"run", "walk", "house", "letter", "promise", "river", "kitchen", "report", "table", "winter", "vertrag", "haus"}
	ends := []string{"", "", "s", "ing", "ed"}
	if m.IntN(4) == 0 {
		return []string{"the", "of", "and", "der", "die", "und"}[m.IntN(6)]
	}
	if m.IntN(3) == 0 {
		return fmt.Sprintf("w%dx", m.IntN(200))
	}
	return stems[int(float64(len(stems))*m.Float64()*m.Float64())] + ends[m.IntN(len(ends))]
}

func (m *docMaker) randomText(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(m.randomWord() + " ")
	}
	return b.String()
}

func (m *docMaker) randomDoc() Doc {
	m.next++
	var texts []string
	for range 1 + m.IntN(4) {
		texts = append(texts, m.randomText(m.IntN(30)))
	}
	d := newDoc(m.next, texts...)
	d.Language = []lexical.Language{"en", "en", "de", "pl"}[m.IntN(4)]
	d.Title = m.randomText(m.IntN(4))
	if m.IntN(3) == 0 {
		d.Passages[0].Speaker = m.randomWord()
	}
	d.Owner = []string{"", "a", "b"}[m.IntN(3)]
	d.Kind = []string{"memory", "post"}[m.IntN(2)]
	d.Source = fmt.Sprintf("/notes/%d.md", m.IntN(10))
	d.Tags = []string{"x", "y", "z"}[:m.IntN(3)]
	if m.IntN(3) > 0 {
		d.Date = time.UnixMicro(int64(1+m.IntN(1000)) * 1e6).UTC()
	}
	if m.IntN(3) == 0 {
		d.Names = []string{m.randomWord()}
	}
	return d
}

func (m *docMaker) randomQuery() (q Query) {
	for range 1 + m.IntN(4) {
		w := m.randomWord()
		if lexical.Stop(w, "en") || lexical.Stop(w, "de") || slices.ContainsFunc(q.Terms, func(t Term) bool { return strings.HasPrefix(t.Word, w[:2]) }) {
			continue
		}
		q.Terms = append(q.Terms, Term{Word: w, Must: m.IntN(6) == 0, Not: m.IntN(8) == 0})
	}
	if m.IntN(3) == 0 {
		q.Filter = []Filter{{Owner: "a"}, {Kinds: []string{"post", "x"}}, {Tags: []string{"x", "y"}}, {Sources: []string{"/notes/1*", "/notes/2.md"}},
			{From: time.Unix(200, 0), To: time.Unix(800, 0)}, {Docs: []int64{1, 2, 3, 5, 8, 13, 21}}}[m.IntN(6)]
	}
	return q
}

// TestReference makes random changes with two indexes on a file, and compares results
// with a plain scorer.
func TestReference(t *testing.T) {
	racetest.Skip(t, "one goroutine, which ranks a collection")
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "test.db")
			x, db := openIndex(t, file)
			other, _ := openIndex(t, file)
			m := &docMaker{rand.New(rand.NewPCG(seed, 1)), 0}
			ref := &reference{map[int64]Doc{}}
			for range 100 {
				m.runRandomStep(t, x, db, ref)
				switch m.IntN(8) {
				case 0:
					if x, db = openIndex(t, file); m.IntN(2) == 0 {
						x, other = other, x
					}
				case 1, 2, 3:
					ref.compareSearch(t, x, m.randomQuery())
					ref.compareSearch(t, other, m.randomQuery())
				}
			}
			for range 20 {
				ref.compareSearch(t, x, m.randomQuery())
			}
			mergeAll(t, x)
			for range 20 {
				ref.compareSearch(t, x, m.randomQuery())
			}
			if s, err := x.Stats(t.Context()); err != nil || s.Docs != len(ref.docs) || s.Segments > 40 {
				t.Errorf("stats %+v of %d documents, %v", s, len(ref.docs), err)
			}
		})
	}
}

func (m *docMaker) runRandomStep(t *testing.T, x *Index, db sqldb.DB, ref *reference) {
	ctx := t.Context()
	switch m.IntN(6) {
	case 0, 1, 2: // possibly rolled back
		var docs []Doc
		for range 1 + m.IntN(6) {
			docs = append(docs, m.randomDoc())
		}
		b := x.Prepare(docs)
		undo := m.IntN(4) == 0
		err := db.Tx(ctx, func(tx *sql.Tx) error {
			if err := x.AddBatch(ctx, tx, b); err != nil {
				return err
			}
			if m.IntN(3) == 0 { // in the same transaction
				if err := x.Remove(ctx, tx, docs[0].ID); err != nil {
					return err
				}
				docs = docs[1:]
			}
			if undo {
				return context.Canceled
			}
			return nil
		})
		if undo {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			ref.docs[d.ID] = d
		}
	case 3:
		var ids []int64
		for range m.IntN(5) {
			ids = append(ids, 1+m.Int64N(m.next+1))
		}
		err := db.Tx(ctx, func(tx *sql.Tx) error { return x.Remove(ctx, tx, ids...) })
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			delete(ref.docs, id)
		}
	default:
		for range m.IntN(4) {
			if _, err := x.Merge(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func addInTx(ctx context.Context, x *Index, b Batch) func(tx *sql.Tx) error {
	return func(tx *sql.Tx) error { return x.AddBatch(ctx, tx, b) }
}
