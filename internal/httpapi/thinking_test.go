package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/mode/session"
)

type problemDoc struct {
	Title, Detail string
	Status        int
	Errors        []struct{ Message, Location string }
}

func (p problemDoc) hasLocation(location string) bool {
	for _, e := range p.Errors {
		if e.Location == location && e.Message != "" {
			return true
		}
	}
	return false
}

func TestStartIsChecked(t *testing.T) {
	h := newTestServer(t, slowModel())
	for _, tt := range []struct {
		name, body string
		status     int
		wrong      []string
	}{
		{"no body", "", 400, nil},
		{"no JSON", "{", 400, []string{"body"}},
		{"a list", "[]", 422, []string{"body"}},
		{"no question", "{}", 422, []string{"body"}},
		{"a short question", `{"question":"a?"}`, 422, []string{"body.question"}},
		{"spaces", `{"question":"     "}`, 422, []string{"body.question"}},
		{"a long question", `{"question":"` + strings.Repeat("é", 15_000) + `"}`, 422, []string{"body.question"}},
		{"an unknown field", `{"question":"Why is it?","durations":3}`, 422, []string{"body.durations"}},
		{"an unknown model", `{"question":"Why is it?","model_id":"none/none"}`, 422, []string{"body.model_id"}},
		{
			"all at once", `{"question":"a","duration_minutes":0.5,"max_tokens":0,"max_cost_usd":0,"max_calls":-1,"parallel":17,"synthesis_interval_seconds":0,"model_id":7,"more":1}`, 422,
			strings.Fields("body.question body.duration_minutes body.max_tokens body.max_cost_usd body.max_calls body.parallel body.synthesis_interval_seconds body.model_id body.more"),
		},
		{"too long", `{"question":"Why is it?","duration_minutes":1440.5}`, 422, []string{"body.duration_minutes"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var doc problemDoc
			code := h.postJSON("", "/api/thinking/start", tt.body, &doc)
			if code != tt.status || doc.Status != code || doc.Title == "" || doc.Detail == "" || doc.Detail == "validation failed" {
				t.Errorf("%d %+v", code, doc)
			}
			for _, where := range tt.wrong {
				if !doc.hasLocation(where) {
					t.Errorf("%s is not named in %+v", where, doc)
				}
			}
		})
	}
	if all, err := h.store.List(t.Context(), ponder.Filter{}); err != nil || len(all) > 0 {
		t.Errorf("%d threads (%v)", len(all), err)
	}
}

// The commands that each state of a session accepts.
func TestLifeOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		var out struct {
			Success bool
			Status  string
			Message string
			Session map[string]any
			ID      string `json:"session_id"`
		}
		if code := h.postJSON("", "/api/thinking/start", `{"question":"What is the sea?","duration_minutes":1.5,"max_calls":500,"max_tokens":900000,"max_cost_usd":2.5,"parallel":2,"synthesis_interval_seconds":20,"to_the_end":true}`, &out); code != 200 {
			t.Fatal(code)
		}
		if !out.Success || out.Status != "created" && out.Status != "thinking" || out.Message == "" || out.Session["thinking_duration_minutes"] != 1.5 || out.Session["original_question"] != "What is the sea?" {
			t.Errorf("began as %+v", out)
		}
		if b, ok := out.Session["budget"].(map[string]any); !ok || b["calls"] != 500.0 || b["tokens"] != 900000.0 || b["cost_usd"] != 2.5 || b["time_seconds"] != 90.0 {
			t.Errorf("budget %v", out.Session["budget"])
		}
		one := "/api/thinking/" + out.ID
		act := func(what string, want int) {
			t.Helper()
			var doc struct{ Status, Detail any }
			if code := h.postJSON("", one+"/"+what, "", &doc); code != want || want == http.StatusConflict && doc.Detail == "" {
				t.Errorf("%s: %d %v", what, code, doc)
			}
		}
		time.Sleep(20 * time.Second)
		if !h.started.Load().ToTheEnd {
			t.Error("to_the_end is not passed on")
		}
		h.getJSON(one, &out)
		if out.Session["status"] != "thinking" || out.Session["started_at"] == nil || out.Session["resumed_at"] != nil {
			t.Errorf("thinks as %v", out.Session)
		}
		act("resume", http.StatusConflict)
		act("pause", http.StatusOK)
		act("pause", http.StatusConflict)
		h.getJSON(one, &out)
		if out.Session["status"] != "paused" || out.Session["paused_at"] == nil {
			t.Errorf("paused as %v", out.Session)
		}
		time.Sleep(time.Hour)
		act("resume", http.StatusOK)
		time.Sleep(10 * time.Second)
		h.getJSON(one, &out)
		if out.Session["status"] != "thinking" || out.Session["paused_at"] == nil || out.Session["resumed_at"] == nil {
			t.Errorf("resumed as %v", out.Session["status"])
		}
		time.Sleep(5 * time.Minute)
		h.getJSON(one, &out)
		if p, ok := out.Session["progress"].(map[string]any); !ok || p["percentage"] != 100.0 || p["percentage_of"] == nil || p["time_percentage"] == nil {
			t.Errorf("progress %v", out.Session["progress"])
		}
		if out.Session["status"] != "completed" || out.Session["final_synthesis"] == "" {
			t.Errorf("ended as %v", out.Session)
		}
		for _, what := range []string{"pause", "resume", "cancel"} {
			act(what, http.StatusConflict)
		}
		if code := h.postJSON("", one+"/steer", `{"order":"answer_now"}`, nil); code != http.StatusConflict {
			t.Errorf("steer: %d", code)
		}
		if code, body := h.sendRequest("look", "DELETE", one, ""); code != http.StatusForbidden {
			t.Errorf("a read-only token erases: %d %s", code, body)
		}
		if code, _ := h.sendRequest("hers", "DELETE", one, ""); code != http.StatusNotFound {
			t.Errorf("another owner erases: %d", code)
		}
		if code, _ := h.sendRequest("mine", "DELETE", one, ""); code != http.StatusOK {
			t.Errorf("delete: %d", code)
		}
		for _, path := range []string{"", "/stream", "/questions", "/syntheses", "/stats", "/export"} {
			if code := h.getJSON(one+path, nil); code != http.StatusNotFound {
				t.Errorf("%s after the removal: %d", path, code)
			}
		}
	})
}

