// Package pgconn has the words of a server of Postgres. See package pgx.
package pgconn

// A CommandTag is what came of a command.
type CommandTag struct{}

// RowsAffected returns 0.
func (CommandTag) RowsAffected() int64 { return 0 }

// A PgError is an error of a server.
type PgError struct{ Code, Message string }

func (e *PgError) Error() string { return e.Message }

// A ConnectError is why there is no connection.
type ConnectError struct{}

func (*ConnectError) Error() string { return "failed to connect" }

// A Notice is what a server remarks.
type Notice PgError

// A Notification is what one connection tells others.
type Notification struct{ Channel, Payload string }

// A PgConn is a connection: there is none.
type PgConn struct{}

// ParameterStatus returns "".
func (*PgConn) ParameterStatus(string) string { return "" }
