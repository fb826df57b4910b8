package placement

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// borrowDB returns a database with one connection, borrowed from db for each operation. Closing it
// leaves db open. Users of db wait for one borrower at most.
func borrowDB(db *sql.DB) *sql.DB {
	shared := sql.OpenDB(connLender{db})
	shared.SetMaxOpenConns(1)
	shared.SetMaxIdleConns(-1) // returned at once
	return shared
}

// A connLender lends connections of a database.
type connLender struct{ db *sql.DB }

// Connect implements [driver.Connector].
func (l connLender) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	lent := &borrowedConn{conn: conn}
	err = conn.Raw(func(c any) error {
		var ok bool
		if lent.connection, ok = c.(connection); !ok {
			return fmt.Errorf("share connections of %T: not supported", l.db.Driver())
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return lent, nil
}

// Driver implements [driver.Connector].
func (l connLender) Driver() driver.Driver { return l.db.Driver() }

// A connection lists the methods that a driver connection needs.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
}

// A borrowedConn is a borrowed connection. Its operations ignore cancellation, because an
// interrupted SQLite connection is discarded, and this one belongs to the store.
type borrowedConn struct {
	connection
	conn *sql.Conn
}

// Close returns the connection.
func (l *borrowedConn) Close() error { return l.conn.Close() }

// BeginTx implements [driver.ConnBeginTx].
func (l *borrowedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return l.connection.BeginTx(context.WithoutCancel(ctx), opts)
}

// PrepareContext always fails: a statement could outlive the loan, and DBOS prepares none.
func (l *borrowedConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errors.New("a shared connection cannot prepare statements")
}

// ExecContext implements [driver.ExecerContext].
func (l *borrowedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return l.connection.ExecContext(context.WithoutCancel(ctx), query, args)
}

// QueryContext implements [driver.QueryerContext].
func (l *borrowedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return l.connection.QueryContext(context.WithoutCancel(ctx), query, args)
}

// Ping implements [driver.Pinger].
func (l *borrowedConn) Ping(ctx context.Context) error {
	return l.connection.Ping(context.WithoutCancel(ctx))
}
