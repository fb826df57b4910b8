package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	sockets "net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/mcp"
	"ponder/internal/server"
	"ponder/internal/steering"
	"ponder/llm/llmtest"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

type refusal struct {
	code  app.Code // empty if the surface has no codes
	field string
	text  string
}

// A surface sends the badInput of a use case. It returns false if it lacks the use case, and a
// zero refusal for success.
type surface func(t *testing.T, use string, in badInput) (r refusal, offered bool)

// Every surface refuses each invalid input with the same code and field. Only the command line
// names flags.
func TestInvalidInputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, dir)
	}
	t.Setenv("OLLAMA_HOST", llmtest.Serve(t, llmtest.NewSim(llmtest.SimConfig{Seed: 1})))
	db := filepath.Join(dir, "p.db")
	store, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	fillInvalid(t, store)
	a := newCLI(app.Options{DB: db, Version: "test"})
	a.out, a.log, a.interrupts = io.Discard, &logSink{out: io.Discard}, &interruptHandler{}
	defer a.Close()
	cfg, err := a.Config()
	if err != nil {
		t.Fatal(err)
	}
	hosts := &mcp.Hosts{}
	s, err := a.forHosts(hosts).NewService(t.Context(), store, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	guard, err := app.AuthConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	address := serveInvalid(t, s, hosts, guard)
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: address + mcp.Path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	surfaces := map[string]surface{
		"app":  func(t *testing.T, use string, in badInput) (refusal, bool) { return askApp(t, s, use, in) },
		"cli":  func(t *testing.T, use string, in badInput) (refusal, bool) { return askCLI(t, db, use, in) },
		"http": func(t *testing.T, use string, in badInput) (refusal, bool) { return askHTTP(t, address, use, in) },
		"mcp":  func(t *testing.T, use string, in badInput) (refusal, bool) { return askMCP(t, client, use, in) },
	}
	asked := make(map[string]int)
	for _, row := range invalidInputs() {
		t.Run(row.Use+"/"+row.Name, func(t *testing.T) {
			for _, name := range slices.Sorted(maps.Keys(surfaces)) {
				if slices.Contains(strings.Fields(row.Not), name) {
					continue
				}
				r, offered := surfaces[name](t, row.Use, row.In)
				if !offered {
					continue
				}
				asked[name]++
				asked["rows "+row.Use]++
				switch {
				case r == refusal{}:
					t.Errorf("%s accepts the input", name)
				case r.code != "" && r.code != row.Code:
					t.Errorf("%s: code %s, want %s: %s", name, r.code, row.Code, r.text)
				case r.field != row.Field && (row.Code == app.Invalid || r.field != ""):
					t.Errorf("%s: field %q, want %q: %s", name, r.field, row.Field, r.text)
				case name != "cli" && flagName.MatchString(r.text):
					t.Errorf("%s: the error names a flag: %s", name, r.text)
				}
			}
		})
	}
	for name, minCount := range map[string]int{"app": 60, "cli": 75, "http": 50, "mcp": 25} {
		if asked[name] < minCount {
			t.Errorf("only %d inputs for %s", asked[name], name)
		}
	}
}

func fillInvalid(t *testing.T, store ponder.Threads) {
	t.Helper()
	start := func(run ponder.RunID) ponder.Event {
		b := ponder.Budget{Cost: ponder.Cost{Calls: 10}}
		return ponder.Event{Run: run, Body: ponder.RunStarted{Mode: session.Name, Version: session.New().Version, Input: "Why?", Budget: b}}
	}
	mind := ponder.Thread{ID: app.MindID(), Kind: ponder.KindSubconscious, Owner: app.LocalOwner, Title: "Subconscious", Created: time.Now()}
	if err := store.Create(t.Context(), mind, ponder.Event{Body: ponder.Observation{Sensor: "test", Content: "It rains."}}); err != nil {
		t.Fatal(err)
	}
	for id, events := range map[ponder.ThreadID][]ponder.Event{
		endedSession:  {start("run_1"), {Run: "run_1", Body: ponder.RunFinished{Answer: "Salt.", Status: ponder.Completed}}},
		pausedSession: {start("run_2"), {Run: "run_2", Body: ponder.SubQuestion{ID: "q1", Content: "How deep?"}}, {Run: "run_2", Body: ponder.RunPaused{}}},
		aConversation: nil,
	} {
		kind := ponder.KindSession
		if events == nil {
			kind = ponder.KindConversation
		}
		if err := store.Create(t.Context(), ponder.Thread{ID: id, Kind: kind, Owner: app.LocalOwner, Title: "Why?", Created: time.Now()}, events...); err != nil {
			t.Fatal(err)
		}
	}
}

