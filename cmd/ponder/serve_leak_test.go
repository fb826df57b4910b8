package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/racetest"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
)

// Markers of text that must not leak. The last is the owner's: answers may have it; logs,
// metrics and traces may not.
const (
	leakInner   = "INNERMARK"
	leakAnna    = "ANNAMARK"
	leakPrompt  = "PROMPTMARK"
	leakKey     = "sk-proj-KEYMARK0123456789abcdefghij"
	leakToken   = "TOKENMARK0123456789"
	leakHers    = "HERSMARK0123456789"
	leakTraces  = "TRACESMARK0123456789"
	leakContent = "CONTENTMARK"
	leakPath    = "PATHMARK0123456789" // a folder with all files of the server
)

// leakSecrets may be in no answer; leakHidden in none to the user.
var (
	leakSecrets = []string{leakKey, leakToken, leakHers, leakTraces}
	leakHidden  = append([]string{leakInner, leakAnna, leakPrompt, leakPath}, leakSecrets...)
)

// A leakServer is a real server with every kind of secret.
type leakServer struct {
	t      *testing.T
	base   string
	log    *syncBuffer
	traces *syncBuffer
	sim    *llmtest.Sim
	seen   int // answers with the owner's data
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func serveLeaky(t *testing.T) (l *leakServer, stop func()) {
	t.Helper()
	l = &leakServer{t: t, log: &syncBuffer{}, traces: &syncBuffer{}, sim: llmtest.NewSim(llmtest.SimConfig{Seed: 1, Chunks: 3})}
	models := httptest.NewServer(l.sim)
	t.Cleanup(models.Close)
	collector := httptest.NewServer(http.HandlerFunc(l.collectTraces))
	t.Cleanup(collector.Close)
	dir := filepath.Join(t.TempDir(), leakPath)
	for name, value := range map[string]string{
		"XDG_DATA_HOME": dir, "XDG_CONFIG_HOME": dir, "XDG_CACHE_HOME": dir, "XDG_STATE_HOME": dir, "XDG_RUNTIME_DIR": dir,
		"OPENAI_BASE_URL": models.URL + "/v1", "OPENAI_API_KEY": leakKey, "OLLAMA_HOST": "http://127.0.0.1:1",
		"PONDER_MODEL_FAST": "openai/fast", "PONDER_MODEL_SLOW": "openai/slow", "PONDER_MODEL_CHEAP": "openai/cheap",
		"PONDER_TOKEN": leakToken, "ANNA_TOKEN": leakHers, "PONDER_CONFIG": "", "PONDER_DB": "",
		"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=" + leakTraces,
	} {
		t.Setenv(name, value)
	}
	config := "[budgets]\ncalls = 6\n[serve.tokens.anna]\ntoken_env = \"ANNA_TOKEN\"\nowner = \"anna\"\n[prompts]\n"
	for _, mode := range []string{"chat", "session", "research"} {
		config += mode + " = \"Never repeat " + leakPrompt + ".\"\n"
	}
	config += "[mind]\nenabled = true\n[mind.sensors.files.notes]\npaths = [" + strconv.Quote(filepath.Join(dir, "docs")) + "]\n"
	if err := os.MkdirAll(filepath.Join(dir, "ponder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ponder", "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "leak.db")
	l.addDocuments(filepath.Join(dir, "docs"), db)
	seedLeakData(t, db, filepath.Join(dir, "docs"))
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"serve", "--json", "--listen", "127.0.0.1:0", "--db", db, "--log-level", "debug"}, strings.NewReader(""), in, l.log)
		in.Close()
	}()
	var at struct {
		Address string `json:"address"`
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &at) != nil {
		t.Fatalf("the server did not start: %s %v %s", line, err, l.log)
	}
	l.base = at.Address
	go func() { _, _ = io.Copy(io.Discard, out) }()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	return l, stop
}

