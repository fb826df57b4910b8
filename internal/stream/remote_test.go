package stream

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/auth"
	"ponder/llm"
	"ponder/store/memory"
)

// TestRemoteContent checks that only a caller whose token may get remote content gets it, in events, titles, frames and
// deltas, in any order of readers.
func TestRemoteContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "![x](" + unknownURL + ")"
		store := memory.New()
		thread := ponder.Thread{ID: "thr_1", Kind: ponder.KindConversation, Owner: "local", Title: text, Created: time.Now()}
		if err := store.Create(t.Context(), thread, ponder.Event{Body: ponder.AssistantMessage{Content: text, Model: "m"}}); err != nil {
			t.Fatal(err)
		}
		public := PublicStore(store, NewLinkGuard(store, RemoteNone))
		hub := New(public)
		callers := map[bool]context.Context{
			true:  auth.WithCaller(t.Context(), auth.Caller{Token: "desk", Owner: "local", RemoteContent: true}),
			false: auth.WithCaller(t.Context(), auth.Caller{Token: "page", Owner: "local"}),
		}
		watchers := make(map[bool]*Watcher)
		for _, whole := range []bool{true, false, true} {
			ctx := callers[whole]
			check := func(what, got string) {
				t.Helper()
				if strings.Contains(got, text) != whole || got == "" {
					t.Errorf("%s with remote content %v: %s", what, whole, got)
				}
			}
			info, err := public.Thread(ctx, thread.ID)
			if err != nil {
				t.Fatal(err)
			}
			check("title", info.Title)
			for ev, err := range public.Events(ctx, thread.ID, 0) {
				if err != nil {
					t.Fatal(err)
				}
				check("event", ev.Body.(ponder.AssistantMessage).Content)
			}
			w := hub.Select(ctx).Watch(thread.ID, 0)
			defer w.Close()
			frames, err := w.Next(ctx)
			if err != nil || len(frames) != 1 {
				t.Fatal(frames, err)
			}
			check("frame", string(frames[0].JSON))
			watchers[whole] = w
		}
		if n := hub.Watchers(); n != 3 {
			t.Errorf("%d watchers", n)
		}
		for _, d := range []llm.Delta{{Text: text}, {Done: &llm.Response{}}} {
			hub.Delta(ponder.Delta{Thread: thread.ID, Run: "run_1", Key: "turn-1-1", Attempt: 1, Delta: d})
		}
		for whole, w := range watchers {
			frames, err := w.Next(callers[whole])
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, f := range frames {
				got.WriteString(f.Delta.Text)
			}
			if strings.Contains(got.String(), text) != whole || got.Len() == 0 {
				t.Errorf("deltas with remote content %v: %s", whole, got.String())
			}
		}
	})
}
