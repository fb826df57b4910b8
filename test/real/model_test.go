package real

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A kind is a kind of model server.
type kind struct {
	name  string
	flags []string // of server.mjs
	share float64  // minimum share of useful calls, in the whole suite
	short []string // names of its parts in the short suite
}

var kinds = []kind{
	{"grammar, vLLM", []string{"--format", "grammar", "--overflow", "vllm"}, 0.95, []string{"think-docs"}},
	{"no schema, llama.cpp", []string{"--format", "ignore", "--overflow", "llamacpp"}, 0.70, []string{"think", "ask"}},
	{"no options, shift", []string{"--format", "refuse", "--overflow", "shift"}, 0.70, nil},
}

// The short suite limits answers as some servers do, so that a slow machine is fast enough. With a
// seed, equal prompts have equal answers.
var shortFlags = []string{"--max-output", "200", "--seed", "1"}

// A suite runs the parts against one server.
type suite struct {
	kind
	model, embedder *server
	docs            string
	show            bool // print the answers for a person
	seen            int  // requests before this part
}

type part struct {
	name string
	run  func(*suite, *testing.T)
}

var parts = []part{
	{"think", (*suite).testThink},
	{"think-docs", (*suite).testThinkDocs},
	{"research", (*suite).testResearch},
	{"ask", (*suite).testAsk},
	{"deep", (*suite).testDeep},
	{"chat", (*suite).testChat},
	{"mind", (*suite).testMind},
	{"eval", (*suite).testEval},
	{"serve", (*suite).testServe},
}

// minCalls is the number of calls from which on a share of them is a measurement.
const minCalls = 20

func TestModel(t *testing.T) {
	if url := os.Getenv("OPENAI_BASE_URL"); url != "" && wantAll {
		s := &suite{kind: kind{name: url, share: 0.95}, model: foreignModel(t, url), show: true}
		s.embedder = startEmbedder(t)
		s.test(t)
		return
	}
	for _, k := range kinds {
		if !wantAll && k.short == nil {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			flags := k.flags
			if !wantAll {
				flags = slices.Concat(flags, shortFlags)
			}
			s := &suite{kind: k, model: startModel(t, flags...)}
			s.embedder = startEmbedder(t)
			s.test(t)
		})
	}
}

// foreignModel describes the model of OPENAI_BASE_URL: PONDER_REAL_MODEL, or the first one.
func foreignModel(t *testing.T, url string) *server {
	t.Helper()
	s := &server{url: url, key: os.Getenv("OPENAI_API_KEY"), model: os.Getenv("PONDER_REAL_MODEL")}
	if s.model != "" {
		return s
	}
	var list struct{ Data []struct{ ID string } }
	s.getJSON(t, "/models", &list)
	if len(list.Data) == 0 {
		t.Fatalf("%s lists no models: set PONDER_REAL_MODEL", url)
	}
	s.model = list.Data[0].ID
	return s
}

func (s *server) getJSON(t *testing.T, path string, v any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(v); err != nil {
		t.Fatalf("%s%s: %s: %v", s.url, path, res.Status, err)
	}
}

func (s *suite) test(t *testing.T) {
	s.docs = copyDocs(t)
	for _, p := range parts {
		if wantAll || slices.Contains(s.short, p.name) {
			s.seen = len(s.model.requests(t))
			t.Run(p.name, func(t *testing.T) { p.run(s, t) })
		}
	}
	all := figures.sum(s.name)
	t.Logf("%d of %d calls had a useful answer: %.0f %%; the goal is %.0f %%", all.useful, all.calls, 100*all.usefulShare(), 100*s.share)
	for _, call := range all.useless {
		t.Log("no useful answer:", call)
	}
	if all.calls >= minCalls && all.usefulShare() < s.share {
		t.Errorf("the share of useful calls is below its goal")
	}
}

// docNames are the documents of the questions, which the project's documents have as they are.
var docNames = []string{"steering.md", "memory.md", "log-format.md", "web.md", "serve.md", "design/leases.md", "design/retries.md", "design/durable.md"}

func copyDocs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range docNames {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	openQuestion = "Why do large software projects run late?"
	docsQuestion = "What becomes of a call when the process is killed?"
)

