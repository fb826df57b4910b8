package anthropic

import (
	"encoding/json"
	"net/http"
	"strconv"

	"ponder/internal/compat"
	"ponder/internal/stream"
	"ponder/llm"
)

type answer struct {
	ID       string  `json:"id"`
	Type     string  `json:"type"`
	Role     string  `json:"role"`
	Model    string  `json:"model"`
	Content  []piece `json:"content"`
	Stop     *string `json:"stop_reason"`
	Sequence *string `json:"stop_sequence"`
	Usage    usage   `json:"usage"`
}

type piece struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature *string         `json:"signature,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

func usageOf(u llm.Usage) usage { return usage{u.Input, u.CacheWrite, u.CacheRead, u.Output} }

// signature is constant, because returned thinking blocks are ignored.
const signature = "cG9uZGVy"

func (a *api) handleMessages(w http.ResponseWriter, r *http.Request, owner string) error {
	var in body
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	if in.MaxTokens == nil {
		return compat.InvalidField("max_tokens", "max_tokens: Field required")
	}
	ask, err := a.newRequest(r.Context(), owner, &in)
	if err != nil {
		return err
	}
	digest := digestOf(js)
	if err := a.checkContinued(r.Context(), owner, &in, digest); err != nil {
		return err
	}
	work, answered, err := a.desk.BeginOnce(r, js, ask)
	if err != nil {
		return err
	}
	id := messagePrefix + work.ID()
	if err := a.storeThread(r.Context(), work, id, &in, digest); err != nil {
		work.Forget()
		return err
	}
	out := answer{ID: id, Type: "message", Role: "assistant", Model: in.Model, Content: []piece{}}
	if in.Stream {
		if err := a.desk.AwaitStart(r.Context(), &work, false, answered); err != nil {
			return err
		}
		a.streamAnswer(w, r, work, out, answered)
		return nil
	}
	end, err := a.desk.WaitAnswer(r.Context(), work, answered)
	if err != nil {
		return err
	}
	out.Content, out.Usage, out.Stop = contentPieces(end), usageOf(end.Usage), stopOf(end.End)
	defer answered()
	return compat.Reply(w, http.StatusOK, out)
}

func stopOf(end compat.End) *string {
	stop := "end_turn"
	switch end.Finish {
	case llm.FinishLength:
		stop = "max_tokens"
	case llm.FinishTools:
		stop = "tool_use"
	case llm.FinishFilter:
		stop = "refusal"
	}
	return &stop
}

func contentPieces(end compat.FullAnswer) []piece {
	list := []piece{}
	if end.Thinking != "" {
		list = append(list, piece{Type: "thinking", Thinking: &end.Thinking, Signature: new(signature)})
	}
	if end.Text != "" {
		list = append(list, piece{Type: "text", Text: &end.Text})
	}
	for _, c := range end.Calls {
		list = append(list, piece{Type: "tool_use", ID: c.ID, Name: c.Name, Input: inputOf(c)})
	}
	return list
}

// inputOf replaces invalid input by {}.
func inputOf(c llm.ToolCall) json.RawMessage {
	if !json.Valid(c.Input) || len(c.Input) == 0 || c.Input[0] != '{' {
		return json.RawMessage(`{}`)
	}
	return c.Input
}

type answerEncoder struct {
	*stream.Writer
	index int    // of the open or next block
	open  string // type of the open block; empty: none

	deltaTemplate compat.JSONTemplate // of deltas
	js            []byte
}

func (a *api) streamAnswer(w http.ResponseWriter, r *http.Request, work compat.Job, out answer, answered func()) {
	t := &answerEncoder{Writer: stream.NewPlainWriter(w)}
	t.writeEvent("message_start", map[string]any{"message": out})
	t.Quiet()
	if a.desk.EncodeJob(r.Context(), work, false, t) {
		answered()
	}
}

func (t *answerEncoder) Quiet() { t.writeEvent("ping", map[string]any{}) }

func (t *answerEncoder) Fail(f *compat.APIError) {
	t.closeBlock()
	t.writeEvent("error", map[string]any{"error": failureOf(f)})
}

func (t *answerEncoder) End(end compat.End) {
	if f := end.APIError(); f != nil {
		t.Fail(f)
		return
	}
	t.closeBlock()
	t.writeEvent("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stopOf(end), "stop_sequence": nil}, "usage": usageOf(end.Usage)})
	t.writeEvent("message_stop", map[string]any{})
}

func (t *answerEncoder) writeEvent(name string, data map[string]any) {
	data["type"] = name
	js, err := json.Marshal(data)
	if err != nil {
		return
	}
	t.Event(0, name, js)
}

func (t *answerEncoder) Part(p compat.Part) {
	switch p.Kind {
	case compat.Text:
		t.openBlock("text", map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": compat.Placeholder})
		t.writeDelta(p.Text)
	case compat.Call:
		t.closeBlock()
		t.openBlock("tool_use", map[string]any{"type": "tool_use", "id": p.Call.ID, "name": p.Call.Name, "input": map[string]any{}},
			map[string]any{"type": "input_json_delta", "partial_json": compat.Placeholder})
		t.writeDelta(string(inputOf(*p.Call)))
		t.closeBlock()
	default:
		if text := p.Thinking(); text != "" {
			t.openBlock("thinking", map[string]any{"type": "thinking", "thinking": "", "signature": ""}, map[string]any{"type": "thinking_delta", "thinking": compat.Placeholder})
			t.writeDelta(text)
		}
	}
}

// openBlock opens a block unless one of its kind is open. more is a delta.
func (t *answerEncoder) openBlock(kind string, block, more map[string]any) {
	if t.open == kind {
		return
	}
	t.closeBlock()
	t.open = kind
	t.writeEvent("content_block_start", map[string]any{"index": t.index, "content_block": block})
	t.deltaTemplate = compat.NewJSONTemplate(t.newDelta(more))
}

const deltaEvent = "content_block_delta"

func (t *answerEncoder) newDelta(delta map[string]any) map[string]any {
	return map[string]any{"type": deltaEvent, "index": t.index, "delta": delta}
}

func (t *answerEncoder) writeDelta(text string) {
	t.js = t.deltaTemplate.Append(t.js[:0], text)
	t.Event(0, deltaEvent, t.js)
}

func (t *answerEncoder) closeBlock() {
	if t.open == "" {
		return
	}
	if t.open == "thinking" {
		t.writeEvent(deltaEvent, t.newDelta(map[string]any{"type": "signature_delta", "signature": signature}))
	}
	t.writeEvent("content_block_stop", map[string]any{"index": t.index})
	t.index, t.open = t.index+1, ""
}

func itoa(n int) string { return strconv.Itoa(n) }
