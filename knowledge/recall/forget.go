package recall

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ponder/knowledge/recall/index"
	"ponder/knowledge/recall/vector"
)

// ErrNone reports that an ID or a name does not exist.
var ErrNone = errors.New("not found")

// Forget removes items and returns their number. It deletes no files: their items
// return if the file changes or the user names it again. It drops all earlier originals
// of the file, and the last one if no item is left.
func (l *Library) Forget(ctx context.Context, ids ...string) (int, error) {
	n := 0
	for len(ids) > 0 {
		group := ids[:min(len(ids), stepRemoved)]
		ids = ids[len(group):]
		args := []any{l.owner}
		for _, id := range group {
			args = append(args, id)
		}
		list, err := l.queryStored(ctx, `owner = ? AND id IN (`+placeholders(len(group))+`)`, args...)
		if err == nil {
			err = l.forgetItems(ctx, list, nil)
		}
		if err != nil {
			return n, fmt.Errorf("forget %d items: %w", len(group), err)
		}
		n += len(list)
	}
	return n, l.purgeRemoved(ctx, n)
}

// purgeRemoved purges the words of removed items at once.
func (l *Library) purgeRemoved(ctx context.Context, removed int) error {
	if removed == 0 {
		return nil
	}
	if err := l.mergeIndex(ctx); err != nil {
		return fmt.Errorf("remove forgotten items from the index: %w", err)
	}
	return nil
}

// ForgetSource removes all items of a name, a URL, a file or a folder and returns their
// number.
func (l *Library) ForgetSource(ctx context.Context, source string) (int, error) {
	n, err := l.forgetSource(ctx, source)
	if err != nil {
		return n, fmt.Errorf("forget %s: %w", source, err)
	}
	return n, l.purgeRemoved(ctx, n)
}

func (l *Library) forgetSource(ctx context.Context, source string) (int, error) {
	list, err := l.queryStored(ctx, `owner = ? AND source = ? AND path = ''`, l.owner, source)
	if err != nil {
		return 0, err
	}
	n := len(list)
	if err := l.forgetItems(ctx, list, nil); err != nil {
		return 0, err
	}
	path := source
	if abs, err := filepath.Abs(source); err == nil {
		path = abs
	}
	known, err := l.loadFiles(ctx, []string{path, source})
	if err != nil {
		return n, err
	}
	for _, f := range known {
		list, err := l.queryStored(ctx, `owner = ? AND path = ?`, l.owner, f.path)
		if err != nil {
			return n, err
		}
		if err := l.forgetItems(ctx, list, &step{vanished: []fileWrite{{f, f.change}}, earlier: earlierOriginal(f), dropped: []string{f.path}}); err != nil {
			return n, err
		}
		n += len(list)
	}
	earlier, err := l.earlierSources(ctx, path, source)
	if err != nil {
		return n, err
	}
	if err := l.forgetItems(ctx, nil, &step{dropped: earlier}); err != nil {
		return n, err
	}
	// Records that name another source than their file.
	list, err = l.queryStored(ctx, `owner = ? AND source = ?`, l.owner, source)
	if err != nil {
		return n, err
	}
	return n + len(list), l.forgetItems(ctx, list, nil)
}

func earlierOriginal(f file) []earlierText {
	if f.original == "" {
		return nil
	}
	return []earlierText{{source: f.path, original: f.original}}
}

