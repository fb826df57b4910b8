package transcript

import (
	"encoding/json"
	"testing"
	"time"

	"ponder"
)

func TestApprovals(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	asked := func(id, args string) ponder.Event {
		return ponder.Event{ID: id, Time: now, Body: ponder.ApprovalRequested{Tool: "lamp", Args: json.RawMessage(args), Reason: "it acts", Expires: now.Add(time.Hour)}}
	}
	decided := func(after time.Duration, id string, approved bool) ponder.Event {
		return ponder.Event{Time: now.Add(after), Body: ponder.UserMessage{Decisions: []ponder.ApprovalDecision{{ID: id, Approved: approved}}}}
	}
	fork := ponder.Event{Time: now, Body: ponder.SystemNote{From: "thr_1"}}
	const room = `{"room": "kitchen", "on":true}`
	const gist = `run lamp with room "kitchen", on true (it acts)`
	for name, test := range map[string]struct {
		events []ponder.Event
		at     time.Duration
		want   string
	}{
		"pending":               {[]ponder.Event{asked("q", room)}, time.Minute, "pending: " + gist},
		"expired":               {[]ponder.Event{asked("q", room)}, 2 * time.Hour, "expired: " + gist},
		"approved":              {[]ponder.Event{asked("q", room), decided(time.Minute, "q", true)}, 2 * time.Hour, "approved: " + gist},
		"denied":                {[]ponder.Event{asked("q", room), decided(time.Minute, "q", false)}, 0, "denied: " + gist},
		"answered too late":     {[]ponder.Event{asked("q", room), decided(2*time.Hour, "q", true)}, 2 * time.Hour, "expired: " + gist},
		"the first answer":      {[]ponder.Event{asked("q", room), decided(0, "q", false), decided(0, "q", true)}, 0, "denied: " + gist},
		"another question":      {[]ponder.Event{asked("q", room), asked("r", room), decided(0, "r", true)}, 0, "pending: " + gist},
		"answered before asked": {[]ponder.Event{decided(0, "q", true), asked("q", room)}, 0, "pending: " + gist},
		"copied by a fork":      {[]ponder.Event{asked("q", room), fork, decided(0, "q", true)}, 0, "closed: " + gist},
		"approved, then forked": {[]ponder.Event{asked("q", room), decided(0, "q", true), fork}, 0, "approved: " + gist},
		"no arguments":          {[]ponder.Event{asked("q", `{}`)}, 0, "pending: run lamp (it acts)"},
		"a list":                {[]ponder.Event{asked("q", `["a", 1]`)}, 0, `pending: run lamp with ["a",1] (it acts)`},
		"nested":                {[]ponder.Event{asked("q", `{"a":{"b":[1, 2]},"c":"x, d \"y\""}`)}, 0, `pending: run lamp with a {"b":[1,2]}, c "x, d \"y\"" (it acts)`},
		"hidden characters":     {[]ponder.Event{asked("q", "{\"a\u200b\":\"\u202eb\"}")}, 0, `pending: run lamp with a\u200b "\u202eb" (it acts)`},
		"not JSON":              {[]ponder.Event{asked("q", `{"a":1`)}, 0, `pending: run lamp with {"a":1 (it acts)`},
	} {
		a, err := ReadApprovals(func(yield func(ponder.Event, error) bool) {
			for _, ev := range test.events {
				if !yield(ev, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range test.events {
			if ev.ID != "q" {
				continue
			}
			if got := a.Gist(ev, now.Add(test.at)); got != test.want {
				t.Errorf("%s: %s\nwant %s", name, got, test.want)
			}
		}
	}
	said := ponder.Event{Body: ponder.UserMessage{Content: "Approved: lamp"}}
	if got := (Approvals{}).Gist(said, now); got != Gist(said) {
		t.Errorf("another event: %s", got)
	}
}
