package llmtest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/llm/llmtest"
)

const script = `
{"match": "capital of France", "reply": "Paris"}
{"match": "^be brief$", "reply": "ok"}
{"match": "weather", "error": {"status": 503, "message": "clouds", "retry_after": "2s"}, "times": 1}
{"match": "weather", "error": {"status": 429}, "each": 1}
{"match": "weather", "reply": "sunny", "reasoning": "It is June."}
{"match": "person", "reply": {"name": "Ada", "born": 1815}}
{"match": "tool", "calls": [{"name": "look_up", "input": {"what": "fox"}}, {"name": "now"}]}
{"match": "nothing", "behaviours": ["empty"]}
{"match": "free", "reply": "gratis", "usage": {"input": 1, "output": 2}}
{"model": "^other$", "reply": "I am another"}
`

func TestScript(t *testing.T) {
	lines, err := llmtest.ReadScript(strings.NewReader(script))
	if err != nil {
		t.Fatal(err)
	}
	base := llmtest.Serve(t, llmtest.NewSim(llmtest.SimConfig{Script: lines}))
	ask := func(text string) answer { return newCalls(text, true)["openai"].send(t, http.DefaultClient, base) }
	tests := []struct {
		name, text string
		status     int
		want       string
	}{
		{"text", "What is the capital of France?", 200, "Paris"},
		{"once in all", "How is the weather?", 503, "clouds"},
		{"once for each prompt", "How is the weather?", 429, ""},
		{"once for another prompt", "And the weather in Rome?", 429, ""},
		{"then the rest", "How is the weather?", 200, "sunny"},
		{"reasoning", "How is the weather?", 200, "sunny"},
		{"JSON", "Make up a person.", 200, `{"name":"Ada","born":1815}`},
		{"nothing", "Say nothing.", 200, ""},
	}
	for _, test := range tests {
		a := ask(test.text)
		got := answerText(a.body)
		if a.status != http.StatusOK {
			got = a.body
		}
		if a.status != test.status || !strings.Contains(got, test.want) || a.status == 200 && got != test.want {
			t.Errorf("%s: %d %q, want %d %q", test.name, a.status, got, test.status, test.want)
		}
	}
	if a := ask("Use a tool."); !strings.Contains(a.body, `"name":"look_up"`) || !strings.Contains(a.body, `"finish_reason":"tool_calls"`) {
		t.Errorf("calls: %s", a.body)
	}
	if a := ask("How is the weather?"); !strings.Contains(a.body, `"reasoning_content":"It"`) {
		t.Errorf("reasoning: %s", a.body)
	}
	if a := ask("Is it free?"); !strings.Contains(a.body, `"completion_tokens":2`) || !strings.Contains(a.body, `"prompt_tokens":1`) {
		t.Errorf("usage: %s", a.body)
	}
	system := call{path: "/v1/chat/completions", body: `{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"x"}]}`}
	if a := system.send(t, http.DefaultClient, base); answerText(a.body) != "ok" {
		t.Errorf("by the system prompt: %s", a.body)
	}
	other := call{path: "/v1/chat/completions", body: `{"model":"other","messages":[{"role":"user","content":"x"}]}`}
	if a := other.send(t, http.DefaultClient, base); answerText(a.body) != "I am another" {
		t.Errorf("by the model: %s", a.body)
	}
}

func TestReadScript(t *testing.T) {
	tests := []struct {
		name, text string
		lines      int
		err        string
	}{
		{"empty", " \n", 0, ""},
		{"lines", script, 10, ""},
		{"array", `[{"reply":"a"},{"reply":"b"}]`, 2, ""},
		{"bad regexp", `{"match":"("}`, 0, "line 1"},
		{"unknown field", `{"reply":"a"}{"replay":"b"}`, 0, "line 2"},
		{"unknown behaviour", `{"behaviours":["sing"]}`, 1, `"sing"`},
		{"bad status", `{"error":{"status":200}}`, 1, "200"},
		{"cut", `{"reply":`, 0, "unexpected EOF"},
		{"not a script", `42`, 0, "line 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := llmtest.ReadScript(strings.NewReader(test.text))
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error is %v, want one with %q", err, test.err)
			}
			if test.err == "" && len(got) != test.lines {
				t.Errorf("%d lines, want %d", len(got), test.lines)
			}
		})
	}
}

