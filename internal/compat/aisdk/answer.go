package aisdk

import (
	"cmp"
	"encoding/json"
	"fmt"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/stream"
	"ponder/llm"
)

// A part is a stream object. The AI SDK rejects unknown types, except with the prefix "data-".
type part map[string]any

type telling struct {
	*stream.Writer
	open  string // "text" or "reasoning"; empty: none
	id    string
	count int
	more  compat.Mould // of deltas
	js    []byte
	cited map[string]bool
}

func (t *telling) put(p part) {
	js, err := json.Marshal(p)
	if err != nil {
		return
	}
	t.Event(0, "", js)
}

func (t *telling) Quiet() { t.Comment("keep-alive") }

func (t *telling) Part(p compat.Part) {
	switch p.Kind {
	case compat.Text:
		t.delta("text", p.Text)
	case compat.TextEnd:
		t.close()
		t.sources(p.Citations)
	case compat.Reasoning:
		t.delta("reasoning", p.Text)
	case compat.Thought:
		t.close()
		t.delta("reasoning", p.Text)
		t.close()
		t.put(part{"type": "data-ponder-thought", "id": p.Item, "data": part{"text": p.Text, "type": p.Stage}})
	case compat.Question:
		t.put(part{"type": "data-ponder-question", "id": p.Item, "data": part{"text": p.Text, "priority": p.Priority}})
	case compat.Interim:
		t.put(part{"type": "data-ponder-synthesis", "id": p.Item, "data": part{"text": p.Text}})
	case compat.Progress:
		t.put(part{"type": "data-deep-think-progress", "id": "deep-think-progress", "data": p.Progress})
	case compat.Memories:
		t.put(part{"type": "data-memory-sources", "id": p.Item, "data": part{"memorySources": p.Sources, "referenceSummary": p.Summary}})
	case compat.Title:
		t.put(part{"type": "data-conversation-title", "id": "conversation-title", "data": part{"title": p.Text}})
	case compat.Searching, compat.Found:
		t.tool(p)
	case compat.Call:
		t.close()
		t.put(part{"type": "tool-input-available", "toolCallId": p.Call.ID, "toolName": p.Call.Name, "input": p.Call.Input, "dynamic": true})
	}
}

// tool writes the use of a tool of Ponder.
func (t *telling) tool(p compat.Part) {
	s := p.Search
	switch {
	case p.Kind == compat.Searching:
		t.close()
		input := s.Args
		if len(input) == 0 {
			input = json.RawMessage(`{}`)
		}
		t.put(part{"type": "tool-input-available", "toolCallId": p.Item, "toolName": s.Tool, "input": input, "providerExecuted": true, "dynamic": true})
	case s.Error != "":
		t.put(part{"type": "tool-output-error", "toolCallId": p.Item, "errorText": s.Error, "providerExecuted": true, "dynamic": true})
	default:
		found := []part{}
		for _, r := range s.Results {
			found = append(found, part{"title": r.Title, "url": r.URL, "source": r.Source, "content": r.Content, "score": r.Score})
		}
		t.put(part{
			"type": "tool-output-available", "toolCallId": p.Item, "providerExecuted": true, "dynamic": true,
			"output": part{"results": found, "numberOfResults": s.Number},
		})
	}
}

// sources writes each source once.
func (t *telling) sources(list []compat.Citation) {
	if t.cited == nil {
		t.cited = make(map[string]bool)
	}
	for _, c := range list {
		at := c.URL + c.File
		if at == "" || t.cited[at] {
			continue
		}
		t.cited[at] = true
		id := fmt.Sprintf("source-%d", len(t.cited))
		if c.URL != "" {
			t.put(part{"type": "source-url", "sourceId": id, "url": c.URL, "title": c.Title})
			continue
		}
		title := cmp.Or(c.Title, c.File)
		t.put(part{"type": "source-document", "sourceId": id, "mediaType": "text/plain", "title": title, "filename": c.File})
	}
}

// delta opens a part of kind if none is open.
func (t *telling) delta(kind, text string) {
	if t.open != kind {
		t.close()
		t.count++
		t.open, t.id = kind, fmt.Sprintf("%s-%d", kind, t.count)
		t.put(part{"type": kind + "-start", "id": t.id})
		t.more = compat.NewMould(part{"type": kind + "-delta", "id": t.id, "delta": compat.Gap})
	}
	t.js = t.more.Append(t.js[:0], text)
	t.Event(0, "", t.js)
}

func (t *telling) close() {
	if t.open != "" {
		t.put(part{"type": t.open + "-end", "id": t.id})
	}
	t.open = ""
}

func (t *telling) Fail(f *compat.Fault) { t.fail(f.Detail) }

func (t *telling) fail(detail string) {
	t.close()
	t.put(part{"type": "error", "errorText": detail})
	t.done()
}

func (t *telling) done() { t.Event(0, "", []byte("[DONE]")) }

func (t *telling) End(end compat.End) {
	t.close()
	switch end.Status {
	case ponder.Completed:
		finish := "stop"
		switch end.Finish {
		case llm.FinishLength:
			finish = "length"
		case llm.FinishTools:
			finish = "tool-calls"
		case llm.FinishFilter:
			finish = "content-filter"
		}
		t.put(part{"type": "finish-step"})
		t.put(part{"type": "finish", "finishReason": finish, "messageMetadata": part{"model": end.Model, "totalTokens": end.Usage.Total()}})
	case ponder.Cancelled:
		t.put(part{"type": "abort"})
	default:
		t.fail(end.Reason)
		return
	}
	t.done()
}
