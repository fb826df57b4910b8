package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/app"
	"ponder/internal/auth"
	placement "ponder/internal/placement"
	"ponder/internal/report"
	"ponder/internal/stream"
	"ponder/internal/taint"
	"ponder/internal/transcript"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/chat"
	"ponder/mode/research"
	"ponder/mode/session"
	"ponder/store/memory"
)

// A testServer is an API with sessions, conversations and a scripted model. Other methods panic.
type testServer struct {
	started atomic.Pointer[Start] // the newest
	*testAPI
	t     *testing.T
	mind  *engine.Engine
	place *placement.Placement
	hub   *stream.Hub
	close func()                 // ends streams
	deny  error                  // of Say
	lamp  atomic.Pointer[string] // the arguments of the newest call of the tool lamp
	Service
}

func newTestServer(t *testing.T, m *llmtest.Model) *testServer {
	t.Helper()
	return newTestServerOn(t, m, memory.New())
}

func newTestServerOn(t *testing.T, m *llmtest.Model, store ponder.Store) *testServer {
	t.Helper()
	hub, h := stream.New(store), &testServer{t: t}
	lamp := ponder.NewTool("lamp", "Switch on the lamp.", json.RawMessage(`{"type":"object"}`), func(_ context.Context, in json.RawMessage) (string, error) {
		text := string(in)
		h.lamp.Store(&text)
		return "It is bright.", nil
	})
	talk := chat.New(chat.Options{Tools: []llm.Tool{lamp.Tool}, Gate: func(chat.ToolUse) taint.Decision { return taint.Decision{Ask: "it acts"} }})
	mind, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{session.New(), research.New(), talk}, Tools: []ponder.Tool{lamp}, OnDelta: hub.Delta, Logger: slog.New(slog.DiscardHandler),
		Models: enginetest.Models(m, ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 5}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := mind.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.mind, h.hub, h.close = mind, hub, cancel
	h.place = placement.Memory(placement.Config{Store: store, Logger: slog.New(slog.DiscardHandler), Work: func(ctx context.Context, id ponder.ThreadID) error {
		err := mind.Work(ctx, id)
		hub.ReportError(id, err)
		return err
	}})
	h.testAPI = &testAPI{store, New(ctx, Config{Store: store, Hub: hub, Service: h, Requests: &memoryRequests{}, Guard: guardOf(), Afford: h.checkAffordable, Logger: slog.New(slog.DiscardHandler)})}
	t.Cleanup(func() {
		cancel()
		if err := h.place.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := mind.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func guardOf() *auth.Guard {
	return auth.New(auth.Config{Tokens: []auth.Token{
		{Name: "local", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("mine")},
		{Name: "anna", Owner: "anna", Scopes: auth.Scopes(), Hash: auth.HashOf("hers")},
		{Name: "eye", Owner: "local", Scopes: []auth.Scope{auth.Read}, Hash: auth.HashOf("look")},
	}})
}

// checkAffordable refuses costs above four dollars.
func (h *testServer) checkAffordable(_ context.Context, _ ponder.Info, _, most ponder.Money, do func() error) error {
	if most > 4_000_000 {
		return app.Errorf(app.OverBudget, "", "nobody pays for that")
	}
	return do()
}

func (h *testServer) Begin(ctx context.Context, owner string, id ponder.ThreadID, s Start) error {
	if s.Model == "none/none" {
		return app.Invalidf("model_id", "there is no such model")
	}
	h.started.Store(&s)
	mode, options := session.Name, any(session.Options{SynthesisInterval: s.Every.Seconds(), Parallel: s.Parallel, ToTheEnd: true})
	if s.Kind == ponder.KindResearch {
		mode, options = research.Name, research.Options{}
	}
	js, err := json.Marshal(options)
	if err != nil {
		return err
	}
	b := s.Budget
	b.Time = cmp.Or(b.Time, 5*time.Minute)
	run := ponder.RunID(ponder.NewID("run"))
	err = h.store.Create(ctx, ponder.Thread{ID: id, Kind: s.Kind, Owner: owner, Title: cmp.Or(s.Title, s.Question)},
		ponder.Event{Run: run, Cause: s.Cause, Body: ponder.RunStarted{Mode: mode, Input: s.Question, Budget: b, Options: js}})
	if err != nil {
		return err
	}
	return h.place.Start(ctx, id)
}

func (h *testServer) Go(ctx context.Context, id ponder.ThreadID, _ string) error {
	return h.place.Start(ctx, id)
}

func (h *testServer) Fork(ctx context.Context, owner string, from, id ponder.ThreadID, f Fork) error {
	info, err := h.store.Thread(ctx, from)
	if err != nil {
		return err
	}
	inputs := f.Commands
	if f.Paused {
		inputs = append([]ponder.Event{{Body: ponder.RunPaused{Reason: "forked"}}}, inputs...)
	}
	if err := engine.Fork(ctx, h.store, from, cmp.Or(f.At, info.Head), ponder.Thread{ID: id, Owner: owner, Title: f.Title}, inputs...); err != nil || f.Paused {
		return err
	}
	return h.place.Start(ctx, id)
}

func (h *testServer) Remove(ctx context.Context, id ponder.ThreadID) error {
	return h.store.Remove(ctx, id)
}

func (h *testServer) Report(ctx context.Context, id ponder.ThreadID, format string) (Document, error) {
	v := session.NewView()
	for ev, err := range h.store.Events(ctx, id, 0) {
		if err != nil {
			return Document{}, err
		}
		v = v.Apply(ev)
	}
	switch format {
	case "markdown":
		return Document{Type: "text/markdown; charset=utf-8", Name: string(id) + ".md", Body: []byte("# " + v.Session.Question + "\n\n" + v.Session.Final)}, nil
	case "html":
		page, err := report.HTML(v)
		return Document{Type: "text/html; charset=utf-8", Name: string(id) + ".html", Body: page}, err
	case "jsonl":
		info, err := h.store.Thread(ctx, id)
		if err != nil {
			return Document{}, err
		}
		var b bytes.Buffer
		err = transcript.Write(&b, info.Thread, stream.VisibleEvents(h.store.Events(ctx, id, 0)), false)
		return Document{Type: "application/x-ndjson", Name: string(id) + ".jsonl", Body: b.Bytes()}, err
	}
	js, err := json.Marshal(v)
	return Document{Type: "application/json", Name: string(id) + ".json", Body: js}, err
}

func (h *testServer) Open(ctx context.Context, owner string, id ponder.ThreadID, c Conversation) error {
	return h.store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: owner, Title: c.Title, Model: c.Model})
}

func (h *testServer) Say(ctx context.Context, in ponder.Info, key string, m Message) (ponder.Event, error) {
	if h.deny != nil {
		return ponder.Event{}, h.deny
	}
	list, err := h.store.Append(ctx, in.ID, 0, ponder.Event{Cause: key, Body: m.UserMessage})
	if err != nil {
		return ponder.Event{}, err
	}
	return list[0], h.place.Start(ctx, in.ID)
}

func (h *testServer) postJSON(key, path, body string, into any) int {
	h.t.Helper()
	r := newRequest(path, body)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return h.decodeReply(r, into)
}

func (h *testServer) getJSON(path string, into any) int {
	h.t.Helper()
	r := newRequest(path, "")
	r.Method = http.MethodGet
	return h.decodeReply(r, into)
}

func (h *testServer) decodeReply(r *http.Request, into any) int {
	h.t.Helper()
	code, body := h.serveRequest(r)
	if into == nil {
		return code
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		h.t.Fatalf("%s %s: %d %s (%v)", r.Method, r.URL, code, body, err)
	}
	return code
}

func (h *testServer) startSession(minutes int) ponder.ThreadID {
	h.t.Helper()
	var out struct {
		ID ponder.ThreadID `json:"session_id"`
	}
	if code := h.postJSON("", "/api/thinking/start", `{"question":"What is the sea?","duration_minutes":`+strconv.Itoa(minutes)+`}`, &out); code != http.StatusOK || out.ID == "" {
		h.t.Fatalf("start: %d", code)
	}
	return out.ID
}

func slowModel() *llmtest.Model {
	return &llmtest.Model{Latency: llmtest.Delay{Mean: 5 * time.Second, Jitter: 0.3}, Between: llmtest.Delay{Mean: 100 * time.Millisecond}}
}

func textModel(text string) *llmtest.Model {
	m := slowModel()
	m.Deltas = 5
	m.Answer = func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, text), nil }
	return m
}