func FuzzReadScript(f *testing.F) {
	f.Add(script)
	f.Add(`[{"match":"x","reply":{"a":1},"latency":"1s"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := llmtest.ReadScript(strings.NewReader(text))
		if err != nil {
			return
		}
		if _, err := json.Marshal(lines); err != nil {
			t.Errorf("a script that was read cannot be written: %v", err)
		}
	})
}

func TestSimConfigAtRunTime(t *testing.T) {
	base := llmtest.Serve(t, llmtest.NewSim(llmtest.SimConfig{Seed: 9, Behaviours: map[llmtest.Behaviour]float64{llmtest.ServerError: 1}}))
	set := func(body string) answer {
		return call{path: "/sim/config", body: body}.send(t, http.DefaultClient, base)
	}
	ask := func() answer { return newCalls("What?", true)["openai"].send(t, http.DefaultClient, base) }
	if a := ask(); a.status != 500 {
		t.Errorf("status %d before", a.status)
	}
	if a := set(`{"behaviours":{},"script":[{"reply":"yes"}],"first_token":"1ms"}`); a.status != 200 || !strings.Contains(a.body, `"seed":9`) || !strings.Contains(a.body, `"mean":"1ms"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := ask(); answerText(a.body) != "yes" {
		t.Errorf("%d %s after", a.status, a.body)
	}
	for _, bad := range []string{`{`, `{"sede":1}`, `{"behaviours":{"sing":1}}`, `{"behaviours":{"hang":2}}`, `{"first_token":"soon"}`, `{"script":[{"match":"("}]}`} {
		if a := set(bad); a.status != http.StatusBadRequest || !strings.Contains(a.body, "change configuration") {
			t.Errorf("%s: %d %s", bad, a.status, a.body)
		}
	}
	if a := ask(); answerText(a.body) != "yes" {
		t.Errorf("%d %s after bad settings", a.status, a.body)
	}
}

func TestSimCounts(t *testing.T) {
	records := make(chan llmtest.Record, 10)
	sim := llmtest.NewSim(llmtest.SimConfig{
		Behaviours: map[llmtest.Behaviour]float64{llmtest.Reason: 1}, Record: func(r llmtest.Record) { records <- r },
	})
	base := llmtest.Serve(t, sim)
	for _, name := range []string{"openai", "anthropic", "openai"} {
		newCalls("Why do foxes dig?", true)[name].send(t, http.DefaultClient, base)
	}
	call{path: "/v1/chat/completions", body: `{}`}.send(t, http.DefaultClient, base)
	in, out := 0, 0
	for i := range 4 {
		r := <-records
		in, out = in+r.Input, out+r.Output
		if i == 3 {
			if r.Status != 400 || r.Whole || r.Prompt != "" {
				t.Errorf("record of a bad request: %+v", r)
			}
			continue
		}
		if !r.Whole || r.Cancelled || r.Attempt != i+1 || r.Output < 10 || r.Input < 10 || r.PromptBytes != 17 || len(r.Body) == 0 || r.Ended.Before(r.Started) {
			t.Errorf("record %d: %+v", i, r)
		}
	}
	got := sim.Stats()
	want := llmtest.Stats{
		Requests: 4, Answers: 3, Failed: 1, Repeated: 2, Peak: got.Peak, Input: in, Output: out,
		Dialects: map[string]int{"openai": 3, "anthropic": 1}, Statuses: map[int]int{200: 3, 400: 1}, Behaviours: map[llmtest.Behaviour]int{llmtest.Reason: 3},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
	a := call{method: "GET", path: "/sim/stats"}.send(t, http.DefaultClient, base)
	var over llmtest.Stats
	if err := json.Unmarshal([]byte(a.body), &over); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, over); diff != "" {
		t.Errorf("stats over HTTP (-want +got):\n%s", diff)
	}
	call{path: "/sim/reset"}.send(t, http.DefaultClient, base)
	if st := sim.Stats(); st.Requests != 0 || st.Repeated != 0 {
		t.Errorf("stats after a reset are %+v", st)
	}
}
