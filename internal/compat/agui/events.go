package agui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"ponder"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
	"ponder/internal/stream"
	"ponder/llm"
)

// The kinds of interrupts, before the id of the job.
const (
	planInterrupt    = "plan"
	pauseInterrupt   = "pause"
	confirmInterrupt = "confirm"
)

var errInterrupted = errors.New("the run waits for the user")

type event map[string]any

// An encoder writes the events of a run. It implements [compat.Encoder].
type encoder struct {
	*stream.Writer
	desk *compat.Dispatcher
	in   *input
	job  compat.Job

	open    string // "text", "reasoning" or ""
	id      string // of the open message
	count   int
	step    string // the open step
	pending []string
	state   ways.State
	sources map[string]bool
	past    map[string]bool // pauses that have ended
	lookups []string        // calls of Ponder's tools without a result

	interrupted event // the pause that ended the stream
	over        bool  // RUN_FINISHED or RUN_ERROR is written
}

func (e *encoder) write(ev event) {
	js, err := json.Marshal(ev)
	if err == nil { // our values encode
		e.Event(0, "", js)
	}
}

func (e *encoder) startRun() {
	e.write(event{"type": "RUN_STARTED", "threadId": e.in.ThreadID, "runId": e.in.RunID})
	if e.job.Thread == "" {
		return
	}
	e.write(event{"type": "STATE_SNAPSHOT", "snapshot": event{
		"session": e.job.ID(), "way": ways.WayOf(e.job.Kind).ID, "status": string(ponder.Thinking), "thoughts": 0, "questions": []string{}, "interim": "", "sources": []any{},
	}})
}

func (e *encoder) addReply(r reply) {
	if r.mind != nil {
		e.write(event{"type": "STATE_SNAPSHOT", "snapshot": event{"subconscious": r.mind}})
	}
	e.writeText("text", r.text)
	e.closeMessage()
}

// patch changes a field of the state.
func (e *encoder) patch(op, path string, value any) {
	e.write(event{"type": "STATE_DELTA", "delta": []event{{"op": op, "path": path, "value": value}}})
}

// writeText opens a message of a kind if none is open.
func (e *encoder) writeText(kind, text string) {
	if text == "" {
		return
	}
	if e.open != kind {
		e.closeMessage()
		e.count++
		e.open, e.id = kind, fmt.Sprintf("%s-%d", cmp.Or(e.job.ID(), e.in.RunID), e.count)
		if kind == "text" {
			e.write(event{"type": "TEXT_MESSAGE_START", "messageId": e.id, "role": "assistant"})
		} else {
			e.write(event{"type": "REASONING_START", "messageId": e.id})
			e.write(event{"type": "REASONING_MESSAGE_START", "messageId": e.id, "role": "reasoning"})
		}
	}
	name := "TEXT_MESSAGE_CONTENT"
	if kind != "text" {
		name = "REASONING_MESSAGE_CONTENT"
	}
	e.write(event{"type": name, "messageId": e.id, "delta": text})
}

func (e *encoder) closeMessage() {
	switch e.open {
	case "text":
		e.write(event{"type": "TEXT_MESSAGE_END", "messageId": e.id})
	case "reasoning":
		e.write(event{"type": "REASONING_MESSAGE_END", "messageId": e.id})
		e.write(event{"type": "REASONING_END", "messageId": e.id})
	}
	e.open = ""
}

// setStep ends the open step and starts another, unless it is the same.
func (e *encoder) setStep(name string) {
	if name == e.step {
		return
	}
	e.closeMessage()
	if e.step != "" {
		e.write(event{"type": "STEP_FINISHED", "stepName": e.step})
	}
	if e.step = name; name != "" {
		e.write(event{"type": "STEP_STARTED", "stepName": name})
	}
}

// Part implements [compat.Encoder].
func (e *encoder) Part(p compat.Part) {
	switch p.Kind {
	case compat.Text:
		e.writeText("text", p.Text)
	case compat.TextEnd:
		e.closeMessage()
		e.addSources(p.Citations)
	case compat.Reasoning:
		e.writeText("reasoning", p.Text)
	case compat.Thought:
		e.state.Thoughts++
		e.setStep(cmp.Or(p.Stage, "thought"))
		if p.Stage == "plan" {
			e.state.Plan = p.Text
			e.patch("add", "/plan", p.Text)
		}
		e.patch("replace", "/thoughts", e.state.Thoughts)
		e.writeText("reasoning", p.Thinking())
		e.closeMessage()
	case compat.Question:
		e.patch("add", "/questions/-", p.Text)
	case compat.Interim:
		e.patch("replace", "/interim", p.Text)
	case compat.Progress:
		e.setStep(cmp.Or(p.Progress.Stage, "progress"))
		e.writeText("reasoning", p.Thinking())
		e.closeMessage()
	case compat.Searching:
		e.lookups = append(e.lookups, p.Item)
		e.writeCall(p.Item, p.Search.Tool, p.Search.Args)
	case compat.Found:
		e.writeResult(p)
	case compat.Call:
		e.pending = append(e.pending, p.Call.ID)
		e.writeCall(p.Call.ID, p.Call.Name, p.Call.Input)
	case compat.Title:
		e.patch("add", "/title", p.Text)
	case compat.Paused:
		e.addPause(p)
	case compat.Resumed:
		e.interrupted = nil
		e.patch("replace", "/status", string(ponder.Thinking))
	}
}

