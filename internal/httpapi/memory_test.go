package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/app"

	"ponder"
)

// A library stores memories by owner.
type library struct {
	Service
	owners map[string][]Memory
}

func (l *library) Remember(_ context.Context, owner string, list ...Memory) (kept []Memory, err error) {
	for _, m := range list {
		if m.Title == "bad" {
			return nil, app.Invalidf("title", "no such title")
		}
		i := slices.IndexFunc(l.owners[owner], func(o Memory) bool { return o.Text == m.Text })
		if i < 0 {
			m.ID = fmt.Sprintf("mem_%s_%d", owner, len(l.owners[owner]))
			l.owners[owner] = append(l.owners[owner], m)
			i = len(l.owners[owner]) - 1
		}
		kept = append(kept, l.owners[owner][i])
	}
	return kept, nil
}

func (l *library) Memories(_ context.Context, owner string, q Query, after string) (list []Memory, err error) {
	all := slices.Clone(l.owners[owner])
	slices.Reverse(all)
	if after != "" {
		i := slices.IndexFunc(all, func(m Memory) bool { return m.ID == after })
		all = all[i+1:]
	}
	for _, m := range all {
		if (len(q.Kinds) == 0 || slices.Contains(q.Kinds, m.Kind)) && len(list) < q.Limit {
			list = append(list, m)
		}
	}
	return list, nil
}

func (l *library) Search(_ context.Context, owner string, q Query) (list []Hit, err error) {
	for _, m := range l.owners[owner] {
		if strings.Contains(m.Text, q.Text) && len(list) < q.Limit {
			list = append(list, Hit{Memory: m, Quote: m.Text, Score: 1})
		}
	}
	return list, nil
}

func (l *library) Remembered(_ context.Context, owner string, ids ...string) (list []Memory, err error) {
	for _, m := range l.owners[owner] {
		if slices.Contains(ids, m.ID) {
			list = append(list, m)
		}
	}
	return list, nil
}

func (l *library) Forget(_ context.Context, owner, id string) error {
	n := len(l.owners[owner])
	l.owners[owner] = slices.DeleteFunc(l.owners[owner], func(m Memory) bool { return m.ID == id })
	if len(l.owners[owner]) == n {
		return app.NotFoundf("", "nothing has the id")
	}
	return nil
}

type memoryAnswer struct {
	Success  bool
	Count    int      `json:"memory_count"`
	Hits     int      `json:"hit_count"`
	Memories []Memory `json:"memories"`
	Next     string   `json:"next_cursor"`
}

