package research

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/llm"
)

// A model with a small context writes the answer from less evidence, whether or not a refusal names
// the limit. The user sees one note.
func TestSmallContext(t *testing.T) {
	for _, limit := range []int{4_500, 7_000, 12_000} {
		for _, told := range []bool{true, false} {
			for _, effort := range []string{trivial, normal, deep} {
				t.Run(fmt.Sprintf("%d bytes, told %t, %s", limit, told, effort), func(t *testing.T) {
					f := answerWriter(manyPages(40), func(ponder.Call, int) ponder.Body { return textAnswer("So [e1].") })
					refused := 0
					d := newDriver(t, deepest, Options{Web: true, MaxItemsPerSource: 40, Effort: effort}, time.Minute, func(a ponder.Action) ponder.Body {
						c, ok := a.(ponder.Call)
						if !ok || c.Request.Size() <= limit {
							return f.answerAction(a)
						}
						refused++
						b := ponder.CallFinished{Outcome: ponder.Outcome{Error: "too long", Class: llm.TooLong}}
						if told {
							b.Room = limit * 3 / 4
						}
						return b
					}).runToEnd()
					if sum := bodiesOf[ponder.Synthesis](d)[0]; !strings.HasPrefix(d.fin.Answer, "So [e1].") || sum.WithoutModel {
						t.Errorf("finished %+v, without the model %t", d.fin, sum.WithoutModel)
					}
					notes := 0
					for _, b := range bodiesOf[ponder.Progress](d) {
						if strings.Contains(b.Content, "exceeds the model's context") {
							notes++
						}
					}
					if want := min(refused, 1); notes != want || refused > 12 {
						t.Errorf("%d notes after %d refusals, want %d", notes, refused, want)
					}
				})
			}
		}
	}
}
