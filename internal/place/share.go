package place

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// share returns a database whose only connection is borrowed from another, for as
// long as something is done with it. Closing it leaves the other open. Whoever
// else wants the connection waits for one borrower at most.
func share(db *sql.DB) *sql.DB {
	shared := sql.OpenDB(lender{db})
	shared.SetMaxOpenConns(1)
	shared.SetMaxIdleConns(-1) // given back at once
	return shared
}

// A lender lends connections of a database.
type lender struct{ db *sql.DB }

// Connect implements [driver.Connector].
func (l lender) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	lent := &loan{conn: conn}
	err = conn.Raw(func(c any) error {
		var ok bool
		if lent.connection, ok = c.(connection); !ok {
			return fmt.Errorf("connections of %T cannot be shared", l.db.Driver())
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return lent, nil
}

// Driver implements [driver.Connector].
func (l lender) Driver() driver.Driver { return l.db.Driver() }

// A connection is what a driver's connection must be able to do.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
}

// A loan is a connection that is borrowed until it is closed.
type loan struct {
	connection
	conn *sql.Conn
}

// Close gives the connection back.
func (l *loan) Close() error { return l.conn.Close() }
