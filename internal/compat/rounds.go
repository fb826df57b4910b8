package compat

import (
	"cmp"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/llm"
	"ponder/mode/chat"
)

// A roundAssembler makes the parts of an answer. Other parts wait while a call streams, so that text has the
// same position live and from the log.
type roundAssembler struct {
	chat.TurnView
	open      string // key of the streaming call
	deferred  []Part // deferred
	pieces    chunker
	reasoning reasoning
	models    []string
	native    bool // see [Job.NativeApprovals]
}

// questionText returns the questions of Ponder after a completed answer.
func (r *roundAssembler) questionText() (text string) {
	if r.native || r.Status != ponder.Completed {
		return ""
	}
	for _, ev := range r.Questions {
		text += "\n\n" + app.NewApproval(ev).Text()
	}
	return text
}

// withQuestions returns an answer and the questions after it.
func (r *roundAssembler) withQuestions(answer string) string {
	text := r.questionText()
	if text == "" {
		return answer
	}
	return strings.TrimSpace(answer + text)
}

func (r *roundAssembler) questionParts() []Part {
	const key = "questions"
	text := r.questionText()
	if text == "" {
		return nil
	}
	whole := strings.TrimSpace(text)
	if r.Text.Stored() == "" {
		text = whole
	}
	return []Part{r.textPart(key, text, false), {Kind: TextEnd, Item: key, Text: whole}}
}

type reasoning struct {
	key     string
	round   int
	attempt int // the live attempt; others come from the log
	text    []byte
	ended   bool // the text has begun
	pieces  chunker
}

func (r *roundAssembler) applyEvent(ev ponder.Event) (list []Part) {
	edit, key := r.Apply(ev), ev.ActionKey()
	round, ours := r.Round(key)
	switch b := ev.Body.(type) {
	case ponder.CallStarted:
		if ours {
			r.noteModel(b.Model)
			r.open = key
		}
	case ponder.CallFinished:
		if ours {
			list = r.finishCall(key, round, b)
		}
	}
	if key, text, ok := r.StoredText(ev); ok {
		r.noteModel(r.Model)
		list = append(list, r.finishText(key, text, edit)...)
	}
	return list
}

func (r *roundAssembler) noteModel(model string) {
	if model != "" {
		r.models = []string{model}
	}
}

func (r *roundAssembler) finishCall(key string, round int, b ponder.CallFinished) (list []Part) {
	if b.Error != "" {
		if b.RetryAt.IsZero() {
			return r.releaseParts()
		}
		return nil
	}
	list = r.finishReasoning(key, round, b.Message)
	if strings.TrimSpace(b.Message.Text()) == "" {
		list = append(list, r.releaseParts()...)
	}
	return list
}

// finishReasoning returns the rest of the reasoning before the text of a call.
func (r *roundAssembler) finishReasoning(key string, round int, m llm.Message) (list []Part) {
	var whole string
	for _, p := range m.Parts {
		if p.Text != "" {
			break
		}
		whole += p.Reasoning
	}
	if r.reasoning.round != round {
		r.reasoning = reasoning{key: key, round: round}
	}
	if !r.reasoning.ended {
		rest, _ := strings.CutPrefix(whole, string(r.reasoning.text)) // another attempt is sent completely
		list = r.reasoning.addText(rest)
	}
	return append(list, r.reasoning.endText()...)
}

func (m *reasoning) addText(text string) []Part {
	m.text = append(m.text, text...)
	return m.textParts(m.pieces.add(text))
}

func (m *reasoning) endText() []Part {
	m.ended = true
	return m.textParts(m.pieces.takeRest())
}

func (m *reasoning) textParts(texts []string) (list []Part) {
	for _, text := range texts {
		list = append(list, Part{Kind: Reasoning, Item: m.key, Text: text})
	}
	return list
}

