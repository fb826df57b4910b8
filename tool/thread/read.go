package thread

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"ponder/internal/textkit"
	"slices"
	"time"

	"ponder"
	"ponder/internal/toolname"
)

// ReadName is the name of the tool that reads the current thread.
const ReadName = toolname.ThreadRead

// Limits on one use.
const (
	defaultEvents = 20
	maxEvents     = 50
	maxScanned    = 10_000 // events read per query
	readBytes     = 16_000 // of all texts together
	minBytes      = 300    // for each event at least
)

//go:embed prompts/read.md
var readDoc string

var readSchema = json.RawMessage(`{
  "type": "object",
  "properties": {
    "around": {"type": "integer", "minimum": 1, "description": "The number of an event: those about it are returned. Not together with from and to."},
    "from": {"type": "integer", "minimum": 1, "description": "The number of the first event."},
    "to": {"type": "integer", "minimum": 1, "description": "The number of the last event."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "The most events to return; 20 if left out."}
  },
  "required": [],
  "additionalProperties": false
}`)

// A Conversation is the part of a store that the tool needs.
type Conversation interface {
	Reader
	Thread(ctx context.Context, id ponder.ThreadID) (ponder.Info, error)
}

// NewRead returns the tool thread_read. It reads only the thread on which it is used
// ([ponder.ToolContextFrom]). It excludes internal events, unless the calling mode is in
// inner: the modes whose text no user sees. It is safe for concurrent use.
func NewRead(store Conversation, inner ...string) ponder.Tool {
	r := &reader{store: store, inner: inner}
	return ponder.NewTool(ReadName, readDoc, readSchema, r.readEvents)
}

type reader struct {
	store Conversation
	inner []string
}

type readInput struct {
	Around ponder.Seq `json:"around"`
	From   ponder.Seq `json:"from"`
	To     ponder.Seq `json:"to"`
	Limit  int        `json:"limit"`
}

// excerpt is the JSON result of the tool.
type excerpt struct {
	Events []passage  `json:"events"`
	Head   ponder.Seq `json:"head"`
	More   bool       `json:"more,omitempty"`
}

