package ollama

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"ponder/llm"
	"ponder/llm/internal/wire"
)

type line struct {
	Model   string `json:"model"`
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done       bool        `json:"done"`
	DoneReason string      `json:"done_reason"`
	Read       *wire.Count `json:"prompt_eval_count"`
	Wrote      *wire.Count `json:"eval_count"`
}

// A fold implements wire.Fold.
type fold struct {
	full string // requested
	size int    // request bytes

	parts  wire.Parts
	calls  int
	done   bool
	why    string
	served string
	used   llm.Usage
}

func (f *fold) Add(data []byte) (out llm.Delta, last bool, err error) {
	l, ok := quickLine(data, f.served)
	if !ok {
		l = line{}
		if err := json.Unmarshal(data, &l); err != nil {
			return out, false, wire.PieceError("a line", err)
		}
	}
	if l.Model != "" {
		f.served = l.Model
	}
	out.Reasoning, out.Text = l.Message.Thinking, l.Message.Content
	if err := f.parts.Show(out.Reasoning, out.Text); err != nil {
		return llm.Delta{}, false, err
	}
	for _, c := range l.Message.ToolCalls {
		call := &llm.ToolCall{ID: cmp.Or(c.ID, wire.CallID()), Name: c.Function.Name, Input: callInput(c.Function.Arguments)}
		f.calls++
		if err := f.parts.Add(llm.Part{Call: call}); err != nil {
			return llm.Delta{}, false, err
		}
	}
	if l.Done {
		f.recordFinish(&l)
	}
	return out, l.Done, nil
}

func (f *fold) recordFinish(l *line) {
	f.done, f.why = true, l.DoneReason
	if l.Read == nil && l.Wrote == nil {
		return
	}
	if l.Wrote != nil {
		f.used.Output = int(*l.Wrote)
	}
	if l.Read != nil {
		f.used.Input = int(*l.Read)
	} else { // fully cached
		f.used.Input, f.used.Estimated = wire.Tokens(f.size), true
	}
}

// callInput returns a call's input, which some templates give as JSON in a string.
func callInput(raw json.RawMessage) json.RawMessage {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return wire.CallInput([]byte(s))
	}
	return wire.CallInput(raw)
}

func (f *fold) Usage() llm.Usage {
	if f.parts.Size() == 0 && !f.done {
		return f.used
	}
	return wire.FillMissing(f.used, f.size, f.parts.Size())
}

func (f *fold) IsFinished() bool { return f.done }

func (f *fold) Answer() (*llm.Response, error) {
	if !f.done {
		return nil, nil
	}
	finish := llm.FinishOther
	switch f.why {
	case "stop", "":
		finish = llm.FinishStop
	case "length":
		finish = llm.FinishLength
	case "tool_calls":
		finish = llm.FinishTools
	}
	if finish == llm.FinishStop && f.calls > 0 {
		finish = llm.FinishTools
	}
	used := f.Usage()
	msg := llm.Message{Role: llm.Assistant, Parts: f.parts.TakeParts()}
	return &llm.Response{Message: msg, Finish: finish, Model: f.full, Served: f.served, Usage: used}, nil
}

// maxValues limits an answer that is no stream.
const maxValues = 64 << 20

func jsonValues(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		dec := json.NewDecoder(io.LimitReader(r, maxValues))
		for {
			var v json.RawMessage
			err := dec.Decode(&v)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = wire.PieceError("a value", err)
			}
			if !yield(bytes.TrimSpace(v), err) || err != nil {
				return
			}
		}
	}
}

// quickLine reads the most common line and leaves others to the decoder. model is the
// known name, which lines repeat.
func quickLine(data []byte, model string) (l line, ok bool) {
	l.Model = model
	messages := 0
	s := wire.Scan(data)
	ok = s.Members(func(key []byte) bool {
		switch string(key) {
		case "model":
			return s.TextLike(&l.Model)
		case "created_at":
			return s.Scalar()
		case "message":
			messages++
			return messages == 1 && s.Members(func(key []byte) bool {
				switch string(key) {
				case "role":
					return s.Scalar()
				case "content":
					return s.Text(&l.Message.Content)
				case "thinking":
					return s.Text(&l.Message.Thinking)
				}
				return s.Null()
			})
		case "done":
			return s.Word("false")
		}
		return s.Null()
	})
	return l, ok && s.End() && messages == 1
}
