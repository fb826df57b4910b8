package metrics

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/memory"
	"ponder/store/storetest"
)

// scrapeMetrics returns the metrics by name and labels.
func scrapeMetrics(t *testing.T, m *Meter) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if kind := expfmt.ResponseFormat(w.Header()); kind.FormatType() != expfmt.TypeTextPlain {
		t.Errorf("a scraper takes %q for %q", w.Header().Get("Content-Type"), kind)
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, w.Body)
	}
	all := make(map[string]float64)
	for name, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", name)
		}
		for _, one := range f.GetMetric() {
			var list []string
			for _, l := range one.GetLabel() {
				list = append(list, " "+l.GetName()+"="+l.GetValue())
			}
			slices.Sort(list)
			labels := strings.Join(list, "")
			switch {
			case one.Histogram != nil:
				h := one.GetHistogram()
				all[name+"_count"+labels], all[name+"_sum"+labels] = float64(h.GetSampleCount()), h.GetSampleSum()
				last := uint64(0)
				for _, b := range h.GetBucket() {
					if b.GetCumulativeCount() < last {
						t.Errorf("%s%s: buckets go down", name, labels)
					}
					last = b.GetCumulativeCount()
				}
				if last != h.GetSampleCount() {
					t.Errorf("%s%s: %d in the last bucket of %d", name, labels, last, h.GetSampleCount())
				}
			case one.Counter != nil:
				all[name+labels] = one.GetCounter().GetValue()
			case one.Gauge != nil:
				all[name+labels] = one.GetGauge().GetValue()
			}
		}
	}
	return all
}

// TestStore checks that a measured store behaves like a store.
func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) ponder.Store { return New(Config{}).Store(memory.New()) })
}

// runSession runs a session on a measured store, with a model that takes two seconds per call.
func runSession(t *testing.T, c Config) *Meter {
	m := New(c)
	slow := &llmtest.Model{ID: "sim/slow", Latency: llmtest.Delay{Mean: 2 * time.Second}, Deltas: 1}
	price := ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4}
	mind := enginetest.Start(t, engine.Config{Store: m.Store(memory.New()), Modes: []ponder.Mode{session.New()}, Models: enginetest.Models(slow, price)})
	mind.Ask(session.Name, "Why does the pump fail?", nil, ponder.Budget{Time: time.Minute, Cost: ponder.Cost{Calls: 12}})
	synctest.Wait()
	return m
}

func TestOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := runSession(t, Config{Version: "1.2", Queue: func() (int, bool) { return 3, true }})
		got := scrapeMetrics(t, m)
		calls, input, took := 0.0, 0.0, 0.0
		for name, x := range got {
			switch {
			case strings.HasPrefix(name, "ponder_calls_total"):
				calls += x
				if !strings.Contains(name, "mode=session") || !strings.Contains(name, "model=sim/slow") || !strings.Contains(name, "outcome=ok") || strings.Contains(name, "unknown") {
					t.Errorf("%s: %v", name, x)
				}
			case strings.HasPrefix(name, "ponder_tokens_total") && strings.Contains(name, "kind=input"):
				input += x
			case strings.HasPrefix(name, "ponder_call_duration_seconds_sum"):
				took += x
			case strings.HasPrefix(name, "ponder_spent_usd_total") && x <= 0:
				t.Errorf("%s: %v", name, x)
			}
		}
		if calls < 3 || input < 10*calls || math.Abs(took-2*calls) > 0.1*calls {
			t.Errorf("%v calls, %v tokens read, %v s: %v", calls, input, took, got)
		}
		for name, want := range map[string]float64{
			"ponder_runs_finished_total mode=session status=completed": 1,
			"ponder_queue_length":                  3,
			"ponder_leases_held":                   0,
			"ponder_events_total type=run_started": 1,
			"ponder_call_gap_seconds_sum":          0, // virtual time
			"ponder_mind_ticks_total":              0,
		} {
			if x, ok := got[name]; !ok || math.Abs(x-want) > 1e-6 {
				t.Errorf("%s: %v, want %v", name, x, want)
			}
		}
		if got["ponder_call_gap_seconds_count"] < calls-3 || got["ponder_append_seconds_count"] == 0 {
			t.Errorf("gaps and appends of %v calls: %v", calls, got)
		}
		for name := range got {
			if strings.Contains(name, "pump") || strings.Contains(name, "thr_") || strings.Contains(name, "run_0") {
				t.Errorf("%s contains private data", name)
			}
		}
	})
}