func (l *leakServer) collectTraces(w http.ResponseWriter, r *http.Request) {
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			l.t.Error(err)
			return
		}
		body = z
	}
	if _, err := io.Copy(l.traces, body); err != nil {
		l.t.Error(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}"))
}

func leakThreads() (list []ponder.Thread) {
	for _, who := range []string{app.LocalOwner, "anna"} {
		for _, kind := range []ponder.Kind{ponder.KindSession, ponder.KindConversation, ponder.KindResearch, ponder.KindSubconscious} {
			id := ponder.ThreadID(fmt.Sprintf("thr_%s_%s", kind, who))
			if kind == ponder.KindSubconscious {
				id = subconscious.ThreadOf(who)
			}
			list = append(list, ponder.Thread{ID: id, Kind: kind, Owner: who, Title: leakMemory(who), Model: "openai/slow"})
		}
	}
	return list
}

func leakMemory(who string) string {
	if who == app.LocalOwner {
		return leakContent
	}
	return leakAnna
}

// seedLeakData fills a database with threads of two owners and all kinds of internal events.
func seedLeakData(t *testing.T, db, docs string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, thread := range leakThreads() {
		if err := store.Create(t.Context(), thread, leakEvents(thread, docs)...); err != nil {
			t.Fatal(err)
		}
	}
}

func leakEvents(thread ponder.Thread, docs string) (list []ponder.Event) {
	const run ponder.RunID = "run_leak"
	own := leakMemory(thread.Owner)
	if thread.Kind == ponder.KindSession || thread.Kind == ponder.KindResearch {
		list = append(list, ponder.Event{Run: run, Body: ponder.RunStarted{
			Mode: string(thread.Kind), Input: "What is " + own + "?", Options: json.RawMessage(`{"prompt":"` + leakPrompt + `","parallel":1,"docs":["` + docs + `"]}`),
		}})
	}
	asked := &llm.Request{System: leakPrompt, Messages: []llm.Message{llm.Say(llm.User, leakInner)}}
	list = append(list,
		ponder.Event{Run: run, Cause: "call#1", Body: ponder.CallStarted{Role: ponder.Slow, Model: "openai/slow", Request: asked}},
		ponder.Event{Run: run, Cause: "call#1", Body: ponder.CallFinished{Message: llm.Say(llm.Assistant, leakInner), Model: "openai/slow", Spent: ponder.Cost{Calls: 1, Tokens: 10}}},
	)
	for i, b := range []ponder.Body{
		ponder.InnerMonologue{Content: leakInner}, ponder.Thought{Content: leakInner, Kind: "think"}, ponder.Progress{Content: leakInner, Stage: "deep_think"},
		ponder.Observation{Content: leakInner, Sensor: "mail"}, ponder.ToolResult{Name: "look", Result: leakInner}, ponder.Summary{Content: leakInner, From: 1, To: 2},
		ponder.SystemNote{Content: leakInner}, ponder.Synthesis{Content: leakInner}, ponder.SubQuestion{Content: leakInner, ID: "q9"},
		ponder.Evidence{Content: leakInner, ID: "e9"}, ponder.Finding{Content: leakInner}, ponder.AssistantMessage{Content: leakInner},
	} {
		list = append(list, ponder.Event{Run: run, Cause: fmt.Sprintf("hidden-%d/1.1", i), Internal: true, Body: b})
	}
	for i, b := range []ponder.Body{
		ponder.Thought{Content: own, Kind: "insight"}, ponder.SubQuestion{Content: own, ID: "q1", Priority: 3}, ponder.Synthesis{Content: own}, ponder.AssistantMessage{Content: own},
	} {
		list = append(list, ponder.Event{Run: run, Cause: fmt.Sprintf("shown-%d/1.1", i), Body: b})
	}
	for i, b := range pathBodies(docs, own) {
		list = append(list, ponder.Event{Run: run, Cause: fmt.Sprintf("paths-%d/1.1", i), Body: b})
	}
	switch thread.Kind {
	case ponder.KindSession, ponder.KindResearch:
		list = append(list, ponder.Event{Run: run, Body: ponder.RunFinished{Status: ponder.Completed}})
	case ponder.KindSubconscious:
		if thread.Owner != app.LocalOwner { // a subconscious is visible to its owner only
			list = append(list, ponder.Event{Internal: true, Body: stateWithEntry(own)})
		}
	}
	return list
}

