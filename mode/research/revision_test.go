package research

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
)

func rewriteSection(part ponder.SteerSection, instruction string) ponder.Steer {
	js, _ := json.Marshal(part)
	return ponder.Steer{Do: ponder.RewriteSection, Args: js, Content: instruction}
}

var partOfAnswer = ponder.SteerSection{
	Before:  "The trench is deep [e4].",
	Section: "## History\n\nSomebody measured it [unverified].",
	After:   "## Life\n\nLittle is known.",
}

// A model rewrites the section from the same evidence. The whole answer is checked again.
func TestRevision(t *testing.T) {
	var d *driver
	f := answerWriter(trench, func(a ponder.Call, n int) ponder.Body {
		if n == 1 {
			d.appendEvent("", rewriteSection(partOfAnswer, "name the ship"))
			return nil
		}
		return textAnswer("<section>\nHMS Challenger sounded the Challenger Deep in 1875 [e3].\n</section>")
	})
	d = newDriver(t, deepest, Options{Web: true}, 3*time.Minute, f.answerAction)
	d.runToEnd()
	if ack := singleAck(t, d); ack.Refused {
		t.Fatalf("refused: %+v", ack)
	}
	prompt := writtenPrompt(d)
	for _, want := range []string{"<section>\n## History\n\nSomebody measured it.\n</section>", "The user wants: name the ship", "‹", "[e3]"} {
		if want != "‹" && !strings.Contains(prompt, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, prompt)
		}
	}
	answer := d.fin.Answer
	for _, want := range []string{"The trench is deep [e", "## History\n\nHMS Challenger sounded the Challenger Deep in 1875 [e3]", "## Life\n\nLittle is known"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer lacks %q:\n%s", want, answer)
		}
	}
	if strings.Contains(answer, "Somebody") || strings.Contains(answer, "section>") || d.fin.Status != ponder.Completed || d.fin.Reason != revisionReason {
		t.Errorf("ended as %+v", d.fin)
	}
	if claims := bodiesOf[ponder.Claim](d); !slices.ContainsFunc(claims, func(c ponder.Claim) bool { return strings.Contains(c.Content, "1875") && len(c.Quotes) > 0 }) {
		t.Errorf("claims %+v", claims)
	}
}

// A model that fails leaves no half answer: the old version stays the only one.
func TestRevisionFails(t *testing.T) {
	var d *driver
	f := answerWriter(trench, func(a ponder.Call, n int) ponder.Body {
		if n == 1 {
			d.appendEvent("", rewriteSection(partOfAnswer, ""))
			return nil
		}
		return failedCall("", "overloaded")
	})
	d = newDriver(t, deepest, Options{Web: true}, 3*time.Minute, f.answerAction)
	if d.runToEnd(); d.fin.Status != ponder.Failed || !strings.Contains(d.fin.Reason, "not rewritten") || !strings.Contains(d.fin.Reason, "overloaded") {
		t.Errorf("ended as %+v", d.fin)
	}
}

func TestRevisionRefused(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		steer   ponder.Steer
		want    string
	}{
		"no section":     {Options{Web: true}, rewriteSection(ponder.SteerSection{Section: " \n"}, ""), "no section given"},
		"no arguments":   {Options{Web: true}, ponder.Steer{Do: ponder.RewriteSection}, "no section given"},
		"too long":       {Options{Web: true}, rewriteSection(ponder.SteerSection{Section: strings.Repeat("word ", maxAnswer)}, ""), "has more than"},
		"without models": {Options{Web: true, SynthesisStrategy: Never}, rewriteSection(partOfAnswer, ""), "this research has none"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriver(t, deepest, test.options, 3*time.Minute, answerWriter(trench, func(a ponder.Call, _ int) ponder.Body { return defaultAnswer(a) }).answerAction)
			d.inputs = map[int]ponder.Body{2: test.steer}
			d.runToEnd()
			if ack := singleAck(t, d); !ack.Refused || !strings.Contains(ack.Content, test.want) || d.fin.Status != ponder.Completed {
				t.Errorf("acknowledged %+v, ended as %+v", ack, d.fin)
			}
		})
	}
}