// check checks the events of a thread and the output of its command, and records its figures.
// Limit is the time that the command was given, or 0.
func (s *suite) check(t *testing.T, h *home, name string, out output, limit time.Duration, question string) []event {
	t.Helper()
	if limit > 0 && out.took > limit+overtime {
		t.Errorf("%s took %s, of %s", name, out.took.Round(time.Second), limit)
	}
	if isUnusable(out) {
		t.Logf("%s: %s", name, tail([]byte(out.stderr)))
		calls := len(s.model.requests(t)) - s.seen
		figures.append(figure{name: name, server: s.name, calls: calls, failed: calls, took: out.took, limit: limit})
		return nil
	}
	if out.code != 0 && out.code != 3 {
		t.Errorf("%s: exit code %d:\n%s", name, out.code, tail([]byte(out.stderr)))
	}
	events := h.events(t, "last")
	report(t, checkRun(events, question, s.docs, promptTexts(t)))
	report(t, checkCalls(events))
	s.record(name, out, limit, events)
	if t.Failed() {
		t.Log(traceCalls(events))
	}
	if s.show || t.Failed() {
		t.Logf("%s:\n%s%s", question, out.stdout, tail([]byte(out.stderr)))
	}
	return events
}

// isUnusable reports whether a command failed because the model wrote nothing of its own, or in a circle, not even when asked
// again. Such a run is not saved.
func isUnusable(out output) bool { return out.code == 1 && isWeakness(out.stderr) }

// isWeakness reports whether an error says that no answer of the model could be used.
func isWeakness(text string) bool {
	return slices.ContainsFunc([]string{"which cannot be used", "only repeated itself", "no valid answer", "the model returned no t"}, func(phrase string) bool {
		return strings.Contains(text, phrase)
	})
}

// traceCalls lists the calls with their ends.
func traceCalls(events []event) string {
	var text strings.Builder
	for _, e := range events {
		if e.Type == "call_finished" {
			fmt.Fprintf(&text, "%s %s: %d + %d tokens, %s %s\n", e.Cause, e.Data.Finish, e.Usage.Input+e.Usage.CacheRead, e.Usage.Output, e.Data.Class, shorten(e.Data.Error))
		}
	}
	return text.String()
}

func (s *suite) record(name string, out output, limit time.Duration, events []event) figure {
	f := measure(events)
	f.name, f.server, f.took, f.limit = name, s.name, out.took, limit
	figures.append(f)
	return f
}

// budget returns flags that limit a run by time in the whole suite, and by calls in the short one,
// in which a slow machine must change nothing.
func budget(limit time.Duration, calls int) (flags []string, most time.Duration) {
	if wantAll {
		return []string{"--for", limit.String()}, limit
	}
	return []string{"--for", "10m", "--calls", fmt.Sprint(calls)}, 10 * time.Minute
}

func (s *suite) testThink(t *testing.T) {
	h := newHome(t, s.model, nil, "")
	flags, limit := budget(time.Minute, 3)
	out := h.ponder(t, "", append([]string{"think", openQuestion, "--no-web", "--no-memory"}, flags...)...)
	s.check(t, h, "think", out, limit, openQuestion)
}

func (s *suite) testThinkDocs(t *testing.T) {
	h := newHome(t, s.model, s.embedder, "")
	flags, limit := budget(90*time.Second, 3)
	out := h.ponder(t, "", append([]string{"think", docsQuestion, "--no-web", "--docs", s.docs}, flags...)...)
	events := s.check(t, h, "think with documents", out, limit, docsQuestion)
	if !slices.ContainsFunc(events, func(e event) bool { return e.Type == "evidence" }) {
		t.Error("the session found nothing in the documents")
	}
}

func (s *suite) testResearch(t *testing.T) {
	h := newHome(t, s.model, s.embedder, "")
	flags, limit := budget(2*time.Minute, 4)
	file := filepath.Join(h.dir, "report.md")
	out := h.ponder(t, "", append([]string{"research", docsQuestion, "--no-web", "--docs", s.docs, "-o", file}, flags...)...)
	events := s.check(t, h, "research", out, limit, docsQuestion)
	if !slices.ContainsFunc(events, func(e event) bool { return e.Type == "evidence" }) {
		t.Error("the research found nothing in the documents")
	}
	if v := h.ponder(t, "", "verify", file); v.code != 0 {
		t.Errorf("verify: exit code %d:\n%s%s", v.code, v.stdout, v.stderr)
	}
}

