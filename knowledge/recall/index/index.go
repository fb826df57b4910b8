// Package index finds passages of documents by their words. Its tables share a database
// with others.
//
// Callers cut documents into passages and add them with [Index.Add], in their own
// transaction. [Index.Search] ranks passages for a [Query] by BM25. Words of title,
// names, heading and speaker count like words of the passage. Call [Index.Merge] now
// and then to keep the index small and fast.
//
// # Matching
//
// Words match by their stems in the document's language; a query is stemmed in each
// language of the index. Scripts without spaces match by pairs of letters, Chinese also
// by single letters. Queries with other words ignore stop words. A prefix matches
// unstemmed words. A phrase must be within one of the best 2,000 passages with all its
// words. With Typos, the nearest known word replaces one that no allowed passage has.
// Words of four to seven letters may have one mistake, longer ones two; swapped letters
// are one mistake.
//
// Statistics are exact, without removed documents, so scores depend neither on merging
// nor on the filter.
//
// # Relevance
//
// The ideal score is the sum of weights and rarities: that of a passage of average
// length with each word once. The relevance of a hit is 1 - exp(-score/ideal), for any
// number and rarity of words. 0.63 equals each word once, 0.39 half of them by rarity;
// values beyond 0.8 need repeated words or matching neighbours. An unknown word is the
// rarest, so it lowers relevance. The ideal includes the share of the whole document,
// and half the weight of feedback words.
//
// # Stored format
//
// A batch is a segment of documents, terms and postings, written once in rows of
// index_blob. A merge writes a new segment in many short transactions and shows it in
// the last one. A later Merge deletes the remains of a crash. Numbers are uvarints,
// signed ones zigzag; strings follow their length.
//
// Documents (kind 0, one text in rows of 32 KiB) each have:
//
//   - flags in a byte: 1 owner, 2 kind, 4 tags, 8 language equal the previous
//   - differences from the previous in ID, first passage (relative to the segment) and
//     date in microseconds
//   - source; owner, kind, language and tags if they differ
//   - the number of passages, and of each twice its words, plus 1 for speech
//
// Terms (kind 1): each row begins with the position of its first postings. Each term
// has:
//
//   - the bytes in common with the previous one on the row, and the rest
//   - twice the number of its passages, plus 1 if a text has the term unstemmed
//   - the bytes of its postings with padding
//
// A term that begins with byte 1 is a folded word that differs from its stem.
//
// Postings (kind 2, one text in rows of 8 KiB) have for each passage twice the distance
// from the previous. Plus 1 means that a byte with the frequency follows; otherwise it
// is 1.
//
// Removing deletes texts at once, marks documents as dead, and notes their terms in
// index_purge for Merge to erase. Each change increments the version in index_state, so
// searches in all processes notice it.
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

// An Index is safe for concurrent use, also with others on one database.
type Index struct {
	db      sqldb.DB
	clock   func() time.Time
	version *sql.Stmt
	fetch   []*sql.Stmt // for 1, 2, 4, ... rows of index_blob
	scores  sync.Pool

	statements sqldb.Statements
	cache      cache

	forms *formCache

	merging sync.Mutex

	mu    sync.Mutex
	view  *view              // newest seen
	ready map[int64]*segment // merged here, not yet in view
}

// Open opens the index and creates its tables. An existing index can be searched
// read-only.
func Open(ctx context.Context, db sqldb.DB) (*Index, error) {
	scripts, err := fs.Sub(schema, "schema")
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, "index", scripts); err != nil {
		return nil, err
	}
	x := &Index{db: db, clock: time.Now, view: &view{version: -1}, ready: map[int64]*segment{}, forms: newFormCache()}
	if err := x.prepareStatements(ctx); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	err = x.readView(ctx, func(*sql.Tx, *view) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return x, nil
}

const maxFetch = 256

