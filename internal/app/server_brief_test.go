package app

import (
	"path/filepath"
	"testing"
	"time"

	"ponder"
	"ponder/store/sqlite"
)

func newSnapshotServer(t *testing.T) *Service {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	s := &Service{Store: store}
	if s.DB, err = openServerDB(t.Context(), store.SQL()); err != nil {
		t.Fatal(err)
	}
	return s
}

// A snapshot serves one start, unless it is too old.
func TestBriefed(t *testing.T) {
	ctx := t.Context()
	s := newSnapshotServer(t)
	const id = "thr_1"
	if err := s.Store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: LocalOwner, Title: "as it is"}); err != nil {
		t.Fatal(err)
	}
	look := func(title string) {
		t.Helper()
		got, err := s.takeSnapshot(ctx, id)
		if err != nil || got.info.Title != title {
			t.Errorf("%q, %v; want %q", got.info.Title, err, title)
		}
	}
	tell := func(age time.Duration) {
		t.Helper()
		e, err := s.DB.readThread(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		s.snapshots.Store(ponder.ThreadID(id), threadSnapshot{info: ponder.Info{Thread: ponder.Thread{ID: id, Title: "as told"}}, threadRecord: e, since: time.Now().Add(-age)})
	}
	tell(0)
	look("as told")
	look("as it is")
	tell(time.Hour)
	look("as it is")
	tell(0)
	if err := s.DB.ChangePrefs(ctx, id, func(w *threadPrefs) { w.Model = "other/model" }); err != nil {
		t.Fatal(err)
	}
	look("as it is")
}
