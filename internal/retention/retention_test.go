package retention

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text, shown string
		want        Rule
	}{{"", "keep", Rule{}}, {"keep", "keep", Rule{}}, {"discard", "discard", Rule{Discard: true}}, {"1d", "1d", Rule{Days: 1}}, {"36500d", "36500d", Rule{Days: 36500}}} {
		got, err := Parse(tt.text)
		if err != nil || got != tt.want || got.String() != tt.shown {
			t.Errorf("%q: %v (%s), %v", tt.text, got, got, err)
		}
	}
	for _, text := range []string{"0d", "-1d", "d", "30", "30 d", "36501d", "99999999999999999999d", "never", "1e3d", "Keep"} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q is read as %v", text, r)
		}
	}
}

// day is the time of the first test event; later ones follow daily.
var day = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// dailyEvents returns daily events of one run.
func dailyEvents(bodies ...ponder.Body) (evs []ponder.Event) {
	for i, b := range bodies {
		evs = append(evs, ponder.Event{Seq: ponder.Seq(i + 1), Time: day.AddDate(0, 0, i), Run: "run_a", Body: b})
	}
	return evs
}

// Event bodies of a turn.
var (
	message = ponder.UserMessage{Content: "hello"}
	asks    = ponder.CallStarted{Mode: "chat"}
	muses   = ponder.CallFinished{Message: llm.Message{Parts: []llm.Part{{Call: &llm.ToolCall{Name: "think", Input: json.RawMessage(`{}`)}}}}}
	thought = ponder.Thought{Kind: "think", Content: "hm"}
	says    = ponder.CallFinished{Message: llm.Say(llm.Assistant, "so")}
	answer  = ponder.AssistantMessage{Content: "so"}
	end     = ponder.Progress{Stage: "turn"}
	other   = ponder.Thought{Kind: "insight", Content: "of a session"}
)

func TestDue(t *testing.T) {
	turn := dailyEvents(message, asks, muses, thought, asks, says, answer, end) // days 0 to 7
	two := dailyEvents(message, asks, muses, thought, asks, says, answer, end, message, asks, says, answer, end)
	erased := func(evs []ponder.Event, seqs ...ponder.Seq) []ponder.Event {
		out := append([]ponder.Event(nil), evs...)
		for _, s := range seqs {
			out[s-1] = out[s-1].WithoutContent()
		}
		return out
	}
	at := func(days int) time.Time { return day.AddDate(0, 0, days) }
	tests := []struct {
		name string
		evs  []ponder.Event
		rule string
		now  time.Time
		want []ponder.Seq
		next time.Time
	}{
		{"keep", turn, "keep", at(9999), nil, time.Time{}},
		{"discard", turn, "discard", at(7), []ponder.Seq{3, 4, 5}, time.Time{}},
		{"discard, while the turn goes on", turn[:7], "discard", at(7), nil, at(7)},
		{"discard, the run has ended without", append(turn[:6:6], dailyEvents(message, message, message, message, message, message, ponder.RunFinished{})[6]), "discard", at(7), []ponder.Seq{3, 4, 5}, time.Time{}},
		{"discard, once more", erased(turn, 3, 4, 5), "discard", at(7), nil, time.Time{}},
		{"discard, of a later turn nothing", erased(two, 3, 4, 5), "discard", at(99), nil, time.Time{}},
		{"young", turn, "3d", at(4), nil, at(5)},
		{"a thought is old, and what came after it shows it", turn, "3d", at(7), []ponder.Seq{3, 4, 5}, at(7)},
		{"the requests of later turns too", two, "5d", at(8), []ponder.Seq{3, 4, 5, 10}, at(8)},
		{"and those that are old themselves", erased(two, 3, 4, 5), "5d", at(15), []ponder.Seq{10}, at(15)},
		{"which they are not yet", erased(two, 3, 4, 5), "5d", at(13), nil, at(14)},
		{"no thoughts", dailyEvents(message, asks, says, answer, end), "1d", at(99), nil, time.Time{}},
		{"thoughts of sessions stay", dailyEvents(message, other, end), "discard", at(99), nil, time.Time{}},
		{"an open turn stays, however old", turn[:5], "1d", at(99), nil, at(99)},
		{"nothing", nil, "1d", at(99), nil, time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule, err := Parse(tt.rule)
			if err != nil {
				t.Fatal(err)
			}
			var s Scan
			for _, ev := range tt.evs {
				s.Add(ev)
			}
			if d := cmp.Diff(tt.want, s.Due(rule, tt.now)); d != "" {
				t.Error(d)
			}
			if next := s.Next(rule, tt.now); len(tt.want) == 0 && !next.Equal(tt.next) {
				t.Errorf("next %v, want %v", next, tt.next)
			}
		})
	}
}
