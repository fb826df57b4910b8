package stream

import (
	"testing"
	"testing/synctest"
)

// Lag counts unread events and unprocessed events of the slowest watcher.
func TestLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := makeThread(t, 10)
		hub := New(store)
		is := func(what string, watchers, lag int) {
			t.Helper()
			synctest.Wait()
			if hub.Watchers() != watchers || hub.Lag() != lag {
				t.Errorf("%s: %d watchers, the slowest %d behind; want %d, %d", what, hub.Watchers(), hub.Lag(), watchers, lag)
			}
		}
		is("nobody watches", 0, 0)
		quick, slow := hub.Watch(thread, 10), hub.Watch(thread, 4)
		is("one begins in the midst", 2, 6)
		if _, err := slow.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		is("it has read, and sends", 2, 6)
		done := make(chan struct{})
		go func() {
			defer close(done)
			if frames, err := slow.Next(t.Context()); err != nil || len(frames) == 0 {
				t.Errorf("%d events: %v", len(frames), err)
			}
		}()
		is("it waits for more", 2, 0)
		appendMessages(t, store, 3)
		<-done
		is("both have more to send", 2, 3)
		slow.Close()
		quick.Close()
		is("both have gone", 0, 0)
		beyond := hub.Watch(thread, 99)
		is("a cursor beyond the end", 1, 0)
		beyond.Close()
	})
}
