package compat

import (
	"cmp"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/stream"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/passthrough"
	"ponder/mode/title"
)

// A teller makes parts of the events of a thread: a fold.
type teller interface {
	event(ev ponder.Event) []Part
	// piece takes in what a model writes at the moment.
	piece(p stream.Piece) []Part
	// missed says that pieces were lost, before those that come next.
	missed()
	// over reports whether the answer is at its end. Last says that nothing is waited for
	// any more but what may still come of itself, such as a title.
	over() (over, last bool)
	// close returns what is left at the end, without the end itself.
	close() []Part
	end() End
}

// The keys of the mode chat: see its package.
const (
	turnKey = "turn-"
	sayKey  = "say-"
)

// A talkTeller tells of a turn of a conversation.
type talkTeller struct {
	*rounds
	message string // the id of the event that is answered
	mine    string // begins the numbers of the rounds of the turn: "N-"
	titled  bool   // a title is wanted

	uses   uses
	run    ponder.RunID // that answers; empty until it is known
	ended  bool         // the turn
	done   bool         // the run
	failed string       // why there is no answer
	status ponder.Status
	naming ponder.RunID // the run that makes a title, while it goes on
	named  string       // the title

	answer string // all that was said
	told   string // the newest event that the thread was told
	others bool   // messages were told beside the one that is answered
}

// newTalkTeller returns the teller of the turn of a message. Deaf is the newest event that
// there was before it began to listen, or zero if it has listened all along.
func newTalkTeller(message string, seq, deaf ponder.Seq, titled bool) *talkTeller {
	mine := strconv.FormatInt(int64(seq), 10) + "-"
	return &talkTeller{rounds: newRounds(turnKey+mine, deaf), message: message, mine: mine, titled: titled, status: ponder.Completed}
}

// event implements [teller].
func (t *talkTeller) event(ev ponder.Event) []Part {
	t.seen = max(t.seen, ev.Seq)
	if ev.IsTold() {
		t.told = ev.ID
	}
	key := keyOf(ev)
	switch b := ev.Body.(type) {
	case ponder.CallStarted:
		if _, ok := t.number(key); ok {
			t.run = ev.Run
			return t.started(ev.Seq, key, b.Model)
		}
	case ponder.CallFinished:
		if _, ok := t.number(key); ok {
			return t.finished(key, b)
		}
	case ponder.ToolCall, ponder.ToolResult:
		if strings.HasPrefix(key, "use-"+t.mine) && !ev.Internal {
			return t.beside(t.uses.event(ev, key))
		}
	case ponder.AssistantMessage:
		rest, ok := strings.CutPrefix(key, sayKey+t.mine)
		if n, err := strconv.Atoi(rest); ok && err == nil {
			t.run, t.model = ev.Run, cmp.Or(b.Model, t.model)
			t.asked(b.Model)
			t.answer += "\n" + b.Content
			return t.said(n, b.Content)
		}
	case ponder.Progress:
		t.progress(ev.Run, b)
	case ponder.RunStarted:
		t.runs(ev.Run, b)
	case ponder.UserMessage: // another turn
		t.others = t.others || ev.ID != t.message
		t.done = t.done || t.ended && t.failed != ""
	case ponder.TitleGenerated:
		t.named = b.Content
		if t.titled {
			return t.beside([]Part{{Kind: Title, Text: Plain(b.Content)}})
		}
	case ponder.RunFinished:
		t.over1(ev.Run, b)
	}
	return nil
}

// outcome returns how the turn has ended, for who goes on behind it; zero if it is not the
// newest one.
func (t *talkTeller) outcome() outcome {
	if t.others {
		return outcome{}
	}
	return outcome{t.answer, t.told, t.seen}
}

func (t *talkTeller) progress(run ponder.RunID, b ponder.Progress) {
	if b.Stage != chat.TurnEnded || b.Ref != t.message {
		return
	}
	t.ended, t.run = true, run
	if b.Refused {
		t.failed = "no answer: the model could not be asked, or said nothing" // the run says more
		if t.trouble != "" {
			t.failed = whyEnded(ponder.RunFinished{Status: ponder.Failed}, t.trouble)
		}
	}
}

// runs takes in that a run begins that may answer, or make a title.
func (t *talkTeller) runs(run ponder.RunID, b ponder.RunStarted) {
	switch {
	case b.Mode == title.Name && t.named == "":
		t.naming = run
	case b.Mode == chat.Name && t.run == "":
		t.run = run
	}
}

// over1 takes in that a run is over: the one that answers, or the one that makes a title.
func (t *talkTeller) over1(run ponder.RunID, b ponder.RunFinished) {
	if run == t.naming {
		t.naming = ""
	}
	if run != t.run || run == "" {
		return
	}
	t.done = true
	if b.Status != ponder.Completed && (!t.ended || t.failed != "") {
		t.failed, t.status = whyEnded(b, t.trouble), b.Status
	}
}

