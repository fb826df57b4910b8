package ollama

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/llm"
)

type chunk struct {
	Model    string   `json:"model"`
	Created  string   `json:"created_at"`
	Message  *message `json:"message,omitempty"`  // of /api/chat
	Response *string  `json:"response,omitempty"` // of /api/generate
	Thinking string   `json:"thinking,omitempty"` // of /api/generate
	Done     bool     `json:"done"`
	Reason   string   `json:"done_reason,omitempty"`
	*counts
}

// counts has times in nanoseconds.
type counts struct {
	Total  int64 `json:"total_duration"`
	Load   int64 `json:"load_duration"`
	Read   int   `json:"prompt_eval_count"`
	ReadNS int64 `json:"prompt_eval_duration"`
	Wrote  int   `json:"eval_count"`
	EvalNS int64 `json:"eval_duration"`
}

func (a *api) handleChat(w http.ResponseWriter, r *http.Request, owner string) error {
	var in chatBody
	body, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	if len(in.Messages) == 0 && in.Model != "" { // a request to load the model, which needs nothing
		if _, err := a.findModel(in.Model); err != nil {
			return err
		}
		t := &answerEncoder{w: w, model: in.Model}
		t.writeLine(chunk{Message: &message{Role: "assistant"}, Done: true, Reason: in.loadReason(), counts: &counts{}})
		return nil
	}
	return a.answerPrompt(w, r, owner, &in, body, false)
}

func (a *api) handleGenerate(w http.ResponseWriter, r *http.Request, owner string) error {
	var in chatBody
	body, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	if in.Prompt == "" && in.Model != "" {
		if _, err := a.findModel(in.Model); err != nil {
			return err
		}
		t := &answerEncoder{w: w, model: in.Model}
		t.writeLine(chunk{Response: new(string), Done: true, Reason: in.loadReason(), counts: &counts{}})
		return nil
	}
	in.Messages, in.Tools = []message{{Role: "user", Content: in.Prompt, Images: in.Images}}, nil
	return a.answerPrompt(w, r, owner, &in, body, true)
}

func (a *api) answerPrompt(w http.ResponseWriter, r *http.Request, owner string, in *chatBody, body []byte, prompt bool) error {
	ask, err := a.newRequest(owner, in)
	if err != nil {
		return err
	}
	ask.Chat = r.Header.Get("X-OpenWebUI-Chat-Id")
	ask.Standalone = prompt
	work, answered, err := a.desk.BeginOnce(r, body, ask)
	if err != nil {
		return err
	}
	t := &answerEncoder{w: w, model: in.Model, prompt: prompt, begun: time.Now(), quiet: string(in.Think) == "false"}
	if in.Stream == nil || *in.Stream {
		if err := a.desk.AwaitStart(r.Context(), &work, false, answered); err != nil {
			return err
		}
		return a.streamAnswer(r, work, t, answered)
	}
	whole, err := a.desk.WaitAnswer(r.Context(), work, answered)
	if err != nil {
		return err
	}
	if t.quiet {
		whole.Thinking = ""
	}
	var calls []call
	for _, one := range whole.Calls {
		calls = append(calls, callOf(one))
	}
	c := t.lastChunk(whole.End)
	c.setText(prompt, whole.Text, whole.Thinking, calls)
	t.writeLine(c)
	answered()
	return t.err
}

type answerEncoder struct {
	w      http.ResponseWriter
	ctl    *http.ResponseController
	model  string
	prompt bool // of /api/generate
	quiet  bool // hide thinking
	begun  time.Time
	err    error

	words, thoughts compat.JSONTemplate // of lines
	js              []byte
}

func (a *api) streamAnswer(r *http.Request, work compat.Job, t *answerEncoder, answered func()) error {
	ctl := http.NewResponseController(t.w)
	_ = ctl.SetWriteDeadline(time.Time{}) // fails only for writers without deadlines
	t.w.Header().Set("Content-Type", "application/x-ndjson")
	t.w.Header().Set("Cache-Control", "no-cache, no-transform")
	t.w.Header().Set("X-Accel-Buffering", "no")
	t.w.WriteHeader(http.StatusOK)
	t.ctl = ctl
	t.words, t.thoughts = t.newTemplate(compat.Placeholder, ""), t.newTemplate("", compat.Placeholder)
	if a.desk.EncodeJob(r.Context(), work, false, t) {
		answered()
	}
	return nil
}

func (t *answerEncoder) Quiet() { t.writePiece("", "", nil) }

