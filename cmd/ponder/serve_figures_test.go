package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/rogpeppe/go-internal/testscript"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// figureCommands are the commands of scripts for metrics and traces:
//
//	collects                 starts a trace collector, for OTEL_EXPORTER_OTLP_ENDPOINT
//	traced TRACE PARENT      waits for a trace whose request has this parent, with a run
//	                         below it and a model call below that
//	figures [NAME VALUE]...  checks that /metrics is well-formed, agrees with /api/usage on
//	                         calls, tokens and money, and has these values
//	retry PATH               repeats a request until status 429, and checks Retry-After
func figureCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"collects": cmdCollects, "traced": cmdTraced, "figures": cmdFigures, "retry": cmdRetries}
}

func getBody(ts *testscript.TestScript, path string) string {
	status, body := sendRequest(ts, http.MethodGet, path, nil)
	if status != http.StatusOK {
		ts.Fatalf("%s: status %d:\n%s", path, status, body)
	}
	return body
}

func cmdFigures(ts *testscript.TestScript, _ bool, args []string) {
	text := getBody(ts, "/metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	ts.Check(err)
	sum := make(map[string]float64)
	for name, f := range families {
		for _, m := range f.GetMetric() {
			key := name
			for _, l := range m.GetLabel() {
				if l.GetValue() == "refused" {
					key += " refused"
				}
				if l.GetName() == "kind" {
					key += " " + l.GetValue()
				}
			}
			sum[key] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	var usage struct {
		Total struct {
			Calls  int     `json:"calls"`
			Input  int     `json:"input_tokens"`
			Output int     `json:"output_tokens"`
			USD    float64 `json:"cost_usd"`
		} `json:"total"`
	}
	ts.Check(json.Unmarshal([]byte(getBody(ts, "/api/usage")), &usage))
	want := map[string]float64{
		"ponder_calls_total": float64(usage.Total.Calls), "ponder_call_duration_seconds": float64(usage.Total.Calls),
		"ponder_tokens_total output": float64(usage.Total.Output), "ponder_spent_usd_total": usage.Total.USD,
	}
	sum["input"] = sum["ponder_tokens_total input"] + sum["ponder_tokens_total cache_read"] + sum["ponder_tokens_total cache_write"]
	want["input"] = float64(usage.Total.Input)
	for i := 0; i+1 < len(args); i += 2 {
		want[args[i]], err = strconv.ParseFloat(args[i+1], 64)
		ts.Check(err)
	}
	for name, x := range want {
		if got, ok := sum[name]; !ok || math.Abs(got-x) > 1e-9 {
			ts.Fatalf("%s is %v, want %v:\n%s", name, got, x, text)
		}
	}
	if usage.Total.Calls == 0 || usage.Total.USD == 0 {
		ts.Fatalf("no usage: %+v", usage)
	}
}

type collectorKey struct{}

type traceCollector struct {
	mu    sync.Mutex
	spans []tracedSpan
	text  bytes.Buffer
}

type tracedSpan struct{ Trace, ID, Parent, Name string }

func (c *traceCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var doc coltracepb.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &doc)
	}
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(doc.String())
	for _, one := range doc.GetResourceSpans() {
		for _, scope := range one.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, tracedSpan{hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(s.GetSpanId()), hex.EncodeToString(s.GetParentSpanId()), s.GetName()})
			}
		}
	}
}

// childSpan returns the id of a span below another whose name has the prefix, or "".
func (c *traceCollector) childSpan(trace, parent, name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Trace == trace && s.Parent == parent && strings.HasPrefix(s.Name, name) {
			return s.ID
		}
	}
	return ""
}

func cmdCollects(ts *testscript.TestScript, _ bool, _ []string) {
	c := ts.Value(collectorKey{}).(*traceCollector)
	server := httptest.NewServer(c)
	ts.Defer(server.Close)
	ts.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	ts.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
}

func cmdTraced(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value(collectorKey{}).(*traceCollector)
	for since := time.Now(); time.Since(since) < askTime; time.Sleep(20 * time.Millisecond) {
		request := c.childSpan(args[0], args[1], "POST")
		run := c.childSpan(args[0], request, "invoke_agent")
		if request != "" && run != "" && c.childSpan(args[0], run, "chat llama3.1") != "" {
			c.mu.Lock()
			defer c.mu.Unlock()
			ts.Check(os.WriteFile(ts.MkAbs("traces"), c.text.Bytes(), 0o600))
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ts.Fatalf("no such trace in %+v", c.spans)
}

func cmdRetries(ts *testscript.TestScript, _ bool, args []string) {
	for range 1000 {
		resp, err := http.DefaultClient.Do(newRequest(context.Background(), ts, http.MethodGet, args[0], nil))
		ts.Check(err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusTooManyRequests {
			continue
		}
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || n < 1 || n > 60 {
			ts.Fatalf("Retry-After: %q", resp.Header.Get("Retry-After"))
		}
		return
	}
	ts.Fatalf("no request was refused")
}