// leakStream is the read time of an endless stream.
const leakStream = 700 * time.Millisecond

// sendRequest sends a request as the user and scans the answer. A path with another owner's thread must
// fail.
func (l *leakServer) sendRequest(method, path, body, accept string) (status int, all string) {
	l.t.Helper()
	timeout := time.Minute
	if accept != "application/json" && method == http.MethodGet {
		timeout = leakStream
	}
	return l.sendLimited(method, path, body, accept, timeout)
}

// sendLimited is sendRequest with a time limit and headers.
func (l *leakServer) sendLimited(method, path, body, accept string, timeout time.Duration, headers ...string) (status int, all string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, l.base+path, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+leakToken)
	req.Header.Set("Accept", accept)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			l.t.Errorf("%s %s: %v", method, path, err)
		}
		return 0, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	all = fmt.Sprint(string(text), resp.Header)
	hidden := leakHidden
	if strings.HasSuffix(path, "/backup") { // a backup is the whole database
		hidden = leakSecrets
	}
	l.checkMarks(fmt.Sprintf("%s %s (%s): %d", method, path, accept, resp.StatusCode), all, hidden)
	foreign := strings.Contains(path, "_anna") || strings.Contains(path, string(subconscious.ThreadOf("anna"))) && subconscious.ThreadOf("anna") != subconscious.ThreadOf(app.LocalOwner)
	switch {
	case foreign && resp.StatusCode < http.StatusBadRequest:
		l.t.Errorf("%s %s: as another owner: %d", method, path, resp.StatusCode)
	case resp.StatusCode == http.StatusInternalServerError:
		l.t.Errorf("%s %s: %d %.300s", method, path, resp.StatusCode, text)
	case strings.Contains(all, leakContent):
		l.seen++
	}
	return resp.StatusCode, string(text)
}

// checkMarks fails the test if text has one of the marks.
func (l *leakServer) checkMarks(from, text string, marks []string) {
	l.t.Helper()
	for _, mark := range marks {
		if i := strings.Index(text, mark); i >= 0 {
			l.t.Errorf("%s: %s leaks: ...%s", from, mark, text[max(0, i-200):i+len(mark)])
		}
	}
}

var leakBodies = map[string]string{
	"create-completion": `{"messages":[{"role":"user","content":"What is CONTENTMARK?"}]}`,
	"remember":          `{"text":"CONTENTMARK is remembered."}`,
	"forget-entry":      `{"entry":"e1"}`,
	"resolve":           `{"entry":"e1","text":"CONTENTMARK"}`,
	"start-session":     `{"question":"What is CONTENTMARK?","max_calls":3}`,
	"steer-session":     `{"order":"correct","content":"CONTENTMARK is salt."}`,
	"fork-session":      `{"paused":true}`,
	"open-conversation": `{"title":"CONTENTMARK"}`,
	"post-message":      `{"content":"CONTENTMARK?"}`,
	"decide-approval":   `{"decision":"deny"}`,
	"start-research":    `{"question":"What is CONTENTMARK?","plan_first":true}`,
	"ask-research":      `{"content":"CONTENTMARK?"}`,
	"rewrite-research":  `{"section":"1"}`,
	"add-schedule":      `{"question":"What is CONTENTMARK?","every":"1d"}`,
	"estimate-cost":     `{"kind":"session"}`,
	"remember-files":    `{"files":[{"name":"sea.txt","data":"Q09OVEVOVE1BUksgaXMgc2FsdC4="}]}`,
	"remember-folder":   `{"path":"/CONTENTMARK"}`,
	"answer-escalation": `{"do":"dismiss"}`,
	"roll-back-mind":    `{"tick":1}`,
	"test-model":        `{"model":"none/CONTENTMARK"}`,
	"set-persona":       `{"name":"CONTENTMARK"}`,
	"create-share":      `{"thread_id":"thr_none"}`,
	"sign-in":           `{"token":"CONTENTMARK"}`,
	"resolve-session":   `{"outcome":1,"note":"CONTENTMARK"}`,
	"fork-conversation": `{"at":1,"title":"CONTENTMARK"}`,
}

