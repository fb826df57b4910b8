package metrics

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/memory"
)

func TestTraceparent(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]bool{
		"00-" + trace + "-" + span + "-01":                                  true,
		"00-" + trace + "-" + span + "-03":                                  true,
		"cc-" + trace + "-" + span + "-01-what.comes":                       true,
		"00-" + trace + "-" + span + "-00":                                  false, // not recorded
		"00-" + trace + "-" + span + "-01-more":                             false,
		"ff-" + trace + "-" + span + "-01":                                  false,
		"00-00000000000000000000000000000000-" + span + "-01":               false,
		"00-" + trace + "-0000000000000000-01":                              false,
		"00-0AF7651916CD43DD8448EB211C80319C-" + span + "-01":               false,
		"00-" + trace[1:] + "-" + span + "-01":                              false,
		"00-" + trace + "-" + span + "-1":                                   false,
		"00-" + trace + "-" + span:                                          false,
		"":                                                                  false,
		"00-" + trace + "-" + span + "-01\x00":                              false,
		"-----":                                                             false,
		"00-../../../../../../../../../../x-" + span + "-01":                false,
		"00-" + trace + "-" + span + "-01,00-" + trace + "-" + span + "-01": false,
	} {
		got, ok := remoteOf(http.Header{"Traceparent": {header}})
		if ok != want || ok && got != (remote{trace, span}) {
			t.Errorf("%q: %v %v", header, got, ok)
		}
	}
	if _, ok := remoteOf(http.Header{"Traceparent": {"00-" + trace + "-" + span + "-01", "00-" + trace + "-" + span + "-01"}}); ok {
		t.Error("two headers")
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Fuzz(func(t *testing.T, header string) {
		if r, ok := remoteOf(http.Header{"Traceparent": {header}}); ok && (!traceID.MatchString(r.trace) || !spanID.MatchString(r.span)) {
			t.Errorf("%q: %v", header, r)
		}
	})
}

// A session that a request of a trace begins is in that trace, below the request, with
// all that is below it; another session is a trace of its own.
func TestRunOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
		c := &collector{t: t}
		m := New(Config{Traces: c.traces(nil)})
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
			r.Header.Set("traceparent", "00-"+trace+"-"+caller+"-01")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		begin(t.Context(), "thr_own")
		synctest.Wait()
		m.Close(t.Context())
		var request, run otlpSpan
		inTrace, own := 0, 0
		for _, s := range c.spans {
			if s.Trace != trace {
				own++
				continue
			}
			inTrace++
			switch {
			case s.Kind == kindServer:
				request = s
			case s.Name == "invoke_agent session":
				run = s
			}
		}
		if request.Parent != caller || request.Name != "POST" || run.Parent != request.ID || run.ID == "" || inTrace < 4 || own != inTrace-1 {
			t.Errorf("%d spans in the trace, %d in the other: the request %+v, the run %+v", inTrace, own, request, run)
		}
		for _, s := range c.spans {
			if s.Trace == trace && s.ID != request.ID && s.ID != run.ID && s.Parent != run.ID {
				t.Errorf("%s has no parent: %+v", s.Name, s)
			}
		}
	})
}
