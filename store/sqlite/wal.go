package sqlite

import (
	"context"
	"database/sql"
	"time"
)

const (
	// backfillEvery is how often, at most, what was committed is moved from
	// the write-ahead log into the database.
	backfillEvery = 500 * time.Millisecond

	// maxFrames is how many pages the log may have before the writer stops for
	// as long as it takes to begin it anew.
	maxFrames = 64_000
)

// backfill moves what was committed from the write-ahead log into the database,
// beside the writer. SQLite by itself would stop the writer to do so.
func (s *Store) backfill(db *sql.DB) {
	defer db.Close()
	for {
		select {
		case <-s.grown:
		case <-s.closing:
			return
		}
		select {
		case <-time.After(backfillEvery):
		case <-s.closing:
			return
		}
		var busy, frames, moved int64
		err := db.QueryRowContext(context.Background(), moveWAL).Scan(&busy, &frames, &moved)
		if err == nil && busy == 0 && frames > maxFrames {
			s.walFull.Store(true)
		}
	}
}

// moveWAL moves what it can without waiting for anybody.
const moveWAL = `PRAGMA wal_checkpoint(PASSIVE)`

// noteGrowth has the backfill begin.
func (s *Store) noteGrowth() {
	select {
	case s.grown <- struct{}{}:
	default:
	}
}
