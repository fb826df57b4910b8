package stream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ponder"
)

// A process receives the deltas of another process, from the start of the current call.
func TestBroadcasts(t *testing.T) {
	dir, err := os.MkdirTemp("", "live") // short enough for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	b := NewBroadcasts(filepath.Join(dir, "live"), func(key string) bool { return strings.HasPrefix(key, "turn-") })
	delta := func(thread ponder.ThreadID, key string, attempt, offset int, text string) ponder.Delta {
		d := ponder.Delta{Thread: thread, Key: key, Began: 5, Attempt: attempt, Offset: offset}
		d.Text = text
		return d
	}
	b.Add(delta("thr_1", "turn-1-1", 1, 0, "Nothing is open."))
	stop := b.Open("thr_1", 0)
	<-b.open["thr_1"].ready
	if b.open["thr_1"].listener == nil {
		t.Fatal("it does not listen")
	}
	b.Add(delta("thr_1", "turn-1-1", 1, 0, "One."))
	b.Add(delta("thr_1", "think-1-1", 1, 0, "Secret."))
	b.Add(delta("thr_2", "turn-3-1", 1, 0, "Another thread."))
	b.Add(delta("thr_1", "turn-3-1", 1, 0, "It was "))
	b.Add(delta("thr_1", "turn-3-1", 2, 0, "It "))
	b.Add(delta("thr_1", "turn-3-1", 2, 3, "is "))
	file := b.open["thr_1"].listener.Addr().String()
	received := make(chan ponder.Delta, 10)
	b.Receive(t.Context(), "thr_1", func(d ponder.Delta) { received <- d }) // ignores its own
	if err := os.Rename(file, file+"0"); err != nil {                       // now it belongs to another process
		t.Fatal(err)
	}
	b.Receive(t.Context(), "thr_1", func(d ponder.Delta) { received <- d })
	if got, want := <-received, delta("thr_1", "turn-3-1", 2, 0, "It is "); got != want {
		t.Errorf("first %+v, want %+v", got, want)
	}
	b.Add(delta("thr_1", "turn-3-1", 2, 6, "so."))
	if got, want := <-received, delta("thr_1", "turn-3-1", 2, 6, "so."); got != want {
		t.Errorf("then %+v, want %+v", got, want)
	}
	stop()
	stop()
	b.Add(delta("thr_1", "turn-3-1", 2, 9, "No process reads this."))
	if len(received) > 0 || len(b.open) > 0 {
		t.Errorf("%d more deltas, %d threads are open", len(received), len(b.open))
	}
}

// Receive gets nothing if no socket can be created, or if its process was killed.
func TestBroadcastsWithoutSocket(t *testing.T) {
	b := NewBroadcasts(filepath.Join(t.TempDir(), strings.Repeat("long", 30)), func(string) bool { return true })
	stop := b.Open("thr_1", 0)
	<-b.open["thr_1"].ready
	b.Add(ponder.Delta{Thread: "thr_1"})
	b.Receive(t.Context(), "thr_1", func(d ponder.Delta) { t.Errorf("received %+v", d) })
	stop()
	dead := b.socketPath("thr_1", "0")
	if err := os.MkdirAll(filepath.Dir(dead), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.Receive(t.Context(), "thr_1", func(d ponder.Delta) { t.Errorf("received %+v", d) })
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the socket of a process that was killed is still there: %v", err)
	}
}
