package report

import (
	"os"
	"regexp"
	"testing"

	"ponder"
	"ponder/mode/session"
)

func TestLead(t *testing.T) {
	for _, tt := range []struct {
		status       ponder.Status
		reason, want string
	}{
		{ponder.Completed, "time is spent", "Completed after 36 seconds: time is spent."},
		{ponder.Cancelled, "cancelled", "Cancelled after 36 seconds."},
		{ponder.Cancelled, "not needed any more", "Cancelled after 36 seconds: not needed any more."},
		{ponder.Failed, "it broke", "Failed after 36 seconds."},
	} {
		v := session.NewView()
		v.Session.Status, v.Session.StopReason, v.Session.Progress.Elapsed = tt.status, tt.reason, 36
		if got := leadText(v); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.status, got, tt.want)
		}
	}
}

// TestEndText checks that each reason has a text that fits a column, unless the status says the same.
func TestEndText(t *testing.T) {
	source, err := os.ReadFile("../../end.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`EndReason = "(\w+)"`).FindAllSubmatch(source, -1)
	for _, m := range reasons {
		r := ponder.EndReason(m[1])
		text, said := EndText(r), r == ponder.EndCancelled || r == ponder.EndFailed
		if (text == "") != said || len(text) > 15 {
			t.Errorf("%s is %q in a list", r, text)
		}
	}
	if len(reasons) < 16 {
		t.Errorf("found only %d reasons", len(reasons))
	}
}

// A summary gives no status of claims if the answer cites nothing.
func TestSummaryOfUncitedAnswer(t *testing.T) {
	r := Research{
		Answer: "The sea is deep.", Claims: []Claim{{ID: "c1", Text: "The sea is deep", Status: "supported", Quotes: []Passage{{"e1", 0, 16}}}},
		Evidence: []Evidence{{ID: "e1", Quote: "The sea is deep.", Source: "/a.md"}},
	}
	if got, want := r.Summary(), "1 claim without a citation; 0 sources cited"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.Evidence[0].Cited = true
	if got, want := r.Summary(), "1 claim: 1 supported; 1 source cited"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
