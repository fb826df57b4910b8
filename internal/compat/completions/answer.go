package completions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/stream"
	"ponder/llm"
	"ponder/mode/research"
)

type Chunk struct {
	Type    string `json:"type" enum:"text,tool-results,memory-sources,deep-think-progress,conversation-title,error"`
	Content string `json:"content,omitempty" doc:"of type text: the text to append to the answer"`
	Text    string `json:"text,omitempty" doc:"the same as content"`
	Replace bool   `json:"replace,omitempty" doc:"of type text: this text replaces all text before it"`

	Title    string                    `json:"conversationTitle,omitempty"`
	Tools    []ToolOutcome             `json:"toolResults,omitempty"`
	Sources  []research.Reference      `json:"memorySources,omitempty"`
	Summary  *research.Summary         `json:"referenceSummary,omitempty"`
	Progress *research.ProgressPayload `json:"deepThinkProgress,omitempty"`
	Error    string                    `json:"error,omitempty" doc:"of type error: why the answer is missing or incomplete"`

	Conversation string   `json:"conversationUniqueId"`
	Models       []string `json:"models" nullable:"false" doc:"the models that answer, as provider/model"`
}

// Types of chunks that package research does not define.
const (
	chunkText  = "text"
	chunkTools = "tool-results"
	chunkTitle = "conversation-title"
	chunkError = "error"
)

type ToolOutcome struct {
	Tool   string     `json:"toolName"`
	Result ToolResult `json:"result"`
}

type ToolResult struct {
	Query   string      `json:"query,omitempty"`
	Results []ToolFound `json:"results" nullable:"false"`
	Number  int         `json:"numberOfResults"`
	Summary string      `json:"summary"`
	Error   string      `json:"error,omitempty"`
}

type ToolFound struct {
	Title   string  `json:"title,omitempty"`
	URL     string  `json:"url,omitempty"`
	Source  string  `json:"source,omitempty"`
	Content string  `json:"content,omitempty"`
	Score   float64 `json:"score,omitempty"`
}

func newToolOutcome(s *compat.Search) ToolOutcome {
	o := ToolOutcome{Tool: s.Tool, Result: ToolResult{
		Query: cmp.Or(s.Query, s.URL), Results: []ToolFound{}, Number: s.Number, Summary: fmt.Sprintf("Found %d items", s.Number), Error: s.Error,
	}}
	if s.Error != "" {
		o.Result.Summary = "It failed: " + s.Error
	}
	for _, r := range s.Results {
		o.Result.Results = append(o.Result.Results, ToolFound(r))
	}
	switch {
	case s.Tool == research.WebSearchTool || s.Tool == research.WebFetchTool:
		o.Tool = "webSearch"
	case s.Tool == research.SearchTool && s.Error == "" && !slices.ContainsFunc(s.Results, func(r compat.Result) bool { return strings.HasPrefix(r.Source, "/") }):
		o.Tool = research.PersonaTool // memories have no path
	}
	return o
}

const threadHeader = "X-Thread-Id"

// pieceSize is the minimum of a text chunk, in bytes, while more text is available.
const pieceSize = 240

type answerEncoder struct {
	*compat.Dispatcher
	work   compat.Job
	feed   *compat.Stream
	name   string // of the conversation
	fresh  bool   // a new conversation
	models []string
	title  string
	text   Chunk // pending text; zero: none
	out    *stream.Writer
}

// firstError returns an APIError if the quota ends before any output; then no stream starts.
func (t *answerEncoder) firstError(ctx context.Context) *compat.APIError {
	for _, p := range t.feed.First(ctx, compat.StartWait) {
		switch {
		case t.isShown(p):
			return nil
		case p.End != nil && p.End.ErrorClass == llm.Payment:
			return p.End.APIError()
		}
	}
	return nil
}

func (t *answerEncoder) streamAnswer(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set(threadHeader, string(t.work.Thread))
	t.out = stream.NewWriter(w)
	if t.out.Flush() != nil {
		t.feed.Close()
		return
	}
	t.feed.EncodeTo(ctx, t)
}

// isShown reports whether a part makes a chunk. Lookups of conversations make none.
func (t *answerEncoder) isShown(p compat.Part) bool {
	switch p.Kind {
	case compat.Text, compat.Progress, compat.Memories:
		return true
	case compat.Found:
		return t.work.Kind == compat.Research
	}
	return false
}

func (t *answerEncoder) Part(p compat.Part) {
	if len(p.Models) > 0 {
		t.models = p.Models
	}
	switch {
	case p.Kind == compat.Title:
		t.title = p.Text
	case !t.isShown(p):
	case p.Kind == compat.Text && t.text.Type != "" && !p.Again && len(t.text.Content) < pieceSize:
		t.text.Content += p.Text
		t.text.Text = t.text.Content
	case p.Kind == compat.Text:
		t.flushText()
		t.text = Chunk{Type: chunkText, Content: p.Text, Text: p.Text, Replace: p.Again}
	case p.Kind == compat.Found:
		t.writeChunk(Chunk{Type: chunkTools, Tools: []ToolOutcome{newToolOutcome(p.Search)}})
	case p.Kind == compat.Memories:
		t.writeChunk(Chunk{Type: research.SourcesChunk, Sources: p.Sources, Summary: p.Summary})
	default:
		t.writeChunk(Chunk{Type: research.ProgressChunk, Progress: p.Progress})
	}
}

func (t *answerEncoder) Quiet() { t.out.Comment("keep-alive") }

func (t *answerEncoder) Fail(f *compat.APIError) {
	why := "internal error; send the request again"
	switch f.Status {
	case http.StatusNotFound:
		why = "the conversation was removed"
	case http.StatusServiceUnavailable:
		why = "the server stops, but the work continues; send the request again, with the same Idempotency-Key, messageId or newUniqueId"
	}
	t.writeChunk(Chunk{Type: chunkError, Error: why})
	t.writeDone()
}

func (t *answerEncoder) End(e compat.End) {
	t.flushText()
	if e.Status != ponder.Completed {
		t.writeChunk(Chunk{Type: chunkError, Error: e.Reason})
	}
	if t.fresh {
		if info, err := t.Store.Thread(context.WithoutCancel(t.Gone), t.work.Thread); err == nil {
			t.title = cmp.Or(t.title, compat.Plain(info.Title))
		}
		t.writeChunk(Chunk{Type: chunkTitle, Title: t.title})
	}
	t.writeDone()
}

func (t *answerEncoder) writeDone() { t.out.Event(0, "", []byte("[DONE]")) }

func (t *answerEncoder) Flush() error {
	t.flushText()
	return t.out.Flush()
}

func (t *answerEncoder) flushText() {
	if c := t.text; c.Type != "" {
		t.text = Chunk{}
		t.writeChunk(c)
	}
}

func (t *answerEncoder) writeChunk(c Chunk) {
	t.flushText()
	c.Conversation, c.Models = t.name, t.models
	js, err := json.Marshal(c)
	if err != nil {
		t.Logger.Error("a chunk could not be written", "thread", t.work.Thread, "type", c.Type, "error", err)
		return
	}
	t.out.Event(0, "", js)
}
