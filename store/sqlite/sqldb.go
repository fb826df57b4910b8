package sqlite

import "ponder/store/sqldb"

// SQL returns the database for parts that keep tables of their own in the same
// file. It can only be read if the store is read-only.
func (s *Store) SQL() sqldb.DB {
	return sqldb.DB{Read: s.read, Write: s.write, Committed: s.noteGrowth, Explain: explainOwn, Busy: isBusy, Unsynced: unsynced, Synced: synced}
}

// explainOwn is explain of what may be an error of others, too, which it leaves alone.
func explainOwn(err error) error {
	if _, ok := codeOf(err); !ok {
		return err
	}
	return explain(err)
}
