package runstate

import (
	"encoding/json"
	"testing"
	"time"

	"ponder"
	"ponder/mode/internal/pendingwrites"
)

func TestClock(t *testing.T) {
	var c Clock
	for i, ev := range []ponder.Event{
		{Run: "run_1", Elapsed: 5 * time.Second},
		{Run: "run_2", Cause: "plan-1/1.1", Elapsed: 6 * time.Second},
		{Run: "run_1", Cause: "plan-1/1.2", Elapsed: 7 * time.Second},
		{Run: "run_1", Cause: "plan-1/2.2", Elapsed: 9500 * time.Millisecond},
		{Run: "run_1"},
	} {
		c = c.Advance(ev, "run_1", "plan-1")
		if got, want := c.Seconds(), []float64{0, 0, 0, 2.5, 2.5}[i]; got != want {
			t.Errorf("after event %d: %v, want %v", i, got, want)
		}
	}
	js, err := json.Marshal(c)
	if want := `{"now":9500,"began":7000,"begun":true}`; err != nil || string(js) != want {
		t.Errorf("stored as %s, %v, want %s", js, err, want)
	}
}

func TestWrite(t *testing.T) {
	n := 0
	first := AppendWrite(nil, "note", &n, []ponder.Body{ponder.Progress{}})
	second := AppendWrite(first, "note", &n, []ponder.Body{ponder.Progress{}})
	third := AppendWrite(first, "asked", &n, []ponder.Body{ponder.Progress{}})
	if none := AppendWrite(first, "note", &n, nil); len(none) != 1 || n != 3 {
		t.Errorf("without bodies: %v, number %d", none, n)
	}
	for _, list := range [][]pendingwrites.Note{second, third} {
		if len(list) != 2 || list[0].Key != "note-1" {
			t.Errorf("notes %v", list)
		}
	}
	if second[1].Key != "note-2" || third[1].Key != "asked-3" {
		t.Errorf("keys %s, %s", second[1].Key, third[1].Key)
	}
}

func TestReasonWithMaterial(t *testing.T) {
	money := BudgetReason(ponder.Budget{Cost: ponder.Cost{Money: 10_000}}.SpentOf("money"))
	for _, tt := range []struct {
		reason Reason
		n      int
		want   string
	}{
		{money, 1, "budget of $0.01 reached; answered from 1 thought"},
		{money, 2, "budget of $0.01 reached; answered from 2 thoughts"},
		{money, 0, "budget of $0.01 reached"},
		{UserReason, 2, "the user requested the answer"},
	} {
		if got := tt.reason.WithMaterial(tt.n, "thought", "thoughts"); got.Text != tt.want || got.Code != tt.reason.Code {
			t.Errorf("%+v from %d thoughts: %+v, want %q", tt.reason, tt.n, got, tt.want)
		}
	}
}
