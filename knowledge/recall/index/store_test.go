package index

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/textkit/lexical"
	"ponder/internal/textkit/ranking"
)

func TestText(t *testing.T) {
	x, _ := newIndex(t)
	d := newDoc(7, "One. ", "Two.\n", "Three.")
	d.Passages[1].Page, d.Passages[1].Heading, d.Passages[1].Speaker = 2, "H", "S"
	addDocs(t, x, newDoc(1, "before"), d, Doc{ID: 8})
	text, err := x.Text(t.Context(), 7)
	if err != nil || text != "One. Two.\nThree." {
		t.Errorf("text %q, %v", text, err)
	}
	list, err := x.Passages(t.Context(), 7)
	if diff := cmp.Diff(d.Passages, list); diff != "" || err != nil {
		t.Error(diff, err)
	}
	first, n, err := x.PassageRange(t.Context(), 7)
	if err != nil || first != 2 || n != 3 {
		t.Errorf("first %d of %d, %v", first, n, err)
	}
	p, id, err := x.Passage(t.Context(), 3)
	if diff := cmp.Diff(d.Passages[1], p); diff != "" || id != 7 || err != nil {
		t.Error(diff, id, err)
	}
	after, err := x.EntriesAfter(t.Context(), 1, 2)
	if want := []Entry{{2, 7, d.Passages[0]}, {3, 7, d.Passages[1]}}; err != nil || !cmp.Equal(want, after) {
		t.Error(cmp.Diff(want, after), err)
	}
	if text, err := x.Text(t.Context(), 8); text != "" || err != nil {
		t.Errorf("text of nothing is %q, %v", text, err)
	}
	for _, err := range []error{
		func() error { _, err := x.Text(t.Context(), 9); return err }(),
		func() error { _, _, err := x.Passage(t.Context(), 99); return err }(),
		func() error { _, _, err := x.PassageRange(t.Context(), 9); return err }(),
	} {
		if !errors.Is(err, ErrNone) {
			t.Errorf("%v, want ErrNone", err)
		}
	}
}

func TestAddTwice(t *testing.T) {
	x, db := newIndex(t)
	addDocs(t, x, newDoc(1, "first"))
	err := db.Tx(t.Context(), func(tx *sql.Tx) error { return x.Add(t.Context(), tx, []Doc{newDoc(1, "second")}) })
	if err == nil {
		t.Error("a document was added twice")
	}
	err = db.Tx(t.Context(), func(tx *sql.Tx) error {
		if err := x.Remove(t.Context(), tx, 1); err != nil {
			return err
		}
		return x.Add(t.Context(), tx, []Doc{newDoc(1, "third")})
	})
	if err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string]int{"first": 0, "second": 0, "third": 1} {
		if got := len(searchHits(t, x, Query{Terms: queryTerms(word)}, 10)); got != want {
			t.Errorf("%d hits for %s, want %d", got, word, want)
		}
	}
	if err := db.Tx(t.Context(), func(tx *sql.Tx) error { return x.Add(t.Context(), tx, []Doc{newDoc(0, "x")}) }); err == nil {
		t.Error("a document without an id was added")
	}
}

