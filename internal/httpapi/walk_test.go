package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/llm/llmtest"
)

// Marks of private content.
const (
	innerMark = "INNERMARK" // internal events
	annaMark  = "ANNAMARK"  // another owner
)

func markOf(owner string) string {
	if owner == "anna" {
		return annaMark
	}
	return "of " + owner
}

func (h *testServer) Remember(_ context.Context, owner string, list ...Memory) ([]Memory, error) {
	for i := range list {
		list[i].ID = "mem_" + owner
	}
	return list, nil
}

func (h *testServer) Remembered(_ context.Context, owner string, _ ...string) ([]Memory, error) {
	return []Memory{{ID: "mem_" + owner, Text: markOf(owner)}}, nil
}

func (h *testServer) Search(_ context.Context, owner string, _ Query) ([]Hit, error) {
	return []Hit{{Memory: Memory{ID: "mem_" + owner, Text: markOf(owner)}, Quote: markOf(owner)}}, nil
}

func (h *testServer) Memories(_ context.Context, owner string, _ Query, _ string) ([]Memory, error) {
	return []Memory{{ID: "mem_" + owner, Text: markOf(owner)}}, nil
}

func (h *testServer) Forget(_ context.Context, owner, id string) error {
	if id != "mem_"+owner {
		return app.NotFoundf("", "nothing of that id is remembered")
	}
	return nil
}

func (h *testServer) Thread(owner string) ponder.ThreadID {
	return ponder.ThreadID("thr_mind_" + owner)
}

func (h *testServer) Mind(_ context.Context, owner string) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"entries": []string{markOf(owner)}})
}

func (h *testServer) Tick(_ context.Context, owner string) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"report": markOf(owner)})
}

// addThreads adds threads of two owners with all internal events.
func (h *testServer) addThreads() (ids []string) {
	h.t.Helper()
	for _, owner := range []string{"local", "anna"} {
		for _, kind := range []ponder.Kind{ponder.KindSession, ponder.KindConversation, ponder.KindResearch, ponder.KindSubconscious} {
			id := ponder.ThreadID(fmt.Sprintf("thr_%s_%s", kind, owner))
			if kind == ponder.KindSubconscious {
				id = h.Thread(owner)
			}
			thread := ponder.Thread{ID: id, Kind: kind, Owner: owner, Title: markOf(owner), Model: "test/model"}
			if err := h.store.Create(context.Background(), thread, eventsOf(kind, owner)...); err != nil {
				h.t.Fatal(err)
			}
			ids = append(ids, string(id))
		}
	}
	return ids
}

// eventsOf marks internal events.
func eventsOf(kind ponder.Kind, owner string) []ponder.Event {
	const run ponder.RunID = "run_1"
	mark := markOf(owner)
	hidden := []ponder.Body{
		ponder.InnerMonologue{Content: innerMark}, ponder.Thought{Content: innerMark, Kind: "think"}, ponder.Progress{Content: innerMark, Stage: "deep_think"},
		ponder.Observation{Content: innerMark, Sensor: "mail"}, ponder.ToolResult{Name: "look", Result: innerMark}, ponder.Summary{Content: innerMark, From: 1, To: 2},
		ponder.SystemNote{Content: innerMark}, ponder.Synthesis{Content: innerMark}, ponder.SubQuestion{Content: innerMark, ID: "q9"},
		ponder.Evidence{Content: innerMark, ID: "e9"}, ponder.Finding{Content: innerMark}, ponder.Escalation{Content: innerMark, ID: "x"}, ponder.AssistantMessage{Content: innerMark},
	}
	list := []ponder.Event{}
	if kind != ponder.KindConversation {
		list = append(list, ponder.Event{Run: run, Body: ponder.RunStarted{Mode: string(kind), Input: "What is the sea? " + mark}})
	}
	req := &llm.Request{System: innerMark, Messages: []llm.Message{llm.Say(llm.User, innerMark)}}
	list = append(list,
		ponder.Event{Run: run, Cause: "call#1", Body: ponder.CallStarted{Role: ponder.Slow, Model: "test/model", Request: req}},
		ponder.Event{Run: run, Cause: "call#1", Body: ponder.CallFinished{Message: llm.Say(llm.Assistant, innerMark), Model: "test/model", Spent: ponder.Cost{Calls: 1, Tokens: 10}}},
	)
	for i, b := range hidden {
		list = append(list, ponder.Event{Run: run, Cause: fmt.Sprintf("hidden-%d/1.1", i), Internal: true, Body: b})
	}
	for i, b := range []ponder.Body{
		ponder.Thought{Content: mark, Kind: "insight"}, ponder.SubQuestion{Content: mark, ID: "q1", Priority: 3}, ponder.Synthesis{Content: mark}, ponder.AssistantMessage{Content: mark},
	} {
		list = append(list, ponder.Event{Run: run, Cause: fmt.Sprintf("shown-%d/1.1", i), Body: b})
	}
	return list
}

type call struct {
	op      docsOperation
	target  string
	body    string
	foreign bool // names a thread of another owner
}

// allCalls returns requests for all operations and threads, with and without parameters.
func allCalls(t *testing.T, d *testAPI, ids []string) (list []call) {
	t.Helper()
	_, js := d.sendRequest("mine", "GET", "/openapi.json", "")
	doc := docOf(t, js)
	for _, g := range operationsOf(doc) {
		for _, op := range g.Operations {
			p := docsSchemas{doc.Components.Schemas}
			body := ""
			if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
				js, err := json.Marshal(p.exampleValue(op.RequestBody.Content["application/json"].Schema, 0))
				if err != nil {
					t.Fatal(err)
				}
				body = string(js)
			}
			for _, id := range ids {
				path := strings.ReplaceAll(op.Path, "{id}", id)
				if path == op.Path && id != ids[0] {
					continue
				}
				for _, query := range queriesOf(op) {
					list = append(list, call{op, path + query, body, strings.Contains(id, "anna") && path != op.Path})
				}
			}
		}
	}
	if len(list) < 100 {
		t.Fatalf("only %d requests", len(list))
	}
	return list
}

