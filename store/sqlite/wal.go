package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// walOf returns the name of the WAL, which is beside the database and not beside a link to
// it.
func walOf(ctx context.Context, db *sql.DB) (name string, err error) {
	err = db.QueryRowContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&name)
	return name + "-wal", err
}

const (
	// backfillEvery is the shortest interval of backfills.
	backfillEvery = 500 * time.Millisecond

	// maxFrames limits the pages of the WAL before the writer pauses to truncate it. Except
	// under very high load, SQLite restarts the WAL by itself after a complete backfill.
	// With a limit of 4,000, 1,000 sessions paused the writer more than once per second,
	// for 20 ms.
	maxFrames = 16_000
)

// backfillLoop moves commits from the WAL into the database concurrently with the writer.
// SQLite's automatic checkpoint would block the writer.
func (s *Store) backfillLoop(db *sql.DB) {
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
		if !s.isIntact() {
			continue // the next growth tries again
		}
		if frames := checkpointWAL(db); frames > maxFrames {
			if frames = checkpointWAL(db); frames > maxFrames { // the rest was committed meanwhile
				s.walFull.Store(true)
			}
		}
	}
}

// checkpointWAL moves as much as it can, and returns the length of the WAL in pages.
func checkpointWAL(db *sql.DB) (frames int64) {
	var busy, moved int64
	if err := db.QueryRowContext(context.Background(), moveWAL).Scan(&busy, &frames, &moved); err != nil {
		return 0 // the next backfill tries again
	}
	return frames
}

// moveWAL moves as much as possible without waiting.
const moveWAL = `PRAGMA wal_checkpoint(PASSIVE)`

// noteGrowth signals the backfill.
func (s *Store) noteGrowth() {
	select {
	case s.grown <- struct{}{}:
	default:
	}
}