func (d *testAPI) requestMemories(t *testing.T, code int, token, method, path, body string) (a memoryAnswer, text string) {
	t.Helper()
	got, text := d.sendRequest(token, method, path, body)
	if got != code {
		t.Fatalf("%s %s: %d %s", method, path, got, text)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a, text
}

func TestMemory(t *testing.T) {
	l := &library{owners: make(map[string][]Memory)}
	d := newAPI(t, l)
	one, _ := d.requestMemories(t, 201, "mine", "POST", "/api/memory", `{"text":"Anna prefers tea","kind":"memory","created_at":"2024-03-01T00:00:00Z"}`)
	if !one.Success || one.Count != 1 || one.Memories[0].ID == "" || one.Memories[0].Created.Year() != 2024 {
		t.Fatalf("remembered %+v", one)
	}
	many, _ := d.requestMemories(t, 201, "mine", "POST", "/api/memory", `[{"text":"Ben prefers coffee"},{"text":"Anna prefers tea"},{"text":"a post about tea","kind":"post"}]`)
	if many.Count != 3 || many.Memories[1].ID != one.Memories[0].ID {
		t.Errorf("remembered %+v", many)
	}
	d.requestMemories(t, 201, "hers", "POST", "/api/memory", `{"text":"a secret of Anna about tea"}`)

	const post = `{"text":"a tweet","kind":"post","source":"twitter","external_id":"7","url":"https://twitter.example/7"}`
	if _, text := d.requestMemories(t, 201, "hers", "POST", "/api/memory", post); !strings.Contains(text, `"source":"twitter","external_id":"7","url":"https://twitter.example/7"`) {
		t.Errorf("remembered %s", text)
	}

	var seen []string
	cursor := ""
	for range 5 {
		page, _ := d.requestMemories(t, 200, "look", "GET", "/api/memory?limit=2&cursor="+cursor, "")
		for _, m := range page.Memories {
			seen = append(seen, m.Text)
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if want := "a post about tea, Ben prefers coffee, Anna prefers tea"; strings.Join(seen, ", ") != want {
		t.Errorf("listed %q", seen)
	}
	if posts, _ := d.requestMemories(t, 200, "mine", "GET", "/api/memory?kind=post", ""); posts.Count != 1 {
		t.Errorf("posts %+v", posts)
	}
	found, text := d.requestMemories(t, 200, "mine", "GET", "/api/memory/search?q=tea&limit=5", "")
	if found.Hits != 2 || strings.Contains(text, "secret") {
		t.Errorf("found %s", text)
	}
	if code, body := d.sendRequest("hers", "DELETE", "/api/memory/"+one.Memories[0].ID, ""); code != http.StatusNotFound {
		t.Errorf("another owner: %d %s", code, body)
	}
	d.requestMemories(t, 200, "mine", "DELETE", "/api/memory/"+one.Memories[0].ID, "")
	if found, _ := d.requestMemories(t, 200, "mine", "GET", "/api/memory/search?q=tea", ""); found.Hits != 1 {
		t.Errorf("found %+v", found)
	}
}

func TestMemoryProblems(t *testing.T) {
	d := newAPI(t, &library{owners: make(map[string][]Memory)})
	for _, tt := range []struct {
		name, token, method, path, body string
		code                            int
		says                            []string
	}{
		{"no JSON", "mine", "POST", "/api/memory", `{`, 400, nil},
		{"null", "mine", "POST", "/api/memory", `null`, 422, nil},
		{"an empty list", "mine", "POST", "/api/memory", `[]`, 422, []string{"1 to 1000"}},
		{"no text", "mine", "POST", "/api/memory", `{}`, 422, []string{"text"}},
		{"spaces", "mine", "POST", "/api/memory", `{"text":" "}`, 422, []string{"text"}},
		{"all of a list", "mine", "POST", "/api/memory", `[{"text":"a","kind":"song"},{"txt":"a"},5]`, 422, []string{"body[0].kind", "body[1]", "txt", "body[2]"}},
		{"refused", "mine", "POST", "/api/memory", `{"text":"a","title":"bad"}`, 422, []string{"body.title"}},
		{"may only look", "look", "POST", "/api/memory", `{"text":"a"}`, 403, nil},
		{"no query", "mine", "GET", "/api/memory/search", ``, 422, []string{"query.q"}},
		{"too many", "mine", "GET", "/api/memory/search?q=a&limit=1000", ``, 422, []string{"query.limit"}},
		{"a bad cursor", "mine", "GET", "/api/memory?cursor=%2B%2B", ``, 422, []string{"query.cursor"}},
		{"a bad kind", "mine", "GET", "/api/memory?kind=song", ``, 422, []string{"query.kind"}},
		{"nothing to forget", "mine", "DELETE", "/api/memory/mem_9", ``, 404, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, body := d.sendRequest(tt.token, tt.method, tt.path, tt.body)
			var doc struct{ Detail string }
			if err := json.Unmarshal([]byte(body), &doc); err != nil || code != tt.code || doc.Detail == "" {
				t.Fatalf("%d %s (%v)", code, body, err)
			}
			for _, word := range tt.says {
				if !strings.Contains(body, word) {
					t.Errorf("no %q in %s", word, body)
				}
			}
		})
	}
}

func TestMemoryKey(t *testing.T) {
	d := newAPI(t, &library{owners: make(map[string][]Memory)})
	for _, tt := range []struct {
		body string
		code int
	}{{`{"text":"a"}`, 201}, {`{"text":"a"}`, 201}, {`{"text":"b"}`, 422}} {
		r := newRequest("/api/memory", tt.body)
		r.Header.Set("Idempotency-Key", "k")
		if code, body := d.serveRequest(r); code != tt.code {
			t.Errorf("%s: %d %s", tt.body, code, body)
		}
	}
}

func FuzzMemory(f *testing.F) {
	for _, body := range []string{`{"text":"a"}`, `[{"text":"a"}]`, `[[]]`, `{"text":"a","created_at":"x"}`, `[null]`, "\xff", `"a"`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		in := &rememberInput{}
		err := json.Unmarshal([]byte(body), &in.Body)
		if errs := in.Resolve(nil); err == nil && len(errs) == 0 && len(in.Body.list) == 0 {
			t.Errorf("%q is taken, and nothing is in it", body)
		}
	})
}

type mindService struct {
	Service
	ticks int
}

const wiseMind = `{"active_threads":[{"id":"e1","summary":"The printer is out of paper.","strength":5,"created":"2026-01-01T00:00:00Z","last_seen":"2026-01-01T00:00:00Z"}],` +
	`"patterns":[],"hunches":[],"insights":[],"escalation_history":[],"thread_state":{}}`

func (*mindService) Thread(owner string) ponder.ThreadID { return ponder.ThreadID("thr_mind_" + owner) }

func (*mindService) Mind(context.Context, string) (json.RawMessage, error) {
	return json.RawMessage(wiseMind), nil
}

func (w *mindService) Tick(context.Context, string) (json.RawMessage, error) {
	w.ticks++
	return json.RawMessage(fmt.Sprintf(`{"tick":%d}`, w.ticks)), nil
}

func TestMind(t *testing.T) {
	w := &mindService{}
	d := newAPI(t, w)
	if code, body := d.sendRequest("look", "GET", "/api/mind", ""); code != http.StatusOK || strings.TrimSpace(body) != wiseMind {
		t.Errorf("%d %s", code, body)
	}
	for range 2 {
		r := newRequest("/api/mind/tick", "")
		r.Header.Set("Idempotency-Key", "k")
		if code, body := d.serveRequest(r); code != http.StatusOK || !strings.Contains(body, `"report":{"tick":1}`) {
			t.Errorf("%d %s", code, body)
		}
	}
	if code, _ := d.sendRequest("look", "POST", "/api/mind/tick", ""); code != http.StatusForbidden || w.ticks != 1 {
		t.Errorf("%d, %d ticks", code, w.ticks)
	}
	for _, path := range []string{"/api/mind/events", "/api/mind/resolve"} {
		method, body := "GET", ""
		if strings.HasSuffix(path, "resolve") {
			method, body = "POST", `{"entry":"e1"}`
		}
		if code, text := d.sendRequest("mine", method, path, body); code != http.StatusNotFound || !strings.Contains(text, "no events yet") {
			t.Errorf("%s before the first tick: %d %s", path, code, text)
		}
	}
	makeMind(t, d)
	if code, body := d.sendRequest("mine", "GET", "/api/mind/events?after=1", ""); code != http.StatusOK || strings.Contains(body, canary) || strings.Count(body, `"seq"`) != 2 {
		t.Errorf("%d %s", code, body)
	}
	if code, body := d.sendRequest("mine", "GET", "/api/mind/log", ""); code != http.StatusOK || strings.Contains(body, canary) || !strings.Contains(body, `"kind":"tick"`) || !strings.Contains(body, `"report":{"tick":1}`) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := d.sendRequest("hers", "GET", "/api/mind/events", ""); code != http.StatusNotFound {
		t.Errorf("another owner: %d %s", code, body)
	}
}

func makeMind(t *testing.T, d *testAPI) {
	t.Helper()
	err := d.store.Create(t.Context(), ponder.Thread{ID: "thr_mind_local", Kind: ponder.KindSubconscious, Owner: "local"},
		ponder.Event{Body: ponder.Observation{Content: "paper", Sensor: "system"}},
		ponder.Event{Internal: true, Body: ponder.Observation{Content: canary, Sensor: "system"}},
		ponder.Event{Run: "run_1", Body: ponder.RunStarted{Mode: "subconscious"}},
		ponder.Event{Run: "run_1", Body: ponder.Subconscious{Tick: 1, Changes: json.RawMessage(`{"tick":1}`)}},
	)
	if err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	d := newAPI(t, &mindService{})
	makeMind(t, d)
	for _, tt := range []struct {
		name, path, key, body string
		code                  int
		want                  ponder.Resolution
	}{
		{"an entry", "resolve", "", `{"entry":"e1"}`, 200, ponder.Resolution{Content: "The printer is out of paper.", Ref: "e1"}},
		{"its words", "resolve", "", `{"text":"the printer is out of  paper."}`, 200, ponder.Resolution{Content: "The printer is out of paper.", Ref: "e1"}},
		{"a topic", "resolve", "k", `{"text":"the\u001b invoice"}`, 200, ponder.Resolution{Content: "the invoice"}},
		{"once", "resolve", "k", `{"text":"the invoice"}`, 200, ponder.Resolution{}},
		{"with a key of another", "resolve", "k", `{"text":"the other"}`, 422, ponder.Resolution{}},
		{"both", "resolve", "", `{"entry":"e1","text":"the invoice"}`, 422, ponder.Resolution{}},
		{"neither", "resolve", "", `{}`, 422, ponder.Resolution{}},
		{"a letter", "resolve", "", `{"text":" a "}`, 422, ponder.Resolution{}},
		{"no entry", "resolve", "", `{"entry":"e9"}`, 404, ponder.Resolution{}},
		{"forget", "forget", "", `{"entry":"e1"}`, 200, ponder.Resolution{Content: "The printer is out of paper.", Ref: "e1", As: "forgotten"}},
		{"forget nothing", "forget", "", `{"entry":"e9"}`, 404, ponder.Resolution{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := lastEvent(t, d)
			r := newRequest("/api/mind/"+tt.path, tt.body)
			r.Header.Set("Idempotency-Key", tt.key)
			if code, body := d.serveRequest(r); code != tt.code {
				t.Fatalf("%d %s", code, body)
			}
			after := lastEvent(t, d)
			if tt.want.Content == "" {
				if after.Seq != before.Seq {
					t.Errorf("request %+v", after.Body)
				}
				return
			}
			if b, ok := after.Body.(ponder.Resolution); !ok || b.Content != tt.want.Content || b.Ref != tt.want.Ref || b.As != tt.want.As {
				t.Errorf("request %+v", after.Body)
			}
		})
	}
}

func lastEvent(t *testing.T, d *testAPI) (ev ponder.Event) {
	t.Helper()
	for e, err := range d.store.Events(t.Context(), "thr_mind_local", 0) {
		if err != nil {
			t.Fatal(err)
		}
		ev = e
	}
	return ev
}

// The stream resumes after the last event.
func TestMindStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newAPI(t, &mindService{})
		makeMind(t, d)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, "GET", "http://127.0.0.1/api/mind/events", nil)
		r.Header.Set("Authorization", "Bearer look")
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Last-Event-ID", "1")
		go func() {
			time.Sleep(100 * time.Millisecond)
			if _, err := d.store.Append(ctx, "thr_mind_local", 0, ponder.Event{Body: ponder.Observation{Content: "toner", Sensor: "system"}}); err != nil {
				t.Error(err)
			}
		}()
		code, body := d.serveRequest(r)
		if code != http.StatusOK || strings.Contains(body, "id: 1\n") || !strings.Contains(body, "id: 4\n") || !strings.Contains(body, "toner") || strings.Contains(body, canary) {
			t.Errorf("%d %s", code, body)
		}
	})
}

type failingTick struct{ Service }

func (failingTick) Tick(context.Context, string) (json.RawMessage, error) {
	return json.RawMessage(`{"ran":true,"failed_roles":{"watcher":"it breaks off"},"all_failed":true}`), nil
}

// A tick without a successful role fails.
func TestTickFails(t *testing.T) {
	code, body := newAPI(t, failingTick{}).sendRequest("mine", http.MethodPost, "/api/mind/tick", "")
	if code != http.StatusOK || !strings.Contains(body, `"success":false`) || !strings.Contains(body, "it breaks off") {
		t.Errorf("%d %s", code, body)
	}
}
