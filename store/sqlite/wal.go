package sqlite

import (
	"context"
	"database/sql"
	"time"
)

// walOf returns the name of the write-ahead log, which is beside the database itself and
// not beside a link to it.
func walOf(ctx context.Context, db *sql.DB) (name string, err error) {
	err = db.QueryRowContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&name)
	return name + "-wal", err
}

const (
	// backfillEvery is how often, at most, what was committed is moved from
	// the write-ahead log into the database.
	backfillEvery = 500 * time.Millisecond

	// maxFrames is how many pages the log may have before the writer stops for
	// a moment, to move the last of it and begin it anew. Unless very much is
	// written, SQLite does so by itself, whenever all of it was moved. With
	// 4,000, 1,000 sessions stopped it more than once a second, for 20 ms.
	maxFrames = 16_000
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
		if frames := move(db); frames > maxFrames {
			if frames = move(db); frames > maxFrames { // what is left is what was committed meanwhile
				s.walFull.Store(true)
			}
		}
	}
}

// move moves what it can, and returns how long the log was.
func move(db *sql.DB) (frames int64) {
	var busy, moved int64
	if err := db.QueryRowContext(context.Background(), moveWAL).Scan(&busy, &frames, &moved); err != nil {
		return 0 // the next time, then
	}
	return frames
}

// moveWAL moves what it can without waiting for anybody.
const moveWAL = `PRAGMA wal_checkpoint(PASSIVE)`

// emptyWAL moves all, and waits for who reads.
const emptyWAL = `PRAGMA wal_checkpoint(TRUNCATE)`

// noteGrowth has the backfill begin.
func (s *Store) noteGrowth() {
	select {
	case s.grown <- struct{}{}:
	default:
	}
}
