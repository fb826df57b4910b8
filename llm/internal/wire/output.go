package wire

import (
	"slices"
	"sync"

	"ponder/llm"
)

// An Output reads the text of one answer: see [llm.OutputReader].
type Output struct {
	reader *llm.OutputReader
	cfg    llm.OutputConfig
	answer string // tool that answers, or ""
	size   int    // bytes of text read
	native bool   // reasoning came in its own field
	habits *outputHabits
	model  string
}

// An OutputForm tells what is known of the templates of a model.
type OutputForm struct {
	Open bool // they write the start tag of reasoning
	Hold bool // they may do so
}

// NewOutput returns a reader of the answer to a request. It remembers by model whether start
// tags of reasoning are missing.
func (c *Client) NewOutput(model string, req *llm.Request, form OutputForm) *Output {
	o := &Output{habits: &c.habits, model: model}
	o.cfg = llm.OutputConfig{Open: form.Open, Hold: form.Hold, Verbatim: req.Schema != nil}
	if req.ToolChoice != "none" {
		o.cfg.Tools = req.Tools
	}
	if req.Schema != nil {
		o.answer = SchemaName(req.Schema)
		o.cfg.Tools = append(slices.Clip(o.cfg.Tools), llm.Tool{Name: o.answer, Schema: req.Schema.JSON})
	}
	if form.Hold {
		o.cfg.Open, o.cfg.Hold = c.habits.expect(model)
	}
	o.reader = llm.NewOutputReader(o.cfg)
	return o
}

// readDelta separates the text of a delta. A nil Output changes nothing.
func (o *Output) readDelta(d llm.Delta) llm.Delta {
	if o == nil {
		return d
	}
	if d.Reasoning != "" && !o.native {
		o.native = true
		o.reader.NoteReasoning()
	}
	if d.Text == "" {
		return d
	}
	o.size += len(d.Text)
	reasoning, text := o.reader.Add(d.Text)
	d.Reasoning += reasoning
	d.Text = text
	return d
}

// closeDelta returns the rest of an answer. cut reports that it broke off.
func (o *Output) closeDelta(cut bool) (d llm.Delta) {
	if o != nil {
		d.Reasoning, d.Text = o.reader.Close(cut)
	}
	return d
}

// finishAnswer separates the parts of an answer after closeDelta.
func (o *Output) finishAnswer(answer *llm.Response) {
	if o == nil {
		return
	}
	parts := answer.Message.Parts
	if text := answer.Message.Text(); len(text) != o.size { // blocks were interleaved
		o.reader = llm.NewOutputReader(o.cfg)
		if o.native {
			o.reader.NoteReasoning()
		}
		o.reader.Add(text)
		o.reader.Close(answer.Finish.IsCut())
	}
	o.habits.learn(o.model, o.reader, answer)
	called := slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Call != nil })
	parts = o.reader.SplitParts(parts)
	parts = slices.DeleteFunc(parts, func(p llm.Part) bool { return called && p.Call != nil && p.Call.ID == "" }) // repeated as text
	for i, p := range parts {
		switch {
		case p.Call == nil || p.Call.ID != "":
		case p.Call.Name == o.answer:
			parts[i] = llm.Part{Text: string(p.Call.Input)}
		default:
			p.Call.ID, called = CallID(), true
		}
	}
	if answer.Message.Parts = parts; called && answer.Finish == llm.FinishStop {
		answer.Finish = llm.FinishTools
	}
}

// outputHabits records by model whether its reasoning has start tags. It is safe for concurrent
// use.
type outputHabits struct {
	mu     sync.Mutex
	models map[string]outputHabit
}

type outputHabit struct {
	drops bool // the newest answer had reasoning without a start tag
	plain int  // answers before it without any
}

const (
	// enoughPlain is the number of answers after which a model is taken to write start tags.
	enoughPlain = 3

	maxHabits = 1000
)

func (h *outputHabits) expect(model string) (open, hold bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.models[model]
	return m.drops, !m.drops && m.plain < enoughPlain
}

func (h *outputHabits) learn(model string, r *llm.OutputReader, answer *llm.Response) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, known := h.models[model]
	switch {
	case r.DropsStart():
		m = outputHabit{drops: true}
	case r.Separates():
		m = outputHabit{plain: enoughPlain}
	case answer.Finish == llm.FinishStop:
		m = outputHabit{plain: m.plain + 1}
	}
	if h.models == nil {
		h.models = map[string]outputHabit{}
	}
	if known || len(h.models) < maxHabits {
		h.models[model] = m
	}
}