// A passage is an event in the form for models.
type passage struct {
	Seq       ponder.Seq `json:"seq"`
	Time      time.Time  `json:"ts"`
	Type      string     `json:"type"`
	Role      string     `json:"role,omitempty"`
	Content   string     `json:"content,omitempty"`
	Tool      string     `json:"tool,omitempty"`
	Input     string     `json:"input,omitempty"`
	Result    string     `json:"result,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Name      string     `json:"name,omitempty"`
	Untrusted bool       `json:"untrusted,omitempty"`
	Erased    bool       `json:"erased,omitempty"`
}

func (r *reader) readEvents(ctx context.Context, in readInput) (string, error) {
	use := ponder.ToolContextFrom(ctx)
	switch {
	case use.Thread == "":
		return "", errors.New(ReadName + ": it is not used on a thread")
	case in.Around != 0 && (in.From != 0 || in.To != 0):
		return "", errors.New(ReadName + ": either around, or from and to")
	case in.Around < 0 || in.From < 0 || in.To < 0:
		return "", errors.New(ReadName + ": numbers of events count from 1")
	case in.To != 0 && in.To < in.From:
		return "", errors.New(ReadName + ": to is before from")
	}
	if in.Limit <= 0 {
		in.Limit = defaultEvents
	}
	in.Limit = min(in.Limit, maxEvents)
	info, err := r.store.Thread(ctx, use.Thread)
	if err != nil {
		return "", fmt.Errorf(ReadName+": %w", err)
	}
	w := window{Reader: r.store, thread: use.Thread, internal: slices.Contains(r.inner, use.Mode), head: info.Head}
	out, err := w.readExcerpt(ctx, in)
	if err != nil {
		return "", fmt.Errorf(ReadName+": %w", err)
	}
	return textkit.JSON(out)
}

// A window is the view of a thread for one use of the tool.
type window struct {
	Reader
	thread   ponder.ThreadID
	internal bool
	head     ponder.Seq
}

func (w window) readExcerpt(ctx context.Context, in readInput) (excerpt, error) {
	out := excerpt{Events: []passage{}, Head: w.head}
	var events []ponder.Event
	var err error
	switch {
	case in.Around != 0:
		if events, _, err = w.lastEvents(ctx, 1, min(in.Around, w.head), in.Limit/2+1); err != nil {
			break
		}
		var after []ponder.Event
		after, _, err = w.firstEvents(ctx, in.Around+1, w.head, in.Limit-len(events))
		events = append(events, after...)
	case in.From != 0:
		to := w.head
		if in.To != 0 {
			to = min(in.To, w.head)
		}
		events, out.More, err = w.firstEvents(ctx, in.From, to, in.Limit)
	case in.To != 0:
		events, _, err = w.lastEvents(ctx, 1, min(in.To, w.head), in.Limit)
	default:
		events, _, err = w.lastEvents(ctx, 1, w.head, in.Limit)
	}
	limit := max(minBytes, readBytes/max(1, len(events)))
	for _, ev := range events {
		out.Events = append(out.Events, newPassage(ev, limit))
	}
	return out, err
}

// firstEvents returns the first n events in a range, and whether there may be more.
func (w window) firstEvents(ctx context.Context, from, to ponder.Seq, n int) (list []ponder.Event, more bool, err error) {
	scanned := 0
	for ev, err := range w.Events(ctx, w.thread, max(0, from-1)) {
		if err != nil {
			return nil, false, err
		}
		if ev.Seq > to {
			return list, false, nil
		}
		if scanned++; len(list) == n || scanned > maxScanned {
			return list, true, nil
		}
		if w.isReadable(ev) {
			list = append(list, ev)
		}
	}
	return list, false, nil
}

// lastEvents returns the last n events in a range, and whether there may be more.
func (w window) lastEvents(ctx context.Context, from, to ponder.Seq, n int) (list []ponder.Event, more bool, err error) {
	for span := ponder.Seq(4 * n); ; span *= 4 {
		begin := max(from, to-span+1)
		if list, _, err = w.firstEvents(ctx, begin, to, maxScanned); err != nil {
			return nil, false, err
		}
		if len(list) >= n || begin <= from || 4*span > maxScanned {
			return list[max(0, len(list)-n):], len(list) > n || begin > from, nil
		}
	}
}

// isReadable reports whether a model may read an event: messages, tools and thoughts, but no
// events of runs.
func (w window) isReadable(ev ponder.Event) bool {
	if ev.Internal && !w.internal {
		return false
	}
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.CallFinished, ponder.RunStarted, ponder.RunPaused, ponder.RunResumed, ponder.RunFinished,
		ponder.BudgetSpent, ponder.Steer:
		return false
	}
	return true
}

// newPassage returns an event with texts of at limit limit bytes each.
func newPassage(ev ponder.Event, limit int) passage {
	p := passage{Seq: ev.Seq, Time: ev.Time.UTC().Truncate(time.Second), Type: ev.Body.Type(), Erased: ev.Erased}
	var flat struct {
		Role    string          `json:"role"`
		Content string          `json:"content"`
		Tool    string          `json:"tool_name"`
		Args    json.RawMessage `json:"tool_args"`
		Result  string          `json:"tool_result"`
		Reason  string          `json:"reason"`
	}
	js, err := ev.MarshalJSON()
	if err != nil || json.Unmarshal(js, &flat) != nil {
		return p // impossible for a stored event
	}
	switch b := ev.Body.(type) {
	case ponder.ToolResult:
		p.Untrusted = b.Untrusted
	case ponder.AttachmentAdded:
		p.Name = textkit.Line(b.Name, minBytes/2)
	}
	part := func(text string) string {
		return textkit.TruncateBytes(textkit.CleanTrim(textkit.Prefix(text, 2*limit)), limit)
	}
	p.Role, p.Tool = flat.Role, textkit.Line(flat.Tool, minBytes/2)
	p.Content, p.Input, p.Result = part(flat.Content), part(string(flat.Args)), part(flat.Result)
	p.Reason = textkit.Line(flat.Reason, minBytes)
	return p
}
