package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"sync/atomic"
)

// Statements are queries that are asked again and again, prepared once: a short
// query takes about as long to parse as to answer. The zero value is ready. It is safe for
// concurrent use, and what it prepared ends with the database.
type Statements struct {
	mu  sync.Mutex
	all map[string]*sql.Stmt
}

// maxStatements is how many are kept; what comes then is parsed each time.
const maxStatements = 200

// Query is that of db, which must be the same each time.
func (s *Statements) Query(ctx context.Context, db *sql.DB, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.stmt(ctx, db, query) //nolint:sqlclosecheck // ends with the database
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return db.QueryContext(ctx, query, args...)
	}
	return stmt.QueryContext(ctx, args...)
}

// Short is Query for what takes less time than to look out for the end of ctx, for which a
// driver starts a goroutine with each query: it waits for a connection no longer than ctx
// lasts, but once it has begun, it is not interrupted. Without arguments it is a Query.
func (s *Statements) Short(ctx context.Context, db *sql.DB, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(args) > 0 && ctx.Done() != nil {
		wait := &waiting{Context: ctx, first: args[0]}
		ctx, args[0] = wait, starter{wait}
	}
	return s.Query(ctx, db, query, args...)
}

// A waiting context ends as the other does, but not any more once the query has begun.
type waiting struct {
	context.Context
	begun atomic.Bool
	first any // argument of the query
}

// Done implements [context.Context].
func (w *waiting) Done() <-chan struct{} {
	if w.begun.Load() {
		return nil
	}
	return w.Context.Done()
}

// Err implements [context.Context].
func (w *waiting) Err() error {
	if w.begun.Load() {
		return nil
	}
	return w.Context.Err()
}

// A starter is the first argument of a query. Package sql asks for its value when it has
// the connection on which it is about to begin.
type starter struct{ wait *waiting }

// Value implements [driver.Valuer].
func (s starter) Value() (driver.Value, error) {
	s.wait.begun.Store(true)
	return driver.DefaultParameterConverter.ConvertValue(s.wait.first)
}

// First reads the first row that a short query finds. It returns [sql.ErrNoRows] if there
// is none.
func (s *Statements) First(ctx context.Context, db *sql.DB, dest []any, query string, args ...any) error {
	rows, err := s.Short(ctx, db, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if !rows.Next() {
		return cmp.Or(rows.Err(), sql.ErrNoRows)
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	return rows.Close()
}

// stmt returns the prepared query, or nil if it is not to be kept. It holds no lock while it
// waits for a connection.
func (s *Statements) stmt(ctx context.Context, db *sql.DB, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	stmt, full := s.all[query], len(s.all) >= maxStatements
	s.mu.Unlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := db.PrepareContext(ctx, query) //nolint:sqlclosecheck // likewise
	if err != nil {
		return nil, err
	}
	kept := s.keep(query, stmt)
	if kept != stmt {
		stmt.Close() //nolint:sqlclosecheck // nobody else has it
	}
	return kept, nil
}

// keep keeps a prepared query, and returns the one that is kept: another if somebody was
// faster, or nil.
func (s *Statements) keep(query string, stmt *sql.Stmt) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.all[query]; old != nil || len(s.all) >= maxStatements {
		return old
	}
	if s.all == nil {
		s.all = make(map[string]*sql.Stmt)
	}
	s.all[query] = stmt
	return stmt
}
