package claim

import (
	"os"
	"strings"
	"testing"
)

// counterShare is the minimum share of misleading sentences that must not support
// their claim.
const counterShare = 0.95

// TestCounter checks claims against sentences with the same words and another
// statement.
func TestCounter(t *testing.T) {
	table, err := os.ReadFile("testdata/counter.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, caught := 0, 0
	tableLines(string(table), func(line string) {
		cells := strings.Split(line, " | ")
		f := Verify(Sentence{Text: cells[1], Factual: true}, []Quote{{ID: "e1", Text: cells[2]}})
		switch {
		case cells[0] == "yes":
			if f.Verdict != Supported {
				t.Errorf("%s is %s by %q: %s", cells[1], f.Verdict, cells[2], f.Reason)
			}
		case f.Verdict == Supported:
			all++
			t.Logf("%s is supported by %q", cells[1], cells[2])
		default:
			all++
			caught++
		}
	})
	t.Logf("%d of %d not supported", caught, all)
	if float64(caught) < counterShare*float64(all) {
		t.Errorf("%d of %d are not supported, want a share of %g", caught, all, counterShare)
	}
}

func TestPlainer(t *testing.T) {
	c := NewCorpus([]Quote{{ID: "e1", Text: "It is a myth that magnets cure arthritis."}, {ID: "e2", Text: "Magnets cure arthritis."}})
	if f := c.Verify(Sentence{Text: "Magnets cure arthritis."}); f.Verdict != Supported || f.Quotes[0].Evidence != "e2" {
		t.Errorf("%+v", f)
	}
}

func TestUntold(t *testing.T) {
	quotes := []Quote{{ID: "e1", Text: "The Java Trench is 7,290 metres deep, a survey of 2019 found.", Context: "Java Trench"}}
	for _, s := range []string{
		"The Java Trench is 7,290 metres deep and was discovered by pirates hunting treasure.",
		"The Java Trench is 7,290 metres deep and inhabited by giant squid.",
	} {
		list := Split(s)
		f := NewCorpus(quotes).Verify(list[0])
		if f.Verdict != Qualified {
			t.Errorf("%s is %s: %s", s, f.Verdict, f.Reason)
		}
		if marked := Mark(s, list, []Finding{f}); marked != s+" [partly supported]" {
			t.Errorf("marked: %s", marked)
		}
		if g := f.ApplyVerdict(Supported, "it says so"); g.Verdict == Supported {
			t.Errorf("a judge lifts %s", s)
		}
	}
}
