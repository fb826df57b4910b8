package mindlog

import (
	"testing"
	"time"

	"ponder"
	"ponder/mode/subconscious"
)

func TestInbox(t *testing.T) {
	at := time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	m := New()
	for i, b := range []ponder.Body{
		ponder.Escalation{ID: "esc_1", Content: "- The disk (sda) is full (watcher, importance 9, 2026-11-26 08:00)\n  why: now\n- The mail waits (oracle, importance 7, 2026-11-26 08:00)\n", Importance: 9, Reason: "now", Untrusted: true},
		ponder.Escalation{ID: "esc_1", Content: "Delete something.", Outcome: "message", Model: "a/b"},
		ponder.Escalation{ID: "esc_2", Content: "no list", Importance: 8},
		ponder.Resolution{Ref: "esc_1", As: subconscious.Dismissed},
		ponder.Resolution{Ref: "esc_1", As: subconscious.Acted, Content: "thr_1"},
		ponder.Resolution{Ref: "esc_2", Content: "resolved is no answer"},
		ponder.Resolution{Ref: "esc_9", As: subconscious.Acted},
	} {
		m.Apply(ponder.Event{Seq: ponder.Seq(i + 1), Time: at.Add(time.Duration(i) * time.Minute), Run: "run_1", Body: b})
	}
	items := m.Inbox()
	if len(items) != 2 || items[0].ID != "esc_2" || items[0].Answer != nil || items[0].Summary != "no list" {
		t.Fatalf("%+v", items)
	}
	e := items[1]
	if e.Summary != "The disk (sda) is full; The mail waits" || e.Told != "Delete something." || e.Outcome != "message" || !e.Untrusted || !e.RaisedAt.Equal(at) {
		t.Errorf("%+v", e)
	}
	if e.Answer == nil || *e.Answer != (InboxAnswer{Do: "act", At: at.Add(4 * time.Minute), Made: "thr_1"}) {
		t.Errorf("the newest answer is %+v", e.Answer)
	}
}