// addPause notes a pause that still holds.
func (e *encoder) addPause(p compat.Part) {
	if e.past[p.Item] {
		return
	}
	e.patch("replace", "/status", string(ponder.Paused))
	kind, text := pauseInterrupt, "Paused: "+cmp.Or(p.Text, "until it is resumed")
	if p.Stage == "plan" {
		kind, text = planInterrupt, e.state.Plan
	}
	e.interrupted = newInterrupt(kind, e.job, text)
}

func newInterrupt(kind string, job compat.Job, text string) event {
	return event{
		"id": kind + ":" + job.ID(), "reason": kind, "message": text,
		"responseSchema": event{"type": "object", "properties": event{"approved": event{"type": "boolean"}}, "required": []string{"approved"}},
	}
}

func (e *encoder) writeCall(id, name string, args json.RawMessage) {
	e.closeMessage()
	if len(args) == 0 {
		args = json.RawMessage(`{}`)
	}
	e.write(event{"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name})
	e.write(event{"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": string(args)})
	e.write(event{"type": "TOOL_CALL_END", "toolCallId": id})
}

// writeResult writes the result of a tool of Ponder.
func (e *encoder) writeResult(p compat.Part) {
	found := []event{}
	for _, r := range p.Search.Results {
		found = append(found, event{"title": r.Title, "url": r.URL, "source": r.Source, "content": r.Content})
	}
	content := event{"results": found, "number": p.Search.Number}
	if p.Search.Error != "" {
		content = event{"error": p.Search.Error}
	}
	js, err := json.Marshal(content)
	if err != nil { // texts encode
		return
	}
	e.lookups = slices.DeleteFunc(e.lookups, func(id string) bool { return id == p.Item })
	e.closeMessage()
	e.write(event{"type": "TOOL_CALL_RESULT", "messageId": "result-" + p.Item, "toolCallId": p.Item, "content": string(js), "role": "tool"})
}

func (e *encoder) addSources(list []compat.Citation) {
	if e.sources == nil {
		e.sources = make(map[string]bool)
	}
	for _, c := range list {
		if at := cmp.Or(c.URL, c.File); at != "" && !e.sources[at] {
			e.sources[at] = true
			e.patch("add", "/sources/-", event{"title": c.Title, "source": at, "quote": c.Quote})
		}
	}
}

// Quiet implements [compat.Encoder].
func (e *encoder) Quiet() { e.Comment("keep-alive") }

// Fail implements [compat.Encoder]. A run that waits for the user did not fail.
func (e *encoder) Fail(f *compat.APIError) {
	if e.interrupted == nil {
		e.failRun(f)
	}
}

// closeAll ends everything that is open. Calls without a result would wait for the page.
func (e *encoder) closeAll() {
	for _, id := range slices.Clone(e.lookups) {
		e.writeResult(compat.Part{Item: id, Search: &compat.Search{Error: "it did not return in time"}})
	}
	e.setStep("")
	e.closeMessage()
}

func (e *encoder) failRun(f *compat.APIError) {
	e.closeAll()
	e.write(event{"type": "RUN_ERROR", "message": f.Detail, "code": fmt.Sprint(f.Status)})
	e.over = true
}

func (e *encoder) finishRun(outcome event, usage []event) {
	e.closeAll()
	ev := event{"type": "RUN_FINISHED", "threadId": e.in.ThreadID, "runId": e.in.RunID, "outcome": outcome}
	if usage != nil {
		ev["usage"] = usage
	}
	e.write(ev)
	e.over = true
}

// End implements [compat.Encoder].
func (e *encoder) End(end compat.End) {
	e.closeMessage()
	e.patch("replace", "/status", string(end.Status))
	if why := cmp.Or(end.StopReason, end.Reason); why != "" && end.Status == ponder.Completed {
		e.patch("add", "/reason", why)
	}
	outcome := event{"type": "success"}
	switch {
	case end.Status == ponder.Cancelled:
		outcome = event{"type": "cancelled"}
	case end.Status != ponder.Completed:
		e.failRun(end.APIError())
		return
	case end.Finish == llm.FinishTools:
		outcome["pendingToolCallIds"] = e.pending
	default:
		if list := e.questions(); len(list) > 0 {
			outcome = event{"type": "interrupt", "interrupts": list}
		}
	}
	e.finishRun(outcome, []event{{"model": end.Model, "inputTokens": end.Usage.Input, "outputTokens": end.Usage.Output, "totalTokens": end.Usage.Total()}})
}

// questions returns interrupts for the open questions of the turn.
func (e *encoder) questions() (list []any) {
	asked, err := ways.FindAsked(context.Background(), e.desk, e.job)
	if err != nil {
		e.desk.APIErrorOf(err) // logs it; the text has the questions too
	}
	for _, q := range asked {
		one := newInterrupt(confirmInterrupt, e.job, q.Text())
		one["id"] = confirmInterrupt + ":" + e.job.ID() + ":" + q.ID
		one["metadata"] = event{"tool": q.Tool, "arguments": q.Args, "approval_id": q.ID, "reason": q.Reason, "untrusted_sources": q.Untrusted, "expires": q.Expires}
		list = append(list, one)
	}
	return list
}

// Flush implements [compat.Encoder]. It ends the stream of work that waits for the user.
func (e *encoder) Flush() error {
	if err := e.Writer.Flush(); err != nil {
		return err
	}
	if e.interrupted != nil && !e.over {
		return errInterrupted
	}
	return nil
}
