package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// queryNumber returns the number that a query selects.
func (s *Statements) queryNumber(ctx context.Context, db *sql.DB, query string, arg int) (n int, err error) {
	rows, err := s.Query(ctx, db, query, arg)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	rows.Next()
	if err := rows.Scan(&n); err != nil {
		return 0, err
	}
	return n, rows.Err()
}

// TestStatements runs more queries than are prepared, from many goroutines.
func TestStatements(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var s Statements
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 2 * maxStatements {
				if got, err := s.queryNumber(t.Context(), db, fmt.Sprintf(`SELECT %d + ?`, i), g); err != nil || got != i+g {
					t.Errorf("%d, %v, want %d", got, err, i+g)
					return
				}
			}
		})
	}
	wg.Wait()
	if len(s.all) > maxStatements {
		t.Errorf("%d statements are kept", len(s.all))
	}
	if _, err := s.queryNumber(t.Context(), db, `no SQL`, 0); err == nil {
		t.Error("it takes what is no query")
	}
}

// openSingle opens a database with one connection and three numbers.
func openSingle(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE number (n INTEGER); INSERT INTO number VALUES (1), (2), (3)`); err != nil {
		t.Fatal(err)
	}
	return db
}

// occupyConn takes a connection until the test ends or calls release.
func occupyConn(t *testing.T, db *sql.DB) (release func()) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { conn.Close() })
	t.Cleanup(release)
	return release
}

// checkReturns checks that do returns when its ctx ends.
func checkReturns(t *testing.T, do func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want DeadlineExceeded", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it has not returned 10 s after its ctx has ended")
	}
}

// TestShortWaitsForAConnection has a short query wait for the only connection.
func TestShortWaitsForAConnection(t *testing.T) {
	for name, query := range map[string]string{
		"prepared": `SELECT n FROM number WHERE n >= ?`, "new": `SELECT n FROM number WHERE n > ?`,
	} {
		t.Run(name, func(t *testing.T) {
			db := openSingle(t)
			var s Statements
			n := 0
			if err := s.First(t.Context(), db, []any{&n}, `SELECT n FROM number WHERE n >= ?`, 2); err != nil || n != 2 {
				t.Fatal(n, err)
			}
			release := occupyConn(t, db)
			checkReturns(t, func(ctx context.Context) error { return s.First(ctx, db, []any{&n}, query, 3) })
			release()
			if err := s.First(t.Context(), db, []any{&n}, query, 2); err != nil || n < 2 {
				t.Errorf("after that: %d, %v", n, err)
			}
		})
	}
}

// TestShortBlocksNoOther has a new query wait for a connection. Other callers of it wait
// only until their contexts end.
func TestShortBlocksNoOther(t *testing.T) {
	db := openSingle(t)
	var s Statements
	release := occupyConn(t, db)
	var wg sync.WaitGroup
	wg.Go(func() {
		if n, err := s.queryNumber(context.Background(), db, `SELECT n + ? FROM number`, 1); err != nil || n != 2 {
			t.Error(n, err)
		}
	})
	for db.Stats().WaitCount == 0 {
		time.Sleep(time.Millisecond)
	}
	checkReturns(t, func(ctx context.Context) error {
		_, err := s.queryNumber(ctx, db, `SELECT n FROM number WHERE n > ?`, 1)
		return err
	})
	release()
	wg.Wait()
}

// TestShortIsNotInterrupted ends the ctx of a short query while its rows are read.
func TestShortIsNotInterrupted(t *testing.T) {
	db := openSingle(t)
	var s Statements
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rows, err := s.QueryShort(ctx, db, `SELECT n FROM number WHERE n >= ? ORDER BY n`, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []int
	for rows.Next() {
		cancel()
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	if err := rows.Err(); err != nil || len(got) != 3 {
		t.Errorf("read %v, %v", got, err)
	}
	if err := s.First(ctx, db, []any{new(int)}, `SELECT n FROM number WHERE n >= ?`, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a query begins though its ctx has ended: %v", err)
	}
}