func serveInvalid(t *testing.T, s *app.Service, hosts *mcp.Hosts, guard auth.Config) string {
	t.Helper()
	l, err := new(sockets.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan string, 1), make(chan error, 1)
	web := &server.Server{
		Service: s, Hosts: hosts, NoMind: true, Version: "test", OnInterrupt: func(func()) func() { return func() {} },
		Ready: func(at string) error { ready <- at; return nil },
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- web.ServeListener(ctx, l, guard) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return <-ready
}

func inputValue[T any](in badInput, field string) (v T) {
	v, _ = in[field].(T)
	return v
}

func inputString(in badInput, field string) string { return inputValue[string](in, field) }

func budgetIn(in badInput) (b ponder.Budget) {
	b.Time = time.Duration(inputValue[float64](in, "duration_minutes") * float64(time.Minute))
	b.Tokens, b.Calls = inputValue[int](in, "max_tokens"), inputValue[int](in, "max_calls")
	b.Money = ponder.Money(inputValue[float64](in, "max_cost_usd") * 1e6)
	return b
}

func askApp(t *testing.T, s *app.Service, use string, in badInput) (refusal, bool) {
	t.Helper()
	ctx, id, fresh := t.Context(), ponder.ThreadID(inputString(in, "id")), ponder.ThreadID(ponder.NewID("thr"))
	kinds := slices.DeleteFunc([]string{inputString(in, "kind")}, func(k string) bool { return k == "" })
	q := app.Query{Text: inputString(in, "q"), Limit: inputValue[int](in, "limit"), Kinds: kinds}
	var err error
	switch use {
	case "start", "research":
		kind := ponder.KindSession
		if use == "research" {
			kind = ponder.KindResearch
		}
		err = s.Begin(ctx, app.LocalOwner, fresh, app.Start{
			Kind: kind, Question: inputString(in, "question"), Model: inputString(in, "model_id"), Budget: budgetIn(in), Parallel: inputValue[int](in, "parallel"),
			Every: time.Duration(inputValue[float64](in, "synthesis_interval_seconds") * float64(time.Second)), Persona: inputString(in, "persona"), Rounds: inputValue[int](in, "rounds"),
		})
	case "open":
		err = s.Open(ctx, app.LocalOwner, fresh, app.Conversation{Model: inputString(in, "model_id"), System: inputString(in, "system")})
	case "say":
		info := ponder.Info{Thread: ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: app.LocalOwner}}
		_, err = s.Say(ctx, info, "", app.Message{UserMessage: ponder.UserMessage{Content: inputString(in, "content")}, Model: inputString(in, "model_id")})
	case "steer":
		var v session.View
		if v, err = app.Fold(ctx, s.Store, id); err == nil {
			_, err = steering.ViewOf(v, false).Commands([]steering.Request{{
				Order: ponder.SteerOp(inputString(in, "order")), Content: inputString(in, "content"), Question: inputString(in, "question"), Priority: inputValue[int](in, "priority"),
				Source: inputString(in, "source"), Limits: budgetIn(in),
			}})
		}
	case "fork":
		err = s.Fork(ctx, app.LocalOwner, id, fresh, app.Fork{At: ponder.Seq(inputValue[int](in, "at")), Model: inputString(in, "model_id")})
	case "resume":
		err = s.Resume(ctx, id, inputString(in, "model_id"), func() error { return sendTo(ctx, s, id, ponder.RunResumed{}) })
	case "pause":
		err = sendTo(ctx, s, id, ponder.RunPaused{})
	case "remove":
		err = s.Remove(ctx, id)
	case "report":
		_, err = s.Report(ctx, id, inputString(in, "format"))
	case "export":
		_, err = s.Report(ctx, id, "jsonl")
	case "remember":
		_, err = s.Remember(ctx, app.LocalOwner, app.Memory{Text: inputString(in, "text"), Kind: inputString(in, "kind")})
	case "recall":
		_, err = s.Search(ctx, app.LocalOwner, q)
	case "memories":
		_, err = s.Memories(ctx, app.LocalOwner, q, "")
	case "forget":
		err = s.Forget(ctx, app.LocalOwner, inputString(in, "id"))
	case "models":
		err = s.TestModels(ctx, []string{inputString(in, "model")}, func(app.ModelCheck) error { return nil })
	case "evidence":
		ids := slices.DeleteFunc([]string{inputString(in, "evidence_id")}, func(id string) bool { return id == "" })
		_, err = s.CheckEvidence(ctx, inputString(in, "id"), ids...)
	default:
		return refusal{}, false
	}
	return newRefusal(err), true
}

func sendTo(ctx context.Context, s *app.Service, id ponder.ThreadID, body ponder.Body) error {
	_, err := ponder.SendCommands(ctx, s.Log, id, ponder.Event{Run: "run_1", Body: body})
	return err
}

