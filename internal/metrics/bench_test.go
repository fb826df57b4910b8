package metrics

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/llm"
)

// A nullStore accepts every append and keeps nothing.
type nullStore struct{ ponder.Store }

func (nullStore) Append(_ context.Context, _ ponder.ThreadID, _ ponder.Fence, events ...ponder.Event) ([]ponder.Event, error) {
	return events, nil
}

// A nullCollector accepts every span.
type nullCollector struct{}

func (nullCollector) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: make(http.Header), Body: io.NopCloser(strings.NewReader("")), Request: r}, err
}

// BenchmarkCall measures the overhead of a meter per model call.
func BenchmarkCall(b *testing.B) {
	for _, traced := range []bool{false, true} {
		b.Run("traced="+strconv.FormatBool(traced), func(b *testing.B) {
			c := Config{Version: "1.2"}
			if traced {
				var err error
				if c.Traces, err = NewTraces(TraceConfig{Endpoint: "http://collector.example/v1/traces", Transport: nullCollector{}}); err != nil {
					b.Fatal(err)
				}
			}
			m := New(c)
			s := m.Store(nullStore{})
			end := time.Now()
			started := ponder.Event{Run: "run_1", Cause: "a", Time: end, Body: ponder.CallStarted{Role: ponder.Fast, Mode: "session", Model: "sim/fast"}}
			finished := ponder.Event{Run: "run_1", Cause: "a", Time: end, Body: ponder.CallFinished{
				Model: "sim/fast", Took: 20, Finish: llm.FinishStop, Usage: llm.Usage{Input: 900, CacheRead: 100, Output: 80}, Price: ponder.PriceTable,
			}}
			b.ReportAllocs()
			for b.Loop() {
				for _, ev := range []ponder.Event{started, finished} {
					if _, err := s.Append(b.Context(), "thr_1", 1, ev); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.StopTimer()
			if err := m.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkScrape measures a scrape of a busy server.
func BenchmarkScrape(b *testing.B) {
	m := New(Config{Version: "1.2"})
	for i := range 100 {
		m.Request("GET", "GET /api/"+strconv.Itoa(i), 200, time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		scrapeBytes(b, m)
	}
}

func scrapeBytes(b *testing.B, m *Meter) {
	w := &discard{header: make(http.Header)}
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	if m.ServeHTTP(w, r); w.n == 0 {
		b.Fatal("nothing is written")
	}
}

// A discard counts the bytes of a response.
type discard struct {
	header http.Header
	n      int
}

func (d *discard) Header() http.Header { return d.header }

func (d *discard) WriteHeader(int) {}

func (d *discard) Write(p []byte) (int, error) {
	d.n += len(p)
	return len(p), nil
}
