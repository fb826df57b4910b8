package compat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/research"
)

// A Part is a piece of what comes of a request, before a language dresses it. Which
// fields are set goes by its kind.
type Part struct {
	Kind  Kind
	Item  string // what it belongs to: the same for all parts of one text, call or question
	Text  string
	Again bool // of Text: it stands in the place of all text before it, which came to nothing

	Refused bool // of Steered: it comes too late, or means nothing

	Models    []string // provider/model of those that answer, as far as it is known
	Stage     string   // of Thought: its type, as thoughts of a session have it
	Priority  int      // of Question: 1 to 10
	Search    *Search
	Progress  *research.ProgressPayload
	Sources   []research.Reference // of Memories
	Summary   *research.Summary    // likewise
	Call      *llm.ToolCall
	Citations []Citation // of TextEnd: what the answer rests on
	End       *End
}

// A Kind is what a part is.
type Kind string

// The kinds, in about the order in which they come. Those of the answer are Text, any
// number of times, and TextEnd, for each round of it. The last part is End.
const (
	Progress  Kind = "progress"  // how far research has come: Progress
	Thought   Kind = "thought"   // a whole thought: Text, Stage
	Reasoning Kind = "reasoning" // a piece of a model's own reasoning: Text
	Question  Kind = "question"  // a sub-question: Text, Priority
	Interim   Kind = "interim"   // a synthesis that is not the answer: Text
	Searching Kind = "searching" // a tool of ours is used: Search, without what it found
	Found     Kind = "found"     // and has come back: Search
	Memories  Kind = "memories"  // what was found, as the seed shows it: Sources, Summary
	Text      Kind = "text"      // a piece of the answer: Text
	TextEnd   Kind = "text_end"  // a round of the answer is whole: Text is all of it
	Call      Kind = "call"      // a tool of the client is to be used: Call
	Title     Kind = "title"     // of the conversation: Text
	Steered   Kind = "steered"   // a wish of a user is obeyed by a session or research: Text, Refused; Item is the cause of the wish
	Ended     Kind = "end"       // there is no more: End
)

// A Search is the use of a tool of ours.
type Search struct {
	Tool    string // its name: see the constants of mode/research
	Query   string // what was asked, or
	URL     string // the page that was read
	Args    json.RawMessage
	Results []Result
	Number  int    // of all that was found
	Error   string // why nothing came of it
}

// A Result is one thing that was found.
type Result struct {
	Title   string
	URL     string
	Source  string // a file, or what else is no address
	Content string // a few lines of it
	Score   float64
}

// A Citation is a source that a part of the answer rests on. Start and End count
// characters of the text of its round; they are the same where only the place is known.
type Citation struct {
	Start, End int
	URL        string // or
	File       string
	Title      string
	Quote      string
}

// An End is how the work has ended.
type End struct {
	Status  ponder.Status // Completed, Failed or Cancelled
	Finish  llm.Finish    // of what was completed: FinishLength if limits cut it short, FinishTools if tools of the client are to be used
	Reason  string        // why it failed, or what cut it short
	Trouble llm.Class     // what came between a request and its answer, if that is why it failed
	Usage   llm.Usage     // of all calls
	Model   string        // that answered
	Text    string        // the whole answer
	At      time.Time     // when, by the log
}

// Fault returns why there is no answer, as an error; nil if there is one. The request is at
// fault where no other one of its kind would fare better.
func (e End) Fault() *Fault {
	if e.Status == ponder.Completed {
		return nil
	}
	f := &Fault{Status: http.StatusBadGateway, Detail: e.Reason}
	switch e.Trouble {
	case llm.TooLong, llm.Filtered, llm.BadRequest:
		f.Status, f.Field = http.StatusBadRequest, "messages"
	case llm.Payment: // it would not be paid the next moment either
		f.Status = http.StatusPaymentRequired
	}
	return f
}

// Thinking returns what a part tells of how the answer is come to, as languages show it
// that have one text for that; "" if it tells nothing of it.
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

// SchemaOf returns a value that is to be an object, such as a JSON schema; nil if it is
// left out, or null. It reports whether that is so.
func SchemaOf(js json.RawMessage) (json.RawMessage, bool) {
	js = bytes.TrimSpace(js)
	if len(js) == 0 || string(js) == "null" {
		return nil, true
	}
	return js, js[0] == '{' && json.Valid(js)
}

// CheckChoice returns a fault of a field if the tool that is to be called is none of the
// client's.
func (a Ask) CheckChoice(field string) error {
	switch a.ToolChoice {
	case "", "auto", "none":
		return nil
	case "required":
		if len(a.Tools) == 0 {
			return Wrong(field, "%s: a tool is to be called, and there are none", field)
		}
		return nil
	}
	for _, t := range a.Tools {
		if t.Name == a.ToolChoice {
			return nil
		}
	}
	return Wrong(field, "%s: there is no tool %q among the tools", field, textkit.TruncateBytes(a.ToolChoice, 60))
}

// Bounds of what is shown of a result.
const (
	maxFound   = 40
	maxContent = 2000 // bytes
)

// An activeTools has the tools of ours that are in use, by the keys of their actions.
type activeTools map[string]*Search

// event returns what is told of the use of a tool.
func (u *activeTools) event(ev ponder.Event) []Part {
	if *u == nil {
		*u = make(activeTools)
	}
	key := ev.ActionKey()
	switch b := ev.Body.(type) {
	case ponder.ToolCall:
		if (*u)[key] != nil {
			return nil // it is used again, after a failure
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

// resultsOf reads what tools of ours answer.
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

// Plain returns a text of strangers without what terminals obey, or what turns the
// direction of letters.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == '\u2028' || r == '\u2029' || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 {
			return -1
		}
		return r
	}, text)
}
