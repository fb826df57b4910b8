package compat

import (
	"cmp"
	"strings"

	"ponder"
	"ponder/llm"
	"ponder/mode/chat"
)

// A roundAssembler makes the parts of an answer. Other parts wait while a call streams, so that text has the
// same position live and from the log.
type roundAssembler struct {
	chat.TurnView
	open   string // key of the streaming call
	behind []Part // deferred
	voice  chunker
	mind   reasoning
	models []string
}

type reasoning struct {
	key     string
	round   int
	attempt int // the live attempt; others come from the log
	said    []byte
	over    bool // the text has begun
	cut     chunker
}

func (r *roundAssembler) event(ev ponder.Event) (list []Part) {
	edit, key := r.Apply(ev), ev.ActionKey()
	round, ours := r.Round(key)
	switch b := ev.Body.(type) {
	case ponder.CallStarted:
		if ours {
			r.asked(b.Model)
			r.open = key
		}
	case ponder.CallFinished:
		if ours {
			list = r.finished(key, round, b)
		}
	}
	if key, text, ok := r.Stores(ev); ok {
		r.asked(r.Model)
		list = append(list, r.stored(key, text, edit)...)
	}
	return list
}

func (r *roundAssembler) asked(model string) {
	if model != "" {
		r.models = []string{model}
	}
}

func (r *roundAssembler) finished(key string, round int, b ponder.CallFinished) (list []Part) {
	if b.Error != "" {
		if b.RetryAt.IsZero() {
			return r.release()
		}
		return nil
	}
	list = r.reasoned(key, round, b.Message)
	if strings.TrimSpace(b.Message.Text()) == "" {
		list = append(list, r.release()...)
	}
	return list
}

// reasoned returns the rest of the reasoning before the text of a call.
func (r *roundAssembler) reasoned(key string, round int, m llm.Message) (list []Part) {
	var whole string
	for _, p := range m.Parts {
		if p.Text != "" {
			break
		}
		whole += p.Reasoning
	}
	if r.mind.round != round {
		r.mind = reasoning{key: key, round: round}
	}
	if !r.mind.over {
		rest, _ := strings.CutPrefix(whole, string(r.mind.said)) // another attempt is sent completely
		list = r.mind.tell(rest)
	}
	return append(list, r.mind.end()...)
}

func (m *reasoning) tell(text string) []Part {
	m.said = append(m.said, text...)
	return m.parts(m.cut.add(text))
}

func (m *reasoning) end() []Part {
	m.over = true
	return m.parts(m.cut.end())
}

func (m *reasoning) parts(texts []string) (list []Part) {
	for _, text := range texts {
		list = append(list, Part{Kind: Reasoning, Item: m.key, Text: text})
	}
	return list
}

func (r *roundAssembler) stored(key, text string, edit llm.Edit) []Part {
	list := r.tell(key, edit)
	for _, piece := range r.voice.end() {
		list = append(list, r.text(key, piece, false))
	}
	list = append(list, Part{Kind: TextEnd, Item: key, Text: strings.TrimSpace(text)})
	return append(list, r.release()...)
}

func (r *roundAssembler) text(key, text string, again bool) Part {
	return Part{Kind: Text, Item: key, Text: text, Again: again, Models: r.models}
}

// tell returns the parts of an edit. A retraction repeats all of the text.
func (r *roundAssembler) tell(key string, edit llm.Edit) (list []Part) {
	again := edit.Back > 0
	if again {
		r.voice, edit.Text = chunker{}, r.Text.Text()
	}
	for _, piece := range r.voice.add(edit.Text) {
		list = append(list, r.text(key, piece, again))
		again = false
	}
	if again && len(r.voice.rest) > 0 {
		list = append(list, r.text(key, string(r.voice.rest), true))
		r.voice = chunker{}
	}
	return list
}

func (r *roundAssembler) piece(d ponder.Delta) []Part {
	round, ok := r.Round(d.Key)
	if !ok || round < r.mind.round || d.Run.Parent() != "" {
		return nil
	}
	if round > r.mind.round {
		r.mind = reasoning{key: d.Key, round: round, attempt: d.Attempt}
	}
	heard := r.mind.over || d.Attempt == r.mind.attempt && d.Reasoned == len(r.mind.said)
	switch {
	case d.Text == "" && heard && !r.mind.over:
		return r.mind.tell(d.Reasoning)
	case d.Text == "", d.Attempt == r.mind.attempt && !heard: // the log supplies it
		return nil
	}
	edit := r.Hear(d)
	if edit == (llm.Edit{}) {
		return nil
	}
	return append(r.mind.end(), r.tell(d.Key, edit)...)
}

// beside defers list until the streaming call ends.
func (r *roundAssembler) beside(list []Part) []Part {
	if r.open == "" {
		return list
	}
	r.behind = append(r.behind, list...)
	return nil
}

// release ends the streaming call and returns deferred parts.
func (r *roundAssembler) release() []Part {
	list := r.behind
	r.open, r.behind = "", nil
	return list
}

// close implements [projector]. It retracts live text that was not stored.
func (r *roundAssembler) close() (list []Part) {
	if r.Text.Drop().Back > 0 {
		list = append(list, r.text(r.open, r.Text.Text(), true))
	}
	r.voice = chunker{}
	return append(list, r.release()...)
}

func (r *roundAssembler) end() End {
	e := End{Status: r.Status, Finish: cmp.Or(r.Finish, llm.FinishStop), Usage: r.Usage, Model: r.Model, Text: r.Text.Stored()}
	if e.Finish == llm.FinishTools { // of Ponder's tools
		e.Finish = llm.FinishStop
	}
	if !r.Over() || e.Status == ponder.Completed {
		return e
	}
	e.Trouble = r.Trouble()
	switch {
	case r.Finished != nil && r.Finished.Status != ponder.Completed:
		e.Status, e.Reason = r.Finished.Status, whyEnded(*r.Finished, e.Trouble)
	case e.Trouble != "":
		e.Reason = whyEnded(ponder.RunFinished{Status: ponder.Failed}, e.Trouble)
	default:
		e.Reason = "no answer: the model could not be asked, or said nothing"
	}
	return e
}
