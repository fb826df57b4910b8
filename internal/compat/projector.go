package compat

import (
	"cmp"
	"slices"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/passthrough"
	"ponder/mode/title"
)

// A projector folds events into parts.
type projector interface {
	applyEvent(ev ponder.Event) []Part
	applyDelta(d ponder.Delta) []Part
	// isOver reports whether the answer has ended; last, that only late parts may follow.
	isOver() (over, last bool)
	// close returns the remaining parts.
	close() []Part
	endState() End
}

type chatProjector struct {
	roundAssembler
	tools  activeTools
	titled bool
	naming ponder.RunID // the open run that makes a title
	title  string
}

func newChatProjector(message string, seq ponder.Seq, titled, native bool) *chatProjector {
	return &chatProjector{roundAssembler: roundAssembler{TurnView: chat.NewTurnView(message, seq), native: native}, titled: titled}
}

func (p *chatProjector) applyEvent(ev ponder.Event) []Part {
	list := p.roundAssembler.applyEvent(ev)
	switch b := ev.Body.(type) {
	case ponder.ToolCall, ponder.ToolResult:
		if p.UsesTool(ev.ActionKey()) && !ev.Internal {
			return p.deferParts(p.tools.applyEvent(ev))
		}
	case ponder.RunStarted:
		if b.Mode == title.Name && p.title == "" {
			p.naming = ev.Run
		}
	case ponder.TitleGenerated:
		p.title = b.Content
		if p.titled {
			return p.deferParts([]Part{{Kind: Title, Text: Plain(b.Content)}})
		}
	case ponder.RunFinished:
		if ev.Run == p.naming {
			p.naming = ""
		}
	}
	return list
}

// turnOutcome returns the end for the cache; zero if a newer turn exists.
func (p *chatProjector) turnOutcome() outcome {
	if p.Superseded {
		return outcome{}
	}
	return outcome{p.Text.Stored() + p.questionText(), p.LastInput, p.Head}
}

// close implements [projector]. The questions of Ponder follow the answer.
func (p *chatProjector) close() []Part { return append(p.roundAssembler.close(), p.questionParts()...) }

func (p *chatProjector) endState() End {
	e := p.roundAssembler.endState()
	e.Text = p.withQuestions(e.Text)
	return e
}

// isOver implements [projector]. A title or the reason of a failure may come late.
func (p *chatProjector) isOver() (over, last bool) {
	switch {
	case !p.IsOver():
		return false, false
	case p.Status != ponder.Completed:
		return p.Finished != nil || p.Superseded, true
	case !p.titled || p.title != "":
		return true, true
	}
	return p.Finished != nil && p.naming == "", true
}

type passthroughProjector struct {
	roundAssembler
	tools    activeTools
	ownTools map[string]bool // called tools of Ponder
	last     []llm.ToolCall  // of the newest round
	trimmer  prefillTrimmer
}

func newPassthroughProjector() *passthroughProjector {
	view := chat.NewExchangeView(passthrough.Name, passthrough.AskKey)
	return &passthroughProjector{roundAssembler: roundAssembler{TurnView: view}, ownTools: make(map[string]bool)}
}

func (p *passthroughProjector) applyEvent(ev ponder.Event) []Part {
	list := p.trimmer.trimParts(p.roundAssembler.applyEvent(ev))
	switch b := ev.Body.(type) {
	case ponder.RunStarted:
		p.trimmer.prefill = prefillOf(b)
	case ponder.CallFinished:
		if _, ok := p.Round(ev.ActionKey()); ok && b.Error == "" {
			p.last = b.Message.Calls()
		}
	case ponder.ToolCall:
		p.ownTools[b.Name] = true
		return p.deferParts(p.tools.applyEvent(ev))
	case ponder.ToolResult:
		return p.deferParts(p.tools.applyEvent(ev))
	case ponder.RunFinished:
		if ev.Run == p.Run && p.Run != "" {
			return p.clientCalls()
		}
	}
	return list
}

func (p *passthroughProjector) clientCalls() (list []Part) {
	if p.Status != ponder.Completed {
		return nil
	}
	for _, c := range p.last {
		if !p.ownTools[c.Name] {
			list = append(list, Part{Kind: Call, Item: c.ID, Call: &c})
		}
	}
	return list
}

func (p *passthroughProjector) applyDelta(d ponder.Delta) []Part {
	return p.trimmer.trimParts(p.roundAssembler.applyDelta(d))
}

func (p *passthroughProjector) close() []Part {
	list := p.trimmer.trimParts(p.roundAssembler.close())
	held := p.trimmer.held
	p.trimmer.held = nil
	return slices.Concat(list, held, p.questionParts())
}

func (p *passthroughProjector) isOver() (over, last bool) { return p.IsOver(), p.IsOver() }

func (p *passthroughProjector) endState() End {
	e := p.roundAssembler.endState()
	e.Text = p.withQuestions(p.trimmer.trimText(e.Text))
	if p.Finish == llm.FinishTools && len(p.clientCalls()) > 0 {
		e.Finish = llm.FinishTools
	}
	return e
}

// maxWhy limits a reason or title, in bytes.
const maxWhy = 400

// whyEnded explains a missing or partial answer. Of provider errors it shows only the class.
func whyEnded(b ponder.RunFinished, trouble llm.Class) string {
	switch {
	case b.Status == ponder.Cancelled:
		return "cancelled"
	case trouble != "":
		if trouble == llm.TooLong {
			return tooLongText
		}
		return "no answer: " + cmp.Or(errorTexts[trouble], "the call of the model failed") + "; see the log of the thread"
	}
	return "no answer: " + textkit.TruncateBytes(cmp.Or(b.Reason, "it failed"), maxWhy)
}

// tooLongText has the words by which clients recognize that they must shorten the conversation.
const tooLongText = "prompt is too long: it exceeds the context window. This model's maximum context length is exceeded. Please reduce the length of the messages."

var errorTexts = map[llm.Class]string{
	llm.Transient:   "the model is overloaded, or interrupted its answer",
	llm.RateLimited: "the rate limit of the model is reached; try again later",
	llm.Truncated:   "the answer of the model is incomplete",
	llm.Unreachable: "the model cannot be reached",
	llm.Auth:        "the provider of the model rejects the API key",
	llm.Payment:     "no money is left: the daily limit of this token or the account at the provider is exhausted",
	llm.NotFound:    "the provider does not have the model",
	llm.Filtered:    "the provider of the model refuses the content of the request",
	llm.BadRequest:  "the provider of the model rejects the request",
	llm.Malformed:   "the answer of the model cannot be read",
}