func (t *answerEncoder) Fail(f *compat.APIError) { t.writeLine(map[string]string{"error": f.Detail}) }

func (t *answerEncoder) End(end compat.End) {
	if end.Status != ponder.Completed {
		t.writeLine(map[string]string{"error": end.Reason})
		return
	}
	c := t.lastChunk(end)
	c.setText(t.prompt, "", "", nil)
	t.writeLine(c)
}

func (t *answerEncoder) Flush() error {
	if t.err == nil {
		t.err = t.ctl.Flush()
	}
	return t.err
}

func (t *answerEncoder) Part(p compat.Part) {
	switch p.Kind {
	case compat.Text:
		t.writeTemplate(t.words, p.Text)
	case compat.Call:
		t.writePiece("", "", []call{callOf(*p.Call)})
	default:
		if text := t.thinkingText(p); text != "" {
			t.writeTemplate(t.thoughts, text)
		}
	}
}

func (t *answerEncoder) thinkingText(p compat.Part) string {
	if t.quiet {
		return ""
	}
	return p.Thinking()
}

func callOf(c llm.ToolCall) call {
	out := call{ID: c.ID}
	out.Function.Name = c.Name
	out.Function.Args = argsOf(c.Input)
	return out
}

func (t *answerEncoder) writePiece(text, thinking string, calls []call) {
	c := chunk{}
	c.setText(t.prompt, text, thinking, calls)
	t.writeLine(c)
}

func (t *answerEncoder) newTemplate(text, thinking string) compat.JSONTemplate {
	c := chunk{Model: t.model, Created: compat.Placeholder}
	c.setText(t.prompt, text, thinking, nil)
	return compat.NewJSONTemplate(c)
}

func (t *answerEncoder) writeTemplate(m compat.JSONTemplate, text string) {
	t.js = append(m.Append(t.js[:0], timestamp(), text), '\n')
	if t.err == nil {
		_, t.err = t.w.Write(t.js)
	}
}

func timestamp() string { return time.Now().UTC().Format(time.RFC3339Nano) }

func (c *chunk) setText(prompt bool, text, thinking string, calls []call) {
	if prompt {
		c.Response, c.Thinking = &text, thinking
		return
	}
	c.Message = &message{Role: "assistant", Content: text, Thinking: thinking, Calls: calls}
}

func (t *answerEncoder) lastChunk(end compat.End) chunk {
	took := time.Since(t.begun).Nanoseconds()
	c := chunk{Done: true, Reason: "stop", counts: &counts{
		Total: took, Read: end.Usage.Input + end.Usage.CacheRead + end.Usage.CacheWrite, Wrote: end.Usage.Output, EvalNS: took,
	}}
	if end.Finish == llm.FinishLength {
		c.Reason = "length"
	}
	return c
}

func (t *answerEncoder) writeLine(v any) {
	if c, ok := v.(chunk); ok {
		c.Model, c.Created = t.model, timestamp()
		v = c
		if t.w.Header().Get("Content-Type") == "" {
			t.w.Header().Set("Content-Type", "application/json; charset=utf-8")
		}
	}
	if t.err == nil {
		t.err = json.NewEncoder(t.w).Encode(v)
	}
}

func (a *api) handleEmbed(w http.ResponseWriter, r *http.Request, owner string) error {
	var in struct {
		Model      string          `json:"model"`
		Input      json.RawMessage `json:"input"`
		Dimensions int             `json:"dimensions"`
	}
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	texts, err := compat.TextsOf(in.Input)
	if err != nil {
		return err
	}
	begun := time.Now()
	vectors, usage, err := a.desk.Embed(r.Context(), owner, strings.TrimSuffix(in.Model, latest), texts, in.Dimensions)
	if err != nil {
		return err
	}
	return replyJSON(w, http.StatusOK, map[string]any{
		"model": in.Model, "embeddings": vectors, "total_duration": time.Since(begun).Nanoseconds(), "load_duration": 0, "prompt_eval_count": usage.Total(),
	})
}

// embedOne serves the older embeddings route.
func (a *api) embedOne(w http.ResponseWriter, r *http.Request, owner string) error {
	var in struct{ Model, Prompt string }
	if _, err := compat.Read(r, &in); err != nil {
		return err
	}
	vectors, _, err := a.desk.Embed(r.Context(), owner, strings.TrimSuffix(in.Model, latest), []string{in.Prompt}, 0)
	if err != nil {
		return err
	}
	return replyJSON(w, http.StatusOK, map[string]any{"embedding": vectors[0]})
}
