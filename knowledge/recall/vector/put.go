package vector

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Put sets vectors in the caller's transaction. A model's first vectors determine the
// length, 1 to 16,384; others are ErrLength. It keeps directions, with twelve bits a
// coordinate. NaN and infinity are errors. A few hundred vectors take some
// milliseconds.
func (v *Vectors) Put(ctx context.Context, tx *sql.Tx, model string, passages []int64, vectors [][]float32) error {
	if len(passages) != len(vectors) {
		return fmt.Errorf("store vectors of %s: got %d vectors for %d passages", model, len(vectors), len(passages))
	}
	if len(passages) == 0 {
		return nil
	}
	blocks, err := newRows(passages, vectors)
	if err == nil {
		err = v.putRows(ctx, tx, model, len(vectors[0]), blocks)
	}
	if err != nil {
		return fmt.Errorf("store vectors of %s: %w", model, err)
	}
	return nil
}

// newRows returns vectors by block and bit.
func newRows(passages []int64, vectors [][]float32) (map[int64]map[int]row, error) {
	length := len(vectors[0])
	if length < 1 || length > maxLength {
		return nil, fmt.Errorf("%w: %d coordinates; use 1 to %d", ErrLength, length, maxLength)
	}
	blocks := map[int64]map[int]row{}
	for i, p := range passages {
		if len(vectors[i]) != length {
			return nil, fmt.Errorf("%w: the vector of passage %d has %d coordinates, others have %d", ErrLength, p, len(vectors[i]), length)
		}
		r, err := quantizeVector(vectors[i])
		if err != nil {
			return nil, fmt.Errorf("check vector of passage %d: %w", p, err)
		}
		num, bit := splitPassage(p)
		if blocks[num] == nil {
			blocks[num] = map[int]row{}
		}
		blocks[num][bit] = r
	}
	return blocks, nil
}

func (v *Vectors) putRows(ctx context.Context, tx *sql.Tx, model string, length int, blocks map[int64]map[int]row) error {
	if model == "" {
		return errors.New("the model has no name")
	}
	m, err := v.lockModel(ctx, tx, model, length)
	if err != nil {
		return err
	}
	if m.vectors == 0 {
		m.length = length
		if _, err := tx.ExecContext(ctx, v.db.Bind(`UPDATE vector_model SET length = ? WHERE num = ?`), length, m.num); err != nil {
			return err
		}
	}
	if m.length != length {
		return fmt.Errorf("%w: %d coordinates, but stored vectors have %d", ErrLength, length, m.length)
	}
	_, err = v.rewriteBlocks(ctx, tx, m, blocks)
	return err
}

// rewriteBlocks removes rows without codes, and returns the change in number.
func (v *Vectors) rewriteBlocks(ctx context.Context, tx *sql.Tx, m modelRow, blocks map[int64]map[int]row) (more int, err error) {
	for _, num := range sortedKeys(blocks) {
		old, err := v.readBlock(ctx, tx, m, num)
		if err != nil {
			return 0, err
		}
		b := old.withRows(blocks[num], paddedLength(m.length))
		if old.present == 0 && b.present == 0 {
			continue
		}
		upsert := `INSERT INTO vector_block (model, block, version, present, data) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (model, block) DO UPDATE SET version = excluded.version, present = excluded.present, data = excluded.data`
		if _, err := tx.ExecContext(ctx, v.db.Bind(upsert), m.num, num, m.version, int64(b.present), b.encode()); err != nil {
			return 0, err
		}
		more += bits.OnesCount64(b.present) - bits.OnesCount64(old.present)
	}
	_, err = tx.ExecContext(ctx, v.db.Bind(`UPDATE vector_model SET vectors = vectors + ? WHERE num = ?`), more, m.num)
	return more, err
}

func sortedKeys[V any](m map[int64]V) []int64 {
	keys := make([]int64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (v *Vectors) readBlock(ctx context.Context, tx *sql.Tx, m modelRow, num int64) (*block, error) {
	var present int64
	var data []byte
	err := tx.QueryRowContext(ctx, v.db.Bind(`SELECT present, data FROM vector_block WHERE model = ? AND block = ?`), m.num, num).Scan(&present, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return &block{num: num}, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeBlock(num, uint64(present), data, paddedLength(m.length))
}

// Remove removes the passages' vectors of all models in the caller's transaction.
// Missing vectors are no error.
func (v *Vectors) Remove(ctx context.Context, tx *sql.Tx, passages ...int64) error {
	if len(passages) == 0 {
		return nil
	}
	blocks := map[int64]map[int]row{}
	for _, p := range passages {
		num, bit := splitPassage(p)
		if blocks[num] == nil {
			blocks[num] = map[int]row{}
		}
		blocks[num][bit] = row{}
	}
	names, err := v.modelNames(ctx, tx)
	for i := 0; i < len(names) && err == nil; i++ {
		err = v.removeRows(ctx, tx, names[i], blocks)
	}
	if err != nil {
		return fmt.Errorf("remove vectors: %w", err)
	}
	return nil
}

func (v *Vectors) removeRows(ctx context.Context, tx *sql.Tx, model string, blocks map[int64]map[int]row) error {
	m, err := v.lockModel(ctx, tx, model, 0)
	if err != nil {
		return err
	}
	if _, err := v.rewriteBlocks(ctx, tx, m, blocks); err != nil {
		return err
	}
	last, err := v.lastPassage(ctx, tx, m.num)
	if err != nil || last >= m.filled {
		return err
	}
	// Later numbers may be reused.
	_, err = tx.ExecContext(ctx, v.db.Bind(`UPDATE vector_model SET filled = ? WHERE num = ?`), last, m.num)
	return err
}

// lastPassage returns the last passage with a vector, or 0.
func (v *Vectors) lastPassage(ctx context.Context, tx *sql.Tx, num int64) (int64, error) {
	var at, present int64
	query := `SELECT block, present FROM vector_block WHERE model = ? AND present <> 0 ORDER BY block DESC LIMIT 1`
	err := tx.QueryRowContext(ctx, v.db.Bind(query), num).Scan(&at, &present)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return at<<blockBits | int64(bits.Len64(uint64(present))-1), err
}

func (v *Vectors) modelNames(ctx context.Context, q querier) (names []string, err error) {
	rows, err := q.QueryContext(ctx, `SELECT name FROM vector_model WHERE state = 0 ORDER BY num`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