func (s *suite) testAsk(t *testing.T) {
	h := newHome(t, s.model, nil, "")
	const question = "What makes the sky look blue during the day?"
	out := h.ponder(t, "", "ask", question, "--no-web")
	s.check(t, h, "ask", out, 0, question)
}

// testDeep has a slower model, of the same server, reflect before the answer.
func (s *suite) testDeep(t *testing.T) {
	h := newHome(t, s.model, s.embedder, "")
	const question = "Should a small team write its own database, or use one that exists?"
	h.env = append(h.env, "OPENAI_DEEP_THINK_MODEL=real/"+s.model.model)
	out := h.ponder(t, "", "ask", question, "--deep", "--no-web")
	events := s.check(t, h, "deep think", out, 0, question)
	if !slices.ContainsFunc(events, func(e event) bool { return e.Type == "inner_monologue" }) {
		i := slices.IndexFunc(events, func(e event) bool { return e.Data.Stage == "deep_think_failed" })
		if i < 0 || !isWeakness(events[i].Content) {
			t.Errorf("there is no reflection:\n%s", traceCalls(events))
		} else {
			t.Logf("the reflection failed: %s", events[i].Content)
		}
	}
}

func (s *suite) testChat(t *testing.T) {
	h := newHome(t, s.model, s.embedder, "")
	messages := []string{"My cat is called Minka and she is nine years old.", "Which food suits an old cat?", "How old is my cat?"}
	out := h.ponder(t, strings.Join(messages, "\n")+"\n", "chat", "--no-web")
	events := s.check(t, h, "chat", out, 0, messages[0])
	answers := 0
	for _, e := range events {
		if e.Type == "assistant_message" {
			answers++
		}
	}
	if answers != len(messages) {
		t.Errorf("%d of %d messages were answered", answers, len(messages))
	}
}