func (r *roundAssembler) finishText(key, text string, edit llm.Edit) []Part {
	list := r.editParts(key, edit)
	for _, piece := range r.pieces.takeRest() {
		list = append(list, r.textPart(key, piece, false))
	}
	list = append(list, Part{Kind: TextEnd, Item: key, Text: strings.TrimSpace(text), Less: r.Finish == llm.FinishLoop})
	return append(list, r.releaseParts()...)
}

func (r *roundAssembler) textPart(key, text string, again bool) Part {
	return Part{Kind: Text, Item: key, Text: text, Again: again, Models: r.models}
}

// editParts returns the parts of an edit. A retraction repeats all of the text.
func (r *roundAssembler) editParts(key string, edit llm.Edit) (list []Part) {
	again := edit.Back > 0
	if again {
		r.pieces, edit.Text = chunker{}, r.Text.Text()
	}
	for _, piece := range r.pieces.add(edit.Text) {
		list = append(list, r.textPart(key, piece, again))
		again = false
	}
	if again && len(r.pieces.rest) > 0 {
		list = append(list, r.textPart(key, string(r.pieces.rest), true))
		r.pieces = chunker{}
	}
	return list
}

func (r *roundAssembler) applyDelta(d ponder.Delta) []Part {
	round, ok := r.Round(d.Key)
	if !ok || round < r.reasoning.round || d.Run.Parent() != "" {
		return nil
	}
	if round > r.reasoning.round {
		r.reasoning = reasoning{key: d.Key, round: round, attempt: d.Attempt}
	}
	isLive := r.reasoning.ended || d.Attempt == r.reasoning.attempt && d.Reasoned == len(r.reasoning.text)
	switch {
	case d.Text == "" && isLive && !r.reasoning.ended:
		return r.reasoning.addText(d.Reasoning)
	case d.Text == "", d.Attempt == r.reasoning.attempt && !isLive: // the log supplies it
		return nil
	}
	edit := r.ApplyDelta(d)
	if edit == (llm.Edit{}) {
		return nil
	}
	return append(r.reasoning.endText(), r.editParts(d.Key, edit)...)
}

// deferParts defers list until the streaming call ends.
func (r *roundAssembler) deferParts(list []Part) []Part {
	if r.open == "" {
		return list
	}
	r.deferred = append(r.deferred, list...)
	return nil
}

// releaseParts ends the streaming call and returns deferred parts.
func (r *roundAssembler) releaseParts() []Part {
	list := r.deferred
	r.open, r.deferred = "", nil
	return list
}

// close implements [projector]. It retracts live text that was not stored.
func (r *roundAssembler) close() (list []Part) {
	if r.Text.Drop().Back > 0 {
		list = append(list, r.textPart(r.open, r.Text.Text(), true))
	}
	r.pieces = chunker{}
	return append(list, r.releaseParts()...)
}

func (r *roundAssembler) endState() End {
	e := End{Status: r.Status, Finish: cmp.Or(r.Finish, llm.FinishStop), Usage: r.Usage, Model: r.Model, Text: r.Text.Stored()}
	switch {
	case e.Finish == llm.FinishTools: // of Ponder's tools
		e.Finish = llm.FinishStop
	case e.Finish.IsCut() && e.Finish != llm.FinishFilter:
		e.Finish = llm.FinishLength
	}
	if !r.IsOver() || e.Status == ponder.Completed {
		return e
	}
	if e.ErrorClass = r.FailureClass(); e.ErrorClass != "" {
		e.NotBefore = r.Last.NotBefore
	}
	switch {
	case r.Finished != nil && r.Finished.Status != ponder.Completed:
		e.Status, e.Reason = r.Finished.Status, whyEnded(*r.Finished, e.ErrorClass)
	case e.ErrorClass != "":
		e.Reason = whyEnded(ponder.RunFinished{Status: ponder.Failed}, e.ErrorClass)
	default:
		e.Reason = "no answer: the call of the model failed, or its answer was empty"
	}
	return e
}
