package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/store/internal/storerules"
)

// Create implements [ponder.Threads].
func (s *Store) Create(ctx context.Context, header ponder.Thread, events ...ponder.Event) error {
	err := s.createThread(ctx, header, events)
	if err != nil {
		return fmt.Errorf("create %s: %w", header.ID, err)
	}
	if len(events) > 0 {
		s.hub.Hint(header.ID, ponder.Seq(len(events)))
	}
	return nil
}

func (s *Store) createThread(ctx context.Context, header ponder.Thread, events []ponder.Event) error {
	header, err := storerules.Header(header)
	if err != nil {
		return err
	}
	b, err := s.batches.encodeBatch(header.ID, events)
	if err != nil {
		return err
	}
	bytes := b.size() + len(header.ID) + len(header.Kind) + len(header.Title) + len(header.Owner) + len(header.Model)
	return s.submit(ctx, bytes, func(tx *tx) error { return tx.insertThread(header, b) })
}

func (tx *tx) insertThread(header ponder.Thread, b *batch) error {
	t := tx.loadThread(header.ID)
	if t != nil && !t.removed {
		return fmt.Errorf("thread exists already: %w", ponder.ErrTaken)
	}
	if tx.err != nil {
		return nil //nolint:nilerr // tx.err fails the transaction as a whole
	}
	id := string(header.ID)
	if t == nil {
		tx.exec(`INSERT INTO ponder_thread (id, kind, title, owner, model, created, status, open, fence, node, base, clock, removed, numbered)
			VALUES (?, '', '', '', '', 0, '', 0, 0, '', 0, 0, 1, 1)`, id)
		t = tx.loadThread(header.ID)
	}
	tx.exec(`UPDATE ponder_thread SET kind = ?, title = ?, owner = ?, model = ?, created = ?, status = ?, open = 0, removed = 0, former = '' WHERE id = ?`,
		string(header.Kind), header.Title, header.Owner, header.Model, toMicros(header.Created), string(ponder.Created), id)
	if tx.err != nil {
		return nil //nolint:nilerr // tx.err fails the transaction as a whole
	}
	t.removed, t.kind, t.title, t.status, t.open, t.roots = false, header.Kind, header.Title, ponder.Created, 0, nil
	if len(b.events) > 0 {
		return tx.addBatch(t, b, true)
	}
	return nil
}

// selectInfo selects infos. Its first argument is oldestBeat.
const selectInfo = `SELECT t.id, t.kind, t.title, t.owner, t.model, t.created, t.status, t.open, coalesce(b.last, 0) AS head, coalesce(nullif(b.time, 0), t.created) AS updated,
	EXISTS (SELECT 1 FROM ponder_node n WHERE n.id = t.node AND NOT n.buried AND n.beat > ?) AS held, b.roots
	FROM ponder_thread t LEFT JOIN ponder_batch b ON b.pos = ` + lastBatch + ` WHERE NOT t.removed`

const selectThread = selectInfo + ` AND t.id = ?`

// oldestBeat returns the newest beat of a node that is dead.
func oldestBeat() int64 { return toMicros(time.Now().Add(-ponder.DeadAfter)) }

// newestBeat is the heartbeat from which on the clock was set back: see storerules.Replaceable.
func newestBeat() int64 { return toMicros(time.Now().Add(ponder.DeadAfter)) }

func scanInfo(scan func(...any) error) (info ponder.Info, err error) {
	var created, updated int64
	var roots sql.NullString
	err = scan(&info.ID, &info.Kind, &info.Title, &info.Owner, &info.Model, &created, &info.Status, &info.Open, &info.Head, &updated, &info.Held, &roots)
	info.Roots = decodeRoots(roots.String)
	info.Created, info.Updated = fromMicros(created), fromMicros(updated)
	return info, err
}

// Thread implements [ponder.Threads].
func (s *Store) Thread(ctx context.Context, id ponder.ThreadID) (ponder.Info, error) {
	info, err := s.threadInfo(ctx, id)
	if err != nil {
		return ponder.Info{}, fmt.Errorf("thread %s: %w", id, err)
	}
	return info, nil
}

func (s *Store) threadInfo(ctx context.Context, id ponder.ThreadID) (ponder.Info, error) {
	rows, err := s.statements.QueryShort(ctx, s.read, selectThread, oldestBeat(), string(id))
	if err != nil {
		return ponder.Info{}, explainError(err)
	}
	infos, err := readInfos(rows)
	if err == nil && len(infos) == 0 {
		err = s.missingError(ctx, id)
	}
	if err != nil {
		return ponder.Info{}, err
	}
	return infos[0], nil
}

// List implements [ponder.Threads].
func (s *Store) List(ctx context.Context, f ponder.Filter) ([]ponder.Info, error) {
	query, args := listQuery(f)
	infos, err := s.queryInfos(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("list threads: %w", err)
	}
	return infos, nil
}

// newestFirst is the order of lists. The usual filters have an index in this order, so that
// SQLite reads only the rows of a page.
const newestFirst = ` ORDER BY created DESC, id DESC`