// testMind has the subconscious read two new notes.
func (s *suite) testMind(t *testing.T) {
	notes := t.TempDir()
	h := newHome(t, s.model, s.embedder, fmt.Sprintf("[mind.sensors.system]\noff = true\n[mind.sensors.files.notes]\npaths = [%q]\ntrusted = true\n", notes))
	if out := h.ponder(t, "", "mind", "tick"); out.code != 0 {
		t.Fatalf("exit code %d:\n%s", out.code, tail([]byte(out.stderr)))
	}
	for name, text := range map[string]string{
		"todo.md": "# To do\n\n- Pay the invoice 4711 of the printer by Friday, 27 November.\n- Call Anna about the heating.\n",
		"idea.md": "# An idea\n\nA shared calendar for the tools in the workshop would avoid double bookings.\n",
	} {
		if err := os.WriteFile(filepath.Join(notes, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := h.ponder(t, "", "mind", "tick", "--all")
	if out.code != 0 {
		t.Errorf("exit code %d:\n%s", out.code, tail([]byte(out.stderr)))
	}
	events := h.allEvents(t, "subconscious")
	merged := false
	for _, e := range events {
		switch {
		case e.Type == "run_finished" && e.Data.Status == "failed" && isWeakness(e.Reason):
			t.Logf("%s: %s", e.Run, e.Reason) // its observations stay for the next tick
		case e.Type == "run_finished" && e.Data.Status == "failed":
			t.Errorf("%s is %s: %s", e.Run, e.Data.Status, e.Reason)
		case e.Type == "finding":
			report(t, findJunk(e.Content, "", promptTexts(t)("subconscious"), false))
		case e.Type == "subconscious":
			merged = true
		}
	}
	report(t, checkCalls(events))
	if !merged {
		t.Error("the tick merged nothing")
	}
	if f := s.record("mind tick", out, 0, events); f.calls+f.cut == 0 {
		t.Error("the tick called no model")
	}
	if s.show || t.Failed() {
		t.Log(out.stdout)
	}
}

func (s *suite) testEval(t *testing.T) {
	h := newHome(t, s.model, nil, "")
	file := filepath.Join(h.dir, "questions.jsonl")
	text := `{"id":"q1","question":"How much is 6 * 7?","checks":[{"number":42}]}` + "\n" +
		`{"id":"q2","question":"Which town is the capital of France?","reference":"Paris"}` + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := h.ponder(t, "", "eval", file, "--variant", "plain,think,session:20s", "--samples", "1", "--judge", "real/"+s.model.model, "--parallel", "2", "--json", "--db", filepath.Join(h.dir, "ponder.db"))
	if out.code != 0 {
		t.Errorf("exit code %d:\n%s%s", out.code, tail([]byte(out.stdout)), tail([]byte(out.stderr)))
	}
	s.record("eval", out, 0, append(h.allEvents(t, "conversation"), h.allEvents(t, "session")...))
	if s.show || t.Failed() {
		t.Log(out.stdout)
	}
}

// allEvents returns the events of all threads.
func (h *home) allEvents(t *testing.T, kind string) (all []event) {
	t.Helper()
	out := h.ponder(t, "", "thread", "list", "--json", "--kind", kind)
	for line := range strings.Lines(out.stdout) {
		var one struct {
			ID string `json:"thread_id"`
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, h.events(t, one.ID)...)
	}
	return all
}

// testServe uses the HTTP API for a session, and the endpoint of other clients for a conversation
// and for requests that the server only relays.
func (s *suite) testServe(t *testing.T) {
	h := newHome(t, s.model, s.embedder, "")
	ctx, cancel := context.WithTimeout(t.Context(), hangTime)
	defer cancel()
	api := h.startServe(ctx, t)
	began := time.Now()

	var started struct {
		SessionID string `json:"session_id"`
	}
	const limit = time.Minute
	api.post(t, "/api/thinking/start", map[string]any{"question": openQuestion, "duration_minutes": limit.Minutes()}, &started)
	for _, model := range []string{"ponder/chat", "real/" + s.model.model} {
		var answer struct {
			Choices []struct {
				Message struct{ Content string }
			}
		}
		question := "What makes the sky look blue during the day?"
		api.post(t, "/v1/chat/completions", map[string]any{"model": model, "max_tokens": 100, "messages": []any{map[string]any{"role": "user", "content": question}}}, &answer)
		if len(answer.Choices) != 1 {
			t.Fatalf("%s: %+v", model, answer)
		}
		if model == "ponder/chat" {
			report(t, findJunk(answer.Choices[0].Message.Content, question, nil, true))
		}
	}

	var now struct {
		Session struct {
			Status    string    `json:"status"`
			Final     string    `json:"final_synthesis"`
			Error     string    `json:"error_message"`
			Started   time.Time `json:"started_at"`
			Completed time.Time `json:"completed_at"`
		} `json:"session"`
	}
	for now.Session.Status != "completed" {
		if now.Session.Status == "failed" {
			if !isWeakness(now.Session.Error) {
				t.Fatalf("the session failed: %s", now.Session.Error)
			}
			t.Logf("the session failed: %s", now.Session.Error)
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the session is %q after %s", now.Session.Status, time.Since(began))
		case <-time.After(time.Second):
		}
		api.getJSON(t, "/api/thinking/"+started.SessionID, &now)
	}
	if took := now.Session.Completed.Sub(now.Session.Started); took > limit+overtime {
		t.Errorf("the session took %s, of %s", took, limit)
	}
	if now.Session.Status == "completed" {
		report(t, findJunk(now.Session.Final, openQuestion, promptTexts(t)("session"), false))
	}
	took := time.Since(began)
	events := h.events(t, started.SessionID)
	report(t, checkCalls(events))
	s.record("serve", output{took: took}, limit, events)
}

// startServe starts the HTTP server for the duration of ctx.
func (h *home) startServe(ctx context.Context, t *testing.T) *server {
	t.Helper()
	cmd := h.command(ctx, t, "serve", "--json", "--listen", "127.0.0.1:0")
	line := launchCommand(t, cmd)
	var greeting struct{ Address string }
	if err := json.Unmarshal([]byte(line), &greeting); err != nil {
		t.Fatalf("ponder serve says %q: %v", line, err)
	}
	return &server{url: greeting.Address}
}

func (s *server) post(t *testing.T, path string, body, v any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader(encode(body)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 == 2 {
		err = json.Unmarshal(text, v)
	}
	if err != nil || res.StatusCode/100 != 2 {
		t.Fatalf("%s: %s: %v: %s", path, res.Status, err, tail(text))
	}
}
