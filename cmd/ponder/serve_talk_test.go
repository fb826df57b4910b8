package main

import (
	"context"
	"errors"
	"testing"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/httpapi"
)

// A message that comes again changes nothing of what was asked for since.
func TestMessageAgainWishesNothing(t *testing.T) {
	ctx := t.Context()
	s := bookedServer(t)
	info := ponder.Info{Thread: ponder.Thread{ID: "thr_1", Kind: ponder.KindConversation, Owner: app.LocalOwner}}
	said := ponder.Event{Cause: "said", Body: ponder.UserMessage{Content: "What is the sea?"}}
	if err := s.store.Create(ctx, info.Thread, said); err != nil {
		t.Fatal(err)
	}
	if err := s.books.wish(ctx, info.ID, func(w *wishing) { w.NoWeb = true }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key   string
		model string
		taken bool
		noWeb bool
	}{
		{"said", "", true, true},
		{"said", "other/model", true, true},
		{"new", "", false, false},
		{"", "", false, false},
	} {
		e, err := s.books.entry(ctx, info.ID)
		if err != nil {
			t.Fatal(err)
		}
		known := brief{info: info, entry: e}
		_, err = s.wishOf(ctx, known, c.key, httpapi.Message{Model: c.model})
		w, werr := s.books.wishes(context.WithoutCancel(ctx), info.ID)
		if errors.Is(err, ponder.ErrTaken) != c.taken || err != nil && !c.taken || w != (wishing{NoWeb: c.noWeb}) || werr != nil {
			t.Errorf("%+v: %v, and %+v is asked for (%v)", c, err, w, werr)
		}
	}
}
