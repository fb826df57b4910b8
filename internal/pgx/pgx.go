// Package pgx stands in for the driver of Postgres, which the library that places
// threads brings and which is never used: its tables are in the file of the log. The
// original makes the program 3 MB larger. This one has what that library is compiled
// with, and connects to nothing.
//
// It is a module of its own: the replace line in go.mod puts it in place.
package pgx

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNoPostgres is why nothing can be connected to.
var ErrNoPostgres = errors.New("there is no driver of Postgres in this program")

// ErrNoRows says that a query found nothing: of SQLite too.
var ErrNoRows = sql.ErrNoRows

// ErrTxClosed says that a transaction has ended.
var ErrTxClosed = errors.New("tx is closed")

// A TxIsoLevel says what a transaction sees of others.
type TxIsoLevel string

// The levels.
const (
	ReadCommitted  TxIsoLevel = "read committed"
	RepeatableRead TxIsoLevel = "repeatable read"
	Serializable   TxIsoLevel = "serializable"
)

// A TxAccessMode says whether a transaction writes.
type TxAccessMode string

// The modes.
const (
	ReadWrite TxAccessMode = "read write"
	ReadOnly  TxAccessMode = "read only"
)

// TxOptions are how a transaction begins.
type TxOptions struct {
	IsoLevel   TxIsoLevel
	AccessMode TxAccessMode
}

// QueryExecModeSimpleProtocol is a way to send a query.
const QueryExecModeSimpleProtocol = 1

// A Row is what was found.
type Row interface{ Scan(dest ...any) error }

// Rows are what was found.
type Rows interface {
	Row
	Next() bool
	Err() error
	Close()
}

// A Tx is a transaction.
type Tx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) Row
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// An Identifier is a name, in its parts.
type Identifier []string

// Sanitize returns it as it is written in SQL.
func (i Identifier) Sanitize() string {
	parts := make([]string, len(i))
	for n, part := range i {
		parts[n] = `"` + strings.ReplaceAll(strings.ReplaceAll(part, "\x00", ""), `"`, `""`) + `"`
	}
	return strings.Join(parts, ".")
}

// A ConnConfig says what to connect to.
type ConnConfig struct {
	Database       string
	ConnectTimeout time.Duration
	OnNotice       func(*pgconn.PgConn, *pgconn.Notice)
	RuntimeParams  map[string]string
}

// Copy returns a copy.
func (c *ConnConfig) Copy() *ConnConfig {
	d := *c
	return &d
}

// A Conn is a connection: there is none.
type Conn struct{}

// ConnectConfig fails.
func ConnectConfig(context.Context, *ConnConfig) (*Conn, error) { return nil, ErrNoPostgres }

// Exec fails.
func (*Conn) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return pgconn.CommandTag{}, ErrNoPostgres
}

// QueryRow returns a row that fails.
func (*Conn) QueryRow(context.Context, string, ...any) Row { return none{} }

// WaitForNotification fails.
func (*Conn) WaitForNotification(context.Context) (*pgconn.Notification, error) {
	return nil, ErrNoPostgres
}

// PgConn returns what is below.
func (*Conn) PgConn() *pgconn.PgConn { return nil }

// IsClosed says yes.
func (*Conn) IsClosed() bool { return true }

// Close does nothing.
func (*Conn) Close(context.Context) error { return nil }

type none struct{}

func (none) Scan(...any) error { return ErrNoPostgres }
