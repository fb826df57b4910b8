// Package index finds passages of documents by their words, with tables of its
// own in a database that it shares with others.
//
// Documents are cut into passages by whoever adds them ([Index.Add]), in the
// caller's transaction: they are found when that commits, all or none. A
// [Query] has words, phrases and a filter; [Index.Search] ranks passages by BM25.
// The words of the title, of names, of the heading and of who speaks count as if
// the passage said them. [Index.Merge], called now and then, keeps the index
// small and fast beside all that.
//
// # What is found
//
// Words are compared by their stems in the language of the document; those of a
// query are stemmed in each language that the index has, and a stem counts only
// in documents of its language. Scripts without spaces are compared by pairs of
// letters, and Chinese ones also by letters alone. Stop words are indexed, and
// left out of a query that has other words. A prefix stands for the words, as
// they were written, that begin so; a phrase is looked for in the texts of the
// best 2,000 passages that have all its words, and is not found across two.
// A word that no passage has which the filter lets through is, if wished, taken
// for the nearest: one mistake in words of four to seven letters, two in longer
// ones, and two letters that changed places are one.
//
// Counts are exact: what was removed is in no average and in no frequency, so
// that scores do not depend on what was merged when. The filter does not change
// them.
//
// # Relevance
//
// A passage of average length that has each word of the query once has an ideal
// score: the sum of the words' weights and rarities. The relevance of a hit is
// 1 - exp(-score/ideal). It does not depend on how many or how rare the words are:
// 0.63 is as good as having said each word once, 0.39 half of them by rarity, and
// beyond 0.8 words stand there repeatedly or the passages around have them too. A
// word that nobody wrote is the rarest, and a query of such has hits of little
// relevance. The share of the whole document in scores is taken out, and of words
// that feedback adds half are expected.
//
// # Stored format
//
// A batch of documents is a segment: its documents, its terms and their postings,
// as rows of index_blob. A segment is written once. Merging writes a new one in
// the place of several, in many short transactions; it is seen when the last of
// them commits, and what a crash leaves of it is deleted by a later Merge.
// Numbers are uvarints, signed ones zigzag, and strings behind their length.
//
// Documents (kind 0, one text in rows of 32 KiB): for each, a byte of flags
// (1 owner, 2 kind, 4 tags, 8 language as the one before); the differences from
// the one before of its id, the number of its first passage and its date in
// microseconds; source; owner, kind, language and tags where they differ; the
// number of passages, and of each twice its words, plus 1 if somebody says it.
// Numbers of passages are relative to the segment's first.
//
// Terms (kind 1): each row begins with where the postings of its first term
// begin. For each term in order: bytes in common with the one before on the row,
// the rest, twice the number of passages that have it, plus 1 if the term was
// written so, and the bytes of its postings with padding. A term that begins
// with the byte 1 is a word as it was written, without case and accents, where
// that is not its stem.
//
// Postings (kind 2, one text in rows of 8 KiB): for each passage, by its place in
// the segment, twice the distance from the one before, plus 1 if a byte with the
// frequency follows, which else is 1.
//
// Removing deletes the rows with text at once, marks the documents in the
// segment's bits of dead ones, and notes their terms in index_purge. Merge takes
// them out of postings and terms: then nothing is left of them. index_state has a
// version that each change counts up, by which those who search notice what
// others, in this process or not, have done.
package index

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder/internal/textkit/lexical"
	"ponder/store/sqldb"
)

//go:embed schema/*.sql
var schema embed.FS

var errDamaged = errors.New("damaged")

// An Index finds passages of documents by their words. It is safe for concurrent
// use, and so are several on one database.
type Index struct {
	db      sqldb.DB
	clock   func() time.Time
	version *sql.Stmt
	fetch   []*sql.Stmt // reads 1, 2, 4, ... rows of index_blob
	scores  sync.Pool

	statements sqldb.Statements
	cache      cache

	readings *readings

	merging sync.Mutex // held by the one that merges

	mu    sync.Mutex
	view  *view              // the newest that was seen
	ready map[int64]*segment // made here, and not yet seen
}

