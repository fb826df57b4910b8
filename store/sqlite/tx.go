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

// A tx is a transaction of the writer, with the caches of the writer. It bypasses
// database/sql, which would take a third of the time. The first database error stays in err
// and turns later calls into no-ops.
type tx struct {
	conn  driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	many  []driver.Value // a buffer for long argument lists
	err   error

	// The fields below are valid until another connection commits, which the data version
	// shows.
	version     int64
	changeCount uint32 // the result of count after the newest commit; zero if unknown
	pos         int64  // the newest pos in ponder_batch
	startPos    int64  // pos at the start of the transaction
	threads     map[ponder.ThreadID]*thread
	nodes       map[ponder.NodeID]*node
}

// A thread is the writer's cache of a thread.
type thread struct {
	num     int64
	removed bool
	head    ponder.Seq
	kind    ponder.Kind
	status  ponder.Status
	open    int           // open root runs
	roots   []ponder.Root // if as many as open; else not all are known
	title   string
	lease   storerules.Lease
	tainted ponder.Fence       // the lease whose holder has read content that was erased since
	calls   []storerules.Start // known open calls
	keys    keyOrder
	changed bool // its row must be updated
}

// A node is the writer's cache of a node. An unknown node is buried.
type node struct {
	beat   time.Time
	clock  time.Duration
	buried bool
}

// maxCachedThreads limits the cached threads, and the cached nodes.
const maxCachedThreads = 20_000

const (
	begin       = `BEGIN IMMEDIATE`
	commit      = `COMMIT`
	syncNormal  = `PRAGMA synchronous = NORMAL` // the syncer waits for the disk
	rollback    = `ROLLBACK`
	dataVersion = `PRAGMA data_version`
	newestPos   = `SELECT coalesce(max(pos), 0) FROM ponder_batch`
)

// reset sets the connection. It drops the statements of the old one, which is closed.
func (tx *tx) reset(conn driver.Conn) {
	tx.conn, tx.stmts = conn, make(map[string]driver.Stmt)
	tx.dropCaches()
}

// closeStatements closes the statements.
func (tx *tx) closeStatements() {
	for _, stmt := range tx.stmts {
		stmt.Close()
	}
	tx.stmts = nil
}

// refreshCaches drops the caches if another connection has committed. Usually count shows at once
// that no data has changed. Otherwise data_version tells whether another connection changed
// it.
func (tx *tx) refreshCaches() {
	if left := tx.readChangeCount(); left == 0 || left != tx.changeCount {
		version, _ := tx.queryNumber(dataVersion)
		if version != tx.version {
			tx.dropCaches()
			tx.version = version
			tx.pos, _ = tx.queryNumber(newestPos)
		}
	}
	if len(tx.threads) > maxCachedThreads {
		tx.threads = make(map[ponder.ThreadID]*thread)
	}
	if len(tx.nodes) > maxCachedThreads {
		tx.nodes = make(map[ponder.NodeID]*node)
	}
	tx.startPos = tx.pos
}

// noteCount notes the count after a commit.
func (tx *tx) noteCount() { tx.changeCount = tx.readChangeCount() }

// readChangeCount returns SQLite's counter of data changes on this connection, or zero if it is
// unknown.
func (tx *tx) readChangeCount() uint32 {
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
	tx.version, tx.changeCount = -1, 0
	tx.threads = make(map[ponder.ThreadID]*thread)
	tx.nodes = make(map[ponder.NodeID]*node)
}

func (tx *tx) prepareStmt(query string) driver.Stmt {
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

// namedArgs returns arguments in the form of the driver.
func (tx *tx) namedArgs(args []driver.Value) []driver.NamedValue {
	tx.args = tx.args[:0]
	for i, arg := range args {
		tx.args = append(tx.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return tx.args
}

// exec executes a statement and returns the number of changed rows.
func (tx *tx) exec(query string, args ...driver.Value) int {
	stmt := tx.prepareStmt(query)
	if stmt == nil {
		return 0
	}
	res, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), tx.namedArgs(args))
	if err != nil {
		tx.err = err
		return 0
	}
	n, err := res.RowsAffected()
	tx.err = err
	return int(n)
}

// queryRow reads the first row of a query, and reports whether there is one.
func (tx *tx) queryRow(row []driver.Value, query string, args ...driver.Value) bool {
	stmt := tx.prepareStmt(query)
	if stmt == nil {
		return false
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), tx.namedArgs(args))
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

// queryNumber reads the first column of the first row as a number.
func (tx *tx) queryNumber(query string, args ...driver.Value) (int64, bool) {
	row := make([]driver.Value, 1)
	if !tx.queryRow(row, query, args...) {
		return 0, false
	}
	n, ok := row[0].(int64)
	return n, ok
}

const readThread = `SELECT t.num, t.removed, coalesce(b.last, 0), t.status, t.title, t.fence, t.node, t.base, t.clock, coalesce(b.seen, 0), t.kind, t.open,
	coalesce((SELECT seq FROM ponder_fold WHERE num = t.num AND fold = '` + taint + `'), 0), t.numbered, coalesce(b.roots, '')
	FROM ponder_thread t LEFT JOIN ponder_batch b ON b.pos = ` + lastBatch + ` WHERE t.id = ?`

// lastBatch selects the newest row of a thread t.
const lastBatch = `(SELECT pos FROM ponder_batch WHERE num = t.num ORDER BY last DESC LIMIT 1)`

// loadThread returns a thread, also a removed one, or nil if it never existed.
func (tx *tx) loadThread(id ponder.ThreadID) *thread {
	if t := tx.threads[id]; t != nil {
		return t
	}
	row := make([]driver.Value, 15)
	if !tx.queryRow(row, readThread, string(id)) {
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
		keys:    keyOrder(row[13].(int64)),
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

func (tx *tx) loadNode(id ponder.NodeID) *node {
	if n := tx.nodes[id]; n != nil {
		return n
	}
	n := &node{buried: true}
	row := make([]driver.Value, 3)
	if tx.queryRow(row, readNode, string(id)) {
		n.beat, n.clock = fromMicros(row[0].(int64)), time.Duration(row[1].(int64))
		n.buried = row[2].(int64) != 0
	}
	tx.nodes[id] = n
	return n
}

func (tx *tx) isAlive(id ponder.NodeID) bool {
	if id == "" {
		return false
	}
	n := tx.loadNode(id)
	return !n.buried && storerules.Alive(n.beat, time.Now())
}

// isReplaceable reports whether other nodes may take the threads of a node.
func (tx *tx) isReplaceable(id ponder.NodeID) bool {
	if id == "" {
		return true
	}
	n := tx.loadNode(id)
	return n.buried || storerules.Replaceable(n.beat, time.Now())
}

// inForce reports whether the lease with the fence is in force.
func (tx *tx) inForce(t *thread, fence ponder.Fence) bool {
	return fence != 0 && fence == t.lease.Fence && tx.isAlive(t.lease.Node)
}
