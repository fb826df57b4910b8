// Package pgxpool has connections that are shared. See package pgx.
package pgxpool

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A Config says what to connect to, and how often.
type Config struct {
	ConnConfig      *pgx.ConnConfig
	MaxConns        int32
	MinConns        int32
	MaxConnLifetime time.Duration
	MaxConnIdleTime time.Duration
}

// ParseConfig fails.
func ParseConfig(string) (*Config, error) { return nil, pgx.ErrNoPostgres }

// ConnString returns "".
func (*Config) ConnString() string { return "" }

// A Pool has connections: there is none.
type Pool struct{}

// NewWithConfig fails.
func NewWithConfig(context.Context, *Config) (*Pool, error) { return nil, pgx.ErrNoPostgres }

// Acquire fails.
func (*Pool) Acquire(context.Context) (*Conn, error) { return nil, pgx.ErrNoPostgres }

// Begin fails.
func (*Pool) Begin(context.Context) (pgx.Tx, error) { return nil, pgx.ErrNoPostgres }

// BeginTx fails.
func (*Pool) BeginTx(context.Context, pgx.TxOptions) (pgx.Tx, error) { return nil, pgx.ErrNoPostgres }

// Exec fails.
func (*Pool) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, pgx.ErrNoPostgres
}

// Query fails.
func (*Pool) Query(context.Context, string, ...any) (pgx.Rows, error) {
	return nil, pgx.ErrNoPostgres
}

// QueryRow returns a row that fails.
func (*Pool) QueryRow(context.Context, string, ...any) pgx.Row {
	return (*pgx.Conn)(nil).QueryRow(nil, "")
}

// Ping fails.
func (*Pool) Ping(context.Context) error { return pgx.ErrNoPostgres }

// Config returns nil.
func (*Pool) Config() *Config { return nil }

// Stat returns nil.
func (*Pool) Stat() *Stat { return nil }

// Close does nothing.
func (*Pool) Close() {}

// A Stat says how many connections there are.
type Stat struct{}

// AcquiredConns returns 0.
func (*Stat) AcquiredConns() int32 { return 0 }

// MaxConns returns 0.
func (*Stat) MaxConns() int32 { return 0 }

// A Conn is one of a pool: there is none.
type Conn struct{ Pool }

// Conn returns what is below.
func (*Conn) Conn() *pgx.Conn { return nil }

// Release does nothing.
func (*Conn) Release() {}

// Hijack returns what is below.
func (*Conn) Hijack() *pgx.Conn { return nil }
