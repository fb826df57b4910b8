package openai

import (
	"encoding/json"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

// customCall is the type of a call of a tool with free text as input.
const customCall = "custom_tool_call"

// An outputItem is one item of a streamed response. Items may interleave.
type outputItem struct {
	index   itemIndex
	id      string
	parts   wire.Parts
	thought []byte // not yet shown
	text    []byte // not yet shown

	streamed bool
	isText   bool   // it has or will have text
	isThink  bool   // it has or will have reasoning
	summary  int    // paragraph of reasoning
	kind     string // of the events of its reasoning
	done     bool
}

// An itemIndex is an output_index, if given.
type itemIndex struct {
	n  int
	ok bool
}

func (x *itemIndex) UnmarshalJSON(b []byte) error {
	x.ok = json.Unmarshal(b, &x.n) == nil && string(b) != "null"
	return nil
}

const maxItems = 1000

// findItem returns the open item of an event, or a new one. The index counts, because some
// servers change the IDs; events without both belong to the newest item.
func (f *responsesFold) findItem(index itemIndex, id string) (*outputItem, error) {
	for i := len(f.items) - 1; i >= f.shown; i-- {
		o := f.items[i]
		switch {
		case o.done:
		case index.ok && o.index.ok:
			if index == o.index {
				return o, nil
			}
		case id == o.id, !index.ok && id == "", !o.index.ok && o.id == "":
			return o, nil
		}
	}
	if len(f.items) >= maxItems {
		return nil, errTooLarge
	}
	o := &outputItem{index: index, id: id}
	f.items = append(f.items, o)
	return o, nil
}

// startItem notes the place and type of an item, for the order of its text.
func (f *responsesFold) startItem(ev *event) error {
	var it item
	if len(ev.Item) > 0 {
		_ = unmarshalLenient(ev.Item, &it) // only the finished item counts
	}
	o, err := f.findItem(ev.Index, it.ID)
	if err != nil {
		return err
	}
	o.isText, o.isThink = o.isText || it.Type == "message", o.isThink || it.Type == "reasoning"
	return nil
}

// addText adds text of an event to its item.
func (f *responsesFold) addText(ev *event, thought, text string) error {
	o, err := f.findItem(ev.Index, ev.ItemID)
	if err != nil {
		return err
	}
	return f.write(o, thought, text)
}

// addReasoning adds reasoning; summaries have numbered paragraphs. Of an item with summaries and
// full reasoning it takes those that come first.
func (f *responsesFold) addReasoning(ev *event) error {
	o, err := f.findItem(ev.Index, ev.ItemID)
	if err != nil {
		return err
	}
	if o.kind != "" && o.kind != ev.Type {
		return nil
	}
	text := string(ev.Delta)
	if o.kind != "" && ev.Summary != o.summary {
		text = "\n\n" + text
	}
	o.kind, o.summary = ev.Type, ev.Summary
	return f.write(o, text, "")
}

func (f *responsesFold) write(o *outputItem, thought, text string) error {
	o.thought, o.text = append(o.thought, thought...), append(o.text, text...)
	o.isThink, o.isText = o.isThink || thought != "", o.isText || text != ""
	o.streamed = o.streamed || thought != "" || text != ""
	if f.written += len(thought) + len(text); f.written > maxAnswer {
		return errTooLarge
	}
	return o.parts.Show(thought, text)
}

// show shows the text of items one after another: text waits for the end of an earlier item
// with text, and reasoning for one with reasoning.
func (f *responsesFold) show(out *llm.Delta) {
	for f.shown < len(f.items) && f.items[f.shown].done {
		f.items[f.shown].show(out, true, true)
		f.shown++
	}
	thought, text := true, true
	for _, o := range f.items[f.shown:] {
		o.show(out, thought, text)
		if thought, text = thought && (o.done || !o.isThink), text && (o.done || !o.isText); !thought && !text {
			return
		}
	}
}

// showAll shows the text that waits for items without an end.
func (f *responsesFold) showAll(out *llm.Delta) {
	for _, o := range f.items[f.shown:] {
		o.done = true
	}
	f.show(out)
}

func (o *outputItem) show(out *llm.Delta, thought, text bool) {
	if thought && len(o.thought) > 0 {
		out.Reasoning += string(o.thought)
		o.thought = o.thought[:0]
	}
	if text && len(o.text) > 0 {
		out.Text += string(o.text)
		o.text = o.text[:0]
	}
}
