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

func (a *api) messages(w http.ResponseWriter, r *http.Request, owner string) error {
	var in body
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	if in.MaxTokens == nil {
		return compat.Wrong("max_tokens", "max_tokens: Field required")
	}
	ask, err := a.ask(owner, &in)
	if err != nil {
		return err
	}
	work, answered, err := a.desk.Once(r, js, ask)
	if err != nil {
		return err
	}
	out := answer{ID: "msg_" + work.ID(), Type: "message", Role: "assistant", Model: in.Model, Content: []piece{}}
	if in.Stream {
		a.stream(w, r, work, out, answered)
		return nil
	}
	end, err := a.desk.Whole(r.Context(), work, answered)
	if err != nil {
		return err
	}
	out.Content, out.Usage, out.Stop = pieces(end), usageOf(end.Usage), stopOf(end.End)
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

func pieces(end compat.Whole) []piece {
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

type telling struct {
	*stream.Writer
	index int    // of the open or next block
	open  string // type of the open block; empty: none

	more compat.Mould // of deltas
	js   []byte
}

func (a *api) stream(w http.ResponseWriter, r *http.Request, work compat.Work, out answer, answered func()) {
	t := &telling{Writer: stream.NewPlainWriter(w)}
	t.event("message_start", map[string]any{"message": out})
	t.Quiet()
	if a.desk.Tell(r.Context(), work, false, t) {
		answered()
	}
}

func (t *telling) Quiet() { t.event("ping", map[string]any{}) }

func (t *telling) Fail(f *compat.Fault) {
	t.close()
	t.event("error", map[string]any{"error": failure{kindOf(f.Status), f.Detail}})
}

func (t *telling) End(end compat.End) {
	if f := end.Fault(); f != nil {
		t.Fail(f)
		return
	}
	t.close()
	t.event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stopOf(end), "stop_sequence": nil}, "usage": usageOf(end.Usage)})
	t.event("message_stop", map[string]any{})
}

func (t *telling) event(name string, data map[string]any) {
	data["type"] = name
	js, err := json.Marshal(data)
	if err != nil {
		return
	}
	t.Event(0, name, js)
}

func (t *telling) Part(p compat.Part) {
	switch p.Kind {
	case compat.Text:
		t.begin("text", map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": compat.Gap})
		t.add(p.Text)
	case compat.Call:
		t.close()
		t.begin("tool_use", map[string]any{"type": "tool_use", "id": p.Call.ID, "name": p.Call.Name, "input": map[string]any{}},
			map[string]any{"type": "input_json_delta", "partial_json": compat.Gap})
		t.add(string(inputOf(*p.Call)))
		t.close()
	default:
		if text := p.Thinking(); text != "" {
			t.begin("thinking", map[string]any{"type": "thinking", "thinking": "", "signature": ""}, map[string]any{"type": "thinking_delta", "thinking": compat.Gap})
			t.add(text)
		}
	}
}

// begin opens a block unless one of its kind is open. more is a delta.
func (t *telling) begin(kind string, block, more map[string]any) {
	if t.open == kind {
		return
	}
	t.close()
	t.open = kind
	t.event("content_block_start", map[string]any{"index": t.index, "content_block": block})
	t.more = compat.NewMould(t.delta(more))
}

const deltaEvent = "content_block_delta"

func (t *telling) delta(delta map[string]any) map[string]any {
	return map[string]any{"type": deltaEvent, "index": t.index, "delta": delta}
}

func (t *telling) add(text string) {
	t.js = t.more.Append(t.js[:0], text)
	t.Event(0, deltaEvent, t.js)
}

func (t *telling) close() {
	if t.open == "" {
		return
	}
	if t.open == "thinking" {
		t.event(deltaEvent, t.delta(map[string]any{"type": "signature_delta", "signature": signature}))
	}
	t.event("content_block_stop", map[string]any{"index": t.index})
	t.index, t.open = t.index+1, ""
}

func itoa(n int) string { return strconv.Itoa(n) }
