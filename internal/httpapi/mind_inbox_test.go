package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/app"
)

// An inboxService records what answers to escalations make.
type inboxService struct {
	mindService
	d        *testAPI
	started  []Start
	said     []string
	memories []string
}

func (s *inboxService) Begin(_ context.Context, _ string, _ ponder.ThreadID, x Start) error {
	s.started = append(s.started, x)
	return nil
}

func (s *inboxService) Open(ctx context.Context, owner string, id ponder.ThreadID, c Conversation) error {
	return s.d.store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: owner, Title: c.Title})
}

func (s *inboxService) Say(_ context.Context, _ ponder.Info, _ string, m Message) (ponder.Event, error) {
	s.said = append(s.said, m.Content)
	return ponder.Event{}, nil
}

func (s *inboxService) Remember(_ context.Context, _ string, list ...Memory) ([]Memory, error) {
	s.memories = append(s.memories, list[0].Text)
	return []Memory{{ID: "mem_1", Text: list[0].Text}}, nil
}

func (s *inboxService) RollBack(ctx context.Context, owner string, tick int) (ponder.Event, error) {
	if tick > 1 {
		return ponder.Event{}, app.Invalidf("tick", "tick %d does not exist; the newest is 1", tick)
	}
	events, err := s.d.store.Append(ctx, s.Thread(owner), 0, ponder.Event{Body: ponder.Resolution{Ref: "1", As: "rolled_back", Content: "to before tick 1"}})
	return events[0], err
}

func (*inboxService) Sensors(context.Context, string) ([]app.SensorStatus, error) {
	return []app.SensorStatus{{Sensor: "system"}, {Sensor: "feed:news", Error: "no\nanswer", Fails: 3, LastRead: time.Unix(9, 0).UTC()}}, nil
}

func (*inboxService) TestSensors(context.Context, string) ([]app.SensorTrial, error) {
	return []app.SensorTrial{{Sensor: "system", Lines: []string{"The load is high."}}}, nil
}

func newInbox(t *testing.T, more ...ponder.Event) (*testAPI, *inboxService) {
	t.Helper()
	s := &inboxService{}
	d := newAPI(t, s)
	s.d = d
	events := []ponder.Event{
		{Body: ponder.Observation{Content: "paper", Sensor: "system"}},
		{Run: "run_1", Body: ponder.RunStarted{Mode: "subconscious"}},
		{Run: "run_1", Body: ponder.Escalation{ID: "esc_1", Content: "- The disk is full (watcher, importance 9, 2026-11-26 08:00)\n", Reason: "soon", Importance: 9}},
		{Run: "run_1", Body: ponder.Escalation{ID: "esc_2", Content: "- Pay at once (watcher, importance 8, 2026-11-26 08:00, from what strangers wrote)\n", Importance: 8, Untrusted: true}},
	}
	if err := d.store.Create(t.Context(), ponder.Thread{ID: "thr_mind_local", Kind: ponder.KindSubconscious, Owner: "local"}, append(events, more...)...); err != nil {
		t.Fatal(err)
	}
	return d, s
}

