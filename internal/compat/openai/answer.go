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
	Index   int     `json:"index"`
	Message *whole  `json:"message,omitempty"`
	Delta   *said   `json:"delta,omitempty"`
	Finish  *string `json:"finish_reason"`
	Logs    any     `json:"logprobs"`
}

// A whole has the fields that clients require.
type whole struct {
	said
	Content *string `json:"content"`
	Refusal *string `json:"refusal"`
}

// A said is a message or a delta. reasoning_content is a convention of clients only.
type said struct {
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

func usageOf(u llm.Usage) *usage {
	out := &usage{Prompt: u.Input + u.CacheRead + u.CacheWrite, Completion: u.Output, Total: u.Total()}
	out.Read.Cached, out.Wrote.Reasoning = u.CacheRead, u.Reasoning
	return out
}

func (a *api) chat(w http.ResponseWriter, r *http.Request, owner string) error {
	return a.complete(w, r, owner, false)
}

// openWebUI adds Open WebUI events to the stream.
func (a *api) openWebUI(w http.ResponseWriter, r *http.Request, owner string) error {
	return a.complete(w, r, owner, true)
}

func (a *api) complete(w http.ResponseWriter, r *http.Request, owner string, events bool) error {
	var in body
	js, err := compat.Read(r, &in)
	if err != nil {
		return err
	}
	ask, err := a.ask(owner, &in)
	if err != nil {
		return err
	}
	ask.Chat = r.Header.Get("X-OpenWebUI-Chat-Id")
	work, answered, err := a.desk.Once(r, js, ask)
	if err != nil {
		return err
	}
	c := completion{ID: "chatcmpl-" + work.ID(), Object: "chat.completion", Created: work.Begun.Unix(), Model: in.Model}
	if in.Stream {
		t := &telling{c: c, events: events, usage: in.Options.Usage}
		t.c.Object = "chat.completion.chunk"
		a.stream(w, r, work, t, answered)
		return nil
	}
	end, err := a.desk.Whole(r.Context(), work, answered)
	if err != nil {
		return err
	}
	out := &whole{said: said{Role: "assistant", Reasoning: end.Thinking, Annotations: annotationsOf(end.Citations)}}
	for _, one := range end.Calls {
		out.Calls = append(out.Calls, callOf(one))
	}
	if end.Text != "" || len(out.Calls) == 0 {
		out.Content = &end.Text
	}
	c.Choices, c.Usage = []choice{{Message: out, Finish: finishOf(end.End)}}, usageOf(end.Usage)
	defer answered()
	return compat.Reply(w, http.StatusOK, c)
}

func callOf(c llm.ToolCall) call {
	return call{ID: c.ID, Type: "function", Function: function{c.Name, argsOf(c)}}
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

type telling struct {
	*stream.Writer
	c      completion
	events bool // of Open WebUI
	usage  bool
	calls  int

	words, thoughts compat.Mould // of chunks
	js              []byte
}

func (a *api) stream(w http.ResponseWriter, r *http.Request, work compat.Work, t *telling, answered func()) {
	t.Writer = stream.NewPlainWriter(w)
	empty, gap := "", compat.Gap
	t.words, t.thoughts = compat.NewMould(t.chunk(said{Content: &gap}, nil)), compat.NewMould(t.chunk(said{Reasoning: gap}, nil))
	t.delta(said{Role: "assistant", Content: &empty}, nil)
	if a.desk.Tell(r.Context(), work, false, t) {
		answered()
	}
}

func (t *telling) Quiet() { t.Comment("keep-alive") }

func (t *telling) Fail(f *compat.Fault) {
	t.object(map[string]Failure{"error": FailureOf(f)})
	t.done()
}

func (t *telling) End(end compat.End) {
	switch end.Status {
	case ponder.Failed:
		t.object(map[string]Failure{"error": FailureOf(end.Fault())})
	case ponder.Completed:
		t.delta(said{}, finishOf(end))
		if t.usage {
			last := t.c
			last.Choices, last.Usage = []choice{}, usageOf(end.Usage)
			t.object(last)
		}
	}
	t.done()
}

func (t *telling) done() { t.Event(0, "", []byte("[DONE]")) }

func (t *telling) Part(p compat.Part) {
	if t.events {
		t.event(p)
	}
	switch p.Kind {
	case compat.Text:
		t.add(t.words, p.Text)
	case compat.Call:
		one := callOf(*p.Call)
		one.Index = new(t.calls)
		t.calls++
		t.delta(said{Calls: []call{one}}, nil)
	case compat.TextEnd:
		if list := annotationsOf(p.Citations); list != nil {
			t.delta(said{Annotations: list}, nil)
		}
	default:
		if text := p.Thinking(); text != "" {
			t.add(t.thoughts, text)
		}
	}
}

// event writes status and source events.
func (t *telling) event(p compat.Part) {
	switch p.Kind {
	case compat.Progress:
		t.object(map[string]any{"event": map[string]any{"type": "status", "data": map[string]any{"description": p.Progress.Message, "done": false, "hidden": false}}})
	case compat.Searching:
		t.object(map[string]any{"event": map[string]any{"type": "status", "data": map[string]any{"description": strings.TrimSpace(p.Thinking()), "done": false, "hidden": false}}})
	case compat.TextEnd:
		for _, c := range p.Citations {
			name := cmp.Or(c.Title, c.URL+c.File)
			t.object(map[string]any{"event": map[string]any{"type": "source", "data": map[string]any{
				"source":   map[string]string{"name": name, "url": c.URL},
				"document": []string{c.Quote}, "metadata": []map[string]string{{"source": c.URL + c.File}},
			}}})
		}
		t.object(map[string]any{"event": map[string]any{"type": "status", "data": map[string]any{"description": "", "done": true, "hidden": true}}})
	}
}

func (t *telling) delta(s said, finish *string) { t.object(t.chunk(s, finish)) }

func (t *telling) chunk(s said, finish *string) completion {
	c := t.c
	c.Choices = []choice{{Delta: &s, Finish: finish}}
	return c
}

func (t *telling) add(m compat.Mould, text string) {
	t.js = m.Append(t.js[:0], text)
	t.Event(0, "", t.js)
}

func (t *telling) object(v any) {
	js, err := json.Marshal(v)
	if err != nil {
		return
	}
	t.Event(0, "", js)
}
