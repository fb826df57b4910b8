package vector

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"ponder/store/sqldb"
)

//go:embed schema/*.sql
var scripts embed.FS

// What goes wrong with vectors.
var (
	// ErrLength says that a vector is not as long as the others of its model.
	ErrLength = errors.New("vector is of another length")

	// ErrText is what an [Embedder] wraps in its error if the texts are what is
	// wrong, so that there is no use in trying again.
	ErrText = errors.New("text cannot be embedded")
)

// An Embedder makes vectors of texts.
type Embedder struct {
	// Model names the vectors: those of different models do not compare.
	Model string

	// Embed returns a vector for each text.
	Embed func(ctx context.Context, texts []string) ([][]float32, error)

	// Batch is how many texts Embed is given at once. Zero is 64.
	Batch int
}

// Vectors is the vectors in a database. It is safe for concurrent use, also by
// several processes on one database.
type Vectors struct {
	db sqldb.DB

	mu     sync.Mutex
	caches map[string]*cache // by model
}

// Open returns the vectors in a database and makes the tables if there are none.
// It reads no vectors yet.
func Open(ctx context.Context, db sqldb.DB) (*Vectors, error) {
	dir, err := fs.Sub(scripts, "schema")
	if err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	if err := db.Migrate(ctx, "vector", dir); err != nil {
		return nil, fmt.Errorf("open vectors: %w", err)
	}
	return &Vectors{db: db, caches: map[string]*cache{}}, nil
}
