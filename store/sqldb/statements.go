package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"sync"
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
// driver starts a goroutine with each query: once it has begun, it is not interrupted.
func (s *Statements) Short(ctx context.Context, db *sql.DB, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Query(context.WithoutCancel(ctx), db, query, args...)
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

// stmt returns the prepared query, or nil if it is not to be kept.
func (s *Statements) stmt(ctx context.Context, db *sql.DB, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stmt := s.all[query]; stmt != nil || len(s.all) >= maxStatements {
		return stmt, nil
	}
	stmt, err := db.PrepareContext(ctx, query) //nolint:sqlclosecheck // likewise
	if err != nil {
		return nil, err
	}
	if s.all == nil {
		s.all = make(map[string]*sql.Stmt)
	}
	s.all[query] = stmt
	return stmt, nil
}
