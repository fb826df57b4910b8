package vector

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"sync/atomic"
)

// A snapshot is the vectors of a model at some version. It does not change.
type snapshot struct {
	modelRow
	blocks []*block // that have vectors, by number
}

// A cache keeps the newest snapshot of a model that was asked for.
type cache struct {
	newest  atomic.Pointer[snapshot]
	reading chan struct{} // has room for whoever reads blocks
}

// snapshot returns the vectors of a model as they are now; nil if there are none.
func (v *Vectors) snapshot(ctx context.Context, model string) (*snapshot, error) {
	m, err := v.model(ctx, model)
	if err != nil {
		return nil, err
	}
	if m.num == 0 {
		v.forget(model)
		return nil, nil
	}
	c := v.cacheOf(model)
	if s := c.newest.Load(); s.current(m) {
		return s, nil
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s := c.newest.Load()
	if s.current(m) { // another has read it meanwhile
		return s, nil
	}
	if s == nil || s.num != m.num {
		s = new(snapshot)
	}
	if s, err = v.read(ctx, s, m); err == nil {
		c.newest.Store(s)
	}
	return s, err
}

// current reports whether the snapshot has what the model has.
func (s *snapshot) current(m modelRow) bool {
	return s != nil && s.num == m.num && s.version >= m.version
}

func (v *Vectors) cacheOf(model string) *cache {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.caches[model]
	if c == nil {
		c = &cache{reading: make(chan struct{}, 1)}
		v.caches[model] = c
	}
	return c
}

func (v *Vectors) forget(model string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.caches, model)
}

// read returns a snapshot of a model made of an older one and what has changed
// since. The version read before the blocks is one that they at least have.
func (v *Vectors) read(ctx context.Context, old *snapshot, m modelRow) (*snapshot, error) {
	query := `SELECT block, present, data FROM vector_block WHERE model = ? AND version > ?`
	if old.version == 0 {
		query = `SELECT block, present, data FROM vector_block WHERE model = ? AND present <> ? ORDER BY block`
	}
	rows, err := v.db.Read.QueryContext(ctx, v.db.Bind(query), m.num, old.version)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	s := &snapshot{modelRow: m, blocks: slices.Clone(old.blocks)}
	var data sql.RawBytes
	for rows.Next() {
		var num, present int64
		if err := rows.Scan(&num, &present, &data); err != nil {
			return nil, err
		}
		b, err := decode(num, uint64(present), data, stride(m.length))
		if err != nil {
			return nil, err
		}
		s.set(b)
	}
	return s, rows.Err()
}

// set puts a block into a snapshot that is being made.
func (s *snapshot) set(b *block) {
	i, found := slices.BinarySearchFunc(s.blocks, b.num, func(b *block, num int64) int { return cmp.Compare(b.num, num) })
	switch {
	case found && b.present == 0:
		s.blocks = slices.Delete(s.blocks, i, i+1)
	case found:
		s.blocks[i] = b
	case b.present != 0:
		s.blocks = slices.Insert(s.blocks, i, b)
	}
}