func newRefusal(err error) refusal {
	if err == nil {
		return refusal{}
	}
	var wrong steering.Errors
	if errors.As(err, &wrong) {
		return refusal{app.Invalid, wrong[0].Field, err.Error()}
	}
	r := refusal{code: app.CodeOf(err), text: err.Error()}
	var known *app.Error
	if errors.As(err, &known) {
		r.field = known.Field
	}
	return r
}

var invalidCommands = map[string]string{
	"start": "think {question}", "research": "research {question}", "say": "ask {content} --thread={id}", "steer": "session steer {id}",
	"fork": "session fork {id}", "resume": "session resume {id}", "pause": "session pause {id}", "remove": "thread remove {id} --yes", "report": "session export {id}",
	"export": "thread export {id}", "remember": "remember --text={text}", "recall": "recall {q}", "memories": "memory list", "forget": "memory forget {id}",
	"resolve": "mind resolve {text}{entry}", "threads": "thread list", "usage": "usage", "models": "model test {model}", "persona": "persona show {persona}",
	"settings": "settings {key} {value}", "evidence": "evidence show {id} {evidence_id}",
}

var fieldFlags = map[string]string{
	"model_id": "model", "duration_minutes": "for", "max_tokens": "tokens", "max_calls": "calls", "max_cost_usd": "cost", "parallel": "parallel",
	"synthesis_interval_seconds": "synthesis-every", "persona": "persona", "rounds": "rounds", "at": "at", "format": "format", "kind": "kind", "limit": "number", "by": "by", "since": "since",
	"text": "text", "priority": "priority",
}

var fieldUnits = map[string]string{"duration_minutes": "m", "synthesis_interval_seconds": "s"}

func askCLI(t *testing.T, db, use string, in badInput) (refusal, bool) {
	t.Helper()
	line, ok := invalidCommands[use]
	if !ok {
		return refusal{}, false
	}
	rest := maps.Clone(in)
	var words []string
	for _, word := range strings.Fields(line) {
		had := false
		for field := range in {
			if strings.Contains(word, "{"+field+"}") {
				word, had = strings.ReplaceAll(word, "{"+field+"}", fmt.Sprint(in[field])), true
				delete(rest, field)
			}
		}
		if had || !strings.Contains(word, "{") {
			words = append(words, strings.ReplaceAll(strings.ReplaceAll(word, "{text}", ""), "{entry}", ""))
		}
	}
	if order := inputString(in, "order"); order != "" { // this flag takes the text
		field := map[string]string{"add_question": "content", "correct": "content", "drop_question": "question", "rank_question": "question", "persona": "persona"}[order]
		if strings.HasSuffix(order, "_source") {
			field = "source"
		}
		if flag := steerFlagOf[ponder.SteerOp(order)]; field != "" {
			words = append(words, "--"+flag+"="+inputString(in, field))
		}
		if order == "rank_question" {
			words[len(words)-1] += "=" + fmt.Sprint(in["priority"])
			delete(rest, "priority")
		}
		delete(rest, "order")
		delete(rest, field)
	}
	for _, field := range slices.Sorted(maps.Keys(rest)) {
		flag := fieldFlags[field]
		if use == "threads" && field == "limit" {
			flag = "limit"
		}
		words = append(words, "--"+flag+"="+fmt.Sprint(rest[field])+fieldUnits[field])
	}
	a := newCLI(app.Options{DB: db, Version: "test"})
	a.in, a.out, a.log, a.interrupts = strings.NewReader(""), io.Discard, &logSink{out: io.Discard}, &interruptHandler{}
	defer a.Close()
	root := newRoot(a)
	root.SetArgs(append([]string{"--db=" + db}, words...))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	err := root.ExecuteContext(t.Context())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err == nil {
		return refusal{}, true
	}
	r := newRefusal(err)
	code, text := explainError(err, a)
	if r.text = text; code != max(exitCodes[r.code], exitFailed) && r.code != app.Conflict {
		t.Errorf("exit code %d of %s: %s", code, r.code, text)
	}
	if r.field == "" {
		r.field = lineField(text, in)
	}
	return r, true
}

func lineField(line string, in badInput) string {
	flag, _, _ := strings.Cut(strings.TrimPrefix(line, "invalid argument for "), ":")
	flag, _, _ = strings.Cut(strings.TrimLeft(flag, "-"), "=")
	flag, _, _ = strings.Cut(flag, " ")
	if flag == "n" {
		flag = "number"
	}
	if flag == "rank" { // it sets two fields
		if strings.Contains(line, "no priority") {
			return "priority"
		}
		return "question"
	}
	for field := range in {
		if fieldFlags[field] == flag || field == flag || steerFlagOf[ponder.SteerOp(inputString(in, "order"))] == flag && field != "id" && field != "order" {
			return field
		}
	}
	return ""
}

