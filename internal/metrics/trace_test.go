package metrics

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"ponder"
	"ponder/llm"
	"ponder/store/memory"
)

// A collector receives spans. It sends the configured responses, then 200.
type collector struct {
	t       *testing.T
	mu      sync.Mutex
	answers []func() (*http.Response, error)
	spans   []sentSpan
	bodies  [][]byte
	headers []http.Header
	about   map[string]string
}

// RoundTrip implements [http.RoundTripper].
func (c *collector) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	if len(c.answers) > 0 {
		next := c.answers[0]
		c.answers = c.answers[1:]
		return next()
	}
	c.parseSpans(body)
	return newReply(200, `{"partialSuccess":{}}`, "")()
}

func newReply(status int, body, retry string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {retry}, "Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

var (
	traceID = regexp.MustCompile(`^[0-9a-f]{32}$`)
	spanID  = regexp.MustCompile(`^[0-9a-f]{16}$`)
)

type sentSpan struct {
	Trace, ID, Parent, Name string
	Kind                    tracepb.Span_SpanKind
	Start, End              time.Time
	Failed                  bool
	Attributes              map[string]string
}

func (c *collector) parseSpans(body []byte) {
	var doc coltracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &doc); err != nil {
		c.t.Errorf("%v in %q", err, body)
	}
	c.bodies = append(c.bodies, body)
	for _, r := range doc.GetResourceSpans() {
		c.about = textsOf(r.GetResource().GetAttributes())
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, sentSpan{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()), Name: s.GetName(), Kind: s.GetKind(),
					Start: time.Unix(0, int64(s.GetStartTimeUnixNano())), End: time.Unix(0, int64(s.GetEndTimeUnixNano())),
					Failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR, Attributes: textsOf(s.GetAttributes()),
				})
			}
		}
	}
	for _, s := range c.spans {
		if !traceID.MatchString(s.Trace) || !spanID.MatchString(s.ID) || s.Parent != "" && !spanID.MatchString(s.Parent) || s.Start.After(s.End) || s.Name == "" {
			c.t.Errorf("a bad span: %+v", s)
		}
	}
}

// textsOf returns attributes as strings.
func textsOf(list []*commonpb.KeyValue) map[string]string {
	all := make(map[string]string)
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			all[a.GetKey()] = "int " + strconv.FormatInt(v.IntValue, 10)
		case *commonpb.AnyValue_DoubleValue:
			all[a.GetKey()] = "float"
		case *commonpb.AnyValue_ArrayValue:
			for _, one := range v.ArrayValue.GetValues() {
				all[a.GetKey()] += "," + one.GetStringValue()
			}
		}
	}
	return all
}

func (c *collector) newTraces() *Traces {
	traces, err := NewTraces(TraceConfig{Endpoint: "http://collector.example/v1/traces", Transport: c, Logger: slog.New(slog.DiscardHandler), Version: "1.2"})
	if err != nil {
		c.t.Fatal(err)
	}
	return traces
}

// oneSpan returns an arbitrary span.
func oneSpan() span {
	at := spanPosition{id: spanOf("action", "thr_1", "run_1")}
	hashOf(at.trace[:], "trace")
	return span{spanPosition: at, name: "x", started: time.Now(), end: time.Now()}
}

func TestTraceOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{t: t}
		m := runSession(t, Config{Traces: c.newTraces()})
		if err := m.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		var root sentSpan
		calls := 0
		for _, s := range c.spans {
			if s.Parent == "" {
				root = s
			}
		}
		for _, s := range c.spans {
			at := s.Attributes
			if s.Trace != root.Trace {
				t.Errorf("%s is of another trace", s.Name)
			}
			if at["gen_ai.operation.name"] != "chat" {
				continue
			}
			calls++
			took := s.End.Sub(s.Start)
			if s.Name != "chat slow" || s.Kind != tracepb.Span_SPAN_KIND_CLIENT || s.Parent != root.ID || at["gen_ai.provider.name"] != "sim" || at["gen_ai.request.model"] != "slow" ||
				!strings.HasPrefix(at["gen_ai.usage.input_tokens"], "int ") || at["gen_ai.response.finish_reasons"] != ",stop" || at["ponder.mode"] != "session" ||
				took != 2*time.Second {
				t.Errorf("%s %v %v", s.Name, took, at)
			}
		}
		at := root.Attributes
		if root.Name != "invoke_agent session" || at["gen_ai.agent.name"] != "session" || at["ponder.status"] != "completed" || calls < 3 {
			t.Errorf("%s with %d calls: %v", root.Name, calls, at)
		}
		if c.about["service.name"] != "ponder" || c.about["service.version"] != "1.2" {
			t.Errorf("about %v", c.about)
		}
		got := scrapeMetrics(t, m)
		if got["ponder_spans_sent_total"] != float64(len(c.spans)) || got["ponder_spans_dropped_total"] != 0 {
			t.Errorf("%v sent, %v dropped of %d", got["ponder_spans_sent_total"], got["ponder_spans_dropped_total"], len(c.spans))
		}
		for _, body := range c.bodies { // neither question nor answers
			if bytes.Contains(body, []byte("pump")) || bytes.Contains(body, []byte("fail?")) {
				t.Errorf("content in %s", body)
			}
		}
	})
}

// TestTraceOverACrash checks that a run in two processes is one trace, and that the second process
// finds its start.
func TestTraceOverACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{t: t}
		store := memory.New()
		first := New(Config{Traces: c.newTraces()})
		began := time.Now()
		add := startThread(t, first.Store(store), "thr_1", "session")
		call := func(cause string, took int64) []ponder.Event {
			return []ponder.Event{
				{Cause: cause, Body: ponder.CallStarted{Role: ponder.Slow, Mode: "session", Model: "sim/slow"}},
				{Cause: cause, Body: ponder.CallFinished{Model: "sim/slow", Took: took}},
			}
		}
		time.Sleep(time.Second)
		add(call("a", 500)...)
		first.Close(t.Context())

		store.MarkDead(t.Context(), "nod_thr_1")
		store.Join(t.Context(), ponder.Node{ID: "nod_2"})
		second := New(Config{Traces: c.newTraces()})
		s := second.Store(store)
		lease, err := s.Take(t.Context(), "thr_1", "nod_2")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, ev := range append(call("b", 0), ponder.Event{Body: ponder.RunFinished{Status: ponder.Failed, Reason: "secret"}}) {
			ev.Run = "run_thr_1"
			if _, err := s.Append(t.Context(), "thr_1", lease.Fence, ev); err != nil {
				t.Fatal(err)
			}
		}
		second.Close(t.Context())
		if len(c.spans) != 3 {
			t.Fatalf("%d spans: %+v", len(c.spans), c.spans)
		}
		a, b, run := c.spans[0], c.spans[1], c.spans[2]
		if a.Trace != b.Trace || a.Trace != run.Trace || a.Parent != run.ID || b.Parent != run.ID || a.ID == b.ID || run.Parent != "" {
			t.Errorf("ids: %+v", c.spans)
		}
		if !run.Start.Equal(began) || run.Name != "invoke_agent session" || !run.Failed || strings.Contains(string(c.bodies[1]), "secret") {
			t.Errorf("the run: %+v", run)
		}
	})
}

func TestErrorsInTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{t: t}
		m := New(Config{Traces: c.newTraces()})
		add := startThread(t, m.Store(memory.New()), "thr_1", "chat")
		add(ponder.Event{Run: "run_thr_1/sub", Body: ponder.RunStarted{Mode: "deep"}},
			ponder.Event{Run: "run_thr_1/sub", Cause: "a#2", Body: ponder.CallStarted{Role: ponder.Fast, Mode: "deep", Request: &llm.Request{MaxTokens: 99}}},
			ponder.Event{Run: "run_thr_1/sub", Cause: "a#2", Body: ponder.CallFinished{Model: "gemini/x", Outcome: ponder.Outcome{Error: "key sk-1 is wrong", Class: llm.Auth}}},
			ponder.Event{Cause: "t", Body: ponder.ToolCall{Name: "recall", Args: []byte(`{"query":"hidden"}`)}},
			ponder.Event{Cause: "t", Body: ponder.ToolResult{Name: "recall", Result: "hidden"}})
		m.Close(t.Context())
		if len(c.spans) != 2 {
			t.Fatalf("%+v", c.spans)
		}
		call, tool := c.spans[0].Attributes, c.spans[1].Attributes
		if c.spans[0].Parent != spanOf("run", "thr_1", "run_thr_1/sub").String() || c.spans[0].Trace != c.spans[1].Trace || !c.spans[0].Failed || call["error.type"] != "auth" ||
			call["gen_ai.request.max_tokens"] != "int 99" || call["gen_ai.provider.name"] != "gcp.gemini" || call["ponder.action"] != "a#2" {
			t.Errorf("%+v %v", c.spans[0], call)
		}
		if c.spans[1].Name != "execute_tool recall" || tool["gen_ai.tool.name"] != "recall" {
			t.Errorf("%+v", c.spans[1])
		}
		if js := string(c.bodies[0]); strings.Contains(js, "hidden") || strings.Contains(js, "sk-1") {
			t.Error(js)
		}
	})
}

// TestCollectorInTrouble checks that a busy collector gets retries at the requested time, a
// refusing one none, and that each span counts as sent or dropped.
func TestCollectorInTrouble(t *testing.T) {
	lost := func() (*http.Response, error) { return nil, errors.New("connection refused") }
	for _, tt := range []struct {
		name    string
		answers []func() (*http.Response, error)
		sent    int64
		took    time.Duration // minimum
	}{
		{"busy", []func() (*http.Response, error){newReply(503, "", "20")}, 3, 15 * time.Second},
		{"slow down", []func() (*http.Response, error){newReply(429, "", "soon"), newReply(502, "", "")}, 3, time.Second},
		{"unreachable for a moment", []func() (*http.Response, error){lost, lost}, 3, time.Second},
		{"unreachable", []func() (*http.Response, error){lost, lost, lost, lost, lost, lost}, 0, 5 * time.Second},
		{"refuses", []func() (*http.Response, error){newReply(400, "no", "")}, 0, 0},
		{"wants a key", []func() (*http.Response, error){newReply(401, "", "")}, 0, 0},
		{"moved", []func() (*http.Response, error){newReply(302, "", "")}, 0, 0},
		{"takes a part", []func() (*http.Response, error){newReply(200, `{"partialSuccess":{"rejectedSpans":"2"}}`, "")}, 1, 0},
		{"takes a part, as a number", []func() (*http.Response, error){newReply(200, `{"partialSuccess":{"rejectedSpans":2}}`, "")}, 1, 0},
		{"answers nonsense", []func() (*http.Response, error){newReply(200, `{"partialSuccess":7`, "")}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &collector{t: t, answers: tt.answers}
				traces := c.newTraces()
				for range 3 {
					traces.sendSpan(oneSpan())
				}
				began := time.Now()
				for traces.sent.Load()+traces.dropped.Load() < 3 {
					time.Sleep(10 * time.Millisecond)
				}
				if took := time.Since(began); took < tt.took || took > tt.took+time.Minute {
					t.Errorf("took %v", took)
				}
				if traces.sent.Load() != tt.sent {
					t.Errorf("%d sent", traces.sent.Load())
				}
				traces.Close(t.Context())
			})
		})
	}
}

// TestTracesNeverWait checks that a hanging collector blocks no caller.
func TestTracesNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{t: t}
		hang := make(chan struct{})
		c.answers = append(c.answers, func() (*http.Response, error) { <-hang; return nil, errors.New("reset") })
		traces := c.newTraces()
		began := time.Now()
		const n = 3 * maxQueue
		for range n {
			traces.sendSpan(oneSpan())
			synctest.Wait()
		}
		if time.Since(began) != 0 {
			t.Errorf("the producer of spans was blocked for %v", time.Since(began))
		}
		if d := traces.dropped.Load(); d != n-maxQueue {
			t.Errorf("%d dropped", d)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := traces.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		close(hang)
		if err := traces.Close(t.Context()); err != nil || traces.sent.Load()+traces.dropped.Load() != n {
			t.Errorf("%d sent, %d dropped: %v", traces.sent.Load(), traces.dropped.Load(), err)
		}
		traces.sendSpan(oneSpan())
	})
}

