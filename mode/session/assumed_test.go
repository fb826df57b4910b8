package session

import (
	"strings"
	"testing"
	"time"

	"ponder"
)

// A default confidence is marked, and neither ends a session nor counts as its claim.
func TestAssumed(t *testing.T) {
	for name, test := range map[string]struct {
		sure    string
		assumed bool
	}{
		"given":     {`,"confidence":0.5`, false},
		"in words":  {`,"confidence":"medium"`, false},
		"not given": {``, true},
		"null":      {`,"confidence":null`, true},
		"not said":  {`,"confidence":"n/a"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, "What is it?", Options{SynthesisInterval: 5, ToTheEnd: true}, 30*time.Second, func(a ponder.Action) ponder.Body {
				switch what, n := stepOf(keyOf(a)); what {
				case thoughts:
					return textAnswer(`{"thoughts":[{"thought":"It is number ` + strings.Repeat("x", n) + `.","type":"insight"` + test.sure + `}]}`)
				case synthesis:
					return textAnswer(`{"synthesis":"So it is.","insights":["So."]` + test.sure + `}`)
				case final:
					return textAnswer(`{"answer":"It is so.","insights":["So."]` + test.sure + `,"remaining":[]}`)
				}
				return defaultAnswer(a)
			}).runToEnd()
			want := 0.5
			if test.assumed {
				want = 0
			}
			if d.fin.Answer != "It is so." || d.fin.Confidence != want || (len(d.state.(*state).CallValue.Confidences) == 0) != test.assumed {
				t.Errorf("finished %+v, sure %v", d.fin, d.state.(*state).CallValue.Confidences)
			}
			for _, b := range bodiesOf[ponder.Thought](d) {
				if b.Confidence != 0.5 || b.Assumed != test.assumed {
					t.Errorf("%+v", b)
				}
			}
			list := bodiesOf[ponder.Synthesis](d)
			for _, b := range list {
				if b.Confidence != 0.5 || b.Assumed != test.assumed || (b.Trend != "") && test.assumed {
					t.Errorf("%+v", b)
				}
			}
			if len(list) < 2 {
				t.Errorf("%d syntheses", len(list))
			}
			if text := d.callByKey(final).Request.Messages[0].Text(); strings.Contains(text, "[insight]") != test.assumed || strings.Contains(text, "(confidence 0.50)") == test.assumed {
				t.Errorf("the answer is asked for with\n%s", text)
			}
		})
	}
}

// A retold answer uses given confidences, capped like quotations.
func TestRetoldAssumed(t *testing.T) {
	for name, test := range map[string]struct {
		list    []thought
		said    summary
		sure    float64
		assumed bool
		line    string
	}{
		"some say":            {[]thought{{Text: "A", Kind: "insight", Confidence: 0.55}, {Text: "B", Kind: "critique", Confidence: 0.5, Assumed: true}}, summary{}, 0.55, false, "- B (critique)"},
		"none say":            {[]thought{{Text: "B", Kind: "critique", Confidence: 0.5, Assumed: true}}, summary{}, 0, true, "- B (critique)"},
		"thoughts are sure":   {[]thought{{Text: "A", Kind: "insight", Confidence: 0.9}}, summary{}, maxQuoteConfidence, false, "- A (insight, 0.90)"},
		"the last sum was":    {[]thought{{Text: "A", Kind: "insight", Confidence: 0.2}}, summary{Text: "S", Confidence: 0.91}, maxQuoteConfidence, false, "- A (insight, 0.20)"},
		"the last sum is not": {[]thought{{Text: "A", Kind: "insight", Confidence: 0.9}}, summary{Text: "S", Confidence: 0.3}, 0.3, false, "- A (insight, 0.90)"},
		"nobody says of it":   {[]thought{{Text: "A", Kind: "insight", Confidence: 0.9}}, summary{Text: "S", Assumed: true}, 0, true, "- A (insight, 0.90)"},
	} {
		s := state{runInput: &runInput{}, Thoughts: test.list, Synthesis: test.said}
		if sum, _ := s.thoughtSynthesis(); sum.Confidence != test.sure || sum.Assumed != test.assumed || !strings.HasSuffix(sum.Text, test.line) {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}
