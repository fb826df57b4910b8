package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"ponder/llm"
)

const maxParts = 10000

const firstText = 256

// Parts collects a streamed answer. It joins consecutive pieces of text, or of reasoning.
// The zero value is empty.
type Parts struct {
	parts       []llm.Part
	text        strings.Builder
	inReasoning bool
	size        int
}

func (p *Parts) Text(s string) error { return p.addPiece(s, false) }

func (p *Parts) Reasoning(s string) error { return p.addPiece(s, true) }

func (p *Parts) Show(thought, text string) error {
	return errors.Join(p.Reasoning(thought), p.Text(text))
}

func (p *Parts) addPiece(s string, thought bool) error {
	if s == "" {
		return nil
	}
	if p.inReasoning != thought {
		p.flush()
		p.inReasoning = thought
	}
	if p.text.Cap() == 0 {
		p.text.Grow(max(len(s), firstText))
	}
	p.text.WriteString(s)
	return p.addSize(len(s))
}

func (p *Parts) Add(part llm.Part) error {
	p.flush()
	p.parts = append(p.parts, part)
	n := len(part.Text) + len(part.Reasoning)
	if part.Call != nil {
		n += len(part.Call.ID) + len(part.Call.Name) + len(part.Call.Input)
	}
	if part.Opaque != nil {
		n += len(part.Opaque.Data)
	}
	if part.Media != nil {
		n += len(part.Media.Data)
	}
	return p.addSize(n)
}

// Seal attaches o to the last part and ends it.
func (p *Parts) Seal(o *llm.Opaque) error {
	p.flush()
	if n := len(p.parts); n > 0 {
		p.parts[n-1].Opaque = o
		return p.addSize(len(o.Data))
	}
	return p.Add(llm.Part{Opaque: o})
}

func (p *Parts) addSize(n int) error {
	if p.size += n; p.size > maxAnswer || len(p.parts) > maxParts {
		return oversizeError()
	}
	return nil
}

func (p *Parts) flush() {
	if p.text.Len() == 0 {
		return
	}
	part := llm.Part{Text: p.text.String()}
	if p.inReasoning {
		part = llm.Part{Reasoning: part.Text}
	}
	p.parts = append(p.parts, part)
	p.text = strings.Builder{}
}

func (p *Parts) Size() int { return p.size }

// TakeParts returns the parts and resets p.
func (p *Parts) TakeParts() []llm.Part {
	p.flush()
	parts := p.parts
	*p = Parts{}
	return parts
}

// CallInput returns JSON verbatim, {} for blanks, and other text as a string.
func CallInput(text []byte) json.RawMessage {
	if len(strings.TrimSpace(string(text))) == 0 {
		return json.RawMessage("{}")
	}
	if json.Valid(text) {
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(string(text))
	if err != nil { // cannot happen
		return json.RawMessage("{}")
	}
	return quoted
}

// CallObject returns a call's input as an object, with other values under "input".
func CallObject(input json.RawMessage) json.RawMessage {
	trimmed := strings.TrimSpace(string(input))
	switch {
	case strings.HasPrefix(trimmed, "{"):
		return input
	case trimmed == "" || trimmed == "null":
		return json.RawMessage("{}")
	}
	return json.RawMessage(`{"input":` + trimmed + `}`)
}

// OpaqueData returns o's data if the named model made it, or nil.
func OpaqueData(o *llm.Opaque, model string) json.RawMessage {
	if o == nil || o.Model != model || len(o.Data) == 0 {
		return nil
	}
	return o.Data
}

// FillMissing returns used, with estimates from bytes for missing counts.
func FillMissing(used llm.Usage, in, out int) llm.Usage {
	if used.Output == 0 && out > 0 && used.Total() > 0 {
		used.Output, used.Estimated = Tokens(out), true
	}
	if used.Total() > 0 {
		return used
	}
	guess := Estimate(in, out)
	guess.Cost = used.Cost
	return guess
}

// maxCount keeps sums from overflowing.
const maxCount = 1 << 28

// A Count is a number of tokens. Invalid values decode as zero, to save the answer.
type Count int

func (c *Count) UnmarshalJSON(b []byte) error {
	f, _ := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64) // on error f is zero or infinite
	if math.IsNaN(f) {
		f = 0
	}
	*c = Count(min(max(f, 0), maxCount))
	return nil
}
