package session

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/llm"
)

func TestBannedIsNotCited(t *testing.T) {
	d := newDriver(t, "What is the fact?", Options{Docs: []string{"/docs"}, SynthesisInterval: 5, ToTheEnd: true}, time.Minute, func(a ponder.Action) ponder.Body {
		if do, ok := a.(ponder.Do); ok {
			return libraryHits(do, 40)
		}
		switch what, n := stepOf(keyOf(a)); what {
		case thoughts:
			return textAnswer(fmt.Sprintf(`{"thoughts":[{"thought":"Number %d is so [e1, e2].","type":"insight","confidence":0.7,"cites":["e1"]}]}`, n))
		case synthesis:
			return textAnswer(`{"synthesis":"So it is [e1], and so [e2].","insights":["It is so [e1]."],"confidence":0.5,"remaining":[]}`)
		case final:
			return textAnswer(`{"answer":"It is so [e1, e2].","insights":["So [e1]."],"confidence":0.8,"remaining":[]}`)
		}
		return defaultAnswer(a)
	})
	d.inputs = map[int]ponder.Body{12: newSteer(ponder.BanSource, "", ponder.SteerArgs{Source: "e1"})}
	d.runToEnd()
	at := -1
	for i, ev := range d.log {
		if b, ok := ev.Body.(ponder.Progress); ok && b.Stage == "steered" {
			at = i
		}
	}
	thoughts, syntheses := 0, 0
	for _, ev := range d.log[at:] {
		switch b := ev.Body.(type) {
		case ponder.Thought:
			if thoughts++; !strings.HasSuffix(b.Content, "is so [e2].") || !cmp.Equal(b.Cites, []string{"e2"}) {
				t.Errorf("%+v", b)
			}
		case ponder.Synthesis:
			if syntheses++; strings.Contains(b.Content+strings.Join(b.Insights, ""), "[e1]") || !cmp.Equal(b.Cites, []string{"e2"}) {
				t.Errorf("%+v", b)
			}
		}
	}
	if thoughts == 0 || syntheses < 2 || d.fin.Answer != "It is so [e2]." {
		t.Errorf("%d thoughts, %d syntheses after the ban, finished %+v", thoughts, syntheses, d.fin)
	}
	if text := d.callByKey("final").Request.Messages[0].Text(); strings.Contains(text, "[e1]") || !strings.Contains(text, "Number 1 is so [e2].") {
		t.Errorf("the answer is asked for with\n%s", text)
	}
}

// Quotations of a banned source are removed; thoughts that cite it stay.
func TestUnsaid(t *testing.T) {
	s := state{runInput: &runInput{}, Counts: counts{Evidence: 9}, BannedEvidence: []int{1, 4}}
	for _, tt := range []struct{ name, text, want string }{
		{"nothing of it", "So [e2].", "So [e2]."},
		{"a thought", "So [e1], and so [e2].", "So, and so [e2]."},
		{"side by side", "So [e1][e2][e3].", "So [e2][e3]."},
		{"beside code", "Add `w[e5][e6]` to w[e77][e78], as is said [e1].", "Add `w[e5][e6]` to w[e77][e78], as is said."},
		{"right behind a word", "So[e1], and so[e2].", "So, and so[e2]."},
		{"a quotation", "“It is so.” [e4]", ""},
		{"another quotation", "“It is so.” [e5]", "“It is so.” [e5]"},
		{"a sum of quotations", "Put together.\n\n**What?**\n\n- “It is so.” [e4]\n- “It is not.” [e5]", "Put together.\n\n**What?**\n\n- “It is not.” [e5]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := s.retractText(tt.text); got != tt.want {
				t.Errorf("retracted = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestBannedIsNotQuoted(t *testing.T) {
	d := newDriver(t, "What is the fact?", Options{Docs: []string{"/docs"}}, time.Hour, func(a ponder.Action) ponder.Body {
		if do, ok := a.(ponder.Do); ok {
			return libraryHits(do, 12)
		}
		return failedCall(llm.Auth, "no key")
	})
	d.inputs = map[int]ponder.Body{20: newSteer(ponder.BanSource, "", ponder.SteerArgs{Source: "e1"})}
	d.runToEnd()
	for _, quote := range []string{"Fact 0 ", "Fact 4 ", "Fact 8 "} {
		if strings.Contains(d.fin.Answer, quote) {
			t.Errorf("%q is quoted:\n%s", quote, d.fin.Answer)
		}
	}
	if !strings.Contains(d.fin.Answer, "Fact 1 ") {
		t.Errorf("finished %+v", d.fin)
	}
}