// Cancelled sessions have no answer, active or paused.
func TestCancelSession(t *testing.T) {
	for _, paused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newTestServer(t, slowModel())
			id := string(h.startSession(5))
			time.Sleep(12 * time.Second)
			if paused {
				h.postJSON("", "/api/thinking/"+id+"/pause", "", nil)
				synctest.Wait()
			}
			var out struct {
				Status  string
				Session struct {
					Final string `json:"final_synthesis"`
				}
			}
			if code := h.postJSON("", "/api/thinking/"+id+"/cancel", "", &out); code != 200 || out.Status != "cancelled" || out.Session.Final != "" {
				t.Errorf("paused %v: %d %+v", paused, code, out)
			}
		})
	}
}

// The view equals the events of the session.
func TestLookAtSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := h.startSession(5)
		time.Sleep(10 * time.Minute)
		v := session.NewView()
		for ev, err := range h.store.Events(t.Context(), id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			v = v.Apply(ev)
		}
		one := "/api/thinking/" + string(id)
		var thoughts struct {
			ID       string `json:"session_id"`
			Count    int    `json:"thought_count"`
			Thoughts []map[string]any
		}
		h.getJSON(one+"/stream", &thoughts)
		if thoughts.ID != string(id) || thoughts.Count != len(v.Thoughts) || len(thoughts.Thoughts) != len(v.Thoughts) || thoughts.Count < 10 {
			t.Fatalf("%d thoughts of %d", thoughts.Count, len(v.Thoughts))
		}
		for _, field := range strings.Fields("id session_id sequence_number thought_text thought_type confidence importance related_to_question_id time_offset_seconds created_at") {
			if _, ok := thoughts.Thoughts[0][field]; !ok {
				t.Errorf("a thought has no %s: %v", field, thoughts.Thoughts[0])
			}
		}
		h.getJSON(one+"/stream?limit=3", &thoughts)
		if thoughts.Count != 3 || thoughts.Thoughts[2]["id"] != v.Thoughts[len(v.Thoughts)-1].ID {
			t.Errorf("the last three are %v", thoughts)
		}
		count := func(query string) int {
			var out struct {
				Count     int `json:"question_count"`
				Questions []map[string]any
			}
			h.getJSON(one+"/questions"+query, &out)
			for _, q := range out.Questions {
				for _, field := range strings.Fields("id session_id question_text priority why explored insights_gained created_at") {
					if _, ok := q[field]; !ok {
						t.Fatalf("a question has no %s: %v", field, q)
					}
				}
			}
			return out.Count
		}
		if a, b, c := count(""), count("?explored_only=true"), count("?unexplored_only=true"); a != len(v.Questions) || b == 0 || b+c != a {
			t.Errorf("%d questions, %d explored, %d not", a, b, c)
		}
		var syntheses struct {
			Count     int `json:"synthesis_count"`
			Syntheses []map[string]any
		}
		h.getJSON(one+"/syntheses", &syntheses)
		if syntheses.Count != len(v.Syntheses) || syntheses.Count == 0 {
			t.Fatalf("%d syntheses of %d", syntheses.Count, len(v.Syntheses))
		}
		for _, field := range strings.Fields("id session_id sequence_number synthesis_text key_insights confidence_level remaining_questions time_offset_seconds created_at") {
			if value, ok := syntheses.Syntheses[0][field]; !ok || value == nil {
				t.Errorf("a synthesis has no %s: %v", field, syntheses.Syntheses[0])
			}
		}
		checkStats(t, h, one, v)
	})
}

