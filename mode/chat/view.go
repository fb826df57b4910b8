package chat

import (
	"cmp"
	"strconv"
	"strings"

	"ponder"
	"ponder/llm"
)

// Prefixes of a turn's keys; see the package comment.
const (
	callKey = "turn"
	sayKey  = "say"
	toolKey = "use"

	questionKey = "question"

	omittedKey = "omitted"
)

// WritesAnswer reports whether the action key belongs to a call that writes an answer.
func WritesAnswer(key string) bool { return strings.HasPrefix(key, callKey+"-") }

// TurnView folds a conversation into the progress of one answer. Deltas add the text while it is
// written. Lost, late or repeated deltas are harmless, because events alone give the same view. It
// is not safe for concurrent use.
type TurnView struct {
	Message string // id of the answered event
	Seq     ponder.Seq
	Run     ponder.RunID
	Status  ponder.Status // Thinking, or the status of the ended turn
	Reason  string
	Budget  string // the exhausted budget of the run, or empty
	Omitted string // what the model did not see, or empty
	Text    llm.TextAssembler
	CallTotals

	Questions []ponder.Event           // of ApprovalRequested that the turn asks
	Untrusted []ponder.UntrustedSource // text of strangers that the model had read

	Finished   *ponder.RunFinished // of Run; nil while it runs
	Superseded bool                // a newer message arrived
	LastInput  string
	Head       ponder.Seq

	mode       string
	callPrefix string // prefix of the keys of writing calls, before the round number
	sayPrefix  string // prefix of the keys of stored text; empty: calls store the text
	turn       string
}

// NewTurnView returns the view of the turn of the message at seq. It ignores earlier events.
func NewTurnView(message string, seq ponder.Seq) TurnView {
	turn := "-" + strconv.FormatInt(int64(seq), 10) + "-"
	return TurnView{
		Message: message, Seq: seq, Status: ponder.Thinking, Head: max(0, seq-1),
		mode: Name, callPrefix: callKey + turn, sayPrefix: sayKey + turn, turn: turn,
	}
}

// NewExchangeView returns the view of a thread's only run. Its answer is the text of calls whose
// keys begin with calls.
func NewExchangeView(mode, calls string) TurnView {
	return TurnView{Status: ponder.Thinking, mode: mode, callPrefix: calls}
}

// IsOver reports whether the turn has ended.
func (v *TurnView) IsOver() bool { return v.Status.Ended() }

// Round returns the round number in a call's key.
func (v *TurnView) Round(key string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(key, v.callPrefix)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n > 0
}

// UsesTool reports whether the action key is a tool use of the turn.
func (v *TurnView) UsesTool(key string) bool { return strings.HasPrefix(key, toolKey+v.turn) }

// Apply folds the next event and returns the edit of the text. Repeated events change nothing.
func (v *TurnView) Apply(ev ponder.Event) (e llm.Edit) {
	if ev.Seq <= v.Head {
		return e
	}
	v.Head = ev.Seq
	if ev.IsExternalInput() {
		v.LastInput = ev.ID
	}
	if ev.Run.Parent() != "" {
		return e
	}
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		v.Superseded = v.Superseded || ev.ID != v.Message
	case ponder.RunStarted:
		v.setRun(ev.Run, b.Mode == v.mode)
	case ponder.CallStarted:
		v.setRun(ev.Run, v.isAnswerCall(ev))
	case ponder.CallFinished:
		v.setRun(ev.Run, v.isAnswerCall(ev))
		if _, ok := v.Round(ev.ActionKey()); ok {
			v.CallTotals.Apply(b)
		}
	case ponder.AssistantMessage:
		if _, _, ok := v.StoredText(ev); ok {
			v.setRun(ev.Run, true)
			v.Model, v.Untrusted = cmp.Or(b.Model, v.Model), b.Untrusted
		}
	case ponder.BudgetSpent:
		if ev.Run == v.Run {
			v.Budget = b.What
		}
	case ponder.ApprovalRequested:
		if strings.HasPrefix(ev.ActionKey(), questionKey+v.turn) {
			v.Questions = append(v.Questions, ev)
		}
	case ponder.SystemNote:
		if b.Reason == OmittedNote && ev.ActionKey()+"-" == omittedKey+v.turn {
			v.Omitted = b.Content
		}
	case ponder.Progress:
		if b.Stage == TurnEnded && b.Ref == v.Message && !v.IsOver() {
			v.Run, v.Status = ev.Run, ponder.Completed
			if b.Refused {
				v.Status, v.Reason = ponder.Failed, b.Content
			}
		}
	case ponder.RunFinished:
		v.applyRunFinished(ev.Run, b)
	}
	if key, text, ok := v.StoredText(ev); ok {
		n, _ := v.Round(key)
		return v.Text.Store(n, text)
	}
	return e
}

