// Package recall is the Library: what a user had Ponder remember, and how it is
// found again. It needs no server and no model; with a model that embeds texts it
// also finds what is said in other words.
//
// An [Item] is a memory, a document, a post, a journal note or a finished thread.
// [Library.Remember] keeps items that are given; [Library.Ingest] keeps files and
// folders and follows them: what did not change is not read again, what is gone
// is forgotten. [Library.IngestReader] and [Library.IngestPage] keep what is read
// from elsewhere. [Library.Search] finds, [Library.Read] shows what stands around
// a place, [Library.Check] says whether a quote is still in the stored original,
// [Library.PersonaContext] puts together what a persona knows of a question. What
// can wait, merging and embedding, is done by [Library.Tend].
//
// The way of a file: it is read and parsed (package document), taken apart into
// entries (rows.go, turns.go, journal.go; a whole document is one), each entry is
// cut into passages (passage.go) and prepared for the index (recall/index), on as
// many processors as there are. One transaction then writes what belongs together
// (commit.go): items, passages, postings, the original (package archive) and the
// state of the file. A file of many entries takes several; each entry is whole in
// one of them, so a search never finds half a document, and a process that is
// killed at any moment goes on where it was when the same paths are given again.
//
// The way of a search: recall/query understands the text; its class picks
// strategies (strategy.go); passages found by words and by meaning are fused
// (fuse.go), what says the same is shown once (same.go), the quote is the sentence
// of the passage that answers best (quote.go).
//
// It keeps the tables recall_item, recall_file, recall_earlier, recall_persona and
// recall_number;
// schema/ says what they mean. A place of a quote is that of document.Place: the
// beginning of the SHA-256 of the item's text, and a range of bytes in it.
//
// Whatever is remembered is foreign: lengths and counts are bounded, and a text
// is never taken for anything but a text.
package recall

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/vector"
	"ponder/store/sqldb"
)

//go:embed schema/*.sql
var schema embed.FS

// DefaultOwner owns what is remembered where only one user is.
const DefaultOwner = "local"

// Config says where a Library is and whose. All but DB may be zero.
type Config struct {
	DB sqldb.DB

	// Archive keeps the originals of files and pages. Nil keeps none: then
	// nothing but the text in the index is there to check a quote against.
	Archive *archive.Archive

	// Embedder makes vectors. Without Embed, search goes by words alone.
	Embedder vector.Embedder

	// Earlier, if set, returns an embedder for a model that was configured before,
	// or one without Embed: its vectors are searched until the new ones are made.
	Earlier func(model string) vector.Embedder

	Owner string           // DefaultOwner if ""
	Now   func() time.Time // time.Now if nil
}

// A Library is what one owner had remembered. It is safe for concurrent use, and
// several processes may have the same one open.
type Library struct {
	db       sqldb.DB
	archive  *archive.Archive
	embedder vector.Embedder
	earlier  func(model string) vector.Embedder
	owner    string
	now      func() time.Time

	statements sqldb.Statements

	index   *index.Index
	vectors *vector.Vectors
	numbers numbers
	grown   chan struct{} // has something if there is something to tend
	tending sync.Mutex    // held by who merges
}

// Open opens a Library, and makes its tables if need be. Close it when done.
func Open(ctx context.Context, c Config) (*Library, error) {
	l := &Library{db: c.DB, archive: c.Archive, embedder: c.Embedder, earlier: c.Earlier, owner: c.Owner, now: c.Now, grown: make(chan struct{}, 1)}
	l.owner = cmp.Or(l.owner, DefaultOwner)
	if l.now == nil {
		l.now = time.Now
	}
	l.numbers.db = c.DB
	l.grown <- struct{}{} // what an earlier process left
	if err := l.open(ctx); err != nil {
		return nil, fmt.Errorf("open library: %w", err)
	}
	return l, nil
}

func (l *Library) open(ctx context.Context) error {
	scripts, err := fs.Sub(schema, "schema")
	if err != nil {
		return err
	}
	if err := l.db.Migrate(ctx, "recall", scripts); err != nil {
		return err
	}
	if l.index, err = index.Open(ctx, l.db); err != nil {
		return err
	}
	l.vectors, err = vector.Open(ctx, l.db)
	return err
}

// Close ends the use of the Library. The database stays open.
func (l *Library) Close() error { return nil }

// noteGrowth has what tends the Library look for work.
func (l *Library) noteGrowth() {
	select {
	case l.grown <- struct{}{}:
	default:
	}
}

// chosen are the options that a file was taken with. What is not given the next
// time stays as it was, be it that the file is named or that a folder it is in is:
// to take a file without its tags, forget it before.
type chosen struct {
	Kind    Kind       `json:"kind,omitempty"`
	Tags    []string   `json:"tags,omitempty"`
	Persona string     `json:"persona,omitempty"`
	Date    *time.Time `json:"date,omitempty"`
	Source  string     `json:"source,omitempty"`
}

// choose returns what a file is taken with now.
func (o IngestOptions) choose(before file) chosen {
	var c chosen
	if json.Unmarshal([]byte(before.options), &c) != nil {
		c = chosen{}
	}
	c.Kind, c.Persona, c.Source = Kind(dflt(string(o.Kind), string(c.Kind))), dflt(o.Persona, c.Persona), dflt(o.Source, c.Source)
	if len(o.Tags) > 0 {
		c.Tags = o.Tags
	}
	if !o.Date.IsZero() {
		date := o.Date.UTC()
		c.Date = &date
	}
	return c
}

// json returns what is stored of the options.
func (c chosen) json() string {
	b, err := json.Marshal(c)
	if err != nil {
		return "" // strings and times always can be
	}
	return string(b)
}

func (c chosen) date() time.Time {
	if c.Date == nil {
		return time.Time{}
	}
	return *c.Date
}

// settings returns a hash of what the entries of a file depend on beside its
// bytes.
func (c chosen) settings() string {
	return hashOf(version, string(c.Kind), strings.Join(c.Tags, "\x00"), c.Persona, c.date().String(), c.Source)[:16]
}

func (c chosen) base(f document.File) Item {
	return Item{Kind: c.Kind, Persona: c.Persona, Tags: c.Tags, Date: c.date(), Source: f.Path, Path: f.Path, from: c.Source}
}

// prepared is a transaction whose statements are prepared once. Close it at the
// end, before the transaction ends or after.
type prepared struct {
	*sql.Tx
	stmts map[string]*sql.Stmt
}

func prepare(tx *sql.Tx) *prepared { return &prepared{tx, map[string]*sql.Stmt{}} }

func (p *prepared) close() {
	for _, s := range p.stmts {
		s.Close()
	}
}

func (p *prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := p.stmts[query]; s != nil {
		return s, nil
	}
	s, err := p.PrepareContext(ctx, query)
	if err == nil {
		p.stmts[query] = s
	}
	return s, err
}

func (p *prepared) exec(ctx context.Context, query string, args ...any) error {
	s, err := p.stmt(ctx, query) //nolint:sqlclosecheck // ends with the transaction
	if err == nil {
		_, err = s.ExecContext(ctx, args...)
	}
	return err
}

func (p *prepared) number(ctx context.Context, query string, args ...any) (n int64, err error) {
	s, err := p.stmt(ctx, query) //nolint:sqlclosecheck // ends with the transaction
	if err == nil {
		err = s.QueryRowContext(ctx, args...).Scan(&n)
	}
	return n, err
}