// TestTracesOverTheWire uses a real connection with headers and checks that no secret is logged.
func TestTracesOverTheWire(t *testing.T) {
	c := &collector{t: t}
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		defer c.mu.Unlock()
		user, password, _ := r.BasicAuth()
		paths = append(paths, strings.TrimSpace(strings.Join([]string{r.Method, r.URL.String(), r.Header.Get("Content-Type"), r.Header.Get("x-api-key"), user, password}, " ")))
		c.parseSpans(body)
	}))
	defer server.Close()
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/", "OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=s3cret%3D%3D, b=c", "OTEL_SERVICE_NAME": "desk",
		"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.name=other",
	} {
		t.Setenv(name, value)
	}
	cfg, err := traceConfigOf(os.Getenv)
	if err != nil || cfg == nil {
		t.Fatal(cfg, err)
	}
	var log bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	send := func() {
		traces, err := NewTraces(*cfg)
		if err != nil {
			t.Fatal(err)
		}
		traces.sendSpan(oneSpan())
		traces.Close(t.Context())
	}
	send()
	if len(c.spans) != 1 || len(paths) != 1 || paths[0] != "POST /v1/traces application/x-protobuf s3cret==" || c.about["service.name"] != "desk" || c.about["deployment.environment.name"] != "test" {
		t.Errorf("%q %v %v", paths, c.spans, c.about)
	}
	cfg.Endpoint = strings.Replace(cfg.Endpoint, "http://", "http://me:hidden@", 1) + "?key=hidden"
	send()
	if len(paths) != 2 || paths[1] != "POST /v1/traces?key=hidden application/x-protobuf s3cret== me hidden" {
		t.Errorf("%q", paths)
	}
	server.Close()
	send()
	if out := log.String(); !strings.Contains(out, "cannot export traces") || strings.Contains(out, "hidden") || strings.Contains(out, "s3cret") {
		t.Error(out)
	}
}

func TestTraceConfig(t *testing.T) {
	const at = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, tt := range []struct {
		name     string
		env      []string
		endpoint string // "" for none
		fails    string
	}{
		{"nothing", nil, "", ""},
		{"an endpoint", []string{at, "http://c:4318"}, "http://c:4318/v1/traces", ""},
		{"with a path", []string{at, "https://c/otlp/"}, "https://c/otlp/v1/traces", ""},
		{"of traces", []string{at, "http://c:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://d/in"}, "http://d/in", ""},
		{"disabled", []string{at, "http://c:4318", "OTEL_SDK_DISABLED", "TRUE"}, "", ""},
		{"not of traces", []string{at, "http://c:4318", "OTEL_TRACES_EXPORTER", "none"}, "", ""},
		{"protobuf over HTTP, where JSON is taken too", []string{at, "http://c:4318", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"}, "http://c:4318/v1/traces", ""},
		{"grpc", []string{at, "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, "", "OTEL_EXPORTER_OTLP_PROTOCOL"},
		{"no URL", []string{at, "c:4318 s3cret"}, "", at},
		{"bad headers", []string{at, "http://c", "OTEL_EXPORTER_OTLP_HEADERS", "s3cret"}, "", "OTEL_EXPORTER_OTLP_HEADERS"},
		{"headers in lines", []string{at, "http://c", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=s3cret%0d%0ab"}, "", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"},
		{"bad timeout", []string{at, "http://c", "OTEL_EXPORTER_OTLP_TIMEOUT", "s3cret"}, "", "OTEL_EXPORTER_OTLP_TIMEOUT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := make(map[string]string)
			for i := 0; i < len(tt.env); i += 2 {
				env[tt.env[i]] = tt.env[i+1]
			}
			c, err := traceConfigOf(func(name string) string { return env[name] })
			switch {
			case tt.fails != "":
				if err == nil || !strings.HasPrefix(err.Error(), tt.fails+": ") || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("error %v", err)
				}
			case err != nil, (c != nil) != (tt.endpoint != ""), c != nil && c.Endpoint != tt.endpoint:
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}
