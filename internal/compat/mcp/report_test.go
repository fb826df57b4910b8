package mcp

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat/protocoltest"
)

func lookupOptions() protocoltest.Options {
	return protocoltest.Options{Tools: protocoltest.Lookups(0)}
}

const seaQuestion = "How deep is the sea, and why?"

// awaitReport reads a research until it has ended.
func awaitReport(t *testing.T, s *sdk.ClientSession, id any) (text string, out map[string]any) {
	t.Helper()
	for {
		var failed bool
		if text, out, failed = callTool(t, s, "ponder_report", args{"action": "read", "research": id}); failed {
			t.Fatalf("read: %s", text)
		}
		if out["status"] != "thinking" {
			return text, out
		}
	}
}

func TestReport(t *testing.T) {
	forEachEra(t, lookupOptions, nil, func(t *testing.T, r *rig, s *sdk.ClientSession) {
		text, out, failed := callTool(t, s, "ponder_report", args{"action": "plan", "question": seaQuestion})
		plan, _ := out["plan"].(map[string]any)
		if failed || out["status"] != "paused" || plan == nil || !strings.Contains(text, "waits for approval") {
			t.Fatalf("plan: %s %v", text, out)
		}
		id := out["research"]
		if searched := searchesIn(t, r, id.(string)); searched != 0 {
			t.Errorf("%d searches before the approval", searched)
		}
		text, _, failed = callTool(t, s, "ponder_report", args{"action": "ask", "research": id, "question": "How old are the sources?"})
		if !failed || !strings.Contains(text, "no answer yet") {
			t.Errorf("ask too early: %s", text)
		}
		plan["memory_queries"], plan["web_queries"] = []string{"the deepest trench"}, []string{}
		if text, _, failed = callTool(t, s, "ponder_report", args{"action": "approve", "research": id, "plan": plan}); failed {
			t.Fatalf("approve: %s", text)
		}
		text, out = awaitReport(t, s, id)
		report, _ := out["report"].(string)
		if out["status"] != "completed" || report == "" || !strings.Contains(text, report) {
			t.Errorf("read: %s %v", text, out)
		}
		if searched := searchesIn(t, r, id.(string)); searched != 1 {
			t.Errorf("%d searches of an approved plan with one query", searched)
		}
		text, out, failed = callTool(t, s, "ponder_report", args{"action": "ask", "research": id, "question": "How old are the sources?"})
		if reply, _ := out["reply"].(string); failed || reply == "" || !strings.Contains(text, reply) {
			t.Errorf("ask: %s %v", text, out)
		}
		text, out, failed = callTool(t, s, "ponder_report", args{"action": "rewrite", "research": id, "section": "1", "instruction": "shorter"})
		if failed || out["research"] == id || out["research"] == "" {
			t.Errorf("rewrite: %s %v", text, out)
		}
		text, out, failed = callTool(t, s, "ponder_report", args{"action": "follow_up", "research": id, "minutes": 1})
		if failed || out["question"] != seaQuestion {
			t.Errorf("follow up: %s %v", text, out)
		}
		if begun := r.Calls().Begun; begun[len(begun)-1].Since != "thr_"+id.(string) || !begun[0].PlanFirst {
			t.Errorf("begun: %+v", begun)
		}
	})
}

// searchesIn returns the number of searches of a research.
func searchesIn(t *testing.T, r *rig, id string) (n int) {
	t.Helper()
	for ev, err := range r.Store.Events(t.Context(), ponder.ThreadID("thr_"+id), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Body.(ponder.ToolCall); ok {
			n++
		}
	}
	return n
}

func TestInvalidReports(t *testing.T) {
	r := newRig(t, lookupOptions())
	s := r.openStream(t, modern, testCaller(), nil)
	_, out, _ := callTool(t, s, "ponder_session", args{"action": "start", "question": "Why is the sea blue?"})
	session := out["session"]
	_, out, _ = callTool(t, s, "ponder_report", args{"action": "start", "question": seaQuestion, "plan": args{"memory_queries": []string{"trench"}}})
	id := out["research"]
	awaitReport(t, s, id)
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{"action": "burn"}, "action: expected one of"},
		{args{"action": "read"}, "research: expected the id"},
		{args{"action": "read", "research": "thr_none"}, "none"},
		{args{"action": "read", "research": session}, "this is no research"},
		{args{"action": "follow_up", "research": session}, "this is no research"},
		{args{"action": "start", "question": " "}, "question: "},
		{args{"action": "start", "question": seaQuestion, "minutes": -1}, "minutes: "},
		{args{"action": "plan", "question": seaQuestion, "plan": args{}}, "plan: a given plan needs no approval"},
		{args{"action": "approve", "research": id}, "no plan of"},
		{args{"action": "ask", "research": id}, "question: "},
		{args{"action": "rewrite", "research": id}, "section: "},
		{args{"action": "rewrite", "research": id, "section": "Nowhere"}, "section"},
	} {
		text, _, failed := callTool(t, s, "ponder_report", tt.in)
		if !failed || !strings.Contains(text, tt.want) || strings.Contains(text, "\n") {
			t.Errorf("%v: %s, want %s", tt.in, text, tt.want)
		}
	}
	reader := r.openStream(t, modern, testCaller(auth.Read), nil)
	for action, refused := range map[string]bool{"read": false, "ask": true, "rewrite": true, "follow_up": true, "approve": true} {
		in := args{"action": action, "research": id, "question": "How?", "section": "1"}
		if text, _, failed := callTool(t, reader, "ponder_report", in); failed != refused {
			t.Errorf("%s with the scope read: %s", action, text)
		}
	}
}

// localeHeader sets the headers of a user's place.
type localeHeader struct{ zone, language string }

func (l localeHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Ponder-Zone", l.zone)
	r.Header.Set("Ponder-Language", l.language)
	return bearer(protocoltest.Mine).RoundTrip(r)
}

// Tools of an HTTP client get the zone and the language of its headers.
func TestLocaleOfClient(t *testing.T) {
	for _, era := range eras {
		r := newRig(t, defaultOptions())
		client := &http.Client{Transport: localeHeader{"Asia/Kolkata", "de"}}
		s := connectClient(t, version{&sdk.StreamableClientTransport{Endpoint: r.Server().URL + Path, HTTPClient: client}, []string{era}}, nil)
		for _, tool := range []string{"ponder_think", "ponder_chat"} {
			callTool(t, s, tool, args{"question": "Why is the sea blue?", "max_calls": 2})
		}
		s.Close()
		got := r.Calls().Places
		if len(got) < 2 || slices.ContainsFunc(got, func(p string) bool { return p != "Asia/Kolkata German" }) {
			t.Errorf("%s: places %q", era, got)
		}
	}
}