// startThread creates a held thread and returns a function that appends to it as its holder.
func startThread(t *testing.T, s ponder.Store, id ponder.ThreadID, mode string) func(...ponder.Event) {
	t.Helper()
	ctx := t.Context()
	run := ponder.RunID("run_" + string(id))
	if err := s.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindSession}, ponder.Event{Run: run, Body: ponder.RunStarted{Mode: mode}}); err != nil {
		t.Fatal(err)
	}
	node := ponder.NodeID("nod_" + string(id))
	if err := s.Join(ctx, ponder.Node{ID: node}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Take(ctx, id, node)
	if err != nil {
		t.Fatal(err)
	}
	return func(events ...ponder.Event) {
		t.Helper()
		for i := range events {
			if events[i].Run == "" {
				events[i].Run = run
			}
		}
		if _, err := s.Append(ctx, id, lease.Fence, events...); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOutcomes(t *testing.T) {
	m := New(Config{})
	add := startThread(t, m.Store(memory.New()), "thr_1", "chat")
	for i, tt := range []struct {
		outcome ponder.Outcome
		want    string
	}{
		{ponder.Outcome{}, "ok"},
		{ponder.Outcome{Error: "x", Class: llm.RateLimited}, "rate_limited"},
		{ponder.Outcome{Error: "x", Class: "made up by " + "a stranger"}, "other"},
		{ponder.Outcome{Error: "x"}, "error"},
		{ponder.Outcome{Error: "x", Class: llm.Cancelled, Dropped: true}, "dropped"},
		{ponder.Outcome{Error: "x", Refused: true}, "refused"},
	} {
		cause := string(rune('a' + i))
		add(ponder.Event{Cause: cause, Body: ponder.CallStarted{Role: ponder.Fast, Mode: "chat", Model: "sim/fast"}})
		add(ponder.Event{Cause: cause, Body: ponder.CallFinished{Model: "sim/fast", Usage: llm.Usage{Input: 7, Hedged: i == 1}, Price: ponder.PriceUnknown, Outcome: tt.outcome}})
		name := "ponder_calls_total mode=chat model=sim/fast outcome=" + tt.want + " role=fast"
		if got := scrapeMetrics(t, m)[name]; got != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	add(ponder.Event{Body: ponder.BudgetSpent{What: "calls"}}, ponder.Event{Cause: "t", Body: ponder.ToolCall{Name: "recall"}})
	add(ponder.Event{Cause: "t", Body: ponder.ToolResult{Name: "recall"}}, ponder.Event{Cause: "s", Body: ponder.Subconscious{State: []byte("{}"), Tick: 1}})
	got := scrapeMetrics(t, m)
	for name, want := range map[string]float64{
		"ponder_tokens_total kind=input model=sim/fast role=fast": 35, // without refused attempts
		"ponder_hedged_calls_total model=sim/fast role=fast":      1,
		"ponder_unpriced_calls_total model=sim/fast role=fast":    5,
		"ponder_budgets_spent_total what=calls":                   1,
		"ponder_tool_uses_total outcome=ok tool=recall":           1,
		"ponder_mind_ticks_total":                                 1,
		"ponder_leases_held":                                      1,
		"ponder_open_runs mode=chat":                              1,
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}

// TestLeases checks that a process holds the threads that it took and neither released nor lost.
func TestLeases(t *testing.T) {
	m := New(Config{})
	inner := memory.New()
	s := m.Store(inner)
	held := func(want float64) {
		t.Helper()
		if got := scrapeMetrics(t, m); got["ponder_leases_held"] != want || want == 0 && got["ponder_open_runs mode=session"] != 0 {
			t.Errorf("holds %v, want %v: %v", got["ponder_leases_held"], want, got)
		}
	}
	add := startThread(t, s, "thr_1", "session")
	startThread(t, s, "thr_2", "session")
	held(2)
	add(ponder.Event{Body: ponder.RunFinished{Status: ponder.Completed, Answer: "x"}})
	if err := s.Release(t.Context(), "thr_1", 1, 1, 0); !errors.Is(err, ponder.ErrStale) {
		t.Fatal(err)
	}
	held(2)
	if err := s.Release(t.Context(), "thr_1", 1, 2, 0); err != nil {
		t.Fatal(err)
	}
	held(1)
	inner.MarkDead(t.Context(), "nod_thr_2")
	if _, err := s.Append(t.Context(), "thr_2", 1, ponder.Event{Run: "run_thr_2", Body: ponder.Progress{}}); !errors.Is(err, ponder.ErrFenced) {
		t.Fatal(err)
	}
	held(0)
	startThread(t, s, "thr_9", "session")
	held(1)
	if err := s.Abandon(t.Context(), "thr_9", 1, 0); err != nil {
		t.Fatal(err)
	}
	held(0)
	if got := scrapeMetrics(t, m); got["ponder_append_errors_total error=fenced"] != 1 {
		t.Error(got)
	}
	startThread(t, s, "thr_3", "session")
	inner.MarkDead(t.Context(), "nod_thr_3")
	if err := s.Heartbeat(t.Context(), "nod_thr_3", 0); !errors.Is(err, ponder.ErrFenced) {
		t.Fatal(err)
	}
	held(0)
	startThread(t, s, "thr_4", "session")
	if err := s.Remove(t.Context(), "thr_4"); err != nil {
		t.Fatal(err)
	}
	held(0)
}

// TestGap checks that a gap lies between two calls of one run and excludes pauses and retries.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Config{})
		s := m.Store(memory.New())
		add := startThread(t, s, "thr_1", "session")
		rest := func(d time.Duration) {
			for ; d > 0; d -= time.Second {
				time.Sleep(time.Second)
				if err := s.Heartbeat(t.Context(), "nod_thr_1", 0); err != nil {
					t.Fatal(err)
				}
			}
		}
		started := func(cause string) ponder.Event { return ponder.Event{Cause: cause, Body: ponder.CallStarted{}} }
		finished := func(cause string, o ponder.Outcome) ponder.Event {
			return ponder.Event{Cause: cause, Time: time.Now(), Body: ponder.CallFinished{Took: 2000, Outcome: o}}
		}
		add(started("a"))
		time.Sleep(2 * time.Second)
		end := finished("a", ponder.Outcome{})
		time.Sleep(30 * time.Millisecond)
		add(end, started("b"))
		got := scrapeMetrics(t, m)
		if n, sum := got["ponder_call_gap_seconds_count"], got["ponder_call_gap_seconds_sum"]; n != 1 || math.Abs(sum-0.03) > 1e-9 {
			t.Errorf("%v gaps of %v s", n, sum)
		}
		add(finished("b", ponder.Outcome{Error: "x", RetryAt: time.Now().Add(time.Minute)}))
		rest(time.Minute)
		add(started("c"))
		add(finished("c", ponder.Outcome{}), ponder.Event{Body: ponder.RunPaused{}})
		rest(time.Hour)
		add(started("d"))
		if n := scrapeMetrics(t, m)["ponder_call_gap_seconds_count"]; n != 1 {
			t.Errorf("%v gaps", n)
		}
	})
}

// TestCopies checks that the events of a copied thread are not counted again.
func TestCopies(t *testing.T) {
	m := New(Config{})
	err := m.Store(memory.New()).Create(t.Context(), ponder.Thread{ID: "thr_1", Kind: ponder.KindSession},
		ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "session"}},
		ponder.Event{Run: "run_1", Cause: "a", Body: ponder.CallFinished{Model: "x", Usage: llm.Usage{Input: 5}}},
		ponder.Event{Run: "run_1", Body: ponder.RunFinished{Status: ponder.Completed, Answer: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range scrapeMetrics(t, m) {
		if x != 0 && (strings.HasPrefix(name, "ponder_calls") || strings.HasPrefix(name, "ponder_tokens") || strings.HasPrefix(name, "ponder_runs")) {
			t.Errorf("%s: %v", name, x)
		}
	}
}

// TestBounded checks that many threads and models keep a meter small.
func TestBounded(t *testing.T) {
	m := New(Config{})
	for i := range 3 * maxUnheld {
		m.observeCreate(ponder.ThreadID("thr_"+strconv.Itoa(i)), []ponder.Event{{Run: "run_1", Body: ponder.RunStarted{Mode: "session"}}})
	}
	m.noteAcquired("thr_held")
	if len(m.threads) > maxUnheld+1 || m.unheld != len(m.threads)-1 {
		t.Errorf("%d threads, %d begun", len(m.threads), m.unheld)
	}
	for i := range 2 * maxSeries {
		m.tokens.add(1, values{"fast", "m" + strconv.Itoa(i), "input"})
	}
	if got := scrapeMetrics(t, m); len(m.tokens.known) != maxSeries+1 || got["ponder_tokens_total kind=other model=other role=other"] != maxSeries {
		t.Errorf("%d series", len(m.tokens.known))
	}
}

// TestEscapes checks that unusual names are preserved.
func TestEscapes(t *testing.T) {
	m := New(Config{})
	for _, name := range []string{"a\"b", `c\n`, "two\nlines", "ünïcode", "{}", " ", "#", "\x00"} {
		m.tools.add(2, values{name, "ok"})
		if got := scrapeMetrics(t, m); got["ponder_tool_uses_total outcome=ok tool="+name] != 2 {
			t.Errorf("%q is not there: %v", name, got)
		}
	}
	m.tools.add(1, values{"\xff" + strings.Repeat("€", 100), "ok"})
	scrapeMetrics(t, m)
}

func FuzzLabels(f *testing.F) {
	f.Add("a\\\"b\n", 1.5)
	f.Fuzz(func(t *testing.T, value string, x float64) {
		m := New(Config{Version: value})
		m.duration.observe(x, values{value})
		m.tokens.add(x, values{value, value, value})
		scrapeMetrics(t, m)
	})
}

func TestRequests(t *testing.T) {
	m := New(Config{Watchers: func() int { return 5 }, Lag: func() int { return 7 }})
	m.Request("GET", "GET /api/thinking/{id}", 200, 3*time.Millisecond)
	m.Request("BREW", "", 0, 0)
	got := scrapeMetrics(t, m)
	for name, want := range map[string]float64{
		"ponder_http_requests_total method=GET route=GET /api/thinking/{id} status=200": 1,
		"ponder_http_requests_total method=other route=none status=200":                 1,
		"ponder_http_request_seconds_count route=GET /api/thinking/{id}":                1,
		"ponder_stream_watchers": 5, "ponder_stream_lag_events": 7,
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v in %v", name, got[name], want, got)
		}
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestModelServers(t *testing.T) {
	m := New(Config{ModelServers: func() []ModelServer {
		return []ModelServer{
			{Name: "lab", Load: llm.GateLoad{Limit: 20, InFlight: 20, Waiting: 80}},
			{Name: "zai", Load: llm.GateLoad{Limit: 16}, Faults: []llm.Fault{{Model: "zai/glm", Class: llm.Payment, Status: 402}}},
		}
	}})
	got := scrapeMetrics(t, m)
	for name, want := range map[string]float64{
		"ponder_server_calls provider=lab state=in_flight":      20,
		"ponder_server_calls provider=lab state=waiting":        80,
		"ponder_server_call_limit provider=zai":                 16,
		"ponder_model_unavailable model=zai/glm reason=payment": 1,
	} {
		if got[name] != want {
			t.Errorf("%s = %v, want %v", name, got[name], want)
		}
	}
}
