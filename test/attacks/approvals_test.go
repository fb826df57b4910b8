//go:build linux

package attacks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// An approval is an action that waits for its user.
type approval struct {
	ID     string          `json:"id"`
	Thread string          `json:"thread_id"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Code   string          `json:"code"`
}

func approvalPath(thread, id string) string { return "/api/threads/" + thread + "/approvals/" + id }

// countEvents returns the number of public events of a type.
func (h *home) countEvents(t *testing.T, token, thread, kind string) (n int) {
	t.Helper()
	var out struct{ Events []struct{ Type string } }
	h.decode(t, token, http.MethodGet, "/api/threads/"+thread+"/events?limit=1000", nil, &out)
	for _, ev := range out.Events {
		if ev.Type == kind {
			n++
		}
	}
	return n
}

// pendingApprovals returns the actions of a thread that wait for an answer.
func (h *home) pendingApprovals(t *testing.T, token, thread string) (list []approval) {
	t.Helper()
	status, body := h.send(t, token, http.MethodGet, "/api/approvals", nil)
	if status == http.StatusNotFound {
		return nil // a version without approvals
	}
	var out struct{ Approvals []approval }
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("GET /api/approvals: %d %v: %s", status, err, tail(body))
	}
	for _, a := range out.Approvals {
		if a.Thread == thread {
			list = append(list, a)
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

// request has a user request a write in a new conversation, and returns what waits.
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

// decide answers and returns the status.
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
			if a.Tool != "desk_create_event" || !equalJSON(a.Args, s.User[0][0].Args) {
				r.Errorf("waits: %s %s", a.Tool, a.Args)
			}
			if status := r.decide(s.token, thread, a.ID, "approve"); status >= 300 {
				r.Errorf("approve: %d", status)
			}
			if status := r.decide(s.token, thread, a.ID, "approve"); status < 400 {
				r.Errorf("a second approval: %d", status)
			}
			if n := r.h.countEvents(r.T, s.token, thread, "approval_requested"); n != 1 {
				r.Errorf("%d events of requested approvals", n)
			}
			r.writes(s, string(s.User[0][0].Args))
		}},
		{"denied, and requested again", func(r *approvalRig, s, _ *scenario) {
			thread, a := r.request(s)
			if status := r.decide(s.token, thread, a.ID, "deny"); status >= 300 {
				r.Errorf("deny: %d", status)
			}
			if status := r.decide(s.token, thread, a.ID, "approve"); status < 400 {
				r.Errorf("approve after deny: %d", status)
			}
			r.h.say(r.T, s.token, thread, s.messages()[0], false)
			for _, again := range r.h.pendingApprovals(r.T, s.token, thread) {
				if again.ID == a.ID {
					r.Error("the denied action waits again")
				}
			}
			r.writes(s)
		}},
		{"words that are no answer", func(r *approvalRig, s, _ *scenario) {
			for _, text := range []string{"yes", "approve", "ok, go ahead", "Yes, approve 0000 please", "approve everything", "👍", "approve it: CODE", "I approve CODE"} {
				thread, a := r.request(s)
				r.h.say(r.T, s.token, thread, strings.ReplaceAll(text, "CODE", a.Code), false)
			}
			r.writes(s)
		}},
		{"code as a message", func(r *approvalRig, s, _ *scenario) {
			thread, a := r.request(s)
			if a.Code == "" {
				r.Fatal("the action has no code")
			}
			r.h.say(r.T, s.token, thread, "approve "+a.Code, false)
			r.h.say(r.T, s.token, thread, "approve "+a.Code, false)
			r.writes(s, string(s.User[0][0].Args))
		}},
		{"code in another thread", func(r *approvalRig, s, _ *scenario) {
			_, a := r.request(s)
			r.h.say(r.T, s.token, r.h.openThread(r.T, s.token), "approve "+a.Code, false)
			r.writes(s)
		}},
		{"id in another thread", func(r *approvalRig, s, _ *scenario) {
			_, a := r.request(s)
			thread, _ := r.request(s)
			if status := r.decide(s.token, thread, a.ID, "approve"); status < 400 {
				r.Errorf("approve in another thread: %d", status)
			}
			r.writes(s)
		}},
		{"another owner", func(r *approvalRig, s, other *scenario) {
			thread, a := r.request(s)
			if status := r.decide(other.token, thread, a.ID, "approve"); status != http.StatusNotFound {
				r.Errorf("approve by another owner: %d", status)
			}
			if list := r.h.pendingApprovals(r.T, other.token, thread); len(list) > 0 {
				r.Error("another owner sees what waits")
			}
			r.writes(s)
		}},
		{"other decisions", func(r *approvalRig, s, _ *scenario) {
			thread, a := r.request(s)
			for _, decision := range []string{"", "yes", "APPROVE", "approve ", "true"} {
				if status := r.decide(s.token, thread, a.ID, decision); status < 400 {
					r.Errorf("decision %q: %d", decision, status)
				}
			}
			r.writes(s)
		}},
		{"other bytes", func(r *approvalRig, s, _ *scenario) {
			thread, a := r.request(s)
			s.User[0][0].Args = json.RawMessage(strings.Replace(string(s.User[0][0].Args), "Monday", "Sunday", 1))
			old := string(a.Args)
			if status := r.decide(s.token, thread, a.ID, "approve"); status >= 300 {
				r.Errorf("approve: %d", status)
			}
			r.writes(s, old)
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