func (x *Index) prepareStatements(ctx context.Context) (err error) {
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

// A view is the segments of one version. It is immutable.
type view struct {
	version  int64
	segments []*segment // by ID
	passages int
	docs     int
	length   int64
	langs    [maxLanguages]int // passages by language
}

// readView calls do with the newest view, in a transaction of its version.
func (x *Index) readView(ctx context.Context, do func(tx *sql.Tx, v *view) error) error {
	opts := &sql.TxOptions{ReadOnly: true}
	if x.db.Numbered {
		opts.Isolation = sql.LevelRepeatableRead
	}
	tx, err := x.db.Read.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	v, err := x.currentView(ctx, tx)
	if err != nil {
		return err
	}
	return do(tx, v)
}

func (x *Index) currentView(ctx context.Context, tx *sql.Tx) (*view, error) {
	version := int64(0)
	if err := tx.StmtContext(ctx, x.version).QueryRowContext(ctx).Scan(&version); err != nil { //nolint:sqlclosecheck // ends with the transaction
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.view.version == version {
		return x.view, nil
	}
	v, err := x.refreshView(ctx, tx, version, x.ready)
	if err == nil && version > x.view.version {
		x.view = v
		x.cache.dropStale(v)
		for _, s := range v.segments {
			delete(x.ready, s.id)
		}
	}
	return v, err
}

// refreshView makes the transaction's view and reuses loaded segments. The caller holds mu.
func (x *Index) refreshView(ctx context.Context, q queryer, version int64, ready map[int64]*segment) (*view, error) {
	list, err := x.readSegments(ctx, q)
	if err != nil {
		return nil, err
	}
	v := &view{version: version}
	for _, row := range list {
		old := x.view.findSegment(row.id)
		if old == nil {
			old = ready[row.id]
		}
		s := old
		if old == nil || old.changed != row.changed || old.purged != row.purged || old.purges != row.purges {
			if s, err = x.loadSegment(ctx, q, row, old); err != nil {
				return nil, err
			}
		}
		v.addSegment(s)
	}
	return v, nil
}

func (x *Index) readSegments(ctx context.Context, q queryer) (list []segmentRow, err error) {
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

func (v *view) addSegment(s *segment) {
	v.segments = append(v.segments, s)
	v.passages += s.live
	v.docs += s.liveDocs
	v.length += s.length
	for i, n := range s.langs {
		v.langs[i] += n
	}
}

func (v *view) findSegment(id int64) *segment {
	i, ok := slices.BinarySearchFunc(v.segments, id, func(s *segment, id int64) int { return cmp.Compare(s.id, id) })
	if !ok {
		return nil
	}
	return v.segments[i]
}

// viewOfTx returns the view in a writing transaction with its changes. It is not kept,
// since they may be rolled back.
func (x *Index) viewOfTx(ctx context.Context, tx *sql.Tx) (*view, error) {
	version := int64(0)
	if err := tx.QueryRowContext(ctx, `SELECT version FROM index_state WHERE one = 1`).Scan(&version); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refreshView(ctx, tx, version, nil)
}

func (x *Index) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	err := x.readView(ctx, func(_ *sql.Tx, v *view) error {
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
		return Stats{}, fmt.Errorf("count documents of the index: %w", err)
	}
	return out, nil
}

// ErrNone reports an unknown passage or document.
var ErrNone = errors.New("not in the index")

type Doc struct {
	ID int64 // positive, the caller's

	Owner, Kind, Source string
	Tags                []string
	Date                time.Time

	// Title and Names count like words of each passage.
	Title string
	Names []string

	// Language is that of stemming. If empty, it is detected, or else English.
	Language lexical.Language

	// Passages must be contiguous: joined, they are the document's text.
	Passages []Passage
}

type Passage struct {
	Start, End int // bytes of the document's text
	Page       int // from 1; 0 if unknown
	Heading    string
	Speaker    string
	Text       string
}

type Query struct {
	Terms   []Term
	Phrases []string // a passage must have each, ignoring case and accents
	Filter  Filter

	// Feedback adds common words of the best passages. It finds more on a subject, but
	// harms questions with one answer.
	Feedback bool

	// Neighbours and Whole are the shares of the neighbours' scores and of the
	// document's best that a passage gains; see [ConversationNeighbours].
	Neighbours, Whole float64

	Typos bool
}

// Recommended shares for conversations and meetings.
const (
	ConversationNeighbours = 0.4
	ConversationWhole      = 0.5
)

type Term struct {
	Word   string
	Prefix bool // matches unstemmed words with this prefix
	Must   bool
	Not    bool    // excludes passages with it
	Weight float64 // default 1
}

type Filter struct {
	Owner    string
	Kinds    []string  // any of these
	Sources  []string  // any of these; "prefix*" matches a prefix
	Tags     []string  // all of these
	From, To time.Time // From <= date < To; excludes documents without a date
	Docs     []int64   // any of these
}

type Hit struct {
	Doc     int64
	Passage int64

	// Score is comparable within a search.
	Score float64

	// Relevance, 0 to 1, is comparable between queries: see the package comment.
	Relevance float64

	// Words are the matched words of the query.
	Words []string

	// Corrected maps misspelled words to their replacements.
	Corrected map[string]string
}

type Stats struct {
	Docs, Passages int
	Segments       int
	Languages      []lexical.Language // most passages first
}