// ownFiles are operations with which an admin reads and writes files of the server, so they name them.
var ownFiles = []string{"list-settings", "change-settings", "list-keys", "save-key", "remove-key"}

// listOperations returns the described operations, erasing ones last.
func (l *leakServer) listOperations() (list []leakOperation) {
	_, js := l.sendRequest(http.MethodGet, "/openapi.json", "", "application/json")
	var doc struct {
		Paths map[string]map[string]leakOperation `json:"paths"`
	}
	if err := json.Unmarshal([]byte(js), &doc); err != nil {
		l.t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method), path
			list = append(list, op)
		}
	}
	order := []string{http.MethodGet, http.MethodPost, http.MethodDelete}
	slices.SortFunc(list, func(a, b leakOperation) int {
		if d := slices.Index(order, a.method) - slices.Index(order, b.method); d != 0 {
			return d
		}
		return strings.Compare(a.path, b.path)
	})
	return list
}

type leakOperation struct {
	ID         string `json:"operationId"`
	Parameters []struct {
		Name     string `json:"name"`
		In       string `json:"in"`
		Required bool   `json:"required"`
	} `json:"parameters"`
	Body *struct {
		Required bool `json:"required"`
	} `json:"requestBody"`
	method, path string
}

// targetPaths returns the paths of an operation: for each thread, with and without parameters.
func (op leakOperation) targetPaths(ids []string) (list []string) {
	query, formats := "", []string{""}
	for _, p := range op.Parameters {
		switch {
		case p.In == "query" && p.Required:
			query = "?" + p.Name + "=CONTENTMARK"
		case p.Name == "format":
			formats = []string{"", "?format=json", "?format=markdown", "?format=html", "?format=jsonl", "?format=none"}
		case p.Name == "after":
			formats = []string{"", "?after=999999"}
		}
	}
	for _, id := range ids {
		for _, f := range formats {
			path := strings.ReplaceAll(op.path, "{id}", id) + query + f
			if !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
	}
	return list
}

// No route of a real server leaks internal text, another owner's data or a secret. Log, metrics
// and traces have no content of requests.
func TestServeLeaks(t *testing.T) {
	racetest.Skip(t, "one client, which sends hundreds of requests")
	l, stop := serveLeaky(t)
	ids := l.startLive()
	for _, thread := range leakThreads() {
		ids = append(ids, string(thread.ID))
	}
	for _, op := range l.listOperations() {
		if slices.Contains(ownFiles, op.ID) {
			continue
		}
		body := leakBodies[op.ID]
		if op.Body != nil && op.Body.Required && body == "" {
			t.Errorf("no test body for %s %s (%s)", op.method, op.path, op.ID)
		}
		if op.method == http.MethodPost && body == "" {
			body = "{}"
		}
		for _, path := range op.targetPaths(ids) {
			for _, accept := range []string{"application/json", "text/event-stream"} {
				l.sendRequest(op.method, path, body, accept)
			}
		}
	}
	for _, path := range []string{"/metrics", "/readyz", "/healthz", "/docs", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/symbol", "/none"} {
		l.sendRequest(http.MethodGet, path, "", "application/json")
	}
	l.sendRequest(http.MethodPost, "/api/backup", "", "application/json")
	l.readRefused()
	if l.seen < 40 {
		t.Errorf("only %d answers had content", l.seen)
	}
	_, metrics := l.sendRequest(http.MethodGet, "/metrics", "", "text/plain")
	stop()
	l.checkTexts(map[string]string{"the log": l.log.String(), "metrics": metrics, "traces": l.traces.String()})
}

func (l *leakServer) checkTexts(texts map[string]string) {
	t := l.t
	t.Helper()
	for name, text := range texts {
		if len(text) < 1000 {
			t.Errorf("%s: only %q", name, text)
		}
		for _, mark := range append([]string{leakContent}, leakHidden...) {
			if mark == leakPath { // the log of a server names its files
				continue
			}
			if i := strings.Index(text, mark); i >= 0 {
				t.Errorf("%s: %s leaks: ...%s", name, mark, text[max(0, i-300):i+len(mark)])
			}
		}
	}
}

func (l *leakServer) startLive() (ids []string) {
	take := func(field, method, path, body string) string {
		status, text := l.sendRequest(method, path, body, "application/json")
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); status >= 300 || err != nil {
			l.t.Fatalf("%s %s: %d %s", method, path, status, text)
		}
		id, _ := out[field].(string)
		ids = append(ids, id)
		return id
	}
	id := take("session_id", http.MethodPost, "/api/thinking/start", leakBodies["start-session"])
	talk := take("thread_id", http.MethodPost, "/api/threads", leakBodies["open-conversation"])
	l.sendRequest(http.MethodPost, "/api/threads/"+talk+"/messages", `{"content":"CONTENTMARK?","deep":true}`, "text/event-stream")
	l.sendRequest(http.MethodPost, "/api/threads/"+talk+"/messages?wait=20s", leakBodies["post-message"], "application/json")
	l.sendRequest(http.MethodPost, "/api/completions", `{"messages":[{"role":"user","content":"What is CONTENTMARK, and why?"}],"isDeepThinkMode":true}`, "text/event-stream")
	l.sendRequest(http.MethodPost, "/api/memory", leakBodies["remember"], "application/json")
	l.sendRequest(http.MethodPost, "/api/mind/tick", "{}", "application/json")
	l.useOtherOwner()
	l.sendRequest(http.MethodPost, "/api/thinking/"+id+"/steer?wait=20s", `{"order":"answer_now"}`, "application/json")
	return ids
}

