package compat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/research"
)

// A Part is a piece of a result. Its Kind determines the set fields.
type Part struct {
	Kind  Kind
	Item  string // groups parts of one text, call or question
	Text  string
	Again bool // of Text: replaces all earlier text

	Refused bool // of Steered: too late, or invalid

	Models    []string // provider/model, if known
	Stage     string   // of Thought: its type
	Priority  int      // of Question: 1 to 10
	Search    *Search
	Progress  *research.ProgressPayload
	Sources   []research.Reference // of Memories
	Summary   *research.Summary    // of Memories
	Call      *llm.ToolCall
	Citations []Citation // of TextEnd
	Less      bool       // of TextEnd: Text lacks the repetition at the end of the pieces
	End       *End
}

type Kind string

// The kinds, in their usual order. A round of the answer has any number of Text and a TextEnd.
const (
	Progress  Kind = "progress"
	Thought   Kind = "thought"   // complete: Text, Stage
	Reasoning Kind = "reasoning" // a piece: Text
	Question  Kind = "question"  // Text, Priority
	Interim   Kind = "interim"   // an early synthesis: Text
	Searching Kind = "searching" // a tool of Ponder starts: Search
	Found     Kind = "found"     // it returned: Search
	Memories  Kind = "memories"  // for the seed: Sources, Summary
	Text      Kind = "text"      // a piece: Text
	TextEnd   Kind = "text_end"  // a complete round: Text
	Call      Kind = "call"      // of a client tool: Call
	Title     Kind = "title"
	Steered   Kind = "steered" // a processed steer: Text, Refused; Item is its cause
	Paused    Kind = "paused"  // Text: the reason; Stage "plan" if a plan waits for approval
	Resumed   Kind = "resumed"
	Ended     Kind = "end"
)

type Search struct {
	Tool    string // see mode/research
	Query   string // the query, or
	URL     string // the page
	Args    json.RawMessage
	Results []Result
	Number  int    // also of omitted results
	Error   string // empty on success
}

type Result struct {
	Title   string
	URL     string
	Source  string // an origin without a URL
	Content string
	Score   float64
}

// A Citation is a source. Start and End count characters in the text of its round; they are equal if only the
// place is known.
type Citation struct {
	Start, End int
	URL        string // or File
	File       string
	Title      string
	Quote      string
}

// An End is the outcome of a work.
type End struct {
	Status     ponder.Status // Completed, Failed or Cancelled
	Finish     llm.Finish    // FinishLength if a limit cut the work, FinishTools if client tools must run
	Reason     string        // of a failure or a cut
	StopReason string        // why a session or a research ended, for users
	ErrorClass llm.Class     // error class of the failing model call
	NotBefore  time.Time     // earliest useful time for a repeat; zero: unknown
	Usage      llm.Usage     // of all calls
	Model      string
	Text       string
	At         time.Time // of the answer's last event
}

// Thinking renders a part as reasoning text, or "".
func (p Part) Thinking() string {
	switch p.Kind {
	case Reasoning:
		return p.Text
	case Thought:
		return p.Text + "\n\n"
	case Question:
		return "Question: " + p.Text + "\n\n"
	case Interim:
		return "So far: " + p.Text + "\n\n"
	case Progress:
		return strings.TrimSpace(p.Progress.Message) + "\n\n"
	case Searching:
		return "Looking for: " + cmp.Or(p.Search.Query, p.Search.URL, p.Search.Tool) + "\n\n"
	}
	return ""
}

// SchemaOf returns js, or nil if it is absent or null. It reports whether js is valid: absent or an object.
func SchemaOf(js json.RawMessage) (json.RawMessage, bool) {
	js = bytes.TrimSpace(js)
	if len(js) == 0 || string(js) == "null" {
		return nil, true
	}
	return js, js[0] == '{' && json.Valid(js)
}

// CheckChoice returns an APIError if ToolChoice names an unknown tool.
func (a Request) CheckChoice(field string) error {
	switch a.ToolChoice {
	case "", "auto", "none":
		return nil
	case "required":
		if len(a.Tools) == 0 {
			return InvalidField(field, "%s: a tool call is required, but tools is empty", field)
		}
		return nil
	}
	for _, t := range a.Tools {
		if t.Name == a.ToolChoice {
			return nil
		}
	}
	return InvalidField(field, "%s: tool %q is not in tools", field, textkit.TruncateBytes(a.ToolChoice, 60))
}

const (
	maxFound   = 40
	maxContent = 2000 // bytes
)

type activeTools map[string]*Search

func (u *activeTools) applyEvent(ev ponder.Event) []Part {
	if *u == nil {
		*u = make(activeTools)
	}
	key := ev.ActionKey()
	switch b := ev.Body.(type) {
	case ponder.ToolCall:
		if (*u)[key] != nil {
			return nil // a retry
		}
		s := &Search{Tool: b.Name, Args: b.Args}
		var in struct{ Query, URL string }
		if json.Unmarshal(b.Args, &in) == nil {
			s.Query, s.URL = textkit.TruncateBytes(Plain(in.Query), maxWhy), textkit.TruncateBytes(Plain(in.URL), maxContent)
		}
		(*u)[key] = s
		return []Part{{Kind: Searching, Item: string(ev.Run) + "/" + key, Search: s}}
	case ponder.ToolResult:
		s := (*u)[key]
		if s == nil || !b.RetryAt.IsZero() || b.Dropped {
			return nil
		}
		delete(*u, key)
		found := *s
		found.Error = textkit.TruncateBytes(Plain(b.Error), maxWhy)
		if b.Error == "" {
			found.Results, found.Number = resultsOf(b.Result)
		}
		return []Part{{Kind: Found, Item: string(ev.Run) + "/" + key, Search: &found}}
	}
	return nil
}

func resultsOf(text string) (list []Result, all int) {
	type found struct {
		Title, URL, Source, Snippet, Quote, Text, Content, Memory string
		Score                                                     float64
	}
	var said struct{ Results, Hits, Sources []found }
	if json.Unmarshal([]byte(text), &said) != nil {
		return nil, 0
	}
	hits := slices.Concat(said.Results, said.Hits, said.Sources)
	for _, f := range hits[:min(len(hits), maxFound)] {
		list = append(list, Result{
			Title: textkit.TruncateBytes(Plain(f.Title), maxWhy), URL: textkit.TruncateBytes(Plain(f.URL), maxContent), Source: textkit.TruncateBytes(Plain(f.Source), maxContent), Score: f.Score,
			Content: textkit.TruncateBytes(Plain(cmp.Or(f.Snippet, f.Quote, f.Content, f.Memory, f.Text)), maxContent),
		})
	}
	return list, len(hits)
}

// Plain removes control characters and direction marks from untrusted text.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u2028' || r == '\u2029' || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 {
			return -1
		}
		return r
	}, text)
}
