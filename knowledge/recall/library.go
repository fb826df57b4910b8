package recall

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"ponder/knowledge/archive"
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
