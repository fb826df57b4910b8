package llmtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"ponder/llm"
)

func ollamaDialect() *dialect {
	return &dialect{
		name: "ollama", key: bearerKey, refuse: ollamaRefusal, inband: ollamaInband,
		whole: ollamaWhole, stream: ollamaStream, limits: noLimits, retryForm: RetryNone,
		contentType: "application/x-ndjson",
		garbage:     "{\"model\":\"x\",\"message\":{\"role\":\"assistant\",\"cont\n",
		comment:     "\n",
	}
}

func ollamaRefusal(f failure) (int, []byte) {
	status, message := ollamaWords(f)
	return status, encodeJSON(map[string]string{"error": message})
}

func ollamaInband(failure) []byte {
	return []byte(`{"error":"an error was encountered while running the model: unexpected EOF"}` + "\n")
}

func ollamaWords(f failure) (int, string) {
	switch f.kind {
	case wrongKey:
		return 401, f.messageOr("unauthorized")
	case noCredit:
		return 402, f.messageOr("you have reached your usage limit, please upgrade your plan")
	case noModel:
		return 404, f.messageOr("model '%s' not found", f.model)
	case tooLong:
		return 400, f.messageOr("the input length exceeds the context length")
	case filtered:
		return 400, f.messageOr("the prompt was refused by a content filter")
	case rateLimited:
		return 429, f.messageOr("too many requests")
	case overloaded, unavailable:
		return 503, f.messageOr("server busy, please try again. maximum pending requests exceeded")
	case serverError, badGateway, page:
		return 500, f.messageOr("llama runner process has terminated: signal: killed")
	}
	return 400, f.messageOr("invalid request")
}

// An ollamaRequest with a prompt is a completion.
type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Prompt   string          `json:"prompt"`
	System   string          `json:"system"`
	Images   []string        `json:"images"`
	Tools    []chatTool      `json:"tools"`
	Format   json.RawMessage `json:"format"`
	Stream   *bool           `json:"stream"`
	Think    json.RawMessage `json:"think"`
	Options  struct {
		Max int `json:"num_predict"`
	} `json:"options"`
}

