package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/store/memory"
)

const thread ponder.ThreadID = "thr_test"

func makeThread(t *testing.T, n int) ponder.Store {
	t.Helper()
	store := memory.New()
	if err := store.Create(t.Context(), ponder.Thread{ID: thread, Kind: ponder.KindConversation}); err != nil {
		t.Fatal(err)
	}
	appendMessages(t, store, n)
	return store
}

func appendMessages(t *testing.T, store ponder.Store, n int) {
	t.Helper()
	for range n {
		if _, err := store.Append(t.Context(), thread, 0, ponder.Event{Body: ponder.UserMessage{Content: strings.Repeat("word ", rand.IntN(300))}}); err != nil {
			t.Fatal(err)
		}
	}
}

// collectSeqs reads events up to a seq, and checks that each comes once.
func collectSeqs(ctx context.Context, w *Watcher, last ponder.Seq) (got []ponder.Seq, err error) {
	for w.Seen() < last {
		frames, err := w.Next(ctx)
		if err != nil {
			return got, err
		}
		for _, f := range frames {
			if f.Seq == 0 {
				continue
			}
			if n := len(got); n > 0 && f.Seq != got[n-1]+1 {
				return got, fmt.Errorf("%d comes behind %d", f.Seq, got[n-1])
			}
			got = append(got, f.Seq)
		}
	}
	return got, nil
}

// Watchers with any cursor that start and stop at any time get all events.
func TestWatchersGetAllEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const before, during = 300, 3000
		store := makeThread(t, before)
		hub := New(store)
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				time.Sleep(time.Duration(rand.IntN(4000)) * time.Millisecond)
				after := ponder.Seq(rand.IntN(before))
				w := hub.Watch(thread, after)
				defer func() { w.Close() }()
				for w.Seen() < before+during {
					last := min(before+during, w.Seen()+1+ponder.Seq(rand.IntN(800)))
					if got, err := collectSeqs(t.Context(), w, last); err != nil || len(got) > 0 && got[0] != after+1 {
						t.Errorf("watcher %d behind %d: %v, %v", i, after, got[:min(3, len(got))], err)
						return
					}
					after = w.Seen()
					w.Close() // it returns
					w = hub.Watch(thread, after)
				}
			})
		}
		for range during {
			time.Sleep(time.Millisecond)
			appendMessages(t, store, 1)
		}
		all.Wait()
		if len(hub.feeds) > 0 {
			t.Error("a feed is left that nobody watches")
		}
	})
}

// A cursor beyond the end does not affect other watchers.
func TestCursorBeyondTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := makeThread(t, 5)
		hub := New(store)
		far := hub.Watch(thread, 1<<60)
		defer far.Close()
		w := hub.Watch(thread, 2)
		defer w.Close()
		synctest.Wait()
		appendMessages(t, store, 3)
		if got, err := collectSeqs(t.Context(), w, 8); err != nil || len(got) != 6 {
			t.Errorf("got %v, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if frames, err := far.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the far one got %v, %v", frames, err)
		}
	})
}

// Watchers of a removed or replaced thread get an error, also without a hint.
func TestRemoved(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := makeThread(t, 5)
			var source Source = store
			if silent {
				source = silentSource{store}
			}
			hub := New(source)
			w := hub.Watch(thread, 0)
			defer w.Close()
			if _, err := collectSeqs(t.Context(), w, 5); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := store.Remove(t.Context(), thread); err != nil {
				t.Fatal(err)
			}
			if silent {
				if err := store.Create(t.Context(), ponder.Thread{ID: thread, Kind: ponder.KindConversation}); err != nil {
					t.Fatal(err)
				}
			}
			if frames, err := w.Next(t.Context()); !errors.Is(err, ponder.ErrNoThread) {
				t.Fatalf("got %v, %v", frames, err)
			}
			if !silent {
				return
			}
			appendMessages(t, store, 2)
			again := hub.Watch(thread, 0)
			defer again.Close()
			if got, err := collectSeqs(t.Context(), again, 2); err != nil || len(got) != 2 {
				t.Errorf("of the new one: %v, %v", got, err)
			}
		})
	}
}

// A silentSource source sends no hints.
type silentSource struct{ Source }

func (silentSource) Watch(ponder.ThreadID) (<-chan ponder.Seq, func()) { return nil, func() {} }

func TestNoThread(t *testing.T) {
	hub := New(memory.New())
	w := hub.Watch("thr_none", 0)
	defer w.Close()
	if _, err := w.Next(t.Context()); !errors.Is(err, ponder.ErrNoThread) {
		t.Error(err)
	}
}