type frame struct {
	id         ponder.Seq
	name, data string
}

// A reader disconnects after some numbered events.
type reader struct {
	*httptest.ResponseRecorder
	cut   int
	leave context.CancelFunc
	rest  string
	list  []frame
	ids   int
}

func (r *reader) Write(b []byte) (int, error) {
	r.rest += string(b)
	for r.cut == 0 || r.ids < r.cut {
		text, rest, ok := strings.Cut(r.rest, "\n\n")
		if !ok {
			break
		}
		r.rest = rest
		r.parseFrames(text)
	}
	if r.cut > 0 && r.ids >= r.cut {
		r.leave()
	}
	return len(b), nil
}

func (r *reader) parseFrames(text string) {
	var f frame
	for line := range strings.SplitSeq(text, "\n") {
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "id":
			n, _ := strconv.ParseInt(value, 10, 64)
			f.id = ponder.Seq(n)
			r.ids++
		case "event":
			f.name = value
		case "data":
			f.data = value
		}
	}
	if f.data != "" {
		r.list = append(r.list, f)
	}
}

// watchStream reads to the end, or until cut events have come (0: all).
func (d *testAPI) watchStream(ctx context.Context, path string, after ponder.Seq, cut int) (int, []frame) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1"+path, http.NoBody)
	r.Header.Set("Authorization", "Bearer mine")
	r.Header.Set("Accept", "text/event-stream")
	if after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatInt(int64(after), 10))
	}
	w := &reader{ResponseRecorder: httptest.NewRecorder(), cut: cut, leave: cancel}
	d.ServeHTTP(w, r)
	return w.Code, w.list
}
