package chat

import (
	"cmp"
	"strconv"
	"strings"

	"ponder"
	"ponder/llm"
)

// The first words of the keys of a turn: see the package comment.
const (
	callKey = "turn"
	sayKey  = "say"
	toolKey = "use"
)

// WritesAnswer reports whether the calls of an action write answers to the user.
func WritesAnswer(key string) bool { return strings.HasPrefix(key, callKey+"-") }

// A TurnView is a fold over the events of a conversation: how far the answer to one message
// is. With the deltas, it has the text of the answer while that is written. Deltas that are
// lost, late or repeated do no harm: events alone lead to the same view. It is not safe for
// concurrent use.
type TurnView struct {
	Message string            // the event that is answered
	Seq     ponder.Seq        // its place
	Run     ponder.RunID      // that answers; empty until it is known
	Status  ponder.Status     // Thinking, then how the turn ended
	Reason  string            // why there is no answer
	Budget  string            // the budget of the run that is spent; empty: none
	Text    llm.TextAssembler // the answer
	CallTotals

	Finished   *ponder.RunFinished // of Run; nil: it goes on
	Superseded bool                // another message came
	LastInput  string              // the newest event that came from outside
	Head       ponder.Seq          // the newest event

	mode  string // of the run
	calls string // begins the keys of the calls that write the answer; a number follows
	says  string // of what is stored of it; empty: the text is stored with the call
	turn  string // of the message, as it stands in keys
}

// NewTurnView returns the view of the turn of a message that is stored at seq. Events before
// the message are ignored.
func NewTurnView(message string, seq ponder.Seq) TurnView {
	turn := "-" + strconv.FormatInt(int64(seq), 10) + "-"
	return TurnView{
		Message: message, Seq: seq, Status: ponder.Thinking, Head: max(0, seq-1),
		mode: Name, calls: callKey + turn, says: sayKey + turn, turn: turn,
	}
}

// NewExchangeView returns the view of the only run of a thread: one of a mode whose answer
// is the text of the calls with keys that begin with calls.
func NewExchangeView(mode, calls string) TurnView {
	return TurnView{Status: ponder.Thinking, mode: mode, calls: calls}
}

// Over reports whether the turn has ended.
func (v *TurnView) Over() bool { return v.Status.Ended() }

// Round returns the number of the round of the turn that a call is for, by its key.
func (v *TurnView) Round(key string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(key, v.calls)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n > 0
}

// UsesTool reports whether the turn uses a tool in the action of a key.
func (v *TurnView) UsesTool(key string) bool { return strings.HasPrefix(key, toolKey+v.turn) }

// Apply takes the next event, and returns how it changes the text. An event that was applied
// before changes nothing.
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
		v.answeredBy(ev.Run, b.Mode == v.mode)
	case ponder.CallStarted:
		v.answeredBy(ev.Run, v.answers(ev))
	case ponder.CallFinished:
		v.answeredBy(ev.Run, v.answers(ev))
		if _, ok := v.Round(ev.ActionKey()); ok {
			v.CallTotals.Apply(b)
		}
	case ponder.AssistantMessage:
		if _, _, ok := v.Stores(ev); ok {
			v.answeredBy(ev.Run, true)
			v.Model = cmp.Or(b.Model, v.Model)
		}
	case ponder.BudgetSpent:
		if ev.Run == v.Run {
			v.Budget = b.What
		}
	case ponder.Progress:
		if b.Stage == TurnEnded && b.Ref == v.Message && !v.Over() {
			v.Run, v.Status = ev.Run, ponder.Completed
			if b.Refused {
				v.Status, v.Reason = ponder.Failed, b.Content
			}
		}
	case ponder.RunFinished:
		v.finished(ev.Run, b)
	}
	if key, text, ok := v.Stores(ev); ok {
		n, _ := v.Round(key)
		return v.Text.Store(n, text)
	}
	return e
}

// Stores returns the text that ev stores of a round of the answer, if it does, and the key
// of the call that wrote the text.
func (v *TurnView) Stores(ev ponder.Event) (key, text string, ok bool) {
	switch b := ev.Body.(type) {
	case ponder.AssistantMessage:
		rest, ok := strings.CutPrefix(ev.ActionKey(), v.says)
		if !ok || v.says == "" {
			return "", "", false
		}
		key, text = v.calls+rest, b.Content
	case ponder.CallFinished:
		if v.says != "" || b.Error != "" {
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

// answers reports whether an event is of a call that writes an answer, if only that to an
// earlier message.
func (v *TurnView) answers(ev ponder.Event) bool {
	_, ok := v.Round(ev.ActionKey())
	return ok || v.says != "" && WritesAnswer(ev.Cause)
}

func (v *TurnView) answeredBy(run ponder.RunID, is bool) {
	if is && !v.Over() {
		v.Run = run
	}
}

func (v *TurnView) finished(run ponder.RunID, b ponder.RunFinished) {
	if run != v.Run || run == "" || v.Finished != nil {
		return
	}
	if v.Finished = &b; !v.Over() {
		v.Status, v.Reason = b.Status, b.Reason
	}
}

// IsUnclaimed reports whether a run ended with ev and no run is known that answers: then the
// turn is over if no run is left on the thread.
func (v *TurnView) IsUnclaimed(ev ponder.Event) bool {
	_, ended := ev.Body.(ponder.RunFinished)
	return ended && v.Run == "" && !v.Over() && ev.Run.Parent() == ""
}

// Fail ends the turn for a reason that is not in the log.
func (v *TurnView) Fail(reason string) {
	if !v.Over() {
		v.Status, v.Reason = ponder.Failed, reason
	}
}

// Hear takes what a model writes at the moment, and returns how it changes the text. A delta
// comes behind the event that its attempt began with.
func (v *TurnView) Hear(d ponder.Delta) (e llm.Edit) {
	n, ok := v.Round(d.Key)
	if !ok || d.Run.Parent() != "" {
		return e
	}
	return v.Text.Hear(n, d.Attempt, d.Offset, d.Text)
}

// CallTotals is a fold over calls.
type CallTotals struct {
	Usage  llm.Usage      // of those that were answered
	Model  string         // that answered last
	Finish llm.Finish     // how its answer ended
	Last   ponder.Outcome // of the newest call
}

// Apply takes what a call came to.
func (t *CallTotals) Apply(b ponder.CallFinished) {
	if t.Last = b.Outcome; b.Error == "" {
		t.Usage, t.Model, t.Finish = t.Usage.Add(b.Usage), cmp.Or(b.Model, t.Model), b.Finish
	}
}

// Trouble returns the class of the error that the newest call failed with for good; empty if
// it did not.
func (t *CallTotals) Trouble() llm.Class {
	if o := t.Last; o.Error != "" && o.RetryAt.IsZero() && !o.Dropped && !o.Refused {
		return cmp.Or(o.Class, llm.Transient)
	}
	return ""
}
