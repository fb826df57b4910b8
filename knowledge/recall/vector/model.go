package vector

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

type Model struct {
	Name    string
	Length  int
	Vectors int

	// Whole means that [Vectors.Fill] once reached the end; later passages may lack a
	// vector.
	Whole bool
}

// Models returns the models by name.
func (v *Vectors) Models(ctx context.Context) ([]Model, error) {
	rows, err := v.db.Read.QueryContext(ctx, `SELECT name, length, vectors, whole FROM vector_model WHERE state = 0 ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list embedding models: %w", err)
	}
	defer rows.Close()
	var out []Model
	for rows.Next() {
		var m Model
		if err := rows.Scan(&m.Name, &m.Length, &m.Vectors, &m.Whole); err != nil {
			return nil, fmt.Errorf("list embedding models: %w", err)
		}
		out = append(out, m)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list embedding models: %w", err)
	}
	return out, nil
}

// ServingModel returns the model to search while the wanted one is incomplete: that one if
// whole, another whole one, or the one with the most vectors. Without any it returns
// "".
func (v *Vectors) ServingModel(ctx context.Context, want string) (string, error) {
	models, err := v.Models(ctx)
	if err != nil || len(models) == 0 {
		return "", err
	}
	worth := func(m Model) int {
		w := 0
		if m.Whole {
			w += 2
		}
		if m.Whole && m.Name == want {
			w++
		}
		return w
	}
	return slices.MinFunc(models, func(a, b Model) int {
		return cmp.Or(cmp.Compare(worth(b), worth(a)), cmp.Compare(b.Vectors, a.Vectors))
	}).Name, nil
}

func (v *Vectors) Count(ctx context.Context, model string) (n int, err error) {
	m, err := v.readModel(ctx, model)
	if err != nil {
		return 0, fmt.Errorf("count vectors of %s: %w", model, err)
	}
	return int(m.vectors), nil
}

// A modelRow is a row of vector_model, or zero.
type modelRow struct {
	num, version, vectors, filled int64
	length                        int
	whole                         bool
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (v *Vectors) readModel(ctx context.Context, name string) (modelRow, error) {
	return v.readModelFrom(ctx, v.db.Read, name)
}

func (v *Vectors) readModelFrom(ctx context.Context, q querier, name string) (m modelRow, err error) {
	query := `SELECT num, length, version, vectors, filled, whole FROM vector_model WHERE name = ? AND state = 0`
	err = q.QueryRowContext(ctx, v.db.Bind(query), name).Scan(&m.num, &m.length, &m.version, &m.vectors, &m.filled, &m.whole)
	if errors.Is(err, sql.ErrNoRows) {
		return modelRow{}, nil
	}
	return m, err
}

// lockModel locks or creates the row of a model for the transaction, with a new version.
func (v *Vectors) lockModel(ctx context.Context, tx *sql.Tx, name string, length int) (modelRow, error) {
	update := `UPDATE vector_model SET version = version + 1 WHERE name = ? AND state = 0`
	if _, err := tx.ExecContext(ctx, v.db.Bind(update), name); err != nil {
		return modelRow{}, err
	}
	m, err := v.readModelFrom(ctx, tx, name)
	if err != nil || m.num != 0 {
		return m, err
	}
	m = modelRow{version: 1, length: length}
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(num), 0) + 1 FROM vector_model`).Scan(&m.num); err != nil {
		return modelRow{}, err
	}
	insert := `INSERT INTO vector_model (num, name, length, version, vectors, filled, whole, state) VALUES (?, ?, ?, 1, 0, 0, 0, 0)`
	_, err = tx.ExecContext(ctx, v.db.Bind(insert), m.num, name, length)
	return m, err
}

const dropBlocks = 64

// Drop removes a model's vectors in short transactions; the first hides all. The next
// Drop or [Vectors.Fill] completes an interrupted one.
func (v *Vectors) Drop(ctx context.Context, model string) error {
	err := v.db.Exec(ctx, `UPDATE vector_model SET name = '', state = 1 WHERE name = ? AND state = 0`, model)
	if err == nil {
		err = v.sweepDropped(ctx)
	}
	if err != nil {
		return fmt.Errorf("delete vectors of %s: %w", model, err)
	}
	return nil
}

func (v *Vectors) sweepDropped(ctx context.Context) error {
	for {
		var num int64
		err := v.db.Read.QueryRowContext(ctx, `SELECT num FROM vector_model WHERE state = 1 ORDER BY num LIMIT 1`).Scan(&num)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			err = v.db.Tx(ctx, func(tx *sql.Tx) error { return v.sweepBlocks(ctx, tx, num) })
		}
		if err != nil {
			return err
		}
	}
}

func (v *Vectors) sweepBlocks(ctx context.Context, tx *sql.Tx, num int64) error {
	some := `DELETE FROM vector_block WHERE model = ? AND block IN (SELECT block FROM vector_block WHERE model = ? ORDER BY block LIMIT ?)`
	res, err := tx.ExecContext(ctx, v.db.Bind(some), num, num, dropBlocks)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, v.db.Bind(`UPDATE vector_model SET state = 2 WHERE num = ?`), num)
	return err
}
