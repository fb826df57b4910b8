package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine/enginetest"
)

const id = string(enginetest.Thread)

// followSeqs reads a stream to its end and returns the seqs of its events.
func followSeqs(t *testing.T, updates iter.Seq2[Update, error]) (list []ponder.Seq) {
	t.Helper()
	for u, err := range updates {
		if err != nil {
			t.Fatal(err)
		}
		if u.Event != nil {
			list = append(list, u.Event.Seq)
		}
	}
	return list
}

// The events do not depend on where the connection breaks.
func TestWatchOverBrokenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestAPI(t)
		d.createThread(t)
		d.runSession(t)
		want := visibleSeqs(t, d.store, enginetest.Thread)
		if got := followSeqs(t, d.Watch(t.Context(), id, 0)); !slices.Equal(got, want) || len(want) < 10 {
			t.Fatalf("unbroken: %v, want %v", got, want)
		}
		for _, after := range []ponder.Seq{0, 1, want[len(want)/2]} {
			rest := slices.DeleteFunc(slices.Clone(want), func(s ponder.Seq) bool { return s <= after })
			for cut := 1; cut < 4000; cut += 1 + cut/2 {
				d.wire.fault = func(n int, _ *http.Request) fault { return fault{cut: cut + 400*(n%5)} }
				if got := followSeqs(t, d.Watch(t.Context(), id, after)); !slices.Equal(got, rest) {
					t.Fatalf("cut behind %d bytes, from %d on: %v, want %v", cut, after, got, rest)
				}
			}
		}
	})
}

// A watcher of a running session gets all events over bad connections.
func TestWatchWhileItThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestAPI(t)
		d.wire.fault = func(n int, _ *http.Request) fault {
			switch n % 4 {
			case 1:
				return fault{before: errCut}
			case 2:
				return fault{status: http.StatusBadGateway}
			}
			return fault{cut: 1500}
		}
		d.createThread(t)
		var got []ponder.Seq
		done := make(chan error, 1)
		go func() {
			for u, err := range d.Watch(t.Context(), id, 0) {
				if err != nil {
					done <- err
					return
				}
				got = append(got, u.Event.Seq)
			}
			done <- nil
		}()
		d.runSession(t)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if want := visibleSeqs(t, d.store, enginetest.Thread); !slices.Equal(got, want) || d.wire.countRequests() < 4 {
			t.Errorf("over %d connections: %v, want %v", d.wire.countRequests(), got, want)
		}
	})
}

// The client waits for a restarting server, up to its patience.
func TestWatchOverARestart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		down  time.Duration
		fails bool
	}{{"in time", 20 * time.Second, false}, {"too late", 40 * time.Second, true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, next := newTestAPI(t), newTestAPI(t)
				if err := d.store.Create(t.Context(), ponder.Thread{ID: enginetest.Thread, Kind: ponder.KindSession, Owner: "local"}, newRunStart(0)); err != nil {
					t.Fatal(err)
				}
				next.createThread(t)
				next.runSession(t)
				began := time.Now()
				d.wire.fault = func(int, *http.Request) fault {
					if at := time.Since(began); at >= time.Minute && at < time.Minute+tt.down {
						return fault{before: errCut}
					}
					return fault{}
				}
				time.AfterFunc(time.Minute, func() { d.stop(); d.wire.setHandler(next.wire.Handler) })
				var err error
				var last ponder.Seq
				for u, e := range d.Watch(t.Context(), id, 0) {
					if err = e; e == nil && u.Event != nil {
						last = u.Event.Seq
					}
				}
				if (err != nil) != tt.fails || !tt.fails && last != slices.Max(visibleSeqs(t, next.store, enginetest.Thread)) {
					t.Errorf("ends with event %d, %v", last, err)
				}
				if took := time.Since(began); tt.fails && (took < time.Minute+20*time.Second || took > time.Minute+DefaultRetryTime+time.Second) {
					t.Errorf("gave up after %v", took)
				}
			})
		})
	}
}

func newRunStart(n int) ponder.Event {
	return ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "session", Input: fmt.Sprint(n)}}
}

