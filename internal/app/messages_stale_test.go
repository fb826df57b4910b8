package app

import (
	"errors"
	"log/slog"
	"testing"

	"ponder"
	"ponder/engine"
	"ponder/internal/config"
	"ponder/internal/placement"
	"ponder/mode/title"
)

// A stale message changes nothing.
func TestStaleMessageChangesNothing(t *testing.T) {
	ctx, s, no := t.Context(), newSnapshotServer(t), false
	s.App = &App{Settings: &config.Config{}}
	s.Settings.Mind.Feed, s.Log = &no, s.Store
	var err error
	if s.rootEngine, err = engine.New(engine.Config{Store: s.Store, Modes: []ponder.Mode{title.New()}}); err == nil {
		err = s.rootEngine.Open(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.rootEngine.Close(ctx)
	s.place = placement.Memory(placement.Config{Store: s.Store, Work: s.rootEngine.Work, Ended: s.rootEngine.ReturnUnclaimed, Logger: slog.New(slog.DiscardHandler)})
	defer s.place.Close(ctx)
	info := ponder.Info{Thread: ponder.Thread{ID: "thr_1", Kind: ponder.KindConversation, Owner: LocalOwner}}
	if err := s.Store.Create(ctx, info.Thread, ponder.Event{ID: "evt_1", Body: ponder.UserMessage{Content: "Hello"}},
		ponder.Event{ID: "evt_2", Body: ponder.UserMessage{Content: "since"}}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Say(ctx, info, "key", Message{UserMessage: ponder.UserMessage{Content: "And?"}, System: "In French.", NoWeb: true, After: "evt_1"})
	if !errors.Is(err, ponder.ErrStale) {
		t.Fatal(err)
	}
	if w, err := s.DB.readPrefs(ctx, info.ID); w != (threadPrefs{}) || err != nil {
		t.Errorf("%+v (%v)", w, err)
	}
}
