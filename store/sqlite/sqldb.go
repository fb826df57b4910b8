package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"ponder/store/sqldb"
)

// SQL returns the database for parts that keep tables of their own in the same
// file. It can only be read if the store is read-only.
func (s *Store) SQL() sqldb.DB {
	return sqldb.DB{Read: s.read, Write: s.write, Committed: s.keep, Explain: explainOwn, Busy: isBusy, Join: s.join}
}

// keep makes durable what somebody else has committed.
func (s *Store) keep() error {
	s.noteGrowth()
	if err := s.Lost(); err != nil {
		return err
	}
	return s.makeDurable(0)
}

// join has a statement done in a transaction of the log, without waiting for the disk.
func (s *Store) join(ctx context.Context, patient bool, query string, args ...any) error {
	values := make([]driver.Value, len(args))
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
		values[i] = v
	}
	return s.send(ctx, &request{passing: true, patient: patient, do: func(tx *tx) error {
		tx.exec(query, values...)
		return nil
	}})
}

// explainOwn is explain of what may be an error of others, too, which it leaves alone.
func explainOwn(err error) error {
	if _, ok := codeOf(err); !ok {
		return err
	}
	return explain(err)
}
