package completions_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat/completions"
	"ponder/internal/httpapi"
	placement "ponder/internal/placement"
	"ponder/internal/stream"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/chat"
	"ponder/mode/research"
	"ponder/mode/title"
	"ponder/store/memory"
)

type testAPI struct {
	store ponder.Store
	http.Handler
}

func (d *testAPI) sendRequest(token, method, path, body string) (int, string) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, newRequest(token, method, path, body))
	return w.Code, w.Body.String()
}

func newRequest(token, method, path, body string) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), method, "http://127.0.0.1"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	return r
}

type rig struct {
	*testAPI
	t     *testing.T
	hub   *stream.Hub
	mind  *engine.Engine
	place *placement.Placement
	stop  func() // stops the server

	mu     sync.Mutex
	starts []app.Start
	opened []app.Conversation
	said   []app.Message
	app.ProtocolService
}

// newRig requires a synctest bubble.
func newRig(t *testing.T, m llm.Model) *rig {
	t.Helper()
	return newChatRig(t, m, chat.Options{})
}

// newChatRig is newRig with options and further tools of conversations.
func newChatRig(t *testing.T, m llm.Model, o chat.Options, tools ...ponder.Tool) *rig {
	t.Helper()
	store := memory.New()
	r := &rig{t: t, hub: stream.New(store)}
	mind, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{chat.New(o), title.New(), research.New()}, OnDelta: r.hub.Delta,
		Models: enginetest.Models(m, ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 5}), Tools: append(lookupTools(), tools...),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := mind.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.mind, r.place = mind, placement.Memory(placement.Config{Store: store, Work: mind.Work})
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	r.testAPI = &testAPI{store, httpapi.New(ctx, httpapi.Config{Store: store, Hub: r.hub, Service: r, Requests: &notebook{}, Logger: slog.New(slog.DiscardHandler), Guard: auth.New(auth.Config{Tokens: []auth.Token{
		{Name: "local", Owner: "local", Scopes: auth.Scopes(), Hash: auth.HashOf("mine")},
		{Name: "anna", Owner: "anna", Scopes: auth.Scopes(), Hash: auth.HashOf("hers")},
		{Name: "eye", Owner: "local", Scopes: []auth.Scope{auth.Read}, Hash: auth.HashOf("look")},
	}})})}
	t.Cleanup(func() {
		cancel()
		if err := r.place.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := mind.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *rig) Report(_ context.Context, id ponder.ThreadID, _ string) (app.Document, error) {
	return app.Document{Type: "application/x-ndjson", Name: string(id) + ".jsonl", Body: []byte(`{"thread_id":"` + string(id) + `"}` + "\n")}, nil
}

type notebook struct{ sync.Map }

func (n *notebook) Enter(_ context.Context, id, words string) (httpapi.Request, bool, error) {
	before, known := n.LoadOrStore(id, httpapi.Request{Words: words})
	return before.(httpapi.Request), known, nil
}

func (n *notebook) Answer(_ context.Context, id, answer string) error {
	before, _ := n.Load(id)
	n.Store(id, httpapi.Request{Words: before.(httpapi.Request).Words, Answer: answer})
	return nil
}

func (n *notebook) Leave(_ context.Context, id string) error {
	n.Delete(id)
	return nil
}

func lookupTools() []ponder.Tool {
	tool := func(name string, takes time.Duration, result func(query string) string) ponder.Tool {
		t := ponder.NewTool(name, "Look.", json.RawMessage(`{}`), func(ctx context.Context, in struct{ Query, URL string }) (string, error) {
			own := time.Duration(crc32.ChecksumIEEE([]byte(name+in.Query+in.URL))%997) * time.Millisecond // distinct, so that no two end together
			select {
			case <-time.After(takes + own):
				return result(in.Query + in.URL), nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		t.Untrusted = true
		return t
	}
	return []ponder.Tool{
		tool(research.SearchTool, time.Second, func(string) string {
			return `{"hits":[{"source":"mem_1","quote":"The notes say that the sea is deep.","start":0,"end":35,"score":0.8}]}`
		}),
		tool(research.WebSearchTool, 2*time.Second, func(q string) string {
			n := len(q) % 3
			return fmt.Sprintf(`{"results":[{"url":"https://a.test/%d","title":"A\u001b[31m","snippet":"The sea is %d metres deep.","score":0.7}]}`, n, 4000+n)
		}),
		tool(research.WebFetchTool, 3*time.Second, func(q string) string {
			quote := "What " + q + " says of the sea is long."
			return fmt.Sprintf(`{"hits":[{"source":%q,"quote":%q,"start":0,"end":%d,"score":0.8}]}`, q, quote, len(quote))
		}),
	}
}

func (r *rig) Begin(ctx context.Context, owner string, id ponder.ThreadID, s app.Start) error {
	r.mu.Lock()
	r.starts = append(r.starts, s)
	r.mu.Unlock()
	if s.Model == "none/none" {
		return app.Invalidf("model_id", "there is no such model")
	}
	js, err := json.Marshal(research.Options{Memory: true, Web: !s.NoWeb, MaxRounds: 1})
	if err != nil {
		return err
	}
	thread := ponder.Thread{ID: id, Kind: s.Kind, Owner: owner, Title: s.Title}
	err = r.store.Create(ctx, thread, ponder.Event{Run: ponder.RunID(ponder.NewID("run")), Cause: s.Cause, Body: ponder.RunStarted{Mode: research.Name, Input: s.Question, Options: js}})
	if err != nil {
		return err
	}
	return r.place.Start(ctx, id)
}

func (r *rig) Open(ctx context.Context, owner string, id ponder.ThreadID, c app.Conversation) error {
	r.mu.Lock()
	r.opened = append(r.opened, c)
	r.mu.Unlock()
	return r.store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: owner, Title: c.Title, Model: c.Model})
}

func (r *rig) Say(ctx context.Context, in ponder.Info, key string, m app.Message) (ponder.Event, error) {
	r.mu.Lock()
	r.said = append(r.said, m)
	r.mu.Unlock()
	if err := app.ParseDecision(ctx, r.store, in.ID, &m.UserMessage); err != nil {
		return ponder.Event{}, err
	}
	list, err := r.store.Append(ctx, in.ID, 0, ponder.Event{Cause: key, Body: m.UserMessage})
	if err != nil {
		return ponder.Event{}, err
	}
	return list[0], r.place.Start(ctx, in.ID)
}

type reply struct {
	code   int
	body   string
	chunks []completions.Chunk
	done   bool
	thread ponder.ThreadID
}

func (a reply) answerText() (text string) {
	for _, c := range a.chunks {
		if c.Type != "text" {
			continue
		}
		if c.Replace {
			text = ""
		}
		text += c.Content
	}
	return text
}

// chunkTypes omits adjacent repeats.
func (a reply) chunkTypes() (list []string) {
	for _, c := range a.chunks {
		name := c.Type
		if c.Progress != nil {
			name += " " + c.Progress.Stage
		}
		list = append(list, name)
	}
	return slices.Compact(list)
}

// sendCompletion sends a request and reads until ctx is done.
func (r *rig) sendCompletion(ctx context.Context, token, key, body string) (a reply) {
	req := newRequest(token, http.MethodPost, completions.Path, body).WithContext(ctx)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	a.code, a.body, a.thread = w.Code, w.Body.String(), ponder.ThreadID(w.Header().Get("X-Thread-Id"))
	lines := bufio.NewScanner(strings.NewReader(a.body))
	lines.Buffer(nil, 10<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || a.code != http.StatusOK {
			continue
		}
		if data == "[DONE]" {
			a.done = true
			continue
		}
		var c completions.Chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil || a.done {
			r.t.Errorf("a chunk is %s: %v", data, err)
		}
		a.chunks = append(a.chunks, c)
	}
	return a
}

func (r *rig) countEvents(id ponder.ThreadID, is func(ponder.Event) bool) (n int) {
	for ev, err := range r.store.Events(context.Background(), id, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		if is(ev) {
			n++
		}
	}
	return n
}

func (r *rig) storedMessages(id ponder.ThreadID) string {
	var said []string
	for ev, err := range r.store.Events(context.Background(), id, 0) {
		if err != nil {
			r.t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case ponder.UserMessage:
			said = nil
		case ponder.AssistantMessage:
			said = append(said, b.Content)
		case ponder.Synthesis:
			if b.Final {
				said = []string{b.Content}
			}
		}
	}
	return strings.Join(said, "\n\n")
}

func newModel(answer func(*llm.Request) string) *llmtest.Model {
	return &llmtest.Model{ID: "test/model", Latency: llmtest.Delay{Mean: 2 * time.Second}, Between: llmtest.Delay{Mean: 100 * time.Millisecond}, Deltas: 20,
		Answer: func(req *llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, answer(req)), nil }}
}

func seaAnswer(req *llm.Request) string {
	switch {
	case req.Schema == nil:
		return "The sea is 4,001 metres deep [e2].\n\nIt has been measured for a long time, and by many people, who do not agree on where it ends. Of its deepest place more is known than of its mean."
	case req.Schema.Name == "research_plan":
		return `{"plan":["Find it."],"importantTerms":[],"webQueries":["depth of the sea today"],"memoryQueries":["sea depth"]}`
	case req.Schema.Name == "verdicts":
		return `{"verdicts":[]}`
	}
	return `{"enough":true,"why":"It is there."}`
}

const seaQuestion = "How deep is the sea on average, and why do sources differ?"