var useRoutes = map[string]string{
	"start": "POST /api/thinking/start", "open": "POST /api/threads", "say": "POST /api/threads/{id}/messages", "steer": "POST /api/thinking/{id}/steer",
	"fork": "POST /api/thinking/{id}/fork", "resume": "POST /api/thinking/{id}/resume", "pause": "POST /api/thinking/{id}/pause", "remove": "DELETE /api/threads/{id}",
	"report": "GET /api/thinking/{id}/export", "export": "GET /api/threads/{id}/export", "remember": "POST /api/memory", "recall": "GET /api/memory/search",
	"memories": "GET /api/memory", "forget": "DELETE /api/memory/{id}", "resolve": "POST /api/mind/resolve", "threads": "GET /api/threads", "usage": "GET /api/usage",
}

// askHTTP sends a request. It checks that a list of commands and a fork refuse commands alike.
func askHTTP(t *testing.T, address, use string, in badInput) (refusal, bool) {
	t.Helper()
	r, offered := sendHTTP(t, address, use, in)
	if use == "steer" && r.code == app.Invalid {
		command := maps.Clone(in)
		delete(command, "id")
		for _, use := range []string{"steer", "fork"} {
			listed, _ := sendHTTP(t, address, use, badInput{"id": in["id"], "wishes": []badInput{command}})
			if listed.code != r.code || listed.field != r.field || flagName.MatchString(listed.text) {
				t.Errorf("http: a list for %s: code %s of %q: %s", use, listed.code, listed.field, listed.text)
			}
		}
	}
	return r, offered
}

func sendHTTP(t *testing.T, address, use string, in badInput) (refusal, bool) {
	t.Helper()
	route, ok := useRoutes[use]
	if !ok {
		return refusal{}, false
	}
	method, path, _ := strings.Cut(route, " ")
	body := maps.Clone(in)
	delete(body, "id")
	if model, ok := body["model_id"]; ok && (use == "open" || use == "say") {
		delete(body, "model_id")
		body["model"] = model
	}
	js, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	path = strings.ReplaceAll(path, "{id}", inputString(in, "id"))
	if method == http.MethodGet {
		query := url.Values{}
		for field, v := range body {
			query.Set(field, fmt.Sprint(v))
		}
		path, js = path+"?"+query.Encode(), nil
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address+path, bytes.NewReader(js))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode < 300 {
		return refusal{}, true
	}
	r := refusal{code: app.Internal, text: string(text)}
	for _, code := range []app.Code{app.Invalid, app.NotFound, app.Conflict, app.NotReady, app.OverBudget} {
		if compat.StatusOf(code) == resp.StatusCode {
			r.code = code
		}
	}
	var doc struct{ Errors []struct{ Location string } }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	for _, e := range doc.Errors {
		if at := strings.LastIndexByte(e.Location, '.'); at > 0 && len(e.Location)-at > len(r.field) {
			r.field, _, _ = strings.Cut(e.Location[at+1:], "[")
		}
	}
	if r.field == "model" {
		r.field = "model_id"
	}
	return r, true
}

var useTools = map[string]struct {
	name string
	args map[string]any
}{
	"start": {"ponder_deep_think", nil}, "research": {"ponder_research", nil}, "say": {"ponder_chat", nil}, "steer": {"ponder_steer", nil},
	"resume": {"ponder_session", map[string]any{"action": "resume"}}, "pause": {"ponder_session", map[string]any{"action": "pause"}},
	"report": {"ponder_session", map[string]any{"action": "export"}}, "remember": {"ponder_remember", nil}, "recall": {"ponder_recall", nil},
}

var toolArgs = map[string]string{"model_id": "model", "duration_minutes": "minutes", "q": "query", "id": "session", "order": "action"}

func askMCP(t *testing.T, client *sdk.ClientSession, use string, in badInput) (refusal, bool) {
	t.Helper()
	tool, ok := useTools[use]
	if !ok || use == "resume" && in["model_id"] != nil {
		return refusal{}, false
	}
	args, back := maps.Clone(tool.args), make(map[string]string)
	if args == nil {
		args = make(map[string]any)
	}
	for field, v := range in {
		arg := field
		if toolArgs[field] != "" {
			arg = toolArgs[field]
		}
		if field == "content" {
			arg = map[string]string{"say": "question", "steer": "text"}[use]
		}
		if use == "say" && field == "id" {
			continue
		}
		args[arg], back[arg] = v, field
	}
	result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: tool.name, Arguments: args})
	if err != nil {
		return refusal{text: err.Error()}, true
	}
	if !result.IsError {
		return refusal{}, true
	}
	text := ""
	for _, c := range result.Content {
		if c, ok := c.(*sdk.TextContent); ok {
			text += c.Text
		}
	}
	arg, _, _ := strings.Cut(text, ":")
	return refusal{field: back[arg], text: text}, true
}
