package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"time"

	"ponder"
	"ponder/store/internal/storerules"

	"modernc.org/sqlite"
)

// A tx is a transaction of the writer, and what the writer knows by heart. It
// works below database/sql, whose part of the time would be a third. An error
// of the database stays in err, and from then on nothing is done.
type tx struct {
	conn  driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	many  []driver.Value // for arguments of which there are many
	err   error

	// What follows holds for as long as no other connection has committed,
	// which the version of the data tells.
	version int64
	left    uint32 // what control says of the data after the newest commit of ours; zero if that is not known
	pos     int64  // newest in ponder_batch
	from    int64  // pos when the transaction began
	threads map[ponder.ThreadID]*thread
	nodes   map[ponder.NodeID]*node
}

// thread is what the writer knows of a thread.
type thread struct {
	num     int64
	removed bool
	head    ponder.Seq
	kind    ponder.Kind
	status  ponder.Status
	open    int           // root runs that have not finished
	roots   []ponder.Root // they, if as many; else not all are known
	title   string
	lease   storerules.Lease
	tainted ponder.Fence       // of a lease whose holder has read what was erased since
	calls   []storerules.Start // those that have not ended, as far as they are known
	keys    numbering
	changed bool // its row is to be written
}

// node is what the writer knows of a node. A node that is not there is buried.
type node struct {
	beat   time.Time
	clock  time.Duration
	buried bool
}

// maxKnown is how many threads the writer knows by heart.
const maxKnown = 20_000

const (
	begin       = `BEGIN IMMEDIATE`
	commit      = `COMMIT`
	unsynced    = `PRAGMA synchronous = NORMAL` // the syncer waits for the disk
	rollback    = `ROLLBACK`
	dataVersion = `PRAGMA data_version`
	newestPos   = `SELECT coalesce(max(pos), 0) FROM ponder_batch`
)

// reset makes conn the connection. The statements of the one before end with it:
// there is a new one only because that one is gone.
func (tx *tx) reset(conn driver.Conn) {
	tx.conn, tx.stmts = conn, make(map[string]driver.Stmt)
	tx.dropCaches()
}

// forget closes the statements.
func (tx *tx) forget() {
	for _, stmt := range tx.stmts {
		stmt.Close()
	}
	tx.stmts = nil
}

// refresh forgets what another connection may have changed. Most often SQLite
// says at once that nothing has changed. If something has, perhaps by others on
// this connection, the version of the data tells who did it.
func (tx *tx) refresh() {
	if left := tx.count(); left == 0 || left != tx.left {
		version, _ := tx.number(dataVersion)
		if version != tx.version {
			tx.dropCaches()
			tx.version = version
			tx.pos, _ = tx.number(newestPos)
		}
	}
	if len(tx.threads) > maxKnown {
		tx.threads = make(map[ponder.ThreadID]*thread)
	}
	if len(tx.nodes) > maxKnown {
		tx.nodes = make(map[ponder.NodeID]*node)
	}
	tx.from = tx.pos
}

// leave notes how a commit left the data.
func (tx *tx) leave() { tx.left = tx.count() }

// count returns how often this connection has seen the data change, or zero if
// it does not say.
func (tx *tx) count() uint32 {
	control, ok := tx.conn.(sqlite.FileControl)
	if !ok {
		return 0
	}
	n, err := control.FileControlDataVersion("main")
	if err != nil {
		return 0
	}
	return n
}

func (tx *tx) dropCaches() {
	tx.version, tx.left = -1, 0
	tx.threads = make(map[ponder.ThreadID]*thread)
	tx.nodes = make(map[ponder.NodeID]*node)
}

// stmt returns a prepared statement, or nil after an error.
func (tx *tx) stmt(query string) driver.Stmt {
	if tx.err != nil {
		return nil
	}
	if stmt := tx.stmts[query]; stmt != nil {
		return stmt
	}
	stmt, err := tx.conn.Prepare(query)
	if err != nil {
		tx.err = err
		return nil
	}
	tx.stmts[query] = stmt
	return stmt
}

