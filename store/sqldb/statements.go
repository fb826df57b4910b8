package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"sync/atomic"
)

// Statements prepares repeated queries once, because parsing a short query takes as long as
// answering it. The zero value is ready. It is safe for concurrent use. Its statements end
// with the database.
type Statements struct {
	mu  sync.Mutex
	all map[string]*sql.Stmt
}

// maxStatements limits the prepared statements. Further queries are parsed each time.
const maxStatements = 200

// Query calls QueryContext of db, which must be the same in each call.
func (s *Statements) Query(ctx context.Context, db *sql.DB, query string, args ...any) (*sql.Rows, error) {
	stmt, err := s.preparedStmt(ctx, db, query) //nolint:sqlclosecheck // ends with the database
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return db.QueryContext(ctx, query, args...)
	}
	return stmt.QueryContext(ctx, args...)
}

// QueryShort is Query for short queries. The driver starts a goroutine for each query to watch
// for the end of ctx, which costs more than such a query. With Short, ctx ends the wait for
// a connection, but does not interrupt the query. Without arguments, Short is Query.
func (s *Statements) QueryShort(ctx context.Context, db *sql.DB, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(args) > 0 && ctx.Done() != nil {
		wait := &waitContext{Context: ctx, first: args[0]}
		ctx, args[0] = wait, starter{wait}
	}
	return s.Query(ctx, db, query, args...)
}

// A waitContext hides the end of its parent after the query has begun.
type waitContext struct {
	context.Context
	begun atomic.Bool
	first any // the first argument of the query
}

func (w *waitContext) Done() <-chan struct{} {
	if w.begun.Load() {
		return nil
	}
	return w.Context.Done()
}

func (w *waitContext) Err() error {
	if w.begun.Load() {
		return nil
	}
	return w.Context.Err()
}

// A starter is the first argument of a query. Package sql calls Value when it has a
// connection, right before the query.
type starter struct{ wait *waitContext }

func (s starter) Value() (driver.Value, error) {
	s.wait.begun.Store(true)
	return driver.DefaultParameterConverter.ConvertValue(s.wait.first)
}

// First reads the first row of a short query. It returns [sql.ErrNoRows] if there is none.
func (s *Statements) First(ctx context.Context, db *sql.DB, dest []any, query string, args ...any) error {
	rows, err := s.QueryShort(ctx, db, query, args...)
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

// preparedStmt returns the prepared query, or nil if there are too many. It holds no lock while it
// waits for a connection.
func (s *Statements) preparedStmt(ctx context.Context, db *sql.DB, query string) (*sql.Stmt, error) {
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
	stored := s.storeStmt(query, stmt)
	if stored != stmt {
		stmt.Close() //nolint:sqlclosecheck // not shared
	}
	return stored, nil
}

// storeStmt stores a prepared query. It returns the stored statement, which another goroutine
// may have prepared, or nil if there are too many.
func (s *Statements) storeStmt(query string, stmt *sql.Stmt) *sql.Stmt {
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