// Open opens the index of a database, and makes its tables if there are none.
// Where nothing can be written, one that is there can be searched.
func Open(ctx context.Context, db sqldb.DB) (*Index, error) {
	scripts, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, "index", scripts); err != nil {
		return nil, err
	}
	x := &Index{db: db, clock: time.Now, view: &view{version: -1}, ready: map[int64]*segment{}, readings: newReadings()}
	if err := x.prepare(ctx); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	err = x.reading(ctx, func(*sql.Tx, *view) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return x, nil
}

// maxFetch is the most rows that are read at a time.
const maxFetch = 256

// prepare prepares what every search asks.
func (x *Index) prepare(ctx context.Context) (err error) {
	if x.version, err = x.db.Read.PrepareContext(ctx, `SELECT version FROM index_state WHERE one = 1`); err != nil {
		return err
	}
	for n := 1; n <= maxFetch; n *= 2 {
		query := `SELECT id, data FROM index_blob WHERE id IN (?` + strings.Repeat(", ?", n-1) + `)`
		stmt, err := x.db.Read.PrepareContext(ctx, x.db.Bind(query)) //nolint:sqlclosecheck // lives as long as the database
		if err != nil {
			return err
		}
		x.fetch = append(x.fetch, stmt)
	}
	return nil
}

// A view is the segments of one version of the index. It is never changed.
type view struct {
	version  int64
	segments []*segment // by id
	passages int        // that were not removed
	docs     int
	length   int64
	langs    [maxLanguages]int // passages by language
}

// reading calls do with the newest view, in a transaction that sees what the
// view is of.
func (x *Index) reading(ctx context.Context, do func(tx *sql.Tx, v *view) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if x.db.Numbered {
		opts.Isolation = sql.LevelRepeatableRead
	}
	tx, err := x.db.Read.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	v, err := x.see(ctx, tx)
	if err != nil {
		return err
	}
	return do(tx, v)
}

