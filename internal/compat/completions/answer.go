package completions

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/stream"
	"ponder/llm"
	"ponder/mode/research"
)

// A Chunk is a piece of an answer, as it is streamed.
type Chunk struct {
	Type    string `json:"type" enum:"text,tool-results,memory-sources,deep-think-progress,conversation-title,error"`
	Content string `json:"content,omitempty" doc:"of text: what is added to the answer"`
	Text    string `json:"text,omitempty" doc:"the same as content"`
	Replace bool   `json:"replace,omitempty" doc:"of text: it stands in the place of all text before it"`

	Title    string                    `json:"conversationTitle,omitempty"`
	Tools    []ToolOutcome             `json:"toolResults,omitempty"`
	Sources  []research.Reference      `json:"memorySources,omitempty"`
	Summary  *research.Summary         `json:"referenceSummary,omitempty"`
	Progress *research.ProgressPayload `json:"deepThinkProgress,omitempty"`
	Error    string                    `json:"error,omitempty" doc:"of error: why there is no answer, or no more of it"`

	Conversation string   `json:"conversationUniqueId"`
	Models       []string `json:"models" nullable:"false" doc:"provider/model of those that answer"`
}

// The types of chunks that are not of package research.
const (
	chunkText  = "text"
	chunkTools = "tool-results"
	chunkTitle = "conversation-title"
	chunkError = "error"
)

// A ToolOutcome is what the use of a tool came to.
type ToolOutcome struct {
	Tool   string     `json:"toolName"`
	Result ToolResult `json:"result"`
}

// A ToolResult is what a search, or the reading of a page, has found.
type ToolResult struct {
	Query   string      `json:"query,omitempty"`
	Results []ToolFound `json:"results" nullable:"false"`
	Number  int         `json:"numberOfResults"`
	Summary string      `json:"summary"`
	Error   string      `json:"error,omitempty"`
}

// A ToolFound is one thing that was found.
type ToolFound struct {
	Title   string  `json:"title,omitempty"`
	URL     string  `json:"url,omitempty"`
	Source  string  `json:"source,omitempty"`
	Content string  `json:"content,omitempty"`
	Score   float64 `json:"score,omitempty"`
}

// found returns what a search has found, as clients know it.
func found(s *compat.Search) ToolOutcome {
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
		o.Tool = research.PersonaTool // what is remembered has no path
	}
	return o
}

// threadHeader names the thread that an answer is written on.
const threadHeader = "X-Thread-Id"

// firstWords is how long a stream does not begin, so that what fails at once has a status of
// its own.
const firstWords = 2 * time.Second

// pieceSize is how many bytes a chunk of text has at least, if more has come at once.
const pieceSize = 240

// A telling sends an answer as it comes.
type telling struct {
	*compat.Desk
	work   compat.Work
	feed   *compat.Feed
	name   string   // what the caller calls the conversation
	fresh  bool     // the conversation begins with it
	models []string // of the newest chunk that names any
	title  string
	text   Chunk // that more may be added to; zero: there is none
	out    *stream.Writer
}

// first waits for what comes first. It returns a fault if that is the end, since nobody pays
// for an answer: then nothing is streamed.
func (t *telling) first(ctx context.Context) *compat.Fault {
	for _, p := range t.feed.First(ctx, firstWords) {
		switch {
		case t.tells(p):
			return nil
		case p.End != nil && p.End.Trouble == llm.Payment:
			return p.End.Fault()
		}
	}
	return nil
}

// stream sends an answer until it is at its end, or the client is gone; the work goes on.
func (t *telling) stream(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set(threadHeader, string(t.work.Thread))
	t.out = stream.NewWriter(w)
	if t.out.Flush() != nil {
		t.feed.Close()
		return
	}
	t.feed.Tell(ctx, t)
}

// tells reports whether a part makes a chunk. What conversations look up is not told.
func (t *telling) tells(p compat.Part) bool {
	switch p.Kind {
	case compat.Text, compat.Progress, compat.Memories:
		return true
	case compat.Found:
		return t.work.Way == compat.Research
	}
	return false
}

// Part implements [compat.Telling].
func (t *telling) Part(p compat.Part) {
	if len(p.Models) > 0 {
		t.models = p.Models
	}
	switch {
	case p.Kind == compat.Title:
		t.title = p.Text
	case !t.tells(p):
	case p.Kind == compat.Text && t.text.Type != "" && !p.Again && len(t.text.Content) < pieceSize:
		t.text.Content += p.Text
		t.text.Text = t.text.Content
	case p.Kind == compat.Text:
		t.whole()
		t.text = Chunk{Type: chunkText, Content: p.Text, Text: p.Text, Replace: p.Again}
	case p.Kind == compat.Found:
		t.put(Chunk{Type: chunkTools, Tools: []ToolOutcome{found(p.Search)}})
	case p.Kind == compat.Memories:
		t.put(Chunk{Type: research.SourcesChunk, Sources: p.Sources, Summary: p.Summary})
	default:
		t.put(Chunk{Type: research.ProgressChunk, Progress: p.Progress})
	}
}

// Quiet implements [compat.Telling].
func (t *telling) Quiet() { t.out.Comment("keep-alive") }

// Fail implements [compat.Telling].
func (t *telling) Fail(f *compat.Fault) {
	why := "something failed in the server: send the request again"
	switch f.Status {
	case http.StatusNotFound:
		why = "the conversation was removed"
	case http.StatusServiceUnavailable:
		why = "the server stops; the work goes on: send the request again, with the same Idempotency-Key, messageId or newUniqueId"
	}
	t.put(Chunk{Type: chunkError, Error: why})
	t.done()
}

// End implements [compat.Telling].
func (t *telling) End(e compat.End) {
	t.whole()
	if e.Status != ponder.Completed {
		t.put(Chunk{Type: chunkError, Error: e.Reason})
	}
	if t.fresh {
		if info, err := t.Store.Thread(context.WithoutCancel(t.Gone), t.work.Thread); err == nil {
			t.title = cmp.Or(t.title, compat.Plain(info.Title))
		}
		t.put(Chunk{Type: chunkTitle, Title: t.title})
	}
	t.done()
}

// done ends the stream.
func (t *telling) done() { t.out.Event(0, "", []byte("[DONE]")) }

// Flush implements [compat.Telling].
func (t *telling) Flush() error {
	t.whole()
	return t.out.Flush()
}

// whole adds the text that has waited for more.
func (t *telling) whole() {
	if c := t.text; c.Type != "" {
		t.text = Chunk{}
		t.put(c)
	}
}

// put adds a chunk, behind the text that there is.
func (t *telling) put(c Chunk) {
	t.whole()
	c.Conversation, c.Models = t.name, t.models
	js, err := json.Marshal(c)
	if err != nil { // which what was read from JSON is not
		t.Logger.Error("a chunk could not be written", "thread", t.work.Thread, "type", c.Type, "error", err)
		return
	}
	t.out.Event(0, "", js)
}
