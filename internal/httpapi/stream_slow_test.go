package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

// A stuckReader reader stops reading after some writes.
type stuckReader struct {
	reader
	takes int
	over  chan struct{} // closed when the server gives up
}

func (s *stuckReader) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		close(s.over)
	}
	return nil
}

func (s *stuckReader) Write(b []byte) (int, error) {
	if s.takes--; s.takes < 0 {
		<-s.over
		return 0, os.ErrDeadlineExceeded
	}
	return s.reader.Write(b)
}

// Slow readers do not slow a session. After a disconnect they still get all events.
func TestSlowReadersSlowNothing(t *testing.T) {
	think := func(readers int) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			m := slowModel()
			m.Latency.Jitter = 0
			h := newTestServer(t, m)
			id := h.startSession(3)
			var all sync.WaitGroup
			got := make([][]frame, readers)
			for i := range readers {
				all.Go(func() { got[i] = h.watchStuck(t.Context(), id, 1+i%7) })
			}
			for {
				info, err := h.store.Thread(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				if info.Status.Ended() {
					took = info.Updated.Sub(info.Created)
					break
				}
				time.Sleep(time.Second)
			}
			all.Wait()
			want := h.visibleFrames(id)
			for i := range got {
				sameFrames(t, "reader "+strconv.Itoa(i), got[i], want)
			}
		})
		return took
	}
	if alone, watched := think(0), think(40); alone != watched || alone == 0 {
		t.Errorf("it took %v, and %v with readers that take nothing", alone, watched)
	}
}

func (h *testServer) watchStuck(ctx context.Context, id ponder.ThreadID, takes int) (got []frame) {
	for {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/api/thinking/"+string(id)+"/stream", http.NoBody)
		r.Header.Set("Authorization", "Bearer mine")
		r.Header.Set("Accept", "text/event-stream")
		if n := len(got); n > 0 {
			r.Header.Set("Last-Event-ID", strconv.FormatInt(int64(got[n-1].id), 10))
		}
		w := &stuckReader{reader: reader{ResponseRecorder: httptest.NewRecorder(), leave: func() {}}, takes: 1 + takes, over: make(chan struct{})}
		began := time.Now()
		h.ServeHTTP(w, r)
		got = append(got, numberedFrames(w.list)...)
		switch {
		case w.Code == http.StatusNoContent:
			return got
		case w.takes < 0 && time.Since(began) < 10*time.Second:
			h.t.Error("it was given up at once")
		}
	}
}
