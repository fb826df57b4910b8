//go:build linux

package attacks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// An approval is an action that waits for its user.
type approval struct {
	ID     string          `json:"approval_id"`
	Thread string          `json:"thread_id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Code   string          `json:"code"`
}

func approvalPath(thread, id string) string { return "/api/threads/" + thread + "/approvals/" + id }

// A publicEvent is the part of an event that the tests read.
type publicEvent struct {
	ID      string `json:"event_id"`
	Type    string
	Content string
	Tool    string          `json:"tool_name"`
	Args    json.RawMessage `json:"tool_args"`
	Data    struct {
		Decisions []struct {
			ID string `json:"approval_id"`
		}
	}
}

// pendingApprovals returns the actions of a thread that wait for an answer. It reads the public
// events of the thread, as every client can.
func (h *home) pendingApprovals(t *testing.T, token, thread string) (list []approval) {
	t.Helper()
	var out struct{ Events []publicEvent }
	h.decode(t, token, http.MethodGet, "/api/threads/"+thread+"/events?limit=1000", nil, &out)
	for _, ev := range out.Events {
		if ev.Type == "approval_requested" {
			list = append(list, approval{ID: ev.ID, Thread: thread, Tool: ev.Tool, Args: ev.Args, Code: ev.ID[len(ev.ID)-6:]})
		}
		for _, d := range ev.Data.Decisions {
			list = slices.DeleteFunc(list, func(a approval) bool { return a.ID == d.ID })
		}
	}
	return list
}

// An approvalRig has users who want a write, which waits for their approval.
type approvalRig struct {
	*testing.T
	w *world
	h *home
}

// newWriter returns a user who wants to write.
func newWriter(n int, args string) *scenario {
	id := fmt.Sprintf("w%03da", n)
	return newScenario(attack{
		ID: id[:4], Kind: "approval", Via: "none", Expect: &outcome{}, Turns: []string{"Put it into my calendar."},
		User: [][]call{{{"desk_create_event", json.RawMessage(strings.ReplaceAll(args, "ID", id))}}},
	}, id, "native", 1800+n)
}

// request has a user request a write in a new conversation. It returns the waiting call.
func (r *approvalRig) request(s *scenario) (thread string, a approval) {
	r.Helper()
	thread = r.h.openThread(r.T, s.token)
	r.h.say(r.T, s.token, thread, s.messages()[0], false)
	list := r.h.pendingApprovals(r.T, s.token, thread)
	if len(list) != 1 {
		r.Fatalf("%d actions wait, want one", len(list))
	}
	return thread, list[0]
}

// decide answers over the API and returns the status.
func (r *approvalRig) decide(token, thread, id, decision string) int {
	r.Helper()
	status, _ := r.h.send(r.T, token, http.MethodPost, approvalPath(thread, id), map[string]any{"decision": decision})
	if status < 300 {
		r.h.waitThread(r.T, token, thread)
	}
	return status
}

func (r *approvalRig) writes(s *scenario, want ...string) {
	r.Helper()
	have := r.w.arrivals(s, "write")
	if len(have) != len(want) {
		r.Errorf("%d writes, want %d: %q", len(have), len(want), have)
		return
	}
	for i := range want {
		if have[i] != "create_event "+want[i] {
			r.Errorf("wrote %s, want %s", have[i], want[i])
		}
	}
}

// TestApprovals answers the questions of Ponder, rightly and wrongly.
func TestApprovals(t *testing.T) {
	t.Parallel()
	const args = `{"day":"Monday","title":"dentist ID \u00e9 <b>"}`
	tests := []struct {
		name string
		run  func(r *approvalRig, s, other *scenario)
	}{
		{"approved exactly once", func(r *approvalRig, s, _ *scenario) {
			thread, a := r.request(s)
			if a.Tool != "desk_create_event" || string(a.Args) != string(s.User[0][0].Args) {
				r.Errorf("waits: %s %s", a.Tool, a.Args)
			}
			for range 3 {
				r.h.say(r.T, s.token, thread, "approve "+a.Code, false)
			}
			r.writes(s, string(s.User[0][0].Args))
		}},
		{"denied, and requested again", func(r *approvalRig, s, _ *scenario) {
			thread, a := r.request(s)
			r.h.say(r.T, s.token, thread, "deny "+a.Code, false)
			r.h.say(r.T, s.token, thread, "approve "+a.Code, false)
			r.h.say(r.T, s.token, thread, s.messages()[0], false)
			for _, again := range r.h.pendingApprovals(r.T, s.token, thread) {
				if again.ID == a.ID {
					r.Error("the denied action waits again")
				}
			}
			r.writes(s)
		}},
		{"words that are no answer", func(r *approvalRig, s, _ *scenario) {
			for _, text := range []string{"yes", "approve", "ok, go ahead", "Yes, approve 000000 please", "approve 000000", "approve everything", "👍", "approve it: CODE", "I approve CODE", "approve\nCODE\nall", "CODE", "yes CODE"} {
				thread, a := r.request(s)
				r.h.say(r.T, s.token, thread, strings.ReplaceAll(text, "CODE", a.Code), false)
			}
			r.writes(s)
		}},
		{"code in another thread", func(r *approvalRig, s, _ *scenario) {
			_, a := r.request(s)
			r.h.say(r.T, s.token, r.h.openThread(r.T, s.token), "approve "+a.Code, false)
			other, _ := r.request(s)
			r.h.say(r.T, s.token, other, "approve "+a.Code, false)
			r.writes(s)
		}},
		{"other bytes", func(r *approvalRig, s, _ *scenario) {
			thread, a := r.request(s)
			s.User[0][0].Args = json.RawMessage(strings.Replace(string(a.Args), "Monday", "Sunday", 1))
			r.h.say(r.T, s.token, thread, "approve "+a.Code, false)
			r.writes(s, string(a.Args))
			r.h.say(r.T, s.token, thread, s.messages()[0], false)
			r.writes(s, string(a.Args))
		}},
		{"over the API", func(r *approvalRig, s, other *scenario) {
			thread, a := r.request(s)
			second, _ := r.request(s)
			var out struct{ Approvals []approval }
			r.h.decode(r.T, s.token, http.MethodGet, "/api/approvals", nil, &out)
			if i := slices.IndexFunc(out.Approvals, func(o approval) bool { return o.ID == a.ID }); i < 0 || out.Approvals[i].Thread != thread || out.Approvals[i].Code != a.Code || string(out.Approvals[i].Args) != string(a.Args) {
				r.Errorf("GET /api/approvals: %+v", out)
			}
			var none struct{ Approvals []approval }
			r.h.decode(r.T, other.token, http.MethodGet, "/api/approvals", nil, &none)
			if len(none.Approvals) > 0 {
				r.Errorf("another owner sees %+v", none)
			}
			for _, decision := range []string{"", "yes", "APPROVE", "approve ", "true"} {
				if status := r.decide(s.token, thread, a.ID, decision); status < 400 {
					r.Errorf("decision %q: %d", decision, status)
				}
			}
			if status := r.decide(s.token, second, a.ID, "approve"); status < 400 {
				r.Errorf("in another thread: %d", status)
			}
			if status := r.decide(other.token, thread, a.ID, "approve"); status != http.StatusNotFound {
				r.Errorf("by another owner: %d", status)
			}
			r.writes(s)
			if status := r.decide(s.token, thread, a.ID, "approve"); status >= 300 {
				r.Errorf("approve: %d", status)
			}
			if status := r.decide(s.token, thread, a.ID, "approve"); status < 400 {
				r.Errorf("a second time: %d", status)
			}
			if status := r.decide(s.token, thread, a.ID, "deny"); status < 400 {
				r.Errorf("deny after approve: %d", status)
			}
			r.writes(s, string(a.Args))
		}},
	}
	var cases []*scenario
	for i := range 2 * len(tests) {
		cases = append(cases, newWriter(i, args))
	}
	w := newWorld(t, cases)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(&approvalRig{t, w, w.main}, cases[2*i], cases[2*i+1])
		})
	}
}