// The client closes a connection without data and heartbeats.
func TestWatchOfASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		c := New("127.0.0.1", "")
		c.HTTP.Transport = &wire{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			connections++
			w.Header().Set("Content-Type", "text/event-stream")
			js, _ := json.Marshal(ponder.Event{ID: "evt_1", Seq: ponder.Seq(connections), Body: ponder.Progress{}})
			fmt.Fprintf(w, "id: %d\ndata: %s\n\n", connections, js)
			<-r.Context().Done()
		})}
		began := time.Now()
		for u, err := range c.Watch(t.Context(), id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if u.Event.Seq == 3 {
				break
			}
		}
		if took := time.Since(began); took < 2*silence || took > 2*silence+10*time.Second {
			t.Errorf("three connections in %v", took)
		}
	})
}

func TestWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestAPI(t)
		d.createThread(t)
		d.runSession(t)
		end := visibleSeqs(t, d.store, enginetest.Thread)
		if got := followSeqs(t, d.Watch(t.Context(), id, end[len(end)-1])); got != nil {
			t.Errorf("behind the end: %v", got)
		}
		n := d.wire.countRequests()
		for u, err := range d.Watch(t.Context(), id, 0) {
			if err != nil || u.Event == nil {
				t.Fatal(u, err)
			}
			break // no goroutine remains, or synctest would fail
		}
		if d.wire.countRequests() != n+1 {
			t.Error("it goes on though nobody reads")
		}
		for _, err := range d.Watch(t.Context(), "thr_none", 0) {
			if !errors.Is(err, &Problem{Status: 404}) {
				t.Errorf("of no thread: %v", err)
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		why := errors.New("the user has seen enough")
		count := 0
		for _, err := range d.Watch(ctx, id, 0) {
			if count++; count == 3 {
				cancel(why)
			}
			if err != nil && !errors.Is(err, why) {
				t.Errorf("cancelled: %v", err)
			}
		}
		d.RetryTime = -1
		d.wire.fault = func(int, *http.Request) fault { return fault{cut: 1000} }
		for _, err := range d.Watch(t.Context(), id, 0) {
			if err != nil && !errors.Is(err, errCut) {
				t.Errorf("without patience: %v", err)
			}
		}
	})
}

// Messages other than events.
func TestOtherMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		js := func(seq int) string {
			b, _ := json.Marshal(ponder.Event{ID: "evt_1", Seq: ponder.Seq(seq), Body: ponder.Thought{Content: "so"}})
			return fmt.Sprintf("id: %d\ndata: %s\n\n", seq, b)
		}
		said := []string{
			": stream-open\nretry: 10\n\n" + js(7) + js(7) + js(3) + "event: delta\ndata: {\"run_id\":\"run_1\",\"key\":\"k\",\"text\":\"wo\"}\n\nevent: news\ndata: of a later version\n\n",
			"event: gap\ndata: {\"after\":0}\n\n" + js(1) + "event: closing\ndata: {}\n\n",
		}
		var from []string
		c := New("127.0.0.1", "")
		c.HTTP.Transport = &wire{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if from = append(from, r.Header.Get("Last-Event-ID")); len(from) > len(said) {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			w.Write([]byte(said[len(from)-1]))
		})}
		var got []string
		for u, err := range c.Watch(t.Context(), id, 5) {
			switch {
			case err != nil:
				t.Fatal(err)
			case u.Event != nil:
				got = append(got, fmt.Sprint(u.Event.Seq, " ", u.Event.Body.(ponder.Thought).Content))
			case u.Piece != nil:
				got = append(got, fmt.Sprint(*u.Piece))
			case u.Gap != nil:
				got = append(got, fmt.Sprint("gap ", u.Gap.After))
			}
		}
		if text := strings.Join(got, ", "); text != "7 so, {run_1 k wo}, gap 0, 1 so" || strings.Join(from, ",") != "5,7,1" {
			t.Errorf("%s, from %q", text, from)
		}
	})
}

// An invalid stream is an error without retries.
func TestInvalidStream(t *testing.T) {
	for _, said := range []string{"", "<html>", "id: 1\ndata: {\n\n", "event: delta\ndata: x\n\n", "event: gap\ndata: 7\n\n"} {
		n := 0
		c := New("127.0.0.1", "")
		c.HTTP.Transport = &wire{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if n++; strings.Contains(said, "data") {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			w.Write([]byte(said))
		})}
		var last error
		for _, err := range c.Watch(t.Context(), id, 0) {
			last = err
		}
		if last == nil || n != 1 {
			t.Errorf("%q: %v after %d connections", said, last, n)
		}
	}
}
