package openai

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/stream"
	"ponder/llm"
)

type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index   int           `json:"index"`
	Message *wholeMessage `json:"message,omitempty"`
	Delta   *messageDelta `json:"delta,omitempty"`
	Finish  *string       `json:"finish_reason"`
	Logs    any           `json:"logprobs"`
}

// A wholeMessage has the fields that clients require.
type wholeMessage struct {
	messageDelta
	Content *string `json:"content"`
	Refusal *string `json:"refusal"`
}

// A messageDelta is a message or a delta. reasoning_content is a convention of clients only.
type messageDelta struct {
	Role        string       `json:"role,omitempty"`
	Content     *string      `json:"content,omitempty"`
	Reasoning   string       `json:"reasoning_content,omitempty"`
	Calls       []call       `json:"tool_calls,omitempty"`
	Annotations []annotation `json:"annotations,omitempty"`
}

type annotation struct {
	Type string   `json:"type"`
	URL  citation `json:"url_citation"`
}

type citation struct {
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
	URL   string `json:"url"`
	Title string `json:"title"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Read       struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Wrote struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// add returns the sum with the usage of one more answer. The receiver may be nil.
func (sum *usage) add(u llm.Usage) *usage {
	out := usage{}
	if sum != nil {
		out = *sum
	}
	out.Prompt += u.Input + u.CacheRead + u.CacheWrite
	out.Completion += u.Output
	out.Total += u.Total()
	out.Read.Cached += u.CacheRead
	out.Wrote.Reasoning += u.Reasoning
	return &out
}

func (a *api) handleChat(w http.ResponseWriter, r *http.Request, owner string) error {
	return a.handleCompletion(w, r, owner, false)
}

// openWebUI adds Open WebUI events to the stream.
func (a *api) openWebUI(w http.ResponseWriter, r *http.Request, owner string) error {
	return a.handleCompletion(w, r, owner, true)
}

func (a *api) handleCompletion(w http.ResponseWriter, r *http.Request, owner string, events bool) error {
	var in body
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	ask, err := a.newRequest(owner, &in)
	if err != nil {
		return err
	}
	ask.Chat = r.Header.Get("X-OpenWebUI-Chat-Id")
	jobs, err := a.beginChoices(r, js, ask, in.N)
	if err != nil {
		return err
	}
	first := jobs[0]
	c := completion{ID: "chatcmpl-" + first.ID(), Object: "chat.completion", Created: first.Started.Unix(), Model: in.Model}
	if in.Stream {
		t := &answerEncoder{c: c, events: events, usage: in.Options.Usage, quiet: in.hidesReasoning()}
		t.c.Object = "chat.completion.chunk"
		return a.streamChoices(r, jobs, t, func() { t.start(w) })
	}
	err = a.awaitChoices(r.Context(), jobs, func(i int, end compat.FullAnswer) {
		if in.hidesReasoning() {
			end.Thinking = ""
		}
		c.Choices = append(c.Choices, choice{Index: i, Message: wholeMessageOf(end), Finish: finishOf(end.End)})
		c.Usage = c.Usage.add(end.Usage)
	})
	if err != nil {
		return err
	}
	defer jobs.markAnswered()
	return compat.Reply(w, http.StatusOK, c)
}

func wholeMessageOf(end compat.FullAnswer) *wholeMessage {
	out := &wholeMessage{messageDelta: messageDelta{Role: "assistant", Reasoning: end.Thinking, Annotations: annotationsOf(end.Citations)}}
	for _, one := range end.Calls {
		out.Calls = append(out.Calls, callOf(one))
	}
	if end.Text != "" || len(out.Calls) == 0 {
		out.Content = &end.Text
	}
	return out
}

func callOf(c llm.ToolCall) call {
	return call{ID: c.ID, Type: "function", Function: function{c.Name, arguments(argsOf(c))}}
}

// annotationsOf returns citations with URLs.
func annotationsOf(cited []compat.Citation) (list []annotation) {
	for _, c := range cited {
		if c.URL != "" {
			list = append(list, annotation{"url_citation", citation{c.Start, c.End, c.URL, c.Title}})
		}
	}
	return list
}

func argsOf(c llm.ToolCall) string {
	var text string
	if json.Unmarshal(c.Input, &text) == nil {
		return text // invalid JSON of the model
	}
	return string(c.Input)
}

func finishOf(end compat.End) *string {
	finish := "stop"
	switch end.Finish {
	case llm.FinishLength, llm.FinishFilter, llm.FinishTools:
		finish = string(end.Finish)
	}
	return &finish
}

type answerEncoder struct {
	*stream.Writer
	choiceState
	c      completion
	events bool // of Open WebUI
	usage  bool
	quiet  bool // without reasoning
	calls  int

	words, thoughts compat.JSONTemplate // of chunks
	js              []byte
}

// start writes the first chunk of a choice.
func (t *answerEncoder) start(w http.ResponseWriter) {
	if t.Writer == nil {
		t.Writer = stream.NewPlainWriter(w)
	}
	empty, gap := "", compat.Placeholder
	t.calls = 0
	t.words, t.thoughts = compat.NewJSONTemplate(t.newChunk(messageDelta{Content: &gap}, nil)), compat.NewJSONTemplate(t.newChunk(messageDelta{Reasoning: gap}, nil))
	t.writeDelta(messageDelta{Role: "assistant", Content: &empty}, nil)
}

func (t *answerEncoder) Quiet() { t.Comment("keep-alive") }

func (t *answerEncoder) Fail(f *compat.APIError) {
	t.failed = true
	t.writeObject(map[string]Failure{"error": FailureOf(f)})
	t.writeDone()
}

func (t *answerEncoder) End(end compat.End) {
	switch end.Status {
	case ponder.Failed:
		t.Fail(end.APIError())
		return
	case ponder.Completed:
		t.writeDelta(messageDelta{}, finishOf(end))
		if t.sum = t.sum.add(end.Usage); t.more {
			return
		}
		if t.usage {
			last := t.c
			last.Choices, last.Usage = []choice{}, t.sum
			t.writeObject(last)
		}
	}
	t.writeDone()
}

func (t *answerEncoder) writeDone() { t.Event(0, "", []byte("[DONE]")) }

func (t *answerEncoder) Part(p compat.Part) {
	if t.events {
		t.writeStatus(p)
	}
	switch p.Kind {
	case compat.Text:
		t.writeTemplate(t.words, p.Text)
	case compat.Call:
		one := callOf(*p.Call)
		one.Index = new(t.calls)
		t.calls++
		t.writeDelta(messageDelta{Calls: []call{one}}, nil)
	case compat.TextEnd:
		if list := annotationsOf(p.Citations); list != nil {
			t.writeDelta(messageDelta{Annotations: list}, nil)
		}
	default:
		if text := p.Thinking(); text != "" && !t.quiet {
			t.writeTemplate(t.thoughts, text)
		}
	}
}

// writeStatus writes status and source events.
func (t *answerEncoder) writeStatus(p compat.Part) {
	switch p.Kind {
	case compat.Progress:
		t.writeObject(map[string]any{"event": map[string]any{"type": "status", "data": map[string]any{"description": p.Progress.Message, "done": false, "hidden": false}}})
	case compat.Searching:
		t.writeObject(map[string]any{"event": map[string]any{"type": "status", "data": map[string]any{"description": strings.TrimSpace(p.Thinking()), "done": false, "hidden": false}}})
	case compat.TextEnd:
		for _, c := range p.Citations {
			name := cmp.Or(c.Title, c.URL+c.File)
			t.writeObject(map[string]any{"event": map[string]any{"type": "source", "data": map[string]any{
				"source":   map[string]string{"name": name, "url": c.URL},
				"document": []string{c.Quote}, "metadata": []map[string]string{{"source": c.URL + c.File}},
			}}})
		}
		t.writeObject(map[string]any{"event": map[string]any{"type": "status", "data": map[string]any{"description": "", "done": true, "hidden": true}}})
	}
}

func (t *answerEncoder) writeDelta(s messageDelta, finish *string) {
	t.writeObject(t.newChunk(s, finish))
}

func (t *answerEncoder) newChunk(s messageDelta, finish *string) completion {
	c := t.c
	c.Choices = []choice{{Index: t.index, Delta: &s, Finish: finish}}
	return c
}

func (t *answerEncoder) writeTemplate(m compat.JSONTemplate, text string) {
	t.js = m.Append(t.js[:0], text)
	t.Event(0, "", t.js)
}

func (t *answerEncoder) writeObject(v any) {
	js, err := json.Marshal(v)
	if err != nil {
		return
	}
	t.Event(0, "", js)
}