// listQuery returns the query of a list and its arguments. A list of two statuses merges
// two lists, each in the order of an index.
func listQuery(f ponder.Filter) (string, []any) {
	if f.Idle.IsZero() || f.Status != ponder.Thinking && f.Status != ponder.Paused {
		return onlyQuery(f, "")
	}
	idle, since := f, toMicros(f.Idle.Add(time.Microsecond-1)) // rounded up
	idle.Status = ponder.Thinking
	if f.Status == ponder.Thinking {
		return onlyQuery(idle, " AND (held OR updated >= ?)", since)
	}
	paused, args := onlyQuery(f, "")
	left, more := onlyQuery(idle, " AND NOT held AND updated < ?", since)
	query := "SELECT * FROM (" + paused + ") AS p UNION ALL SELECT * FROM (" + left + ") AS q" + newestFirst
	return withLimit(query, slices.Concat(args, more), f.Limit)
}

// onlyQuery returns the query of a list with a further condition, and its arguments.
func onlyQuery(f ponder.Filter, also string, more ...any) (string, []any) {
	var query strings.Builder
	query.WriteString(selectInfo)
	args := []any{oldestBeat()}
	where := func(set bool, cond string, more ...any) {
		if set {
			query.WriteString(" AND " + cond)
			args = append(args, more...)
		}
	}
	of := "t." // selects the index
	switch {
	case f.Status == ponder.Thinking:
		where(true, "t.status = 'thinking'")
		of = "+t." // the index by status, which has no owner
	case f.Status != "":
		where(true, "t.status = ? AND t.status <> 'thinking'", string(f.Status))
		where(f.Status != ponder.Completed, "t.status NOT IN ('thinking', 'completed')")
	}
	where(f.Kind != "", of+"kind = ?", string(f.Kind))
	where(f.Kind != "" && f.Kind != ponder.KindConversation, "t.kind <> 'conversation'")
	where(f.Without != "", "t.kind <> ?", string(f.Without))
	where(f.Owner != "", of+"owner = ?", f.Owner)
	where(f.Prefix != "", "t.id >= ? AND substr(t.id, 1, length(?)) = ?", f.Prefix, f.Prefix, f.Prefix)
	where(!f.Before.IsZero(), "(t.created, t.id) < (?, ?)", toMicros(f.Before.Created), string(f.Before.ID))
	text := query.String()
	if also != "" {
		text = "SELECT * FROM (" + text + ") AS i WHERE true" + also
		args = append(args, more...)
	}
	return withLimit(text+newestFirst, args, f.Limit)
}

// withLimit adds a limit to a query; zero means none.
func withLimit(query string, args []any, limit int) (string, []any) {
	if limit > 0 {
		return query + " LIMIT ?", append(args, limit)
	}
	return query, args
}

func (s *Store) queryInfos(ctx context.Context, query string, args ...any) ([]ponder.Info, error) {
	rows, err := s.statements.Query(ctx, s.read, query, args...)
	if err != nil {
		return nil, explainError(err)
	}
	return readInfos(rows)
}

// readInfos reads all rows and closes them.
func readInfos(rows *sql.Rows) (infos []ponder.Info, err error) {
	defer rows.Close()
	for rows.Next() {
		info, err := scanInfo(rows.Scan)
		if err != nil {
			return nil, explainError(err)
		}
		infos = append(infos, info)
	}
	return infos, explainError(rows.Err())
}

// Remove implements [ponder.Threads].
func (s *Store) Remove(ctx context.Context, id ponder.ThreadID) error {
	if err := s.submit(ctx, 0, func(tx *tx) error { return tx.removeThread(id) }); err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	s.hub.Hint(id, 0)
	s.scrubWAL(ctx)
	return nil
}

func (tx *tx) removeThread(id ponder.ThreadID) error {
	t := tx.loadThread(id)
	if t == nil || t.removed {
		return ponder.ErrNoThread
	}
	for _, query := range [...]string{
		`DELETE FROM ponder_key WHERE num = ?`,
		`DELETE FROM ponder_batch WHERE num = ?`,
		`DELETE FROM ponder_fold WHERE num = ?`,
		`UPDATE ponder_thread SET kind = '', title = '', former = owner, owner = '', model = '', created = 0, status = '', open = 0,
			fence = fence + 1, node = '', base = 0, clock = 0, removed = 1 WHERE num = ?`,
	} {
		tx.exec(query, t.num)
	}
	tx.pos++
	tx.exec(insertBatch, tx.pos, t.num, int64(0), int64(0), int64(0), int64(0), []byte{}, []byte(nil), nil)
	delete(tx.threads, id)
	return nil
}

// scrubWAL removes erased content from the WAL, unless a reader holds it for longer than a
// second.
func (s *Store) scrubWAL(ctx context.Context) {
	if !s.isIntact() {
		return
	}
	conn, err := s.write.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	for _, query := range [...]string{`PRAGMA busy_timeout = 1000`, `PRAGMA wal_checkpoint(TRUNCATE)`, `PRAGMA busy_timeout = 10000`} {
		conn.ExecContext(context.WithoutCancel(ctx), query)
	}
}
