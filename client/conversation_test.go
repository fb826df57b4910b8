package client

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

// A session applies commands, and acknowledges them.
func TestSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := serveSessions(t, ""), t.Context()
		s, err := d.Start(ctx, Question{Question: "Why does the pump fail?", Minutes: 30})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		s, results, err := d.Steer(ctx, s.ID, Command{Order: "add_question", Content: "Who checks the valve?", Priority: 9}, Command{Order: "budget", Calls: 500})
		if err != nil || len(results) != 2 {
			t.Fatalf("%+v, %v", results, err)
		}
		for i, one := range results {
			if one.Outcome != "done" || one.Effect == "" || one.Seq == 0 || one.Order == "" {
				t.Errorf("steer %d: %+v", i, one)
			}
		}
		if s.Budget.Calls != 500 {
			t.Errorf("budget %+v", s.Budget)
		}
		list, err := d.Questions(ctx, s.ID)
		if err != nil || !hasMatch(list, func(q SubQuestion) bool { return q.Text == "Who checks the valve?" && q.Priority == 9 }) {
			t.Errorf("%+v, %v", list, err)
		}
		var p *Problem
		for field, w := range map[string]Command{"body.wishes[0].content": {Order: "add_question"}, "body.wishes[0].question": {Order: "drop_question", Question: "q999"}} {
			if _, _, err := d.Steer(ctx, s.ID, w); !errors.As(err, &p) || p.Status != 422 || !hasMatch(p.Fields, func(f Field) bool { return f.Location == field }) {
				t.Errorf("%+v: %v", w, err)
			}
		}
		if s, err = d.Cancel(ctx, s.ID); err != nil || s.Status != ponder.Cancelled {
			t.Errorf("%+v, %v", s, err)
		}
		if _, _, err := d.Steer(ctx, s.ID, Command{Order: "answer_now"}); !errors.Is(err, &Problem{Status: 409}) {
			t.Errorf("too late: %v", err)
		}
	})
}

func hasMatch[T any](list []T, ok func(T) bool) bool {
	for _, one := range list {
		if ok(one) {
			return true
		}
	}
	return false
}

// A fork is created once, even if messages are lost, and applies its commands.
func TestFork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := serveSessions(t, ""), t.Context()
		s, err := d.Start(ctx, Question{Question: "Why does the pump fail?", Minutes: 30})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		first := d.wire.countRequests()
		d.wire.fault = func(n int, r *http.Request) fault {
			if strings.HasSuffix(r.URL.Path, "/fork") && n <= first {
				return fault{after: errCut}
			}
			return fault{}
		}
		f, err := d.Fork(ctx, s.ID, Fork{Title: "Another way", Paused: true, Commands: []Command{{Order: "correct", Content: "The pump is new."}}})
		if err != nil || f.ID == s.ID || f.Title != "Another way" || f.Status != ponder.Paused || f.Question != s.Question {
			t.Fatalf("%+v, %v", f, err)
		}
		d.wire.fault = nil
		count := 0
		for one, err := range d.Sessions(ctx, "") {
			if err != nil {
				t.Fatal(err)
			}
			if one.ID == f.ID || one.ID == s.ID {
				count++
			} else {
				t.Errorf("a session too many: %+v", one)
			}
		}
		if count != 2 {
			t.Errorf("%d sessions", count)
		}
		if err := d.Work(ctx, f.ID, ""); !errors.Is(err, &Problem{Status: 409}) {
			t.Errorf("work on a session that is paused: %v", err)
		}
		if f, err = d.Resume(ctx, f.ID, ""); err != nil || f.Status != ponder.Thinking {
			t.Errorf("%+v, %v", f, err)
		}
		if err := d.Work(ctx, f.ID, ""); err != nil {
			t.Errorf("work: %v", err)
		}
	})
}

