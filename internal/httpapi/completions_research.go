package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/stream"
	"ponder/mode/research"
)

// A researchTeller tells of research. Its text is the answer as it is stored: what a
// model wrote may be marked or put right after it was written.
type researchTeller struct {
	refs    research.References
	run     ponder.RunID
	queries map[string]string // of tools in use, by their causes
	models  []string          // of whom it was asked, until any has answered
	ended   bool
}

// pieceSize is about how many bytes a chunk of an answer has that is there as a whole.
const pieceSize = 240

// event implements [teller].
func (t *researchTeller) event(ev ponder.Event) (list []Chunk) {
	if t.ended {
		return nil
	}
	if b, ok := ev.Body.(ponder.RunStarted); ok && b.Mode == research.Name && ev.Run.Parent() == "" {
		t.run = ev.Run
	}
	for _, c := range t.refs.Apply(ev) {
		if len(c.Models) > 0 {
			t.models = c.Models
		}
		list = append(list, Chunk{Type: c.Type, Progress: c.Progress, Sources: c.Sources, Summary: c.Summary, Models: t.models})
	}
	if ev.Run != t.run || ev.Internal {
		return list
	}
	switch b := ev.Body.(type) {
	case ponder.ToolCall:
		t.queries[ev.Cause] = queryOf(b.Args)
	case ponder.ToolResult:
		if b.RetryAt.IsZero() && !b.Dropped {
			list = append(list, Chunk{Type: chunkTools, Tools: []ToolOutcome{foundBy(b, t.queries[ev.Cause])}, Models: t.models})
		}
		delete(t.queries, ev.Cause)
	case ponder.Synthesis:
		if b.Final && b.Model != "" && !slices.Contains(t.models, b.Model) {
			t.models = append(slices.Clip(t.models), b.Model)
		}
	case ponder.RunFinished:
		list = append(list, t.finished(b)...)
	}
	return list
}

// finished returns the answer, or why there is none.
func (t *researchTeller) finished(b ponder.RunFinished) (list []Chunk) {
	t.ended = true
	for _, text := range pieces(b.Answer, pieceSize) {
		c := textChunk(text, false)
		c.Models = t.models
		list = append(list, c)
	}
	if b.Status != ponder.Completed {
		list = append(list, Chunk{Type: chunkError, Error: whyEnded(b), Models: t.models})
	}
	return list
}

// whyEnded says why a run has no answer, or not all of one.
func whyEnded(b ponder.RunFinished) string {
	if b.Status == ponder.Cancelled {
		return "it was cancelled"
	}
	return "no answer: " + clip(cmp.Or(b.Reason, "it failed"), maxWhy)
}

// maxWhy is how much is said of why something failed.
const maxWhy = 400

// piece implements [teller].
func (*researchTeller) piece(stream.Piece) []Chunk { return nil }

func (*researchTeller) missed() {}

// over implements [teller].
func (t *researchTeller) over() (over, last bool) { return t.ended, t.ended }

func (*researchTeller) title() string { return "" }

func (*researchTeller) close() []Chunk { return nil }

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

// Bounds of what is shown of a result.
const (
	maxFound   = 40
	maxContent = 2000 // letters
)

// foundBy returns a result as clients know it.
func foundBy(b ponder.ToolResult, query string) ToolOutcome {
	o := ToolOutcome{Tool: b.Name, Result: ToolResult{Query: clip(query, maxWhy), Results: []ToolFound{}}}
	if b.Name == research.WebSearchTool || b.Name == research.WebFetchTool {
		o.Tool = "webSearch"
	}
	if b.Error != "" {
		o.Result.Error = clip(b.Error, maxWhy)
		o.Result.Summary = "It failed: " + o.Result.Error
		return o
	}
	var said struct{ Results, Hits, Sources []found }
	if json.Unmarshal([]byte(b.Result), &said) != nil {
		said.Results = nil // which is as good as nothing
	}
	all := slices.Concat(said.Results, said.Hits, said.Sources)
	o.Result.Number = len(all)
	for _, f := range all[:min(len(all), maxFound)] {
		o.Result.Results = append(o.Result.Results, f.shown())
	}
	if b.Name == research.SearchTool && !slices.ContainsFunc(all, func(f found) bool { return strings.HasPrefix(f.Source, "/") }) {
		o.Tool = research.PersonaTool // what is remembered has no path
	}
	o.Result.Summary = fmt.Sprintf("Found %d items", o.Result.Number)
	return o
}

// A found is one thing in the result of any of the tools.
type found struct {
	Title, URL, Source, Snippet, Quote, Text, Content, Memory string
	Score                                                     float64
}

func (f found) shown() ToolFound {
	return ToolFound{
		Title: clip(f.Title, maxWhy), URL: clip(f.URL, maxContent), Source: clip(f.Source, maxContent), Score: f.Score,
		Content: short(cmp.Or(f.Snippet, f.Quote, f.Content, f.Memory, f.Text), maxContent),
	}
}

// short returns the beginning of a text of strangers.
func short(text string, most int) string {
	if r := []rune(plain(text)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return plain(text)
}

// queryOf returns what a tool was asked, or the address that it was given.
func queryOf(args json.RawMessage) string {
	var in struct{ Query, URL string }
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	return cmp.Or(in.Query, in.URL)
}
