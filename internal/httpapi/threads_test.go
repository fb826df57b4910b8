package httpapi

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/llm/llmtest"
)

func (h *testServer) openThread(title string) string {
	h.t.Helper()
	var out struct {
		ID string `json:"thread_id"`
	}
	if code := h.postJSON("", "/api/threads", `{"title":"`+title+`"}`, &out); code != http.StatusCreated || out.ID == "" {
		h.t.Fatalf("open: %d", code)
	}
	return out.ID
}

type postedDoc struct {
	Success bool
	Message struct {
		ID      string `json:"event_id"`
		Content string
		Seq     int
	}
	Turn Turn
}

func TestMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, textModel("It is salt."))
		path := "/api/threads/" + h.openThread("Of the sea") + "/messages"
		var out postedDoc
		if code := h.postJSON("", path, `{"content":"What is the sea?"}`, &out); code != http.StatusAccepted || out.Message.Content != "What is the sea?" || out.Turn.Status != answering {
			t.Errorf("%d %+v", code, out)
		}
		time.Sleep(time.Minute)
		for range 3 {
			if code := h.postJSON("k", path+"?wait=1m", `{"content":"And why?"}`, &out); code != http.StatusOK || !out.Success || out.Turn.Status != answered || out.Turn.Answer != "It is salt." || out.Turn.Message != out.Message.ID {
				t.Errorf("%d %+v", code, out)
			}
		}
		if code := h.postJSON("k", path, `{"content":"And how?"}`, nil); code != 422 {
			t.Errorf("other words: %d", code)
		}
		if code := h.postJSON("", path+"?wait=1s", `{"content":"And when?"}`, &out); code != http.StatusAccepted || out.Turn.Status != answering {
			t.Errorf("%d %+v", code, out)
		}
		for body, wrong := range map[string]string{
			`{}`:                           "body.content",
			`{"content":"  "}`:             "body.content",
			`{"content":"a","contents":1}`: "body.contents",
			`{"media":[{"type":"image/png","url":"file:///etc/passwd"}]}`:                      "body.media[0].url",
			`{"media":[{"type":"image/png","url":"http://127.0.0.1:8744/sim"}]}`:               "body.media[0].url",
			`{"media":[{"type":"image/png","url":"https://169.254.169.254/latest"}]}`:          "body.media[0].url",
			`{"media":[{"type":"image/png","url":"http://2130706433/"}]}`:                      "body.media[0].url",
			`{"media":[{"type":"image/png","url":"https://[::ffff:10.0.0.1]/a.png"}]}`:         "body.media[0].url",
			`{"media":[{"type":"image/png","url":"https://metadata.google.internal./a.png"}]}`: "body.media[0].url",
			`{"media":[{"type":"png","url":"https://a.test/a.png"}]}`:                          "body.media[0].type",
			`{"media":[{"type":"image/png"}]}`:                                                 "body.media[0]",
		} {
			var doc problemDoc
			if code := h.postJSON("", path, body, &doc); code != 422 || !doc.hasLocation(wrong) {
				t.Errorf("%s: %d %+v", body, code, doc)
			}
		}
		var doc problemDoc
		if code := h.postJSON("", path+"?wait=3h", `{"content":"a"}`, &doc); code != 422 || !doc.hasLocation("query.wait") {
			t.Errorf("%d %+v", code, doc)
		}
		session := h.startSession(1)
		if code := h.postJSON("", "/api/threads/"+string(session)+"/messages", `{"content":"a"}`, nil); code != http.StatusConflict {
			t.Errorf("a message to a session: %d", code)
		}
	})
}

// A repeated message keeps its answer, even if a new message would be refused.
func TestMessageAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, textModel("It is salt."))
		path := "/api/threads/" + h.openThread("Of the sea") + "/messages"
		var first, again postedDoc
		if code := h.postJSON("k", path+"?wait=1m", `{"content":"What is the sea?"}`, &first); code != http.StatusOK {
			t.Errorf("%d %+v", code, first)
		}
		h.deny = app.Errorf(app.OverBudget, "", "that is enough for today")
		if code := h.postJSON("k", path+"?wait=1m", `{"content":"What is the sea?"}`, &again); code != http.StatusOK || !reflect.DeepEqual(again, first) {
			t.Errorf("%d %+v, want %+v", code, again, first)
		}
		if code := h.postJSON("k", path, `{"content":"And why?"}`, nil); code != 422 {
			t.Errorf("other words: %d", code)
		}
		if code := h.postJSON("l", path, `{"content":"And why?"}`, nil); code != http.StatusPaymentRequired {
			t.Errorf("another message: %d", code)
		}
	})
}

func TestTurnFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, &llmtest.Model{Failures: 1000, Failure: &llm.Error{Class: llm.Auth, Model: "test/model", Message: "the key is wrong"}})
		var out postedDoc
		code := h.postJSON("", "/api/threads/"+h.openThread("a")+"/messages?wait=5m", `{"content":"What is the sea?"}`, &out)
		if code != http.StatusOK || out.Success || out.Turn.Status != failed || out.Turn.Error == "" {
			t.Errorf("%d %+v", code, out)
		}
	})
}

func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := textModel("It is salt.")
		m.Latency = llmtest.Delay{Mean: time.Hour}
		h := newTestServer(t, m)
		id := h.openThread("a")
		if code := h.postJSON("", "/api/threads/"+id+"/stop", "", nil); code != http.StatusConflict {
			t.Errorf("no work: %d", code)
		}
		h.postJSON("", "/api/threads/"+id+"/messages", `{"content":"What is the sea?"}`, nil)
		for range 2 {
			if code := h.postJSON("k", "/api/threads/"+id+"/stop", `{"seen":"It is"}`, nil); code != http.StatusOK {
				t.Errorf("stop: %d", code)
			}
		}
		info, err := h.store.Thread(t.Context(), ponder.ThreadID(id))
		if err != nil || info.Open != 0 {
			t.Errorf("%+v (%v)", info, err)
		}
		var out struct {
			Events []struct{ Type, Content string }
		}
		h.getJSON("/api/threads/"+id+"/events", &out)
		if js, err := json.Marshal(out); err != nil || !strings.Contains(string(js), `"Content":"It is"`) {
			t.Errorf("%s (%v)", js, err)
		}
	})
}

func TestThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		ids := []string{h.openThread("one"), string(h.startSession(1)), h.openThread("two")}
		var list struct {
			Count   int `json:"thread_count"`
			Threads []struct {
				ID   string `json:"thread_id"`
				Kind string
			}
		}
		h.getJSON("/api/threads", &list)
		if list.Count != 3 {
			t.Errorf("%+v", list)
		}
		h.getJSON("/api/threads/?kind=conversation", &list)
		if list.Count != 2 || list.Threads[0].Kind != "conversation" {
			t.Errorf("%+v", list)
		}
		var one struct {
			Thread map[string]any
		}
		if code := h.getJSON("/api/threads/"+ids[0], &one); code != 200 || one.Thread["title"] != "one" || one.Thread["kind"] != "conversation" || one.Thread["thread_id"] != ids[0] {
			t.Errorf("%d %v", code, one)
		}
		if code, _ := h.sendRequest("mine", "DELETE", "/api/threads/"+ids[0], ""); code != 200 {
			t.Errorf("delete: %d", code)
		}
		if code := h.getJSON("/api/threads/"+ids[0], nil); code != 404 {
			t.Errorf("after the removal: %d", code)
		}
		if code, body := h.sendRequest("mine", "GET", "/api/threads/"+ids[1]+"/export", ""); code != 200 || !strings.HasPrefix(body, `{"thread_id":"`+ids[1]) {
			t.Errorf("export: %d %.200s", code, body)
		}
		for range 2 {
			var again struct {
				ID string `json:"thread_id"`
			}
			if code := h.postJSON("key", "/api/threads", `{"title":"three"}`, &again); code != http.StatusCreated || again.ID == ids[2] {
				t.Errorf("%d %+v", code, again)
			}
		}
		if code := h.postJSON("key", "/api/threads", `{"title":"four"}`, nil); code != 422 {
			t.Errorf("another title: %d", code)
		}
	})
}

// The pages of events contain all public events.
func TestEventPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		id := h.startSession(2)
		time.Sleep(5 * time.Minute)
		var got []frame
		path := "/api/threads/" + string(id) + "/events?limit=7"
		for next := path; next != ""; {
			var page struct {
				Count  int `json:"event_count"`
				Events []json.RawMessage
				Next   string `json:"next_cursor"`
			}
			h.getJSON(next, &page)
			if page.Count != len(page.Events) || page.Count > 7 {
				t.Fatalf("a page of %d", page.Count)
			}
			for _, js := range page.Events {
				var ev ponder.Event
				if err := json.Unmarshal(js, &ev); err != nil {
					t.Fatal(err)
				}
				got = append(got, frame{id: ev.Seq, data: string(js)})
			}
			if next = ""; page.Next != "" {
				next = path + "&cursor=" + page.Next
			}
		}
		sameFrames(t, "pages", got, h.visibleFrames(id))
	})
}
