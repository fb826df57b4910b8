package metrics

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/memory"
)

func TestTraceparent(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]bool{
		"00-" + id + "-" + span + "-01":                               true,
		"00-" + id + "-" + span + "-03":                               true,
		"cc-" + id + "-" + span + "-01-what.comes":                    true,
		"00-" + id + "-" + span + "-00":                               false, // not sampled
		"00-" + id + "-" + span + "-01-more":                          false,
		"ff-" + id + "-" + span + "-01":                               false,
		"00-00000000000000000000000000000000-" + span + "-01":         false,
		"00-" + id + "-0000000000000000-01":                           false,
		"00-0AF7651916CD43DD8448EB211C80319C-" + span + "-01":         false,
		"00-" + id[1:] + "-" + span + "-01":                           false,
		"00-" + id + "-" + span + "-1":                                false,
		"00-" + id + "-" + span:                                       false,
		"":                                                            false,
		"00-" + id + "-" + span + "-01\x00":                           false,
		"-----":                                                       false,
		"00-../../../../../../../../../../x-" + span + "-01":          false,
		"00-" + id + "-" + span + "-01,00-" + id + "-" + span + "-01": false,
	} {
		ctx, ok := remoteOf(t.Context(), http.Header{"Traceparent": {header}})
		got := trace.SpanContextFromContext(ctx)
		if ok != want || ok && (got.TraceID().String() != id || got.SpanID().String() != span) {
			t.Errorf("%q: %v %v", header, got, ok)
		}
	}
	if _, ok := remoteOf(t.Context(), http.Header{"Traceparent": {"00-" + id + "-" + span + "-01", "00-" + id + "-" + span + "-01"}}); ok {
		t.Error("two headers")
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Fuzz(func(t *testing.T, header string) {
		ctx, ok := remoteOf(t.Context(), http.Header{"Traceparent": {header}})
		if s := trace.SpanContextFromContext(ctx); ok && !s.IsValid() {
			t.Errorf("%q: %v", header, s)
		}
	})
}

// TestRunOfARequest checks that a session started by a traced request is in its trace, and that
// another session has its own.
func TestRunOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const id, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
		c := &collector{t: t}
		m := New(Config{Traces: c.newTraces()})
		store := m.Store(memory.New())
		mind := enginetest.Start(t, engine.Config{Store: store, Modes: []ponder.Mode{session.New()}, Models: enginetest.Models(&llmtest.Model{ID: "sim/slow"}, ponder.Price{})})
		begin := func(ctx context.Context, id ponder.ThreadID) {
			ev := ponder.Event{ID: ponder.NewID("evt"), Run: "run_" + ponder.RunID(id), Body: ponder.RunStarted{Mode: session.Name, Version: session.New().Version, Input: "Why?", Budget: ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 6}}}}
			if err := store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindSession}, ev); err != nil {
				t.Error(err)
			}
			if err := mind.Work(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
		h := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/refused" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			begin(r.Context(), "thr_asked")
		}))
		for _, path := range []string{"/", "/refused"} {
			r := httptest.NewRequest("POST", path, http.NoBody)
			r.Header.Set("traceparent", "00-"+id+"-"+caller+"-01")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		begin(t.Context(), "thr_own")
		synctest.Wait()
		m.Close(t.Context())
		var request, run sentSpan
		inTrace, own := 0, 0
		for _, s := range c.spans {
			if s.Trace != id {
				own++
				continue
			}
			inTrace++
			switch {
			case s.Kind == tracepb.Span_SPAN_KIND_SERVER:
				request = s
			case s.Name == "invoke_agent session":
				run = s
			}
		}
		if request.Parent != caller || request.Name != "POST" || run.Parent != request.ID || run.ID == "" || inTrace < 4 || own != inTrace-1 {
			t.Errorf("%d spans in the trace, %d in the other: the request %+v, the run %+v", inTrace, own, request, run)
		}
		for _, s := range c.spans {
			if s.Trace == id && s.ID != request.ID && s.ID != run.ID && s.Parent != run.ID {
				t.Errorf("%s has no parent: %+v", s.Name, s)
			}
		}
	})
}