// dumpDatabase returns all bytes of the tables.
func dumpDatabase(t *testing.T, db *sql.DB) []byte {
	var out bytes.Buffer
	for _, query := range []string{`SELECT data FROM index_blob`, `SELECT terms FROM index_purge`, `SELECT dead FROM index_segment`,
		`SELECT title || names FROM index_doc`, `SELECT heading || speaker || body FROM index_passage`} {
		if err := writeRows(t, db, query, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func writeRows(t *testing.T, db *sql.DB, query string, out *bytes.Buffer) error {
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		out.Write(data)
	}
	return rows.Err()
}

// TestRemoved checks that nothing remains of removed documents, merged or not.
func TestRemoved(t *testing.T) {
	for _, batches := range []int{1, 9} {
		t.Run(fmt.Sprint(batches), func(t *testing.T) {
			x, db := newIndex(t)
			for i := range batches {
				var docs []Doc
				for j := range 50 {
					docs = append(docs, newDoc(int64(i*1000+j+1), fmt.Sprintf("letter %d of the aardvark number%d", i, j)))
				}
				d := newDoc(int64(i*1000+900), "the xylophones of quixotes 秘密 aardvarks")
				d.Title, d.Names, d.Passages[0].Speaker = "jabberwocky", []string{"Wolperting"}, "Zaphodx"
				addDocs(t, x, append(docs, d)...)
			}
			var ids []int64
			for i := range batches {
				ids = append(ids, int64(i*1000+900))
			}
			removeDocs(t, x, ids...)
			for _, s := range []string{"xylophones", "jabberwocky"} {
				if got := searchHits(t, x, Query{Terms: queryTerms(s)}, 9); len(got) > 0 {
					t.Errorf("%q is found: %+v", s, got)
				}
			}
			mergeAll(t, x)
			left := dumpDatabase(t, db.Read)
			for _, s := range []string{"xylophon", "ylophon", "quixot", "jabberwock", "olperting", "aphodx", "秘密", "密"} {
				if bytes.Contains(left, []byte(s)) {
					t.Errorf("%q is left", s)
				}
			}
			if got := searchHits(t, x, Query{Terms: queryTerms("aardvark")}, 1000); len(got) != 50*batches {
				t.Errorf("got %d hits after removal, want %d", len(got), 50*batches)
			}
			again, err := Open(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			if got := searchHits(t, again, Query{Terms: queryTerms("aardvark")}, 1000); len(got) != 50*batches {
				t.Errorf("%d hits after opening, want %d", len(got), 50*batches)
			}
		})
	}
}

// newMerger starts a merge and stops before the end.
func newMerger(t *testing.T, x *Index) *merger {
	t.Helper()
	m := &merger{x: x}
	err := x.readView(t.Context(), func(tx *sql.Tx, v *view) error {
		m.view, m.in = v, v.segments
		return tx.QueryRowContext(t.Context(), `SELECT purge FROM index_state`).Scan(&m.purge)
	})
	if err == nil {
		err = m.reserveInputs(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCrashedMerge checks that an unfinished merge is harmless and later replaced.
func TestCrashedMerge(t *testing.T) {
	x, db := newIndex(t)
	for i := range int64(10) {
		addDocs(t, x, newDoc(i+1, fmt.Sprintf("letter number%d", i)))
	}
	m := newMerger(t, x)
	if err := db.Tx(t.Context(), func(tx *sql.Tx) error {
		w := newBlobWriter(x, m.id)
		w.write(postingKind, make([]byte, 200*chunkSize))
		return w.flush(t.Context(), tx, true)
	}); err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	mergeAll(t, other)
	if s, err := other.Stats(t.Context()); s.Segments != 10 || err != nil {
		t.Errorf("two merges took the same segments: %+v, %v", s, err)
	}
	removeDocs(t, other, 3)
	if got := len(searchHits(t, x, Query{Terms: queryTerms("letter")}, 100)); got != 9 {
		t.Errorf("%d hits", got)
	}
	other.clock = func() time.Time { return time.Now().Add(2 * crashTimeout) }
	mergeAll(t, other)
	if s, err := other.Stats(t.Context()); s.Segments > 2 || s.Docs != 9 || err != nil {
		t.Errorf("not merged: %+v, %v", s, err)
	}
	n := 0
	if err := db.Read.QueryRowContext(t.Context(), `SELECT count(*) FROM index_blob WHERE id >= ? AND id < ?`, blobID(m.id, 0, 0), blobID(m.id+1, 0, 0)).Scan(&n); n != 0 || err != nil {
		t.Errorf("%d rows are left, %v", n, err)
	}
	if err := m.writeSegment(t.Context()); err == nil || m.abandon(t.Context()) {
		t.Errorf("an abandoned merge continued: %v", err)
	}
	if got := len(searchHits(t, x, Query{Terms: queryTerms("letter")}, 100)); got != 9 {
		t.Errorf("%d hits", got)
	}
}

// TestMergeConcurrently checks that removals during a merge reach its result.
func TestMergeConcurrently(t *testing.T) {
	x, db := newIndex(t)
	for i := range int64(8) {
		addDocs(t, x, newDoc(i*2+1, fmt.Sprintf("letter secret%d", i)), newDoc(i*2+2, "letter"))
	}
	removeDocs(t, x, 1)
	m := newMerger(t, x)
	removeDocs(t, x, 3)
	addDocs(t, x, newDoc(100, "letter"))
	if err := m.writeSegment(t.Context()); err != nil {
		t.Fatal(err)
	}
	removeDocs(t, x, 5)
	check := func() {
		t.Helper()
		if got := len(searchHits(t, x, Query{Terms: queryTerms("letter")}, 100)); got != 14 {
			t.Errorf("%d hits, want 14", got)
		}
		if hits := searchHits(t, x, Query{Terms: queryTerms("secret0 secret1 secret2")}, 100); len(hits) > 0 {
			t.Errorf("found %+v", hits)
		}
	}
	check()
	mergeAll(t, x)
	check()
	if left := dumpDatabase(t, db.Read); bytes.Contains(left, []byte("ecret1")) || bytes.Contains(left, []byte("ecret2")) {
		t.Error("something is left of what was removed")
	}
}

func TestCancelledMerge(t *testing.T) {
	x, _ := newIndex(t)
	for i := range int64(10) {
		addDocs(t, x, newDoc(i+1, "letter"))
	}
	m := newMerger(t, x)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.writeSegment(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want that it was cancelled", err)
	}
	if !m.abandon(t.Context()) {
		t.Error("it was taken")
	}
	mergeAll(t, x)
	if s, err := x.Stats(t.Context()); s.Segments > 2 || s.Docs != 10 || err != nil {
		t.Errorf("not merged: %+v, %v", s, err)
	}
}

func TestStats(t *testing.T) {
	x := newLibrary(t)
	got, err := x.Stats(t.Context())
	want := Stats{Docs: 9, Passages: 10, Segments: 2, Languages: []lexical.Language{"en", "de", "und"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// TestLarge spreads terms, lists and documents over several rows.
func TestLarge(t *testing.T) {
	x, _ := newIndex(t)
	for i := range 10 {
		var docs []Doc
		for j := range 2_000 {
			d := newDoc(int64(i*10_000+j+1), fmt.Sprintf("everywhere number%dx%d", i, j))
			d.Source = strings.Repeat("s", 30)
			docs = append(docs, d)
		}
		addDocs(t, x, docs...)
	}
	for _, step := range []func(){func() {}, func() { mergeAll(t, x) }, func() { removeDocs(t, x, 1, 2, 10_001) }, func() { mergeAll(t, x) }} {
		step()
		s, err := x.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := len(searchHits(t, x, Query{Terms: queryTerms("everywhere")}, 50_000)); got != s.Passages {
			t.Errorf("%d hits of %d", got, s.Passages)
		}
		for _, w := range []string{"number9x1999", "number0x7", "number5x1000"} {
			if got := len(searchHits(t, x, Query{Terms: queryTerms(w)}, 10)); got != 1 {
				t.Errorf("%d hits for %s in %d segments", got, w, s.Segments)
			}
		}
	}
}

func TestReadOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "test.db")
	x, db := openIndex(t, file)
	addDocs(t, x, newDoc(1, "letter"))
	db.Write = nil
	other, err := Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(searchHits(t, other, Query{Terms: queryTerms("letter")}, 10)); got != 1 {
		t.Errorf("%d hits", got)
	}
}

func FuzzDamaged(f *testing.F) {
	a := newAnalyzer(newFormCache())
	d := newDoc(1, "some words of a text", "and more words")
	a.addDoc(&d, "en")
	b := Batch{}
	if err := b.invertEntries(a); err != nil {
		f.Fatal(err)
	}
	m := newMeta(&d, "en", 1)
	f.Add(b.pages[0], "word")
	f.Add(b.postings, "\x01words")
	f.Add(appendMeta(nil, &m, nil, a.lens), "")
	f.Fuzz(func(t *testing.T, data []byte, term string) {
		readMeta(string(data), 1)
		ranking.AppendPostings(nil, data, 1000, 100)
		p, ok := newTermPage(0, data)
		if !ok {
			return
		}
		dict := &dictionary{pages: []termPage{p}}
		dict.findTerm(term)
		dict.eachTermFrom(term, func(_ []byte, shared int, _ termEntry) bool { return shared >= 0 })
		newTypoMatcher([]rune(term+"ab"), 2).scanTerms(dict, "", term, map[string]guess{})
		(&pageEdit{map[string]int{term: 0}}).apply(&p)
		for range mergeTerms([]*segment{{terms: dict}}) {
		}
	})
}