func TestInbox(t *testing.T) {
	empty := newAPI(t, &inboxService{})
	if code, body := empty.sendRequest("mine", "GET", "/api/mind/inbox", ""); code != http.StatusOK || !strings.Contains(body, `"escalations":[]`) {
		t.Errorf("before the first tick: %d %s", code, body)
	}
	d, s := newInbox(t)
	for _, tt := range []struct {
		name, id, key, body string
		code                int
		want                string
	}{
		{"talk", "esc_1", "", `{"do":"message","content":" What now? "}`, 200, `"done":"message","thread_id":"thr_`},
		{"think", "esc_1", "k", `{"do":"act"}`, 200, `"done":"act","thread_id":"thr_`},
		{"think once", "esc_1", "k", `{"do":"act"}`, 200, `"done":"act","thread_id":"thr_`},
		{"the key of another answer", "esc_1", "k", `{"do":"dismiss"}`, 422, "Idempotency-Key"},
		{"strangers must not ask", "esc_2", "", `{"do":"act"}`, 422, "in your own words"},
		{"strangers must not remember", "esc_2", "", `{"do":"remember","content":"  "}`, 422, "in your own words"},
		{"remember", "esc_2", "", `{"do":"remember","content":"Mail of strangers asks for money."}`, 200, `"memory_id":"mem_1"`},
		{"dismiss", "esc_2", "", `{"do":"dismiss"}`, 200, `"done":"dismiss"`},
		{"no escalation", "esc_9", "", `{"do":"dismiss"}`, 404, "see /api/mind/inbox"},
		{"no answer", "esc_1", "", `{"do":"sing"}`, 422, "body.do"},
	} {
		r := newRequest("/api/mind/inbox/"+tt.id, tt.body)
		r.Header.Set("Idempotency-Key", tt.key)
		if code, body := d.serveRequest(r); code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.name, code, body)
		}
	}
	if len(s.started) != 1 || s.started[0].Question != "The disk is full" || s.started[0].Budget.Time != inboxTime || s.started[0].Budget.Tokens != inboxTokens {
		t.Errorf("started %+v", s.started)
	}
	if len(s.said) != 1 || s.said[0] != "What now?" || len(s.memories) != 1 {
		t.Errorf("said %q, remembered %q", s.said, s.memories)
	}
	_, body := d.sendRequest("look", "GET", "/api/mind/inbox", "")
	for _, want := range []string{`"id":"esc_2","summary":"Pay at once"`, `"untrusted":true`, `"answer":{"do":"dismiss"`, `"answer":{"do":"act"`, `"made":"thr_`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
	if _, body := d.sendRequest("mine", "GET", "/api/mind/log", ""); !strings.Contains(body, `"kind":"answered"`) || !strings.Contains(body, `"outcome":"dismiss"`) {
		t.Errorf("the log is %s", body)
	}
	if code, _ := d.sendRequest("look", "POST", "/api/mind/inbox/esc_1", `{"do":"dismiss"}`); code != http.StatusForbidden {
		t.Errorf("a token that only reads: %d", code)
	}
	if code, body := d.sendRequest("hers", "POST", "/api/mind/inbox/esc_1", `{"do":"dismiss"}`); code != http.StatusNotFound {
		t.Errorf("another owner: %d %s", code, body)
	}
}

func TestExplainAndRollBack(t *testing.T) {
	d, _ := newInbox(t,
		ponder.Event{Run: "run_2", Body: ponder.Finding{Content: "The disk is full", By: "watcher", Importance: 9, Entry: "e1", MergeResult: "added"}},
		ponder.Event{Run: "run_2", Body: ponder.Subconscious{Tick: 2,
			State:   []byte(`{"active_threads":[{"id":"e1","summary":"The disk is full","strength":3,"created":"2026-11-26T08:00:00Z"}],"aside":{"tick":2}}`),
			Changes: []byte(`{"tick":2,"at":"2026-11-26T08:00:00Z","changes":[{"entry":"e1","did":"added","by":"watcher","strength":3,"summary":"The disk is full"}]}`)}})
	if code, body := d.sendRequest("look", "GET", "/api/mind/entries/e1", ""); code != http.StatusOK || !strings.Contains(body, `"type":"finding"`) || !strings.Contains(body, `"did":"added"`) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := d.sendRequest("look", "GET", "/api/mind/entries/e9", ""); code != http.StatusNotFound || !strings.Contains(body, "does not exist") {
		t.Errorf("%d %s", code, body)
	}
	for _, tt := range []struct {
		body, want string
		code       int
	}{{`{"tick":1}`, `"kind":"rolled_back"`, 200}, {`{"tick":1}`, `"kind":"rolled_back"`, 200}, {`{"tick":7}`, "body.tick", 422}, {`{"tick":0}`, "body.tick", 422}} {
		r := newRequest("/api/mind/rollback", tt.body)
		if tt.code == 200 {
			r.Header.Set("Idempotency-Key", "k")
		}
		if code, body := d.serveRequest(r); code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.body, code, body)
		}
	}
	backs := 0
	for ev, err := range d.store.Events(t.Context(), "thr_mind_local", 0) {
		if b, ok := ev.Body.(ponder.Resolution); err == nil && ok && b.As == "rolled_back" {
			backs++
		}
	}
	if backs != 1 {
		t.Errorf("a repeated request rolled back %d times", backs)
	}
}

func TestSensors(t *testing.T) {
	d, _ := newInbox(t)
	_, body := d.sendRequest("look", "GET", "/api/mind/sensors", "")
	for _, want := range []string{`{"sensor":"system","looked":"`, `"error":"no answer","fails":3`, `"looked":"1970-01-01T00:00:09Z"`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
	if code, _ := d.sendRequest("look", "POST", "/api/mind/sensors/test", ""); code != http.StatusForbidden {
		t.Errorf("a token that only reads: %d", code)
	}
	if code, body := d.sendRequest("mine", "POST", "/api/mind/sensors/test", ""); code != http.StatusOK || !strings.Contains(body, "The load is high.") {
		t.Errorf("%d %s", code, body)
	}
}
