package httpapi

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A higher cost limit needs a quota before it is sent; a limit within the current one does not.
func TestSteerCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		one := "/api/thinking/" + string(h.startSession(10)) + "/steer"
		time.Sleep(time.Minute)
		var out struct {
			Session struct {
				Budget map[string]any
			}
		}
		for _, test := range []struct {
			limit float64
			code  int
			want  float64
		}{{3, 200, 3}, {4.5, 402, 3}, {2.5, 200, 2.5}, {2.75, 200, 2.75}, {5, 402, 2.75}} {
			if code := h.postJSON("", one, `{"wishes":[{"order":"correct","content":"It is wide."},{"order":"budget","max_cost_usd":`+strconv.FormatFloat(test.limit, 'f', -1, 64)+`}]}`, &out); code != test.code {
				t.Errorf("%v: %d", test.limit, code)
			}
			if out.Session.Budget["cost_usd"] != test.want {
				t.Errorf("%v: %v, want %v", test.limit, out.Session.Budget, test.want)
			}
		}
	})
}

// A sentence is applied as a whole, shown as understood, reverted by one undo, and refused as a whole.
func TestSteerSentence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		one := "/api/thinking/" + string(h.startSession(10)) + "/steer"
		time.Sleep(time.Minute)
		type answer struct {
			Success  bool
			Message  string
			Meaning  string `json:"understood_as"`
			By       string `json:"interpreted_by"`
			Outcomes []struct {
				Order, Outcome, Sentence string
				Undoes                   string
			} `json:"wishes"`
			Session struct{ Budget map[string]any }
			Errors  []struct{ Location, Message string }
		}
		post := func(body string, want int) (out answer) {
			t.Helper()
			if code := h.postJSON("", one, body, &out); code != want {
				t.Fatalf("%s: %d %+v", body, code, out)
			}
			return out
		}
		limits := func(seconds, usd any) map[string]any {
			m := map[string]any{"time_seconds": seconds}
			if usd != nil {
				m["cost_usd"] = usd
			}
			return m
		}
		before := post(`{"order":"correct","content":"It is wide."}`, 200).Session.Budget
		dry := post(`{"sentence":"ten more minutes, and stop at 50 cents","dry_run":true}`, 200)
		if dry.Meaning != "budget +10m0s, $0.50" || dry.By != "rules" || len(dry.Outcomes) != 0 || dry.Session.Budget["time_seconds"] != before["time_seconds"] {
			t.Errorf("dry run: %+v", dry)
		}
		out := post(`{"sentence":"ten more minutes, and stop at 50 cents"}`, 200)
		if out.Meaning != dry.Meaning || !out.Success || len(out.Outcomes) != 1 || out.Outcomes[0].Sentence != "ten more minutes, and stop at 50 cents" {
			t.Errorf("applied: %+v", out)
		}
		after := limits(before["time_seconds"].(float64)+600, 0.5)
		if got := out.Session.Budget; got["time_seconds"] != after["time_seconds"] || got["cost_usd"] != after["cost_usd"] {
			t.Errorf("limits %v, want %v", got, after)
		}
		out = post(`{"order":"undo"}`, 200)
		if got := out.Session.Budget; got["time_seconds"] != before["time_seconds"] || got["cost_usd"] != before["cost_usd"] || out.Outcomes[0].Undoes == "" {
			t.Errorf("limits %v after the undo, want %v", got, before)
		}
		out = post(`{"sentence":"drop q1 and do not stop before you have three sources"}`, 422)
		if len(out.Errors) != 1 || out.Errors[0].Location != "body.sentence" || !strings.Contains(out.Errors[0].Message, "Nearest commands: ") {
			t.Errorf("refused: %+v", out.Errors)
		}
		post(`{"sentence":"answer now","order":"answer_now"}`, 422)
		post(`{"dry_run":true}`, 422)
		if out := post(`{"sentence":"never stop"}`, 422); len(out.Errors) != 1 {
			t.Errorf("refused: %+v", out.Errors)
		}
		if out := post(`{"sentence":"undo that"}`, 200); out.Outcomes[0].Order != "withdraw" {
			t.Errorf("the second undo: %+v", out.Outcomes)
		}
	})
}

// Pause, resume, steer and cancel act on a research as on a session.
func TestSteerResearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestServer(t, slowModel())
		var begun struct {
			Research struct{ ID string }
		}
		if code := h.postJSON("", "/api/research/start", `{"question":"Why is the sea salt?","no_web":true}`, &begun); code != 200 || begun.Research.ID == "" {
			t.Fatalf("start: %d %+v", code, begun)
		}
		one := "/api/thinking/" + begun.Research.ID
		var out struct {
			Success  bool
			Status   string
			Outcomes []struct{ Outcome, Effect string } `json:"wishes"`
		}
		for _, step := range []struct {
			route, body, status, outcome string
		}{
			{"/steer", `{"order":"correct","content":"The sea is salt."}`, "thinking", "done"},
			{"/steer", `{"order":"ban_source","source":"twitter"}`, "thinking", "done"},
			{"/pause", `{}`, "paused", ""},
			{"/resume", `{}`, "thinking", ""},
			{"/cancel", `{}`, "cancelled", ""},
		} {
			out.Outcomes = nil
			code := h.postJSON("", one+step.route, step.body, &out)
			if code != 200 || !out.Success || out.Status != step.status {
				t.Errorf("%s %s: %d %+v", step.route, step.body, code, out)
			}
			if step.outcome != "" && (len(out.Outcomes) != 1 || out.Outcomes[0].Outcome != step.outcome) {
				t.Errorf("%s %s: %+v", step.route, step.body, out.Outcomes)
			}
		}
		if code := h.postJSON("", one+"/pause", `{}`, &struct{}{}); code != 409 {
			t.Errorf("pause a cancelled research: %d", code)
		}
	})
}
