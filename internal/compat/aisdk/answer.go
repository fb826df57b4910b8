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

type answerEncoder struct {
	*stream.Writer
	open          string // "text" or "reasoning"; empty: none
	id            string
	count         int
	deltaTemplate compat.JSONTemplate // of deltas
	js            []byte
	cited         map[string]bool
}

func (t *answerEncoder) writePart(p part) {
	js, err := json.Marshal(p)
	if err != nil {
		return
	}
	t.Event(0, "", js)
}

func (t *answerEncoder) Quiet() { t.Comment("keep-alive") }

func (t *answerEncoder) Part(p compat.Part) {
	switch p.Kind {
	case compat.Text:
		t.writeDelta("text", p.Text)
	case compat.TextEnd:
		t.closePart()
		t.writeSources(p.Citations)
	case compat.Reasoning:
		t.writeDelta("reasoning", p.Text)
	case compat.Thought:
		t.closePart()
		t.writeDelta("reasoning", p.Text)
		t.closePart()
		t.writePart(part{"type": "data-ponder-thought", "id": p.Item, "data": part{"text": p.Text, "type": p.Stage}})
	case compat.Question:
		t.writePart(part{"type": "data-ponder-question", "id": p.Item, "data": part{"text": p.Text, "priority": p.Priority}})
	case compat.Interim:
		t.writePart(part{"type": "data-ponder-synthesis", "id": p.Item, "data": part{"text": p.Text}})
	case compat.Progress:
		t.writePart(part{"type": "data-deep-think-progress", "id": "deep-think-progress", "data": p.Progress})
	case compat.Memories:
		t.writePart(part{"type": "data-memory-sources", "id": p.Item, "data": part{"memorySources": p.Sources, "referenceSummary": p.Summary}})
	case compat.Title:
		t.writePart(part{"type": "data-conversation-title", "id": "conversation-title", "data": part{"title": p.Text}})
	case compat.Searching, compat.Found:
		t.writeTool(p)
	case compat.Call:
		t.closePart()
		t.writePart(part{"type": "tool-input-available", "toolCallId": p.Call.ID, "toolName": p.Call.Name, "input": p.Call.Input, "dynamic": true})
	}
}

// writeTool writes the use of a tool of Ponder.
func (t *answerEncoder) writeTool(p compat.Part) {
	s := p.Search
	switch {
	case p.Kind == compat.Searching:
		t.closePart()
		input := s.Args
		if len(input) == 0 {
			input = json.RawMessage(`{}`)
		}
		t.writePart(part{"type": "tool-input-available", "toolCallId": p.Item, "toolName": s.Tool, "input": input, "providerExecuted": true, "dynamic": true})
	case s.Error != "":
		t.writePart(part{"type": "tool-output-error", "toolCallId": p.Item, "errorText": s.Error, "providerExecuted": true, "dynamic": true})
	default:
		found := []part{}
		for _, r := range s.Results {
			found = append(found, part{"title": r.Title, "url": r.URL, "source": r.Source, "content": r.Content, "score": r.Score})
		}
		t.writePart(part{
			"type": "tool-output-available", "toolCallId": p.Item, "providerExecuted": true, "dynamic": true,
			"output": part{"results": found, "numberOfResults": s.Number},
		})
	}
}

// writeSources writes each source once.
func (t *answerEncoder) writeSources(list []compat.Citation) {
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
			t.writePart(part{"type": "source-url", "sourceId": id, "url": c.URL, "title": c.Title})
			continue
		}
		title := cmp.Or(c.Title, c.File)
		t.writePart(part{"type": "source-document", "sourceId": id, "mediaType": "text/plain", "title": title, "filename": c.File})
	}
}

// writeDelta opens a part of kind if none is open.
func (t *answerEncoder) writeDelta(kind, text string) {
	if t.open != kind {
		t.closePart()
		t.count++
		t.open, t.id = kind, fmt.Sprintf("%s-%d", kind, t.count)
		t.writePart(part{"type": kind + "-start", "id": t.id})
		t.deltaTemplate = compat.NewJSONTemplate(part{"type": kind + "-delta", "id": t.id, "delta": compat.Placeholder})
	}
	t.js = t.deltaTemplate.Append(t.js[:0], text)
	t.Event(0, "", t.js)
}

func (t *answerEncoder) closePart() {
	if t.open != "" {
		t.writePart(part{"type": t.open + "-end", "id": t.id})
	}
	t.open = ""
}

func (t *answerEncoder) Fail(f *compat.APIError) { t.writeError(f.Detail) }

func (t *answerEncoder) writeError(detail string) {
	t.closePart()
	t.writePart(part{"type": "error", "errorText": detail})
	t.writeDone()
}

func (t *answerEncoder) writeDone() { t.Event(0, "", []byte("[DONE]")) }

func (t *answerEncoder) End(end compat.End) {
	t.closePart()
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
		t.writePart(part{"type": "finish-step"})
		t.writePart(part{"type": "finish", "finishReason": finish, "messageMetadata": part{"model": end.Model, "totalTokens": end.Usage.Total()}})
	case ponder.Cancelled:
		t.writePart(part{"type": "abort"})
	default:
		t.writeError(end.Reason)
		return
	}
	t.writeDone()
}
