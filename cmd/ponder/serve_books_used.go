package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"ponder"
)

// aQuarter is how exactly is kept when something was used beside threads.
const aQuarter = 15 * time.Minute

// use counts what was used of a model, the key of the row, beside threads.
func (b *books) use(ctx context.Context, owner string, r ponder.UsageRow, now time.Time) error {
	err := b.db.Tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, b.db.Bind(`INSERT INTO serve_used (owner, quarter, model, calls, failed, input, micro_usd, unpriced)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (owner, quarter, model) DO UPDATE SET
			calls = serve_used.calls + excluded.calls, failed = serve_used.failed + excluded.failed, input = serve_used.input + excluded.input,
			micro_usd = serve_used.micro_usd + excluded.micro_usd, unpriced = serve_used.unpriced + excluded.unpriced`),
			owner, now.Unix()/int64(aQuarter.Seconds()), r.Key, r.Calls, r.Failed, r.Usage.Total(), int64(r.Money), r.Unknown)
		return err
	})
	if err != nil {
		return fmt.Errorf("note what %s used: %w", r.Key, err)
	}
	return nil
}

// used returns what an owner used beside threads since a time, cut to quarters of an hour.
// It is of the role embed, and of no thread, run or mode.
func (b *books) used(ctx context.Context, owner string, by ponder.GroupBy, since time.Time) (list []ponder.UsageRow, err error) {
	quarter := int64(0)
	if !since.IsZero() {
		quarter = since.Unix() / int64(aQuarter.Seconds())
	}
	rows, err := b.db.Read.QueryContext(ctx, b.db.Bind(`SELECT quarter, model, calls, failed, input, micro_usd, unpriced FROM serve_used
		WHERE owner = ? AND quarter >= ? ORDER BY quarter`), owner, quarter)
	if err != nil {
		return nil, fmt.Errorf("read what %s used: %w", owner, err)
	}
	defer rows.Close()
	for rows.Next() {
		var r ponder.UsageRow
		var model string
		if err := rows.Scan(&quarter, &model, &r.Calls, &r.Failed, &r.Usage.Input, &r.Money, &r.Unknown); err != nil {
			return nil, err
		}
		switch by {
		case ponder.ByRole:
			r.Key = string(ponder.Embed)
		case ponder.ByModel:
			r.Key = model
		case ponder.ByDay:
			r.Key = time.Unix(quarter*int64(aQuarter.Seconds()), 0).Local().Format(time.DateOnly)
		}
		list = append(list, r)
	}
	return list, rows.Err()
}
