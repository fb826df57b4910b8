package app

import (
	"context"
	"errors"
	"testing"

	"ponder"
	"ponder/llm"
)

// A repeated message does not revert later preferences.
func TestRepeatedMessageChangesNothing(t *testing.T) {
	ctx := t.Context()
	s := newSnapshotServer(t)
	info := ponder.Info{Thread: ponder.Thread{ID: "thr_1", Kind: ponder.KindConversation, Owner: LocalOwner}}
	said := ponder.Event{Cause: "said", Body: ponder.UserMessage{Content: "What is the sea?"}}
	if err := s.Store.Create(ctx, info.Thread, said); err != nil {
		t.Fatal(err)
	}
	if err := s.DB.ChangePrefs(ctx, info.ID, func(w *threadPrefs) { w.NoWeb = true }); err != nil {
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
		e, err := s.DB.readThread(ctx, info.ID)
		if err != nil {
			t.Fatal(err)
		}
		known := threadSnapshot{info: info, threadRecord: e}
		_, err = s.savePrefs(ctx, known, c.key, Message{Model: c.model})
		w, werr := s.DB.readPrefs(context.WithoutCancel(ctx), info.ID)
		if errors.Is(err, ponder.ErrTaken) != c.taken || err != nil && !c.taken || w != (threadPrefs{NoWeb: c.noWeb}) || werr != nil {
			t.Errorf("%+v: %v, and %+v is asked for (%v)", c, err, w, werr)
		}
	}
}

// TestPrivateMedia checks that a message with media of a private address is refused, whoever sends it.
func TestPrivateMedia(t *testing.T) {
	for _, address := range []string{"http://127.0.0.1:8744/sim", "https://169.254.169.254/latest", "http://2130706433/", "file:///etc/passwd", "https://[::ffff:10.0.0.1]/a.png"} {
		m := Message{UserMessage: ponder.UserMessage{Content: "look", Media: []llm.Media{{Type: "image/png", URL: address}}}}
		if _, err := (&Service{}).Say(t.Context(), ponder.Info{}, "", m); CodeOf(err) != Invalid {
			t.Errorf("%s: %v", address, err)
		}
	}
}