func queriesOf(op docsOperation) []string {
	least, all := url.Values{}, url.Values{}
	for _, param := range op.Parameters {
		if param.In != "query" {
			continue
		}
		value := "1"
		switch s := param.Schema; {
		case len(s.Enum) > 0:
			value = fmt.Sprint(s.Enum[0])
		case s.Type == huma.TypeBoolean && param.Name == "inner":
			value = "false" // TestInnerThoughts checks the other value
		case s.Type == huma.TypeBoolean:
			value = "true"
		case s.Type == huma.TypeString && param.Name == "cursor":
			value = cursorOf(ponder.Position{Created: time.Now(), ID: "thr_z"})
		case s.Type == huma.TypeString:
			value = "1s"
		}
		if param.Required {
			least.Set(param.Name, value)
		}
		all.Set(param.Name, value)
	}
	return slices.Compact([]string{"?" + least.Encode(), "?" + all.Encode()})
}

func docOf(t *testing.T, js string) *huma.OpenAPI {
	t.Helper()
	var raw struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal([]byte(js), &raw); err != nil {
		t.Fatal(err)
	}
	if len(raw.Paths) == 0 || len(raw.Components.Schemas) == 0 {
		t.Fatal("nothing is described")
	}
	d := &api{Config: Config{}, huma: huma.NewAPI(humaConfig("test"), adapter{http.NewServeMux()})}
	d.registerThinking()
	d.registerResearch()
	d.registerThreads()
	d.registerMore()
	doc := d.huma.OpenAPI()
	if len(doc.Paths) != len(raw.Paths) {
		t.Fatalf("%d paths are described, %d are there", len(raw.Paths), len(doc.Paths))
	}
	return doc
}

func (d *testAPI) sendCall(token string, c call, accept string) (int, string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, c.op.Method, "http://127.0.0.1"+c.target, strings.NewReader(c.body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Accept", accept)
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	var b strings.Builder
	b.WriteString(w.Body.String())
	for name, values := range maps.All(w.Header()) {
		fmt.Fprint(&b, "\n", name, values)
	}
	return w.Code, b.String()
}

// No route, nor any error, reveals internal content or that of another owner.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &llmtest.Model{Answer: func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, "It is well."), nil }}
		h := newTestServer(t, m)
		ids := h.addThreads()
		list := allCalls(t, h.testAPI, ids)
		slices.SortStableFunc(list, func(a, b call) int {
			return slices.Index(methodOrder, a.op.Method) - slices.Index(methodOrder, b.op.Method)
		})
		answers := 0
		for _, c := range list {
			for _, accept := range []string{"application/json", "text/event-stream"} {
				code, all := h.sendCall("mine", c, accept)
				switch {
				case strings.Contains(all, innerMark):
					t.Errorf("%s %s (%s): the answer has an internal event: %d %.300s", c.op.Method, c.target, accept, code, textNear(all, innerMark))
				case strings.Contains(all, annaMark):
					t.Errorf("%s %s (%s): the answer has another owner's data: %d %.300s", c.op.Method, c.target, accept, code, textNear(all, annaMark))
				case code >= 500:
					t.Errorf("%s %s (%s): %d %.300s", c.op.Method, c.target, accept, code, all)
				case c.foreign && code < 400:
					t.Errorf("%s %s (%s): of another owner: %d %.300s", c.op.Method, c.target, accept, code, all)
				case code < 300 && strings.Contains(all, "of local"):
					answers++
				}
			}
		}
		if answers < 20 {
			t.Errorf("only %d answers had anything in them", answers)
		}
	})
}

// methodOrder puts erasing requests last.
var methodOrder = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func textNear(all, mark string) string {
	i := strings.Index(all, mark)
	return all[max(0, i-200):min(len(all), i+50)]
}

// On all routes, threads of other owners are not found and stay unchanged.
func TestOwnersDoNotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		ids := h.addThreads()
		before := make(map[string]ponder.Info)
		for _, id := range ids {
			before[id], _ = h.store.Thread(t.Context(), ponder.ThreadID(id))
		}
		for _, c := range allCalls(t, h.testAPI, ids) {
			if !c.foreign || c.op.Tags[0] != tagSessions && c.op.Tags[0] != tagResearch && c.op.Tags[0] != tagThreads {
				continue
			}
			code, all := h.sendCall("mine", c, "application/json")
			if code != http.StatusNotFound && code != http.StatusUnprocessableEntity {
				t.Errorf("%s %s: %d %.200s", c.op.Method, c.target, code, all)
			}
			missing := c
			missing.target = strings.ReplaceAll(c.target, "_anna", "_nobody")
			if nobody, _ := h.sendCall("mine", missing, "application/json"); nobody != code {
				t.Errorf("%s %s: %d, but %d for a missing thread", c.op.Method, c.target, code, nobody)
			}
		}
		for _, id := range ids {
			if after, err := h.store.Thread(t.Context(), ponder.ThreadID(id)); err != nil || after.Head != before[id].Head {
				t.Errorf("%s has changed: %v (%v)", id, after, err)
			}
		}
	})
}
