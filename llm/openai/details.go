package openai

import (
	"cmp"
	"encoding/json"

	"ponder/llm/internal/wire"
)

// details puts the pieces of reasoning_details together again: pieces of one
// text or summary follow one another, all else stands for itself.
type details struct {
	list []growing
	size int
}

// growing is a detail of which more may come.
type growing struct {
	detail
	raw    json.RawMessage // the first piece
	text   []byte          // of all pieces
	pieces int
}

// add takes the details of one chunk.
func (d *details) add(raws []json.RawMessage) error {
	for _, raw := range raws {
		if d.size += len(raw); d.size > maxAnswer {
			return errTooLarge
		}
		var in detail
		if json.Unmarshal(raw, &in) != nil {
			continue
		}
		if n := len(d.list); n > 0 && d.list[n-1].continues(in) {
			d.list[n-1].grow(in)
			continue
		}
		d.list = append(d.list, growing{detail: in, raw: raw, text: []byte(in.Text + in.Summary), pieces: 1})
	}
	return nil
}

// continues reports whether a piece is of the same detail.
func (g *growing) continues(in detail) bool {
	return in.Type == g.Type && (in.Type == "reasoning.text" || in.Type == "reasoning.summary") &&
		string(in.Index) == string(g.Index) && (in.ID == "" || g.ID == "" || in.ID == g.ID) &&
		(g.Signature == "" || in.Text == "")
}

func (g *growing) grow(in detail) {
	g.text = append(g.text, in.Text+in.Summary...)
	g.pieces++
	if in.Signature != "" {
		g.Signature = in.Signature
	}
	g.ID = cmp.Or(g.ID, in.ID)
	g.Format = cmp.Or(g.Format, in.Format)
}

// done returns the details, word for word where they came whole.
func (d *details) done() (out []json.RawMessage) {
	for _, g := range d.list {
		out = append(out, g.done())
	}
	return out
}

func (g *growing) done() json.RawMessage {
	o, err := wire.ParseObject(g.raw)
	if err != nil || g.pieces == 1 {
		return g.raw
	}
	key := "text"
	if g.Type == "reasoning.summary" {
		key = "summary"
	}
	for _, f := range []struct{ key, value string }{{key, string(g.text)}, {"signature", g.Signature}, {"id", g.ID}, {"format", g.Format}} {
		if quoted, err := json.Marshal(f.value); err == nil && f.value != "" {
			o.Set(f.key, quoted)
		}
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return g.raw
	}
	return text
}