// A message in a conversation gets one answer.
func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := serveSessions(t, "It is salt, since rivers bring it there."), t.Context()
		c, err := d.Open(ctx, "The sea", "")
		if err != nil || c.Title != "The sea" || c.Kind != ponder.KindConversation || c.ID == "" {
			t.Fatalf("%+v, %v", c, err)
		}
		talk := string(c.ID)
		turn, err := d.Say(ctx, talk, Message{Content: "What is the sea?"}, time.Minute)
		if err != nil || turn.Status != "answered" || !strings.HasPrefix(turn.Answer, "It is salt") || turn.Message == "" {
			t.Fatalf("%+v, %v", turn, err)
		}
		turn, err = d.Say(ctx, talk, Message{Content: "And the lakes?"}, 0)
		if err != nil || turn.Status != "answering" {
			t.Errorf("without waiting: %+v, %v", turn, err)
		}
		time.Sleep(time.Minute)
		wrote, ends, events := d.streamTurn(t, talk, "And the ponds?")
		if wrote != "It is salt, since rivers bring it there." || ends.Status != "answered" || ends.Answer != wrote || events == 0 {
			t.Errorf("%q, %+v, %d events", wrote, ends, events)
		}
		if err := d.Stop(ctx, talk); !errors.Is(err, &Problem{Status: 409}) {
			t.Errorf("nothing is to be stopped: %v", err)
		}
		if n := d.countMessages(t, talk); n != 3 {
			t.Errorf("%d messages", n)
		}
		if _, err := d.Say(ctx, talk, Message{}, 0); !errors.Is(err, &Problem{Status: 422}) {
			t.Errorf("nothing was said: %v", err)
		}
		for one, err := range d.Threads(ctx, ponder.KindConversation) {
			if err != nil || string(one.ID) != talk {
				t.Errorf("%+v, %v", one, err)
			}
		}
		if file, err := d.ExportThread(ctx, talk); err != nil || strings.Count(string(file), `"user_message"`) != 3 {
			t.Errorf("%s, %v", file, err)
		}
		if err := d.DeleteThread(ctx, talk); err != nil {
			t.Error(err)
		}
		if _, err := d.Client.Thread(ctx, talk); !errors.Is(err, &Problem{Status: 404}) {
			t.Errorf("after it was deleted: %v", err)
		}
	})
}

// streamTurn sends a message over connections of which the first breaks. It returns the streamed
// text, the turn, and the number of events.
func (d *testAPI) streamTurn(t *testing.T, talk, text string) (wrote string, ends Turn, events int) {
	t.Helper()
	seen := make(map[ponder.Seq]bool)
	for u, err := range d.StreamReply(t.Context(), talk, Message{Content: text}) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case u.Piece != nil:
			wrote += u.Piece.Text
		case u.Turn != nil:
			ends = *u.Turn
		case u.Event != nil:
			if seen[u.Event.Seq] {
				t.Errorf("event %d comes again", u.Event.Seq)
			}
			seen[u.Event.Seq] = true
		}
	}
	return wrote, ends, len(seen)
}

// countMessages returns the number of user messages in a thread.
func (d *testAPI) countMessages(t *testing.T, talk string) (n int) {
	t.Helper()
	for ev, err := range d.store.Events(t.Context(), ponder.ThreadID(talk), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Body.(ponder.UserMessage); ok {
			n++
		}
	}
	return n
}

// Wherever the connection breaks, the message is sent once, and the stream reaches the end
// of the turn.
func TestConversationOverBrokenConnections(t *testing.T) {
	for _, cut := range []int{1, 40, 300, 700, 1200} {
		synctest.Test(t, func(t *testing.T) {
			d := serveSessions(t, "It is salt.")
			c, err := d.Open(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			first := d.wire.countRequests()
			d.wire.fault = func(n int, _ *http.Request) fault {
				switch n - first {
				case 0:
					return fault{after: errCut}
				case 1, 2:
					return fault{cut: cut}
				}
				return fault{}
			}
			if _, ends, _ := d.streamTurn(t, string(c.ID), "What is the sea?"); ends.Status != "answered" || ends.Answer != "It is salt." {
				t.Errorf("cut behind %d: %+v", cut, ends)
			}
			if n := d.countMessages(t, string(c.ID)); n != 1 {
				t.Errorf("cut behind %d: %d messages", cut, n)
			}
		})
	}
}