func checkStats(t *testing.T, h *testServer, one string, v session.View) {
	t.Helper()
	var out struct{ Stats Stats }
	h.getJSON(one+"/stats", &out)
	s := out.Stats
	if s.Thoughts != len(v.Thoughts) || s.Calls != v.Session.Usage.Calls || s.Tokens != v.Session.Usage.Total || s.USD != v.Session.Usage.USD || s.Explored+s.Open+s.Dropped != len(v.Questions) {
		t.Errorf("stats %+v of %+v", s, v.Session)
	}
	n := 0
	for _, many := range s.ByType {
		n += many
	}
	if n != s.Thoughts || s.Confidence.Min == nil || *s.Confidence.Min > *s.Confidence.Mean || *s.Confidence.Mean > *s.Confidence.Max || len(s.Evolution) != len(v.Syntheses) {
		t.Errorf("stats %+v", s)
	}
}

// A keyed request runs once with equal answers, also concurrently.
func TestSameKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		const body = `{"question":"What is the sea?","duration_minutes":5}`
		ids := make([]string, 20)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				var out struct {
					ID string `json:"session_id"`
				}
				if code := h.postJSON("key one", "/api/thinking/start", body, &out); code != 200 {
					t.Errorf("%d", code)
				}
				ids[i] = out.ID
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] || id == "" {
				t.Fatalf("sessions %v", ids)
			}
		}
		var doc problemDoc
		if code := h.postJSON("key one", "/api/thinking/start", `{"question":"What is the land?","duration_minutes":5}`, &doc); code != 422 || !doc.hasLocation("header.Idempotency-Key") {
			t.Errorf("another body: %d %+v", code, doc)
		}
		r := newRequest("/api/thinking/start", body)
		r.Header.Set("Idempotency-Key", "key one")
		r.Header.Set("Authorization", "Bearer hers")
		var hers struct {
			ID string `json:"session_id"`
		}
		if code := h.decodeReply(r, &hers); code != 200 || hers.ID == ids[0] {
			t.Errorf("another owner: %d %s", code, hers.ID)
		}
		time.Sleep(10 * time.Second)
		one := "/api/thinking/" + ids[0]
		for i := range 3 { // repeated requests
			for _, what := range []string{"pause", "resume"} {
				if code := h.postJSON("key two", one+"/"+what, "", nil); code != 200 {
					t.Errorf("%s, time %d: %d", what, i, code)
				}
			}
		}
		if n := h.countEvents(ids[0], ponder.RunPaused{}) + h.countEvents(ids[0], ponder.RunResumed{}); n != 2 {
			t.Errorf("%d pauses and resumptions", n)
		}
		for _, route := range []string{"fork", "steer"} {
			bodies := map[string][2]string{
				"fork":  {`{"paused":true,"wishes":[{"order":"correct","content":"It is salt."}]}`, `{"paused":true}`},
				"steer": {`{"order":"correct","content":"It is salt."}`, `{"order":"correct","content":"It is sweet."}`},
			}
			got := make([]string, 20)
			for i := range got {
				all.Go(func() {
					var out struct {
						ID       string                `json:"session_id"`
						Commands []struct{ ID string } `json:"wishes"`
					}
					if code := h.postJSON("key three", one+"/"+route, bodies[route][0], &out); code != 200 || len(out.Commands) != 1 {
						t.Errorf("%s: %d %+v", route, code, out)
						return
					}
					got[i] = out.ID + out.Commands[0].ID
				})
			}
			all.Wait()
			for _, g := range got {
				if g != got[0] {
					t.Fatalf("%s: %v", route, got)
				}
			}
			if code := h.postJSON("key three", one+"/"+route, bodies[route][1], nil); code != 422 {
				t.Errorf("%s with another body: %d", route, code)
			}
		}
	})
}

func (h *testServer) countEvents(id string, like ponder.Body) (n int) {
	for ev, err := range h.store.Events(h.t.Context(), ponder.ThreadID(id), 0) {
		if err != nil {
			h.t.Fatal(err)
		}
		if ev.Body.Type() == like.Type() {
			n++
		}
	}
	return n
}

func TestSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		one := "/api/thinking/" + string(h.startSession(10))
		time.Sleep(time.Minute)
		type steerAnswer struct {
			Success bool
			Message string
			Results []map[string]any `json:"wishes"`
			Session struct {
				Budget map[string]any
			}
		}
		for _, resting := range []bool{false, true} {
			if resting {
				h.postJSON("", one+"/pause", "", nil)
				synctest.Wait()
			}
			var out steerAnswer
			body := `{"wishes":[{"order":"add_question","content":"What does it cost?","priority":9},{"order":"correct","content":"It is ` + strconv.FormatBool(resting) + `."},` +
				`{"order":"rank","question":"What does it cost?","priority":10},{"order":"budget","duration_minutes":20,"max_calls":900}]}`
			if !resting { // the question does not exist yet
				body = strings.Replace(body, `{"order":"rank","question":"What does it cost?","priority":10},`, "", 1)
			}
			if code := h.postJSON("", one+"/steer", body, &out); code != 200 || !out.Success || len(out.Results) < 3 || out.Session.Budget["calls"] != 900.0 {
				t.Fatalf("%d %+v", code, out)
			}
			for _, w := range out.Results {
				if w["outcome"] != "done" || w["effect"] == "" || w["effective_seq"] == nil {
					t.Errorf("resting %v: %v", resting, w)
				}
			}
		}
		var out steerAnswer
		if code := h.postJSON("", one+"/steer", `{"order":"ban","source":"/nowhere"}`, &out); code != 200 || len(out.Results) != 1 {
			t.Errorf("%d %+v", code, out)
		}
		for body, wrong := range map[string]string{
			`{}`:                       "body.order",
			`{"order":"jump"}`:         "body.order",
			`{"order":"add_question"}`: "body.content",
			`{"order":"drop_question","question":"q999"}`:                                     "body.question",
			`{"order":"rank","question":"q1"}`:                                                "body.priority",
			`{"order":"correct","content":"x","priority":3}`:                                  "body.priority",
			`{"order":"budget"}`:                                                              "body.order",
			`{"order":"budget","duration_minutes":0}`:                                         "body.duration_minutes",
			`{"wishes":[{"order":"answer_now"},{"order":"pin"}]}`:                             "body.wishes[1].source",
			`{"order":"answer_now","surprise":true}`:                                          "body.surprise",
			`{"wishes":[{"order":"add_question","content":"Why so?","priority":11,"a":"b"}]}`: "body.wishes[0].priority",
		} {
			var doc problemDoc
			if code := h.postJSON("", one+"/steer", body, &doc); code != 422 || !doc.hasLocation(wrong) {
				t.Errorf("%s: %d %+v", body, code, doc)
			}
		}
	})
}

func TestFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := string(h.startSession(10))
		time.Sleep(time.Minute)
		var out struct {
			Success bool
			ID      string `json:"session_id"`
			Status  string
			Results []map[string]any `json:"wishes"`
			Session struct{ Title string }
		}
		code := h.postJSON("", "/api/thinking/"+id+"/fork", `{"at":9,"title":"Otherwise","paused":true,"wishes":[{"order":"correct","content":"It is sweet."}]}`, &out)
		if code != 200 || !out.Success || out.ID == id || out.Status != "paused" || out.Session.Title != "Otherwise" || len(out.Results) != 1 || out.Results[0]["outcome"] != "done" {
			t.Errorf("%d %+v", code, out)
		}
		var doc problemDoc
		if code := h.postJSON("", "/api/thinking/"+id+"/fork", `{"at":100000}`, &doc); code != 422 || !doc.hasLocation("body.at") {
			t.Errorf("%d %+v", code, doc)
		}
		if code := h.postJSON("", "/api/thinking/"+id+"/fork", "", nil); code != 200 {
			t.Errorf("without a body: %d", code)
		}
	})
}

func TestListSessions(t *testing.T) {
	d := newAPI(t, nil)
	for i := range 25 {
		d.createSession(t, ponder.ThreadID("thr_"+strconv.Itoa(100+i)), []string{"local", "anna"}[i%2])
	}
	var seen []string
	path := "/api/thinking?limit=5"
	for range 10 {
		var out struct {
			Count    int `json:"session_count"`
			Sessions []struct{ ID string }
			Next     string `json:"next_cursor"`
		}
		code, body := d.sendRequest("mine", "GET", path, "")
		if err := json.Unmarshal([]byte(body), &out); err != nil || code != 200 || out.Count != len(out.Sessions) {
			t.Fatalf("%d %s", code, body)
		}
		for _, s := range out.Sessions {
			seen = append(seen, s.ID)
		}
		if out.Next == "" {
			break
		}
		path = "/api/thinking/?limit=5&cursor=" + out.Next
	}
	if len(seen) != 13 || seen[0] != "thr_124" || seen[12] != "thr_100" {
		t.Errorf("pages of %v", seen)
	}
	for query, status := range map[string]int{"limit=0": 422, "limit=x": 422, "status=odd": 422, "cursor=!": 422, "status=paused": 200, "status=completed&limit=1": 200} {
		if code, body := d.sendRequest("mine", "GET", "/api/thinking/?"+query, ""); code != status {
			t.Errorf("%s: %d %s", query, code, body)
		}
	}
}
