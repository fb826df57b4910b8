package recall

import (
	"context"
	"database/sql"
)

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
