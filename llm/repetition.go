package llm

// RepetitionPenalty is the [Request.Penalty] for a model that repeats itself. Small models wrote
// distinct items with it, and loops with half of it; see docs/design/prompts.md.
const RepetitionPenalty = 1

// A repetitionWatch notes in windows that a structured answer repeats itself. A nil one does nothing.
type repetitionWatch struct {
	model   string
	windows *Windows
	end     *AnswerEnd
	loop    LoopDetector
	done    bool
}

// watchRepetition returns a watch for the answer to a structured request. If the model is known to repeat
// itself, watchRepetition replaces the request by one with a penalty instead, and returns nil.
func (m *fittedModel) watchRepetition(req **Request) *repetitionWatch {
	switch r := *req; {
	case r.Schema == nil || r.Verbatim || r.Penalty > 0:
		return nil
	case m.windows.Lookup(m.Name()).Repeats:
		steady := *r
		steady.Penalty = RepetitionPenalty
		*req = &steady
		return nil
	default:
		return &repetitionWatch{model: m.Name(), windows: m.windows, end: NewAnswerEnd(r.Schema)}
	}
}

// add adds a piece of the answer.
func (w *repetitionWatch) add(text string) {
	if w == nil || w.done || text == "" {
		return
	}
	if _, ended := w.end.Add(text); ended {
		w.done = true
		if w.end.IsLoop() {
			w.windows.noteRepetition(w.model)
		}
		return
	}
	if _, found := w.loop.Add(text); found {
		if w.done = true; !isClosed(w.end) {
			w.windows.noteRepetition(w.model)
		}
	}
}

func isClosed(e *AnswerEnd) bool {
	_, ok := e.IsClosed()
	return ok
}