// over implements [teller]. A title comes in its own time, and so does the reason of a
// failure.
func (t *talkTeller) over() (over, last bool) {
	switch {
	case t.done && (!t.ended || t.failed != ""):
		return true, true
	case !t.ended:
		return false, false
	case t.failed != "":
		return false, true
	case !t.titled || t.named != "":
		return true, true
	}
	return t.done && t.naming == "", true
}

// end implements [teller].
func (t *talkTeller) end() End {
	e := End{Status: t.status, Finish: cmp.Or(t.finish, llm.FinishStop), Usage: t.usage, Model: t.model, Text: t.text}
	if t.failed != "" {
		e.Reason, e.Trouble = t.failed, t.trouble
		if e.Status == ponder.Completed {
			e.Status = ponder.Failed
		}
	}
	if e.Finish == llm.FinishTools { // of ours: the last round had none
		e.Finish = llm.FinishStop
	}
	return e
}

// A relayTeller tells of one request of a program that keeps the conversation itself.
type relayTeller struct {
	*rounds
	uses uses
	run  ponder.RunID
	own  map[string]bool // names of tools of ours that were used
	last []llm.ToolCall
	fin  *ponder.RunFinished
}

func newRelayTeller(deaf ponder.Seq) *relayTeller {
	return &relayTeller{rounds: newRounds(passthrough.AskKey, deaf), own: make(map[string]bool)}
}

// event implements [teller].
func (t *relayTeller) event(ev ponder.Event) []Part {
	t.seen = max(t.seen, ev.Seq)
	key := keyOf(ev)
	n, mine := t.number(key)
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		if b.Mode == passthrough.Name && ev.Run.Parent() == "" {
			t.run = ev.Run
		}
	case ponder.CallStarted:
		if mine {
			return t.started(ev.Seq, key, b.Model)
		}
	case ponder.CallFinished:
		if mine {
			return t.answered(n, key, b)
		}
	case ponder.ToolCall:
		t.own[b.Name] = true
		return t.beside(t.uses.event(ev, key))
	case ponder.ToolResult:
		return t.beside(t.uses.event(ev, key))
	case ponder.RunFinished:
		if ev.Run == t.run && t.run != "" {
			t.fin = &b
			return t.calls()
		}
	}
	return nil
}

// answered takes in a round.
func (t *relayTeller) answered(n int, key string, b ponder.CallFinished) []Part {
	list := t.finished(key, b)
	if b.Error != "" {
		return list
	}
	t.last = b.Message.Calls()
	if text := b.Message.Text(); strings.TrimSpace(text) != "" {
		list = append(list, t.said(n, text)...)
	}
	return list
}

// calls returns the tools of the client that the last round called.
func (t *relayTeller) calls() (list []Part) {
	if t.fin.Status != ponder.Completed {
		return nil
	}
	for _, c := range t.last {
		if !t.own[c.Name] {
			list = append(list, Part{Kind: Call, Item: c.ID, Call: &c})
		}
	}
	return list
}

// over implements [teller].
func (t *relayTeller) over() (over, last bool) { return t.fin != nil, t.fin != nil }

// end implements [teller].
func (t *relayTeller) end() End {
	e := End{Finish: cmp.Or(t.finish, llm.FinishStop), Usage: t.usage, Model: t.model, Text: t.text}
	if t.fin == nil {
		e.Status = ponder.Thinking
		return e
	}
	e.Status = t.fin.Status
	if e.Status != ponder.Completed {
		e.Reason, e.Trouble = whyEnded(*t.fin, t.trouble), t.trouble
	}
	if e.Finish == llm.FinishTools && len(t.calls()) == 0 {
		e.Finish = llm.FinishStop
	}
	return e
}

// maxWhy is how much is said of why something failed, in bytes.
const maxWhy = 400

// whyEnded says why a run has no answer, or not all of one. What a provider said of it
// is for the log alone; trouble is the class of that, or empty.
func whyEnded(b ponder.RunFinished, trouble llm.Class) string {
	switch {
	case b.Status == ponder.Cancelled:
		return "it was cancelled"
	case trouble != "":
		return "no answer: " + cmp.Or(troubles[trouble], "the model could not be asked") + "; the log of the thread says more"
	}
	return "no answer: " + Clip(cmp.Or(b.Reason, "it failed"), maxWhy)
}

// troubles say what came between a request and its answer.
var troubles = map[llm.Class]string{
	llm.Transient:   "the model is overloaded, or broke off",
	llm.RateLimited: "the model takes no more requests now",
	llm.Truncated:   "the model broke off",
	llm.Unreachable: "the model cannot be reached",
	llm.Auth:        "the provider of the model rejects the key",
	llm.Payment:     "nothing is left that pays for it, of the day of this token or of the account at the provider of the model",
	llm.NotFound:    "the provider does not have the model",
	llm.TooLong:     "the request is too long for the model",
	llm.Filtered:    "the provider of the model refuses the content of the request",
	llm.BadRequest:  "the provider of the model does not take the request",
	llm.Malformed:   "what the model sent was no answer",
}

// Clip returns at most n bytes of a text, cut between letters.
func Clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