func (l *Library) queryStored(ctx context.Context, where string, args ...any) ([]storedItem, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT num, id, sum, added, original, source, path FROM recall_item WHERE `+where), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []storedItem
	for rows.Next() {
		var s storedItem
		if err := rows.Scan(&s.num, &s.id, &s.sum, &s.added, &s.original, &s.source, &s.path); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// forgetItems removes items in several transactions; the last includes the step.
func (l *Library) forgetItems(ctx context.Context, list []storedItem, last *step) error {
	if last == nil {
		last = &step{}
	}
	for {
		group := list[:min(len(list), stepRemoved)]
		list = list[len(group):]
		change, err := l.numbers.takeNumber(ctx)
		if err != nil {
			return err
		}
		err = l.db.Tx(ctx, func(t *sql.Tx) error {
			tx := newPreparedTx(t)
			defer tx.close()
			if err := l.removeStored(ctx, tx, group); err != nil {
				return err
			}
			if err := l.markIncomplete(ctx, tx, group, change); err != nil || len(list) > 0 {
				return err
			}
			return l.writeFiles(ctx, tx, last)
		})
		if err != nil {
			return err
		}
		l.noteGrowth()
		if len(list) == 0 {
			return nil
		}
	}
}

// markIncomplete marks files as incomplete and drops their earlier originals.
func (l *Library) markIncomplete(ctx context.Context, tx *preparedTx, list []storedItem, change int64) error {
	seen := map[string]bool{}
	for _, s := range list {
		from := orDefault(s.path, s.source)
		if seen[from] || s.path == "" && s.original == "" {
			continue
		}
		seen[from] = true
		if s.path != "" {
			if err := l.markFileIncomplete(ctx, tx, s.path, change); err != nil {
				return err
			}
		}
		if err := l.dropEarlier(ctx, tx, from); err != nil {
			return err
		}
	}
	return nil
}

// markFileIncomplete marks a file as incomplete. Without items left, its original moves to
// recall_earlier, for dropEarlier.
func (l *Library) markFileIncomplete(ctx context.Context, tx *preparedTx, path string, change int64) error {
	err := tx.exec(ctx, l.db.Bind(`UPDATE recall_file SET state = 'less', change = ? WHERE owner = ? AND path = ? AND state IN ('done', 'less')`), change, l.owner, path)
	if err != nil {
		return err
	}
	left, err := tx.queryNumber(ctx, l.db.Bind(`SELECT count(*) FROM recall_item WHERE owner = ? AND path = ?`), l.owner, path)
	if err != nil || left > 0 {
		return err
	}
	err = tx.exec(ctx, l.db.Bind(`INSERT INTO recall_earlier (owner, source, part, kind, hash, original)
		SELECT owner, path, '', '', '', original FROM recall_file WHERE owner = ? AND path = ? AND original <> ''
		ON CONFLICT (owner, source, original, hash, part) DO NOTHING`), l.owner, path)
	if err != nil {
		return err
	}
	return tx.exec(ctx, l.db.Bind(`UPDATE recall_file SET original = '' WHERE owner = ? AND path = ?`), l.owner, path)
}

const maintainInterval = 30 * time.Second

// Maintain merges the index and makes vectors until ctx ends. It continues after errors and
// returns the last.
func (l *Library) Maintain(ctx context.Context) error {
	var last error
	for {
		if err := l.WaitIndexed(ctx, nil); err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-l.workReady:
		case <-time.After(maintainInterval):
		}
	}
}

// WaitIndexed does the pending work of [Library.Maintain]. It calls progress, if set, with the
// number of vectors.
func (l *Library) WaitIndexed(ctx context.Context, progress func(vectors int)) error {
	if err := l.mergeIndex(ctx); err != nil {
		return fmt.Errorf("maintain library: %w", err)
	}
	if l.embedder.Embed == nil {
		return nil
	}
	err := l.vectors.Fill(ctx, l.embedder, passageTexts{l}, progress)
	if err != nil && !errors.Is(err, vector.ErrText) {
		return fmt.Errorf("maintain library: %w", err)
	}
	return nil
}

// WaitIndexedFor is [Library.WaitIndexed] with a time limit; done is false if work remains. The
// error is that of ctx only if ctx itself ended.
func (l *Library) WaitIndexedFor(ctx context.Context, d time.Duration, progress func(vectors, of int)) (done bool, err error) {
	of := 0
	if progress != nil {
		err := l.db.Read.QueryRowContext(ctx, l.db.Bind(`SELECT COALESCE(sum(passages), 0) FROM recall_item`)).Scan(&of)
		if err != nil {
			return false, fmt.Errorf("maintain library: %w", err)
		}
	}
	within, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	err = l.WaitIndexed(within, func(vectors int) {
		if progress != nil {
			progress(min(vectors, of), of)
		}
	})
	if err != nil && ctx.Err() == nil && within.Err() != nil {
		return false, nil
	}
	return err == nil, err
}

// mergeIndex merges until nothing is left. If another goroutine merges, it returns at once.
func (l *Library) mergeIndex(ctx context.Context) error {
	if !l.mergeLock.TryLock() {
		return nil
	}
	defer l.mergeLock.Unlock()
	for {
		more, err := l.index.Merge(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// mergeInBackground merges during an ingestion until stop. It ignores errors; a later merge
// repeats the work.
func (l *Library) mergeInBackground(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.workReady:
				if l.mergeIndex(ctx) != nil {
					return
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
		l.noteGrowth()
	}
}

func (l *Library) removeIndexed(ctx context.Context, tx *sql.Tx, nums []int64) error {
	var passages []int64
	for _, doc := range nums {
		first, n, err := l.index.PassageRange(ctx, doc)
		if errors.Is(err, index.ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range n {
			passages = append(passages, first+int64(i))
		}
	}
	if err := l.vectors.Remove(ctx, tx, passages...); err != nil {
		return err
	}
	return l.index.Remove(ctx, tx, nums...)
}

type passageTexts struct{ l *Library }

func (t passageTexts) TextsAfter(ctx context.Context, passage int64, n int) ([]vector.Text, error) {
	entries, err := t.l.index.EntriesAfter(ctx, passage, n)
	if err != nil {
		return nil, err
	}
	out := make([]vector.Text, len(entries))
	for i, e := range entries {
		out[i] = vector.Text{Passage: e.Num, Text: embeddingText(e)}
	}
	return out, nil
}

// embeddingText returns a passage with its headings and speaker, which give context.
func embeddingText(e index.Entry) string {
	text := e.Text
	if e.Speaker != "" && !strings.HasPrefix(text, e.Speaker) {
		text = e.Speaker + ": " + text
	}
	if e.Heading != "" {
		text = e.Heading + "\n" + text
	}
	return text
}
