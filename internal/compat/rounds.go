package compat

import (
	"cmp"
	"strings"

	"ponder"
	"ponder/llm"
	"ponder/mode/chat"
)

// A roundAssembler makes parts of the rounds of an answer. While a call writes, other parts
// wait, so that a text stands at the place of its call, whether it is heard or read from the
// log.
type roundAssembler struct {
	chat.TurnView
	open   string    // the key of the call that writes
	behind []Part    // that wait until it has
	voice  chunker   // of the text
	mind   reasoning // of the newest call that has any
	models []string  // that the newest round asked
}

// A reasoning is a model's own reasoning in a call.
type reasoning struct {
	key     string
	round   int
	attempt int    // that is heard; the reasoning of others is told from the log
	said    []byte // so far
	over    bool   // the text has begun
	cut     chunker
}

// event takes the next event, and returns the parts of the answer.
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

// finished takes what a call came to. A call without text is closed.
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

// reasoned returns what is left of the reasoning of a call that came before its text.
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
		rest, _ := strings.CutPrefix(whole, string(r.mind.said)) // if it is another one, all of it is told
		list = r.mind.tell(rest)
	}
	return append(list, r.mind.end()...)
}

func (m *reasoning) tell(text string) []Part {
	m.said = append(m.said, text...)
	return m.parts(m.cut.add(text))
}

// end ends the reasoning: the text begins.
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

// stored takes the text that the log has of a round, and its edit.
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

// tell tells an edit of the text. If anything is taken back, all of the text is told again.
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

// piece implements [projector].
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
	case d.Text == "", d.Attempt == r.mind.attempt && !heard: // it comes from the log, behind the reasoning
		return nil
	}
	edit := r.Hear(d)
	if edit == (llm.Edit{}) {
		return nil
	}
	return append(r.mind.end(), r.tell(d.Key, edit)...)
}

// beside returns parts of other events, now or once the call that writes has written.
func (r *roundAssembler) beside(list []Part) []Part {
	if r.open == "" {
		return list
	}
	r.behind = append(r.behind, list...)
	return nil
}

// release says that no call writes, and returns the parts that have waited.
func (r *roundAssembler) release() []Part {
	list := r.behind
	r.open, r.behind = "", nil
	return list
}

// close implements [projector]. A text that was heard and is not stored is taken back.
func (r *roundAssembler) close() (list []Part) {
	if r.Text.Drop().Back > 0 {
		list = append(list, r.text(r.open, r.Text.Text(), true))
	}
	r.voice = chunker{}
	return append(list, r.release()...)
}

// end implements [projector].
func (r *roundAssembler) end() End {
	e := End{Status: r.Status, Finish: cmp.Or(r.Finish, llm.FinishStop), Usage: r.Usage, Model: r.Model, Text: r.Text.Stored()}
	if e.Finish == llm.FinishTools { // of ours: the last round had none
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