// Pieces come between events. Pieces without a reader are lost.
func TestPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := makeThread(t, 1)
		hub := New(store)
		hub.Delta(newPiece("nobody looks"))
		w := hub.Watch(thread, 0)
		defer w.Close()
		if _, err := collectSeqs(t.Context(), w, 1); err != nil {
			t.Fatal(err)
		}
		for i := range 3 * maxDeltas {
			hub.Delta(newPiece(strconv.Itoa(i)))
		}
		frames, err := w.Next(t.Context())
		if err != nil || len(frames) != maxDeltas || !strings.Contains(string(frames[maxDeltas-1].JSON), strconv.Itoa(3*maxDeltas-1)) {
			t.Errorf("%d pieces (%v)", len(frames), err)
		}
	})
}

// A piece comes before the event with the result and after the earlier events, however late
// the watcher reads.
func TestPiecesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := makeThread(t, 3)
		hub := New(store)
		w := hub.Watch(thread, 3)
		defer w.Close()
		synctest.Wait()
		for _, text := range []string{"a", "b"} {
			appendMessages(t, store, 2)
			synctest.Wait()
			hub.Delta(newPiece(text))
		}
		appendMessages(t, store, 1)
		synctest.Wait()
		frames, err := w.Next(t.Context())
		order := ""
		for _, f := range frames {
			order += fmt.Sprintf(" %d", f.Seq)
		}
		if err != nil || order != " 4 5 0 6 7 0 8" {
			t.Errorf("%s, %v", order, err)
		}
	})
}

// A piece waits for the event that started its call, however late the hub reads it.
func TestPiecesWaitForTheirCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := makeThread(t, 3)
		hub := New(store)
		w := hub.Watch(thread, 3)
		defer w.Close()
		synctest.Wait()
		hub.Delta(newPiece("now"))
		late := newPiece("late")
		late.Began = 5
		hub.Delta(late)
		if frames, err := w.Next(t.Context()); err != nil || len(frames) != 1 || frames[0].Delta.Text != "now" {
			t.Errorf("%+v, %v", frames, err)
		}
		appendMessages(t, store, 3)
		synctest.Wait()
		order := ""
		for !strings.HasSuffix(order, " 6") {
			frames, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range frames {
				order += fmt.Sprintf(" %d", f.Seq)
			}
		}
		if order != " 4 5 0 6" {
			t.Error(order)
		}
	})
}

func newPiece(text string) ponder.Delta {
	return ponder.Delta{Thread: thread, Delta: llm.Delta{Text: text}}
}

// newServer serves the events of the thread until one says "end".
func newServer(t *testing.T, store ponder.Store) *httptest.Server {
	hub := New(store)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		watch := hub.Watch(thread, ponder.Seq(after))
		defer watch.Close()
		NewWriter(w).Send(r.Context(), watch, func(f Frame) ([]byte, string, bool) {
			return f.JSON, "", strings.Contains(string(f.JSON), `"end"`)
		})
	}))
	t.Cleanup(s.Close)
	return s
}

// A client that reconnects after any event gets the next one.
func TestReconnect(t *testing.T) {
	store := makeThread(t, 20)
	if _, err := store.Append(t.Context(), thread, 0, ponder.Event{Body: ponder.UserMessage{Content: "end"}}); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, store)
	whole, _ := readEvents(t, s.URL, 0, 100)
	if len(whole) != 21 {
		t.Fatalf("%d events", len(whole))
	}
	for cut := range len(whole) {
		first, last := readEvents(t, s.URL, 0, cut)
		rest, _ := readEvents(t, s.URL, last, 100)
		if got := append(first, rest...); strings.Join(got, "\n") != strings.Join(whole, "\n") {
			t.Errorf("cut behind %d: %d events", cut, len(got))
		}
	}
}

// readEvents returns the data of up to limit events, and the id of the last.
func readEvents(t *testing.T, url string, after, limit int) (data []string, last int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	last = after
	req.Header.Set("Last-Event-ID", strconv.Itoa(after))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for len(data) < limit && lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			last, _ = strconv.Atoi(id)
		}
		if d, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, d)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return data, last
}

// A stalled reader loses its connection, and blocks no other.
func TestSlowReader(t *testing.T) {
	w := NewWriter(httptest.NewRecorder())
	w.Event(0, "gap", []byte(`{"after":3}`))
	w.Comment("keep-alive")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	w = NewWriter(failingWriter{httptest.NewRecorder(), gone})
	if err := w.Flush(); !errors.Is(err, gone) {
		t.Error(err)
	}
	w.Event(1, "", []byte("{}"))
	if err := w.Flush(); !errors.Is(err, gone) {
		t.Error("it goes on writing", err)
	}
}

type failingWriter struct {
	*httptest.ResponseRecorder
	err error
}

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := makeThread(t, 1)
		hub := New(store)
		watch := hub.Watch(thread, 0)
		defer watch.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		rec := httptest.NewRecorder()
		err := NewWriter(rec).Send(ctx, watch, func(f Frame) ([]byte, string, bool) { return f.JSON, "", false })
		if n := strings.Count(rec.Body.String(), ": keep-alive"); n != 3 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d signs of life in 50 s (%v)", n, err)
		}
	})
}