// named returns arguments as a driver wants them.
func (tx *tx) named(args []driver.Value) []driver.NamedValue {
	tx.args = tx.args[:0]
	for i, arg := range args {
		tx.args = append(tx.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return tx.args
}

// exec executes a statement and returns how many rows it changed.
func (tx *tx) exec(query string, args ...driver.Value) int {
	stmt := tx.stmt(query)
	if stmt == nil {
		return 0
	}
	res, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), tx.named(args))
	if err != nil {
		tx.err = err
		return 0
	}
	n, err := res.RowsAffected()
	tx.err = err
	return int(n)
}

// row reads the first row of a query into row, and reports whether there is one.
func (tx *tx) row(row []driver.Value, query string, args ...driver.Value) bool {
	stmt := tx.stmt(query)
	if stmt == nil {
		return false
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), tx.named(args))
	if err != nil {
		tx.err = err
		return false
	}
	err = rows.Next(row)
	if e := rows.Close(); err == nil {
		err = e
	}
	if errors.Is(err, io.EOF) {
		return false
	}
	tx.err = err
	return err == nil
}

// number reads one number.
func (tx *tx) number(query string, args ...driver.Value) (int64, bool) {
	row := make([]driver.Value, 1)
	if !tx.row(row, query, args...) {
		return 0, false
	}
	n, ok := row[0].(int64)
	return n, ok
}

const readThread = `SELECT t.num, t.removed, coalesce(b.last, 0), t.status, t.title, t.fence, t.node, t.base, t.clock, coalesce(b.seen, 0), t.kind, t.open,
	coalesce((SELECT seq FROM ponder_fold WHERE num = t.num AND fold = '` + taint + `'), 0), t.numbered, coalesce(b.roots, '')
	FROM ponder_thread t LEFT JOIN ponder_batch b ON b.pos = ` + lastBatch + ` WHERE t.id = ?`

// lastBatch is the newest row of a thread t.
const lastBatch = `(SELECT pos FROM ponder_batch WHERE num = t.num ORDER BY last DESC LIMIT 1)`

// thread returns what is known of a thread, also of one that was removed, or
// nil if there never was one.
func (tx *tx) thread(id ponder.ThreadID) *thread {
	if t := tx.threads[id]; t != nil {
		return t
	}
	row := make([]driver.Value, 15)
	if !tx.row(row, readThread, string(id)) {
		return nil
	}
	t := &thread{
		num:     row[0].(int64),
		removed: row[1].(int64) != 0,
		head:    ponder.Seq(row[2].(int64)),
		status:  ponder.Status(row[3].(string)),
		title:   row[4].(string),
		kind:    ponder.Kind(row[10].(string)),
		open:    int(row[11].(int64)),
		tainted: ponder.Fence(row[12].(int64)),
		keys:    numbering(row[13].(int64)),
		roots:   decodeRoots(row[14].(string)),
		lease: storerules.Lease{
			Fence: ponder.Fence(row[5].(int64)),
			Node:  ponder.NodeID(row[6].(string)),
			Base:  time.Duration(row[7].(int64)),
			Clock: time.Duration(row[8].(int64)),
			Seen:  time.Duration(row[9].(int64)),
		},
	}
	tx.threads[ponder.ThreadID(strings.Clone(string(id)))] = t
	return t
}

const readNode = `SELECT beat, clock, buried FROM ponder_node WHERE id = ?`

// node returns what is known of a node.
func (tx *tx) node(id ponder.NodeID) *node {
	if n := tx.nodes[id]; n != nil {
		return n
	}
	n := &node{buried: true}
	row := make([]driver.Value, 3)
	if tx.row(row, readNode, string(id)) {
		n.beat, n.clock = fromMicros(row[0].(int64)), time.Duration(row[1].(int64))
		n.buried = row[2].(int64) != 0
	}
	tx.nodes[id] = n
	return n
}

// alive reports whether a node is alive.
func (tx *tx) alive(id ponder.NodeID) bool {
	if id == "" {
		return false
	}
	n := tx.node(id)
	return !n.buried && storerules.Alive(n.beat, time.Now())
}

// inForce reports whether fence is a lease on a thread that is in force.
func (tx *tx) inForce(t *thread, fence ponder.Fence) bool {
	return fence != 0 && fence == t.lease.Fence && tx.alive(t.lease.Node)
}
