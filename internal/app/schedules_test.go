package app

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ponder"
	"ponder/internal/schedule"
)

// Of several processes, one starts a due run. After ten days without any, one run catches up, and it
// updates the last report. A removed schedule starts nothing.
func TestStartDue(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": dir, "XDG_CONFIG_HOME": dir, "XDG_STATE_HOME": dir, "OLLAMA_HOST": "http://127.0.0.1:1"} {
		t.Setenv(name, value)
	}
	notes, conf := filepath.Join(dir, "apes.md"), filepath.Join(dir, "config.toml")
	checkOK(t, os.WriteFile(notes, []byte("# Apes\n\nOrangutans sleep 12.8 hours a night.\n"), 0o600))
	checkOK(t, os.WriteFile(conf, nil, 0o600))
	a := New(Options{DB: filepath.Join(dir, "p.db"), Config: conf})
	t.Cleanup(a.Close)
	_, err := a.Config()
	checkOK(t, err)
	store, err := a.OpenStore(t.Context())
	checkOK(t, err)
	t.Cleanup(func() { store.Close() })
	s, err := a.AddSchedule(t.Context(), store, schedule.Schedule{
		Question: "How long do orangutans sleep?", Every: 24 * time.Hour, Docs: []string{notes}, NoMemory: true, NoWeb: true, Notify: []string{"bell"},
	})
	checkOK(t, err)

	var starts atomic.Int32
	var ids []ponder.ThreadID
	start := func(ctx context.Context, a *App, _ schedule.Schedule, p *PreparedStart) (ponder.ThreadID, error) {
		starts.Add(1)
		id, err := p.Start(ctx, store, store)
		if err != nil {
			return id, err
		}
		ids = append(ids, id)
		r, err := a.Runner(ctx, store, p.Models, p.Sources, nil)
		if err != nil {
			return id, err
		}
		defer r.Close(ctx)
		return id, r.Work(ctx, id)
	}
	due := func(now time.Time, want int32) {
		t.Helper()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if err := a.StartDue(t.Context(), store, now, start); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if n := starts.Load(); n != want {
			t.Fatalf("%d runs at %s, want %d", n, now, want)
		}
	}
	due(s.Next, 1)
	due(s.Next.Add(time.Hour), 1)
	due(s.Next.Add(10*24*time.Hour+time.Hour), 2)
	list, err := a.Schedules(t.Context(), store)
	checkOK(t, err)
	if len(list) != 1 || list[0].Runs != 2 || list[0].Last != ids[1] || list[0].Base != ids[0] || !list[0].Next.Equal(s.Next.Add(11*24*time.Hour)) {
		t.Errorf("%+v", list)
	}
	l, err := ReadResearch(t.Context(), store, ids[1])
	checkOK(t, err)
	if d := l.Report().Since; l.View.Research.Setup.Since != ids[0] || d == nil || d.HasChanges() {
		t.Errorf("since %s: %+v", l.View.Research.Setup.Since, d)
	}
	db, err := openServerDB(t.Context(), store.SQL())
	checkOK(t, err)
	if records, err := db.Records(t.Context(), noticeKind, LocalOwner); err != nil || len(records) != 2 {
		t.Errorf("%d requests of notices, error %v", len(records), err)
	}
	a.SendNotices(t.Context(), store, "") // the second has no changes, the first no terminal
	if records, err := db.Records(t.Context(), noticeKind, LocalOwner); err != nil || len(records) != 1 || records[0].ID != string(ids[0]) {
		t.Errorf("notices left: %+v, error %v", records, err)
	}
	_, err = a.RemoveSchedule(t.Context(), store, s.ID[:8])
	checkOK(t, err)
	due(s.Next.Add(100*24*time.Hour), 2)
}
