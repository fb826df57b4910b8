package main

import (
	"errors"
	"log/slog"
	"testing"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/httpapi"
	"ponder/internal/placement"
	"ponder/mode/title"
)

// A message that is not said, since the conversation has gone on, changes nothing of it.
func TestStaleWishesNothing(t *testing.T) {
	ctx, s, no := t.Context(), bookedServer(t), false
	s.cli = &cli{App: &app.App{Settings: &config.Config{}}}
	s.Settings.Mind.Feed, s.log = &no, s.store
	var err error
	if s.mind, err = engine.New(engine.Config{Store: s.store, Modes: []ponder.Mode{title.New()}}); err == nil {
		err = s.mind.Open(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.mind.Close(ctx)
	s.place = placement.Memory(placement.Config{Store: s.store, Work: s.mind.Work, Ended: s.mind.ReturnUnclaimed, Logger: slog.New(slog.DiscardHandler)})
	defer s.place.Close(ctx)
	info := ponder.Info{Thread: ponder.Thread{ID: "thr_1", Kind: ponder.KindConversation, Owner: app.LocalOwner}}
	if err := s.store.Create(ctx, info.Thread, ponder.Event{ID: "evt_1", Body: ponder.UserMessage{Content: "Hello"}},
		ponder.Event{ID: "evt_2", Body: ponder.UserMessage{Content: "since"}}); err != nil {
		t.Fatal(err)
	}
	_, err = s.Say(ctx, info, "key", httpapi.Message{UserMessage: ponder.UserMessage{Content: "And?"}, System: "In French.", NoWeb: true, After: "evt_1"})
	if !errors.Is(err, ponder.ErrStale) {
		t.Fatal(err)
	}
	if w, err := s.books.wishes(ctx, info.ID); w != (wishing{}) || err != nil {
		t.Errorf("%+v (%v)", w, err)
	}
}