// see returns the view that a reading transaction sees.
func (x *Index) see(ctx context.Context, tx *sql.Tx) (*view, error) {
	version := int64(0)
	if err := tx.StmtContext(ctx, x.version).QueryRowContext(ctx).Scan(&version); err != nil { //nolint:sqlclosecheck // ends with the transaction
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.view.version == version {
		return x.view, nil
	}
	v, err := x.refresh(ctx, tx, version, x.ready)
	if err == nil && version > x.view.version {
		x.view = v
		x.cache.only(v)
		for _, s := range v.segments {
			delete(x.ready, s.id)
		}
	}
	return v, err
}

// refresh makes the view that a transaction sees, of what is known already. The
// caller holds the lock.
func (x *Index) refresh(ctx context.Context, q queryer, version int64, ready map[int64]*segment) (*view, error) {
	list, err := x.segments(ctx, q)
	if err != nil {
		return nil, err
	}
	v := &view{version: version}
	for _, row := range list {
		old := x.view.segment(row.id)
		if old == nil {
			old = ready[row.id]
		}
		s := old
		if old == nil || old.changed != row.changed || old.purged != row.purged || old.purges != row.purges {
			if s, err = x.load(ctx, q, row, old); err != nil {
				return nil, err
			}
		}
		v.add(s)
	}
	return v, nil
}

// segments returns the segments that are searched, without their dead.
func (x *Index) segments(ctx context.Context, q queryer) (list []segmentRow, err error) {
	rows, err := q.QueryContext(ctx, `SELECT id, changed, purged, purges, first FROM index_segment WHERE state = 1 ORDER BY id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r segmentRow
		if err := rows.Scan(&r.id, &r.changed, &r.purged, &r.purges, &r.first); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

func (v *view) add(s *segment) {
	v.segments = append(v.segments, s)
	v.passages += s.live
	v.docs += s.liveDocs
	v.length += s.length
	for i, n := range s.langs {
		v.langs[i] += n
	}
}

// segment returns a segment, or nil.
func (v *view) segment(id int64) *segment {
	i, ok := slices.BinarySearchFunc(v.segments, id, func(s *segment, id int64) int { return cmp.Compare(s.id, id) })
	if !ok {
		return nil
	}
	return v.segments[i]
}

// inside returns the view that a writing transaction sees, with its own changes.
// It is not kept, for those may be rolled back.
func (x *Index) inside(ctx context.Context, tx *sql.Tx) (*view, error) {
	version := int64(0)
	if err := tx.QueryRowContext(ctx, `SELECT version FROM index_state WHERE one = 1`).Scan(&version); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refresh(ctx, tx, version, nil)
}

// Stats says what is in the index.
func (x *Index) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	err := x.reading(ctx, func(_ *sql.Tx, v *view) error {
		out = Stats{Docs: v.docs, Passages: v.passages, Segments: len(v.segments)}
		var order []int
		for i, n := range v.langs {
			if n > 0 {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(v.langs[b], v.langs[a]) })
		for _, i := range order {
			out.Languages = append(out.Languages, languages[i])
		}
		return nil
	})
	if err != nil {
		return Stats{}, fmt.Errorf("count what is in the index: %w", err)
	}
	return out, nil
}

// ErrNone is what asking for a passage or document gives that is not there.
var ErrNone = errors.New("not in the index")

// A Doc is a document to be indexed.
type Doc struct {
	ID int64 // greater than 0; the caller's

	// What filters ask for. Any may be zero.
	Owner, Kind, Source string
	Tags                []string
	Date                time.Time

	// Title and Names, of the author or of who speaks, are found as if each
	// passage said them.
	Title string
	Names []string

	// Language is what the words are stemmed by. "" has it detected; what cannot
	// be is taken for English.
	Language lexical.Language

	// Passages follow each other and leave nothing out, so that their texts
	// together are the document's.
	Passages []Passage
}

// A Passage is a part of a document that is found as one.
type Passage struct {
	Start, End int // bytes of the document's text
	Page       int // from 1; 0 is none
	Heading    string
	Speaker    string // of what somebody says, who
	Text       string
}

// A Query is what is looked for. The zero Query finds nothing.
type Query struct {
	Terms   []Term
	Phrases []string // a passage must have each, word for word but for case and accents
	Filter  Filter

	// Feedback adds words that the best passages have in common. It finds more
	// of a subject, and is worse where a question has one answer.
	Feedback bool

	// Neighbours and Whole are the shares of the scores of the passages around
	// it, and of the best of its document, that a passage's score has on top of its
	// own. They are for conversations, in which one turn asks and another answers:
	// see [ConversationNeighbours].
	Neighbours, Whole float64

	// Typos takes a word that nobody wrote for the nearest that somebody did.
	Typos bool
}

// What Neighbours and Whole should be where turns of conversations and meetings
// are looked for.
const (
	ConversationNeighbours = 0.4
	ConversationWhole      = 0.5
)

// A Term is a word that is looked for. If Word has several words, they are terms
// with the same properties.
type Term struct {
	Word   string
	Prefix bool    // any word that begins so
	Must   bool    // no passage without it is found
	Not    bool    // no passage with it is found
	Weight float64 // how much it counts; 0 is 1
}

// A Filter says which documents are looked at. The zero Filter has all.
type Filter struct {
	Owner    string
	Kinds    []string  // any of these
	Sources  []string  // any of these; "prefix*" is all that begin so
	Tags     []string  // all of these
	From, To time.Time // From <= date < To; a document without a date is in no range
	Docs     []int64   // any of these
}

// A Hit is a passage that was found.
type Hit struct {
	Doc     int64
	Passage int64 // its number

	// Score ranks the hits of one search.
	Score float64

	// Relevance, from 0 to 1, means the same from query to query: see the package
	// comment.
	Relevance float64

	// Words are those of the query that the passage has, as the query has them.
	Words []string

	// Corrected has the words of the query that were taken for others, and these.
	Corrected map[string]string
}

// Stats says what an index has.
type Stats struct {
	Docs, Passages int
	Segments       int
	Languages      []lexical.Language // most passages first
}
