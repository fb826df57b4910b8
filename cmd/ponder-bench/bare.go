package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ponder/llm"
)

// measureConnections returns the memory of as many bare calls in flight as the load has sessions.
func measureConnections(ctx context.Context, l load) (float64, error) {
	l.mean, l.jitter = 5*time.Second, 0
	r, err := l.buildRig(ctx)
	if err != nil {
		return 0, err
	}
	defer r.close()
	before := heapAndStacks()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range l.sessions {
		wg.Go(func() {
			_, _ = llm.Collect(r.meter.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, "?")}}))
		})
	}
	<-r.meter.peakReached
	grown := heapAndStacks() - before
	cancel()
	wg.Wait()
	return grown, nil
}

// bareCalls returns the CPU time of calls without an engine, with a session's request and the
// load's parallelism: of a call whose answer is discarded, and of one that is stored durably, the
// minimum for any engine.
func bareCalls(ctx context.Context, l load) (call, stored time.Duration, err error) {
	req, err := midSessionRequest(ctx)
	if err != nil {
		return 0, 0, err
	}
	r, err := l.buildRig(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer r.close()
	k, err := newCallStore(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer k.close()
	ask := func() (*llm.Response, error) { return llm.Collect(r.meter.Model.Generate(ctx, req)) }
	if _, err = cpuPerCall(l.sessions, func() error { _, err := ask(); return err }); err != nil { // opens the connections
		return 0, 0, err
	}
	if call, err = cpuPerCall(l.sessions, func() error { _, err := ask(); return err }); err != nil {
		return 0, 0, err
	}
	stored, err = cpuPerCall(l.sessions, func() error {
		answer, err := ask()
		if err != nil {
			return err
		}
		return k.saveCall(req, answer)
	})
	return call, stored, err
}

func midSessionRequest(ctx context.Context) (*llm.Request, error) {
	l := load{sessions: 1, calls: 12, mean: time.Millisecond}
	r, err := l.buildRig(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	wait, err := l.startSessions(ctx, r)
	if err != nil {
		return nil, err
	}
	_, err = wait()
	return r.meter.lastRequest, err
}

// cpuPerCall returns the CPU time per call of f over several parallel callers.
func cpuPerCall(callers int, f func() error) (time.Duration, error) {
	const each = 8
	errs := make([]error, callers)
	before := cpuTime()
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for range each {
				if err := f(); err != nil {
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	return (cpuTime() - before) / time.Duration(each*callers), errors.Join(errs...)
}

// A callStore stores calls durably in a table, with the driver and settings of the session store.
// One transaction contains all calls that arrived during the previous one.
type callStore struct {
	calls chan *storedCall
	ended sync.WaitGroup
	dir   string
	db    *sql.DB
}

type storedCall struct {
	asked, answered []byte
	done            chan error
}

func newCallStore(ctx context.Context) (*callStore, error) {
	dir, err := os.MkdirTemp("", "ponder-bench")
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "kept.db"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for _, q := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "CREATE TABLE kept (n INTEGER PRIMARY KEY, asked BLOB, answered BLOB)"} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	k := &callStore{calls: make(chan *storedCall, 1024), dir: dir, db: db}
	insert, err := db.PrepareContext(ctx, "INSERT INTO kept (asked, answered) VALUES (?, ?)")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	k.ended.Go(func() {
		defer insert.Close()
		for c := range k.calls {
			together := []*storedCall{c}
			for len(k.calls) > 0 {
				together = append(together, <-k.calls)
			}
			err := k.writeBatch(ctx, insert, together)
			for _, c := range together {
				c.done <- err
			}
		}
	})
	return k, nil
}

func (k *callStore) writeBatch(ctx context.Context, insert *sql.Stmt, calls []*storedCall) error {
	tx, err := k.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	each := tx.StmtContext(ctx, insert)
	defer each.Close()
	for _, c := range calls {
		if _, err := each.ExecContext(ctx, c.asked, c.answered); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (k *callStore) saveCall(req *llm.Request, answer *llm.Response) error {
	c := &storedCall{done: make(chan error, 1)}
	var err error
	if c.asked, err = json.Marshal(req); err != nil {
		return err
	}
	if c.answered, err = json.Marshal(answer); err != nil {
		return err
	}
	k.calls <- c
	return <-c.done
}

func (k *callStore) close() {
	close(k.calls)
	k.ended.Wait()
	k.db.Close()
	os.RemoveAll(k.dir)
}
