package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"ponder/store/sqldb"
)

// SQL returns the database for packages with their own tables in the same file. It is
// read-only if the store is.
func (s *Store) SQL() sqldb.DB {
	return sqldb.DB{Read: s.read, Write: s.write, Committed: s.syncOthers, Explain: explainOwn, Busy: isBusy, Join: s.execInLog}
}

// syncOthers makes the commits of other users of the connection durable.
func (s *Store) syncOthers() error {
	s.noteGrowth()
	if err := s.Lost(); err != nil {
		return err
	}
	return s.makeDurable(0)
}

// execInLog executes a statement in a transaction of the log. It does not wait for the disk.
func (s *Store) execInLog(ctx context.Context, patient bool, query string, args ...any) error {
	values := make([]driver.Value, len(args))
	for i, arg := range args {
		v, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return fmt.Errorf("argument %d: %w", i+1, err)
		}
		values[i] = v
	}
	return s.sendRequest(ctx, &request{volatile: true, patient: patient, do: func(tx *tx) error {
		tx.exec(query, values...)
		return nil
	}})
}

// explainOwn explains errors of SQLite, and returns other errors unchanged.
func explainOwn(err error) error {
	if _, ok := codeOf(err); !ok {
		return err
	}
	return explainError(err)
}
