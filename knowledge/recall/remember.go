package recall

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"

	"ponder/knowledge/archive"
)

// Remember stores items and returns them in order, all or none. An item with an
// ExternalID replaces the one with equal kind, persona, source and ExternalID; others
// replace an item of equal kind, persona and text. The replacement keeps the ID.
// Defaults are KindMemory, the start of the text as title, and the date of now.
func (l *Library) Remember(ctx context.Context, items ...Item) ([]Item, error) {
	list := make([]*entry, 0, len(items))
	for i, it := range items {
		e, err := l.memoryEntry(it)
		if err != nil {
			return nil, fmt.Errorf("remember item %d: %w", i+1, err)
		}
		list = append(list, e)
	}
	list, at := uniqueEntries(list)
	if err := l.saveEntries(ctx, list, nil); err != nil {
		return nil, fmt.Errorf("remember %d items: %w", len(items), err)
	}
	out := make([]Item, len(items))
	for i := range items {
		out[i] = list[at[i]].item
	}
	return out, nil
}

func (l *Library) memoryEntry(it Item) (*entry, error) {
	now := l.now()
	it.Kind = cmp.Or(it.Kind, KindMemory)
	if err := it.validate(); err != nil {
		return nil, err
	}
	if it.Text == "" {
		it.Text, it.Raw = it.Raw, ""
	}
	it.Path, it.Part, it.Original, it.Added = "", "", "", now
	it.Date, it.Meta = firstDate(it.Date, now), maps.Clone(it.Meta)
	e, err := textEntry(it.truncateFields())
	if err != nil {
		return nil, err
	}
	e.deriveFields(l.owner)
	return e, nil
}

// uniqueEntries returns the last entry of each identity, and the index of each input's entry.
func uniqueEntries(list []*entry) (out []*entry, at []int) {
	index := map[string]int{}
	at = make([]int, len(list))
	for i, e := range list {
		j, ok := index[e.identity]
		if !ok {
			j = len(out)
			index[e.identity] = j
			out = append(out, nil)
		}
		out[j], at[i] = e, j
	}
	return out, at
}

func (l *Library) saveEntries(ctx context.Context, list []*entry, originals []archive.PackedItem) error {
	s := &step{originals: originals}
	for _, e := range list {
		n, err := l.numbers.takeNumber(ctx)
		if err != nil {
			return err
		}
		e.setNumber(n)
		s.addEntry(e)
	}
	s.prepareBatch(l)
	err := l.db.Tx(ctx, func(t *sql.Tx) error {
		tx := newPreparedTx(t)
		defer tx.close()
		s.removed, s.earlier = nil, nil
		for _, e := range list {
			if err := l.replaceItem(ctx, tx, s, e); err != nil {
				return err
			}
		}
		if err := l.removeStored(ctx, tx, s.removed); err != nil {
			return err
		}
		if err := l.putEarlier(ctx, tx, s.earlier); err != nil {
			return err
		}
		return l.addAll(ctx, tx, s)
	})
	if err == nil {
		l.noteGrowth()
	}
	return err
}

// replaceItem gives an entry the ID and age of the item that it replaces.
func (l *Library) replaceItem(ctx context.Context, tx *preparedTx, s *step, e *entry) error {
	var before storedItem
	err := tx.QueryRowContext(ctx, l.db.Bind(`SELECT num, id, added, original, source FROM recall_item WHERE owner = ? AND identity = ?`),
		l.owner, e.identity).Scan(&before.num, &before.id, &before.added, &before.original, &before.source)
	if errors.Is(err, sql.ErrNoRows) {
		e.item.ID, e.item.Added = newID(l.now()), l.now()
		return nil
	}
	if err != nil {
		return err
	}
	e.item.ID, e.item.Added = before.id, fromMicros(before.added)
	if before.original != e.item.Original || before.source != e.item.Source {
		s.recordEarlier(storedItem{path: before.source}, before.original)
	}
	before.original = "" // keep the original
	s.removed = append(s.removed, before)
	return nil
}
