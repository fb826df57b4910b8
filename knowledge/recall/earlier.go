package recall

import (
	"context"
	"errors"
	"strings"

	"ponder/knowledge/archive"
	"ponder/knowledge/document"
)

// An earlier is that an original had a text which is not in the index any more.
// Without a hash it stands for the original alone. Evidence refers to it, and so
// it stays until the user forgets its source, or something of it.
type earlier struct{ source, part, kind, hash, original string }

// maxEarlier is in how many originals of a source a text is looked for.
const maxEarlier = 16

// putEarlier notes what was.
func (l *Library) putEarlier(ctx context.Context, tx *prepared, list []earlier) error {
	for _, e := range list {
		err := tx.exec(ctx, l.db.Bind(`INSERT INTO recall_earlier (owner, source, part, kind, hash, original) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (owner, source, original, hash, part) DO NOTHING`), l.owner, e.source, e.part, e.kind, e.hash, e.original)
		if err != nil {
			return err
		}
	}
	return nil
}

// dropEarlier forgets what a source had before, with its originals.
func (l *Library) dropEarlier(ctx context.Context, tx *prepared, source string) error {
	rows, err := tx.QueryContext(ctx, l.db.Bind(`SELECT DISTINCT original FROM recall_earlier WHERE owner = ? AND source = ?`), l.owner, source)
	if err != nil {
		return err
	}
	defer rows.Close()
	var list []copied
	for rows.Next() {
		c := copied{source: source}
		if err := rows.Scan(&c.hash); err != nil {
			return err
		}
		list = append(list, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if err := tx.exec(ctx, l.db.Bind(`DELETE FROM recall_earlier WHERE owner = ? AND source = ?`), l.owner, source); err != nil {
		return err
	}
	for _, c := range list {
		if err := l.drop(ctx, tx, c); err != nil {
			return err
		}
	}
	return nil
}

// earlierSources returns the sources at or below roots that had something before.
func (l *Library) earlierSources(ctx context.Context, roots ...string) ([]string, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT DISTINCT source FROM recall_earlier WHERE owner = ?`), l.owner)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []string
	for rows.Next() {
		source := ""
		if err := rows.Scan(&source); err != nil {
			return nil, err
		}
		for _, root := range roots {
			if inside(source, root) {
				list = append(list, source)
				break
			}
		}
	}
	return list, rows.Err()
}

// checkEarlier says whether a place is in a text that was in the index before,
// read anew from its original.
func (l *Library) checkEarlier(ctx context.Context, id string) (Checked, error) {
	hash, start, end, ok := document.ParsePlace(id)
	if !ok || l.archive == nil {
		return Checked{}, nil
	}
	list, err := l.earlierOf(ctx, hash)
	if err != nil {
		return Checked{}, err
	}
	for _, e := range list {
		o, err := l.archive.Get(ctx, e.original)
		if errors.Is(err, archive.ErrNone) {
			continue
		}
		if err != nil {
			return Checked{}, err
		}
		if it, text, ok := e.text(o, hash); ok && end <= len(text) {
			it.Owner = l.owner
			return Checked{There: true, Original: true, Exact: true, Earlier: true, Quote: text[start:end], Item: it}, nil
		}
	}
	return Checked{}, nil
}

// earlierOf returns where a text may be that begins with a hash: in the original
// that is known to have it, or else in another of the same source.
func (l *Library) earlierOf(ctx context.Context, hash string) ([]earlier, error) {
	rows, err := l.db.Read.QueryContext(ctx, l.db.Bind(`SELECT e.source, e.part, e.kind, e.hash, o.original FROM recall_earlier e
		JOIN recall_earlier o ON o.owner = e.owner AND o.source = e.source
		WHERE e.owner = ? AND e.hash >= ? AND e.hash < ? GROUP BY e.source, e.part, e.kind, e.hash, o.original
		ORDER BY max(CASE WHEN o.original = e.original THEN 1 ELSE 0 END) DESC LIMIT ?`), l.owner, hash, hash+"g", maxEarlier)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []earlier
	for rows.Next() {
		var e earlier
		if err := rows.Scan(&e.source, &e.part, &e.kind, &e.hash, &e.original); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// text returns the text of an original whose hash begins with one, and the item
// that it was.
func (e earlier) text(o archive.Original, hash string) (Item, string, bool) {
	base := Item{Path: e.source, Source: e.source}
	for _, kind := range []Kind{"", Kind(e.kind)} {
		base.Kind = kind
		for found, err := range entries(source{path: e.source, named: true}, o.Bytes, base) {
			if err != nil || !strings.HasPrefix(found.doc.Hash, hash) {
				continue
			}
			it := found.item
			it.Kind, it.Hash, it.Original, it.Size, it.Text, it.Raw = Kind(e.kind), found.doc.Hash, e.original, len(found.doc.Text), "", ""
			return it, found.doc.Text, true
		}
	}
	return Item{}, "", false
}
