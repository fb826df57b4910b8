package session

import (
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/llm"
)

// If the budget ends before the call for the answer, event, reason, answer and view name the budget,
// and nothing says that no model was available.
func TestRefusedAnswer(t *testing.T) {
	spent := ponder.Budget{Cost: ponder.Cost{Money: 10_000}}.SpentOf("money")
	refused := ponder.CallFinished{Outcome: ponder.Outcome{Error: spent.String(), Class: llm.Payment, Refused: true}}
	d := newDriver(t, "What is the sea?", Options{}, time.Hour, answersByKey(map[string]ponder.Body{"final": refused}))
	d.inputs = map[int]ponder.Body{6: spent}
	d.runToEnd()
	const reason = "budget of $0.01 reached; answered from 3 thoughts"
	if d.fin.Reason != reason || d.fin.End != ponder.EndMoney || !strings.HasPrefix(d.fin.Answer, "Budget of $0.01 reached before the model could write the answer.") {
		t.Errorf("finished %+v", d.fin)
	}
	v := NewView().Apply(ponder.Event{Run: testRun, Body: ponder.RunStarted{Mode: Name, Input: "What is the sea?"}})
	for _, ev := range d.log {
		v = v.Apply(ev)
	}
	if s := v.Session; s.StopReason != reason || s.End != ponder.EndMoney || !v.Refused || s.Metadata.WithoutModel || strings.Contains(s.Final, "without a model") {
		t.Errorf("shown as %q (%s), refused %v, without a model %v: %s", s.StopReason, s.End, v.Refused, s.Metadata.WithoutModel, s.Final)
	}
}