// StoredText returns the text that ev stores for a round, and the key of its call.
func (v *TurnView) StoredText(ev ponder.Event) (key, text string, ok bool) {
	switch b := ev.Body.(type) {
	case ponder.AssistantMessage:
		rest, ok := strings.CutPrefix(ev.ActionKey(), v.sayPrefix)
		if !ok || v.sayPrefix == "" {
			return "", "", false
		}
		key, text = v.callPrefix+rest, b.Content
	case ponder.CallFinished:
		if v.sayPrefix != "" || b.Error != "" {
			return "", "", false
		}
		key, text = ev.ActionKey(), b.Message.Text()
		if strings.TrimSpace(text) == "" {
			return "", "", false
		}
	}
	_, ok = v.Round(key)
	return key, text, ok
}

func (v *TurnView) isAnswerCall(ev ponder.Event) bool {
	_, ok := v.Round(ev.ActionKey())
	return ok || v.sayPrefix != "" && WritesAnswer(ev.Cause)
}

func (v *TurnView) setRun(run ponder.RunID, is bool) {
	if is && !v.IsOver() {
		v.Run = run
	}
}

func (v *TurnView) applyRunFinished(run ponder.RunID, b ponder.RunFinished) {
	if run != v.Run || run == "" || v.Finished != nil {
		return
	}
	if v.Finished = &b; !v.IsOver() {
		v.Status, v.Reason = b.Status, b.Reason
	}
}

// IsUnclaimed reports whether a root run ended with ev while no answering run is known. The turn is
// then over unless another run is left.
func (v *TurnView) IsUnclaimed(ev ponder.Event) bool {
	_, ended := ev.Body.(ponder.RunFinished)
	return ended && v.Run == "" && !v.IsOver() && ev.Run.Parent() == ""
}

// Fail ends the turn for a reason outside the log.
func (v *TurnView) Fail(reason string) {
	if !v.IsOver() {
		v.Status, v.Reason = ponder.Failed, reason
	}
}

// ApplyDelta applies a delta and returns the edit of the text. The delta must follow the event that began
// its attempt.
func (v *TurnView) ApplyDelta(d ponder.Delta) (e llm.Edit) {
	n, ok := v.Round(d.Key)
	if !ok || d.Run.Parent() != "" {
		return e
	}
	return v.Text.AddDelta(n, d.Attempt, d.Offset, d.Text)
}

// CallTotals folds calls.
type CallTotals struct {
	Usage  llm.Usage
	Model  string
	Finish llm.Finish
	Last   ponder.Outcome
}

// Apply folds a finished call.
func (t *CallTotals) Apply(b ponder.CallFinished) {
	if t.Last = b.Outcome; b.Error == "" {
		t.Usage, t.Model, t.Finish = t.Usage.Add(b.Usage), cmp.Or(b.Model, t.Model), b.Finish
	}
}

// FailureClass returns the error class if the newest call failed permanently, or "".
func (t *CallTotals) FailureClass() llm.Class {
	if o := t.Last; o.Error != "" && o.RetryAt.IsZero() && !o.Dropped && !o.Refused {
		return cmp.Or(o.Class, llm.Transient)
	}
	return ""
}
