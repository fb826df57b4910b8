// Package recall is the Library: it stores a user's memories and finds them again,
// without a server or a model. An embedding model adds search by meaning.
//
// [Library.Remember] stores given items; [Library.Ingest] stores files and folders and
// follows their changes. [Library.Search] finds passages, [Library.Read] shows a place,
// and [Library.Check] compares a quote with the stored original.
// [Library.PersonaContext] collects a persona's memories, and [Library.Maintain] does
// background work.
//
// Ingestion parses a file (package document), splits it into entries (entry.go,
// rows.go, posts.go, journal.go) and cuts passages (earlier.go), on all processors. One
// transaction (step.go) then writes items, passages, postings, the original and the
// file's state. Large files take several transactions, but each entry is whole in one,
// so a search never finds half a document. After a crash, ingesting the same paths
// continues.
//
// A search parses the query (recall/query) and selects tactics by its class
// (search.go). candidate.go fuses passages found by words and by meaning, duplicate.go drops
// duplicates, and sentence.go selects each quote.
//
// schema/ documents the tables. All stored texts are untrusted: lengths and counts are
// bounded.
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

// DefaultOwner owns a single user's items.
const DefaultOwner = "local"

// Config configures a Library. Only DB is required.
type Config struct {
	DB sqldb.DB

	// Archive keeps originals. Without it, only the indexed text can confirm a quote.
	Archive *archive.Archive

	// Without Embed, search uses words alone.
	Embedder vector.Embedder

	// EarlierEmbedder, if set, returns the embedder of a previous model. Search uses its
	// vectors until the new ones exist.
	EarlierEmbedder func(model string) vector.Embedder

	Owner string           // default DefaultOwner
	Now   func() time.Time // default time.Now
}

// A Library holds one owner's items. It is safe for concurrent use, also by several
// processes.
type Library struct {
	db              sqldb.DB
	archive         *archive.Archive
	embedder        vector.Embedder
	earlierEmbedder func(model string) vector.Embedder
	owner           string
	now             func() time.Time

	statements sqldb.Statements

	index     *index.Index
	vectors   *vector.Vectors
	numbers   numberAllocator
	workReady chan struct{} // signals work for Tend
	mergeLock sync.Mutex    // held while merging
}

// Open opens a Library and creates its tables. Close it when done.
func Open(ctx context.Context, c Config) (*Library, error) {
	l := &Library{db: c.DB, archive: c.Archive, embedder: c.Embedder, earlierEmbedder: c.EarlierEmbedder, owner: c.Owner, now: c.Now, workReady: make(chan struct{}, 1)}
	l.owner = cmp.Or(l.owner, DefaultOwner)
	if l.now == nil {
		l.now = time.Now
	}
	l.numbers.db = c.DB
	l.workReady <- struct{}{} // for work of an earlier process
	if err := l.openIndexes(ctx); err != nil {
		return nil, fmt.Errorf("open library: %w", err)
	}
	return l, nil
}

func (l *Library) openIndexes(ctx context.Context) error {
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

// Close releases the Library. The database stays open.
func (l *Library) Close() error { return nil }

// noteGrowth wakes Tend.
func (l *Library) noteGrowth() {
	select {
	case l.workReady <- struct{}{}:
	default:
	}
}

// fileOptions are a file's ingestion options. Later ingestions keep values that they do not
// set.
type fileOptions struct {
	Kind    Kind       `json:"kind,omitempty"`
	Tags    []string   `json:"tags,omitempty"`
	Persona string     `json:"persona,omitempty"`
	Date    *time.Time `json:"date,omitempty"`
	Source  string     `json:"source,omitempty"`
}

func (o IngestOptions) mergeOptions(before file) fileOptions {
	var c fileOptions
	if json.Unmarshal([]byte(before.options), &c) != nil {
		c = fileOptions{}
	}
	c.Kind, c.Persona, c.Source = Kind(orDefault(string(o.Kind), string(c.Kind))), orDefault(o.Persona, c.Persona), orDefault(o.Source, c.Source)
	if len(o.Tags) > 0 {
		c.Tags = o.Tags
	}
	if !o.Date.IsZero() {
		date := o.Date.UTC()
		c.Date = &date
	}
	return c
}

func (c fileOptions) encodeJSON() string {
	b, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	return string(b)
}

func (c fileOptions) dateOrZero() time.Time {
	if c.Date == nil {
		return time.Time{}
	}
	return *c.Date
}

// settingsHash hashes all options that a file's entries depend on.
func (c fileOptions) settingsHash() string {
	return hashOf(version, string(c.Kind), strings.Join(c.Tags, "\x00"), c.Persona, c.dateOrZero().String(), c.Source)[:16]
}

func (c fileOptions) baseItem(f document.File) Item {
	return Item{Kind: c.Kind, Persona: c.Persona, Tags: c.Tags, Date: c.dateOrZero(), Source: f.Path, Path: f.Path, defaultSource: c.Source}
}

// preparedTx is a transaction that prepares each statement once.
type preparedTx struct {
	*sql.Tx
	stmts map[string]*sql.Stmt
}

func newPreparedTx(tx *sql.Tx) *preparedTx { return &preparedTx{tx, map[string]*sql.Stmt{}} }

func (p *preparedTx) close() {
	for _, s := range p.stmts {
		s.Close()
	}
}

func (p *preparedTx) prepareStmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := p.stmts[query]; s != nil {
		return s, nil
	}
	s, err := p.PrepareContext(ctx, query)
	if err == nil {
		p.stmts[query] = s
	}
	return s, err
}

func (p *preparedTx) exec(ctx context.Context, query string, args ...any) error {
	s, err := p.prepareStmt(ctx, query) //nolint:sqlclosecheck // ends with the transaction
	if err == nil {
		_, err = s.ExecContext(ctx, args...)
	}
	return err
}

func (p *preparedTx) queryNumber(ctx context.Context, query string, args ...any) (n int64, err error) {
	s, err := p.prepareStmt(ctx, query) //nolint:sqlclosecheck // ends with the transaction
	if err == nil {
		err = s.QueryRowContext(ctx, args...).Scan(&n)
	}
	return n, err
}