type ollamaMessage struct {
	Role    string   `json:"role"`
	Content string   `json:"content"`
	Images  []string `json:"images"`
	Calls   []struct {
		Function struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func ollamaTarget(method, path string) target {
	to := target{ollamaDialect(), "", nil}
	switch method + " " + path {
	case "POST /api/chat", "POST /api/generate":
		to.serve = completionHandler(parseOllama)
	case "POST /api/embed":
		to.serve = serveOllamaEmbeddings
	case "POST /api/show":
		to.serve = serveOllamaShow
	case "GET /api/tags":
		to.serve = serveOllamaTags
	case "GET /api/version":
		to.serve = func(x *exchange, _ string, _ []byte) { x.sendJSON(map[string]string{"version": "0.12.6"}) }
	case "GET ", "HEAD ":
		to.serve = func(x *exchange, _ string, _ []byte) {
			x.sendBody(http.StatusOK, "text/plain", []byte("Ollama is running"))
		}
	}
	return to
}

func parseOllama(x *exchange, _ string, body []byte) (*parsedRequest, failure, bool) {
	var q ollamaRequest
	if why, ok := decodeRequest(body, &q); !ok {
		return nil, why, false
	}
	if q.Model == "" {
		return nil, failure{kind: badRequest, message: "model is required"}, false
	}
	if strings.HasSuffix(x.rec.Path, "/api/generate") {
		x.dialect = ollamaGenerateDialect()
		q.Messages = append(q.Messages, ollamaMessage{Role: "system", Content: q.System}, ollamaMessage{Role: "user", Content: q.Prompt, Images: q.Images})
	}
	think := bytes.TrimSpace(q.Think)
	a := &parsedRequest{
		model: q.Model, stream: q.Stream == nil || *q.Stream, usage: true, max: q.Options.Max,
		think: len(think) > 0 && !bytes.Equal(think, []byte("false")) && !bytes.Equal(think, []byte("null")),
	}
	for _, m := range q.Messages {
		if m.Content != "" || m.Role != "system" {
			m.addTo(a)
		}
	}
	for _, t := range q.Tools {
		a.addTool(t.Function.Name, t.Function.Doc, t.Function.Schema)
	}
	switch format := bytes.TrimSpace(q.Format); {
	case bytes.Equal(format, []byte(`"json"`)):
		a.json = true
	case bytes.HasPrefix(format, []byte("{")):
		a.schema = format
	case len(format) > 0 && !bytes.Equal(format, []byte(`""`)) && !bytes.Equal(format, []byte("null")):
		return nil, failure{kind: badRequest, message: `invalid format: ` + string(format[:min(len(format), 40)]) + `; expected "json" or a valid JSON Schema object`}, false
	}
	return a, failure{}, true
}

func (m ollamaMessage) addTo(a *parsedRequest) {
	a.addTurn(m.Role)
	if m.Role == "tool" {
		a.addResult(m.Content)
		return
	}
	for _, img := range m.Images {
		a.addImage(img)
	}
	if m.Content != "" {
		a.addText(m.Role, m.Content)
	}
	for _, c := range m.Calls {
		a.addCall(c.Function.Name, c.Function.Args)
	}
}

// An ollamaLine has a message in chats, a response in completions.
type ollamaLine struct {
	Model      string         `json:"model"`
	CreatedAt  string         `json:"created_at"`
	Message    *ollamaAnswer  `json:"message,omitempty"`
	Response   *string        `json:"response,omitempty"`
	Thinking   string         `json:"thinking,omitempty"`
	Done       bool           `json:"done"`
	DoneReason string         `json:"done_reason,omitempty"`
	Total      time.Duration  `json:"total_duration,omitempty"`
	Load       time.Duration  `json:"load_duration,omitempty"`
	PromptEval *int           `json:"prompt_eval_count,omitempty"`
	PromptTime time.Duration  `json:"prompt_eval_duration,omitempty"`
	Eval       *int           `json:"eval_count,omitempty"`
	EvalTime   *time.Duration `json:"eval_duration,omitempty"`
}

type ollamaAnswer struct {
	Role     string       `json:"role"`
	Content  string       `json:"content"`
	Thinking string       `json:"thinking,omitempty"`
	Calls    []ollamaCall `json:"tool_calls,omitempty"`
}

type ollamaCall struct {
	Function struct {
		Index int             `json:"index,omitempty"`
		Name  string          `json:"name"`
		Args  json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (r *reply) newOllamaLine(completion bool, spoken ollamaAnswer) ollamaLine {
	l := ollamaLine{Model: r.model, CreatedAt: r.created.UTC().Format(time.RFC3339Nano)}
	if completion {
		l.Response, l.Thinking = &spoken.Content, spoken.Thinking
		return l
	}
	spoken.Role = "assistant"
	l.Message = &spoken
	return l
}

func (l ollamaLine) finishLine(r *reply) ollamaLine {
	l.Done, l.DoneReason = true, "stop"
	if r.finish == llm.FinishLength {
		l.DoneReason = "length"
	}
	took := time.Since(r.created)
	l.Total, l.Load, l.PromptTime, l.EvalTime = took+time.Millisecond, time.Millisecond, time.Millisecond, &took
	if in := r.usage.Input + r.usage.CacheRead; !r.silent {
		l.PromptEval, l.Eval = &in, &r.usage.Output
	}
	return l
}

func ollamaCalls(r *reply) (calls []ollamaCall) {
	for i, c := range r.calls {
		var call ollamaCall
		call.Function.Index, call.Function.Name, call.Function.Args = i, c.Name, c.Input
		calls = append(calls, call)
	}
	return calls
}

func ollamaWhole(_ *parsedRequest, r *reply) []byte {
	return encodeJSON(r.newOllamaLine(false, ollamaAnswer{Content: r.text, Thinking: r.reasoning, Calls: ollamaCalls(r)}).finishLine(r))
}

func ollamaGenerateDialect() *dialect {
	d := ollamaDialect()
	d.whole = func(_ *parsedRequest, r *reply) []byte {
		return encodeJSON(r.newOllamaLine(true, ollamaAnswer{Content: r.text, Thinking: r.reasoning}).finishLine(r))
	}
	d.stream = func(s *stream, _ *parsedRequest, r *reply) { ollamaLines(s, r, true) }
	return d
}

func ollamaStream(s *stream, _ *parsedRequest, r *reply) { ollamaLines(s, r, false) }

func ollamaLines(s *stream, r *reply, completion bool) {
	write := func(l ollamaLine) bool {
		s.buf = append(append(s.buf, encodeJSON(l)...), '\n')
		return !s.ended
	}
	s.eachPiece(r.reasoning, func(p string) bool { return write(r.newOllamaLine(completion, ollamaAnswer{Thinking: p})) })
	s.eachPiece(r.text, func(p string) bool { return write(r.newOllamaLine(completion, ollamaAnswer{Content: p})) })
	if len(r.calls) > 0 && !s.ended {
		write(r.newOllamaLine(completion, ollamaAnswer{Calls: ollamaCalls(r)}))
		s.nextDelta(r.callTokens())
	}
	if s.shouldEnd() {
		write(r.newOllamaLine(completion, ollamaAnswer{}).finishLine(r))
	}
}

// isEmbedder reports whether a model only embeds, by its name.
func isEmbedder(model string) bool { return strings.Contains(model, "embed") }

func ollamaDetails(model string) map[string]any {
	family := "llama"
	if isEmbedder(model) {
		family = "nomic-bert"
	}
	return map[string]any{
		"parent_model": "", "format": "gguf", "family": family, "families": []string{family},
		"parameter_size": "8.0B", "quantization_level": "Q4_K_M",
	}
}

func serveOllamaTags(x *exchange, _ string, _ []byte) {
	list := []any{}
	for _, m := range x.modelNames() {
		if !strings.Contains(m, ":") {
			m += ":latest"
		}
		list = append(list, map[string]any{
			"name": m, "model": m, "modified_at": "2025-10-10T10:00:00Z", "size": 4920753328,
			"digest": strings.ToLower(randomToken(uint64(len(m)), 40)), "details": ollamaDetails(m),
		})
	}
	x.sendJSON(map[string]any{"models": list})
}

func serveOllamaShow(x *exchange, _ string, body []byte) {
	var q struct{ Model, Name string }
	if why, ok := decodeRequest(body, &q); !ok {
		x.sendFailure(why)
		return
	}
	if x.rec.Model = q.Model + q.Name; !x.hasModel(x.rec.Model) {
		x.sendFailure(failure{kind: noModel})
		return
	}
	length, capabilities := cmp.Or(x.config.Context, 131072), []string{"completion", "tools", "thinking", "vision"}
	if isEmbedder(x.rec.Model) {
		capabilities = []string{"embedding"}
	}
	x.sendJSON(map[string]any{
		"license": "", "modelfile": "", "parameters": "", "template": "{{ .Prompt }}", "details": ollamaDetails(x.rec.Model),
		"model_info":   map[string]any{"general.architecture": "llama", "llama.context_length": length, "llama.embedding_length": 4096},
		"capabilities": capabilities,
		"thinking":     map[string]any{"values": []bool{false, true}, "default": false},
		"modified_at":  "2025-10-10T10:00:00Z",
	})
}

func serveOllamaEmbeddings(x *exchange, _ string, body []byte) {
	var q struct {
		Model      string  `json:"model"`
		Input      strList `json:"input"`
		Dimensions int     `json:"dimensions"`
	}
	if why, ok := decodeRequest(body, &q); !ok {
		x.sendFailure(why)
		return
	}
	vectors, tokens, ok := x.embedTexts(q.Model, q.Input, q.Dimensions)
	if !ok {
		return
	}
	x.sendJSON(map[string]any{
		"model": q.Model, "embeddings": vectors, "total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": tokens,
	})
}
