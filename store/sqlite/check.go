package sqlite

import (
	"context"
	"fmt"

	"ponder"
)

// Damaged returns ErrDamaged once something could not be written because the database is.
func (s *Store) Damaged() error {
	if s.damaged.Load() {
		return ponder.ErrDamaged
	}
	return nil
}

// Check looks at each page of the database, which takes seconds for one of gigabytes, and
// returns ErrDamaged with what is wrong first, or nil. It changes nothing. What of an index
// does not agree with its table is not looked for.
func (s *Store) Check(ctx context.Context) error {
	var said string
	if err := s.read.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&said); err != nil {
		return explain(err)
	}
	if said != "ok" {
		return fmt.Errorf("%w: %.200s", ponder.ErrDamaged, said)
	}
	return nil
}
