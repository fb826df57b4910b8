package app

import (
	"ponder/knowledge/recall/vector"

	"context"
	"errors"
	"testing"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/quota"
)

// Records of removed threads are deleted, except their cost, and except records of new threads.
func TestBooksForgetThreadsThatAreGone(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	s := l.Serve()
	for _, id := range []ponder.ThreadID{"thr_1", "thr_2"} {
		if _, err := l.startSession(s, id, 300_000); err != nil {
			t.Fatal(err)
		}
	}
	l.appendEvents("thr_1", append(callEvents(200_000), ponder.RunFinished{Status: ponder.Completed, Answer: "x"})...)
	if err := l.store.Remove(l.ctx, "thr_1"); err != nil {
		t.Fatal(err)
	}
	if err := s.DB.ChangePrefs(l.ctx, "thr_3", func(w *threadPrefs) { w.NoWeb = true }); err != nil {
		t.Fatal(err)
	}
	for _, tidy := range []struct {
		before time.Time
		kept   int
	}{{time.Now().Add(-quota.StartTime), 3}, {time.Now().Add(time.Minute), 1}} {
		if err := s.cleanUpThreads(l.ctx, tidy.before); err != nil || l.countRecords(s) != tidy.kept {
			t.Errorf("%d are kept, want %d: %v", l.countRecords(s), tidy.kept, err)
		}
	}
	if m, err := l.startSession(s, "thr_4", 1_000_000); err != nil || m != 500_000 {
		t.Errorf("another is granted %d: %v", m, err)
	}
}

// Preferences and ceilings of a removed thread are not stored.
func TestBooksKeepNothingOfRemoved(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	s := l.serveLibraries()
	if _, err := l.startSession(s, "thr_1", 300_000); err != nil {
		t.Fatal(err)
	}
	info, err := l.store.Thread(l.ctx, "thr_1")
	if err != nil {
		t.Fatal(err)
	}
	err = s.CostsMore(l.ctx, info, 0, 400_000, func() error {
		if err := s.Remove(l.ctx, "thr_1"); err != nil {
			t.Fatal(err)
		}
		if err := s.DB.ChangePrefs(l.ctx, "thr_1", func(w *threadPrefs) { w.NoWeb = true }); err != nil {
			t.Fatal(err)
		}
		_, err := s.quotas.Reserve(l.ctx, quota.Request{
			Token: "anna", Limit: quota.Limit{Cost: MoneyOf(l.limit.Cost)}, Thread: "thr_1",
			Amount: func(quota.Row, ponder.Money) (ponder.Money, error) { return 1, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return ponder.ErrNoThread
	})
	if !errors.Is(err, ponder.ErrNoThread) {
		t.Error(err)
	}
	if err := s.DB.ChangePrefs(l.ctx, "thr_1", func(w *threadPrefs) { w.NoWeb = true }); err != nil {
		t.Error(err)
	}
	if n := l.countRecords(s); n != 0 {
		t.Errorf("%d are kept", n)
	}
}

type removingStore struct {
	ponder.Store
	leave func()
}

func (l removingStore) Remove(ctx context.Context, id ponder.ThreadID) error {
	defer l.leave()
	return l.Store.Remove(ctx, id)
}

// A caller that leaves during a removal leaves no data behind.
func TestRemoveToTheEnd(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	s := l.serveLibraries()
	if _, err := l.startSession(s, "thr_1", 300_000); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(l.ctx)
	s.Log = removingStore{s.Log, leave}
	if err := s.Remove(ctx, "thr_1"); err != nil {
		t.Error(err)
	}
	if n := l.countRecords(s); n != 0 || ctx.Err() == nil {
		t.Errorf("%d are kept", n)
	}
}

func (t *quotaTest) countRecords(s *Service) (n int) {
	t.Helper()
	if err := s.DB.db.Read.QueryRowContext(t.ctx, `SELECT count(*) FROM serve_thread`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (t *quotaTest) serveLibraries() *Service {
	s, home := t.Serve(), t.TempDir()
	cfg, err := config.Load(config.Source{Env: func(name string) string { return map[string]string{"HOME": home}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Serve = s.Settings.Serve
	s.Settings = cfg
	s.libraries = s.ShareLibraries(t.store, func(*ModelSet, string, vector.Embedder) vector.Embedder { return vector.Embedder{} })
	t.Cleanup(s.libraries.Close)
	return s
}