func (l *leakServer) useOtherOwner() {
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodPost, l.base+"/api/memory", strings.NewReader(`{"text":"ANNAMARK of CONTENTMARK is hers."}`))
	if err != nil {
		l.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+leakHers)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusCreated {
		l.t.Fatalf("%v %v", resp, err)
	}
	resp.Body.Close()
}

func (l *leakServer) failProvider() { l.sim.Configure(llmtest.SimConfig{Seed: 1, Key: "another"}) }

// readRefused reads the results of calls that the provider refuses in text with the key.
func (l *leakServer) readRefused() {
	l.failProvider()
	_, text := l.sendRequest(http.MethodPost, "/api/thinking/start", `{"question":"What is CONTENTMARK now?","max_calls":3}`, "application/json")
	var out struct {
		ID string `json:"session_id"`
	}
	_ = json.Unmarshal([]byte(text), &out) // successful or not
	l.sendRequest(http.MethodPost, "/api/completions", leakBodies["create-completion"], "text/event-stream")
	if out.ID != "" {
		l.sendRequest(http.MethodPost, "/api/thinking/"+out.ID+"/steer?wait=20s", `{"order":"answer_now"}`, "application/json")
		for _, path := range []string{"", "/stream", "/export?format=jsonl", "/export"} {
			l.sendRequest(http.MethodGet, "/api/thinking/"+out.ID+path, "", "application/json")
		}
	}
}
