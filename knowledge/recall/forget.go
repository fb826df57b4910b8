package recall

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
)

// ErrNone says that there is nothing with an id or a name.
var ErrNone = errors.New("there is none")

// Forget removes items and all that belongs to them, and returns how many there
// were. Of a file, it removes what is in the Library and not the file: that comes
// again when the file has changed and is ingested again, or is named itself. All
// earlier originals of the file go with it, and the last one too if nothing of the
// file is left.
func (l *Library) Forget(ctx context.Context, ids ...string) (int, error) {
	n := 0
	for len(ids) > 0 {
		group := ids[:min(len(ids), stepRemoved)]
		ids = ids[len(group):]
		args := []any{l.owner}
		for _, id := range group {
			args = append(args, id)
		}
		list, err := l.stored(ctx, `owner = ? AND id IN (`+marks(len(group))+`)`, args...)
		if err == nil {
			err = l.forget(ctx, list, nil)
		}
		if err != nil {
			return n, fmt.Errorf("forget %d items: %w", len(group), err)
		}
		n += len(list)
	}
	return n, l.cleared(ctx, n)
}

// cleared has the index drop the words of what was removed now, and not when it
// is tended.
func (l *Library) cleared(ctx context.Context, removed int) error {
	if removed == 0 {
		return nil
	}
	if err := l.merge(ctx); err != nil {
		return fmt.Errorf("clear the index of what was forgotten: %w", err)
	}
	return nil
}

// ForgetSource removes all items of a source: a name, a URL, a file, or all files
// of a folder. It returns how many there were.
func (l *Library) ForgetSource(ctx context.Context, source string) (int, error) {
	n, err := l.forgetSource(ctx, source)
	if err != nil {
		return n, fmt.Errorf("forget %s: %w", source, err)
	}
	return n, l.cleared(ctx, n)
}

func (l *Library) forgetSource(ctx context.Context, source string) (int, error) {
	list, err := l.stored(ctx, `owner = ? AND source = ? AND path = ''`, l.owner, source)
	if err != nil {
		return 0, err
	}
	n := len(list)
	if err := l.forget(ctx, list, nil); err != nil {
		return 0, err
	}
	path := source
	if abs, err := filepath.Abs(source); err == nil {
		path = abs
	}
	known, err := l.files(ctx, []string{path, source})
	if err != nil {
		return n, err
	}
	for _, f := range known {
		list, err := l.stored(ctx, `owner = ? AND path = ?`, l.owner, f.path)
		if err != nil {
			return n, err
		}
		if err := l.forget(ctx, list, &step{gone: []write{{f, f.change}}, earlier: originalOf(f), dropped: []string{f.path}}); err != nil {
			return n, err
		}
		n += len(list)
	}
	earlier, err := l.earlierSources(ctx, path, source)
	if err != nil {
		return n, err
	}
	if err := l.forget(ctx, nil, &step{dropped: earlier}); err != nil {
		return n, err
	}
	// Records of a file that name a source of their own.
	list, err = l.stored(ctx, `owner = ? AND source = ?`, l.owner, source)
	if err != nil {
		return n, err
	}
	return n + len(list), l.forget(ctx, list, nil)
}

// originalOf returns what is to be dropped with the earlier originals of a file.
func originalOf(f file) []earlier {
	if f.original == "" {
		return nil
	}
	return []earlier{{source: f.path, original: f.original}}
}

// stored returns the items that a condition over recall_item is true of.
func (l *Library) stored(ctx context.Context, where string, args ...any) ([]stored, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT num, id, sum, added, original, source, path FROM recall_item WHERE `+where), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []stored
	for rows.Next() {
		var s stored
		if err := rows.Scan(&s.num, &s.id, &s.sum, &s.added, &s.original, &s.source, &s.path); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// forget removes items, some at a time, and does the rest of a step with the
// last of them.
func (l *Library) forget(ctx context.Context, list []stored, last *step) error {
	if last == nil {
		last = &step{}
	}
	for {
		group := list[:min(len(list), stepRemoved)]
		list = list[len(group):]
		change, err := l.numbers.take(ctx)
		if err != nil {
			return err
		}
		err = l.db.Tx(ctx, func(t *sql.Tx) error {
			tx := prepare(t)
			defer tx.close()
			if err := l.remove(ctx, tx, group); err != nil {
				return err
			}
			if err := l.lessen(ctx, tx, group, change); err != nil || len(list) > 0 {
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

// lessen notes of what items were that something of it was forgotten, and
// forgets what it had before.
func (l *Library) lessen(ctx context.Context, tx *prepared, list []stored, change int64) error {
	seen := map[string]bool{}
	for _, s := range list {
		from := dflt(s.path, s.source)
		if seen[from] || s.path == "" && s.original == "" {
			continue
		}
		seen[from] = true
		if s.path != "" {
			if err := l.lessenFile(ctx, tx, s.path, change); err != nil {
				return err
			}
		}
		if err := l.dropEarlier(ctx, tx, from); err != nil {
			return err
		}
	}
	return nil
}

// lessenFile notes it of a file. Of one that nothing is left of, no original is
// kept.
func (l *Library) lessenFile(ctx context.Context, tx *prepared, path string, change int64) error {
	err := tx.exec(ctx, l.db.Bind(`UPDATE recall_file SET state = 'less', change = ? WHERE owner = ? AND path = ? AND state IN ('done', 'less')`), change, l.owner, path)
	if err != nil {
		return err
	}
	left, err := tx.number(ctx, l.db.Bind(`SELECT count(*) FROM recall_item WHERE owner = ? AND path = ?`), l.owner, path)
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
