package a2a

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// errInterrupted ends a stream at a state that waits for the client.
var errInterrupted = errors.New("the task waits for input")

// awaitTask waits until a task ends or waits for input.
func (s *Server) awaitTask(ctx context.Context, t *task) error {
	if t.protocolState() != sdk.TaskStateWorking {
		return nil
	}
	old := pauseFilter{known: t.state.Parts}
	_, err := s.Desk.Wait(ctx, t.job, func(p compat.Part) error {
		if old.isNew(p) {
			return errInterrupted
		}
		return nil
	}, nil, nil)
	if errors.Is(err, errInterrupted) {
		return nil
	}
	return err
}

// A pauseFilter recognizes pauses that a task did not have before.
type pauseFilter struct{ known []compat.Part }

func (f pauseFilter) isNew(p compat.Part) bool {
	if p.Kind != compat.Paused {
		return false
	}
	for _, k := range f.known {
		if k.Kind == compat.Paused && k.Item == p.Item {
			return false
		}
	}
	return true
}

func (h *handler) SendStreamingMessage(ctx context.Context, req *sdk.SendMessageRequest) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		out, err := h.send(ctx, req)
		switch {
		case err != nil:
			yield(nil, h.protocolError(err))
		case out.message != nil:
			yield(out.message, nil)
		default:
			h.streamTask(ctx, out.task, yield)
		}
	}
}

func (h *handler) SubscribeToTask(ctx context.Context, req *sdk.SubscribeToTaskRequest) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		owner, err := ownerOf(ctx, auth.Read)
		if err != nil {
			yield(nil, err)
			return
		}
		t, err := h.findTask(ctx, owner, req.ID)
		switch {
		case err != nil:
			yield(nil, h.protocolError(err))
		case t.protocolState().Terminal():
			yield(nil, sdk.NewError(sdk.ErrUnsupportedOperation, "the task has ended: get it instead"))
		default:
			h.streamTask(ctx, t, yield)
		}
	}
}

// streamTask yields the task and its events, until it ends or waits for input.
func (s *Server) streamTask(ctx context.Context, t *task, yield func(sdk.Event, error) bool) {
	first, err := s.render(ctx, t, nil, t.protocolState().Terminal())
	if err != nil {
		yield(nil, s.protocolError(err))
		return
	}
	if !yield(first, nil) || t.protocolState() != sdk.TaskStateWorking {
		return
	}
	e := &encoder{server: s, task: t, yield: yield, pauses: pauseFilter{t.state.Parts}}
	s.Desk.EncodeJob(ctx, t.job, false, e)
	if e.gone || ctx.Err() != nil || s.Desk.Gone != nil && s.Desk.Gone.Err() != nil && !e.ended && e.failed == nil {
		return
	}
	if e.failed != nil {
		yield(nil, s.protocolError(e.failed))
		return
	}
	last, err := s.findTask(ctx, auth.CallerOf(ctx).Owner, sdk.TaskID(t.id))
	if err != nil {
		yield(nil, s.protocolError(err))
		return
	}
	s.yieldEnd(last, e, yield)
}

func (*Server) yieldEnd(t *task, e *encoder, yield func(sdk.Event, error) bool) {
	if t.state.End.Text != "" && t.protocolState().Terminal() {
		whole := &sdk.TaskArtifactUpdateEvent{TaskID: sdk.TaskID(t.id), ContextID: t.context, Artifact: t.newAnswer(t.state.End.Text), LastChunk: true}
		if e.answer.String() == t.state.End.Text { // only its sources are new
			whole.Append, whole.Artifact.Parts = true, sdk.ContentParts{sdk.NewTextPart("")}
		}
		if !yield(whole, nil) {
			return
		}
	}
	yield(&sdk.TaskStatusUpdateEvent{TaskID: sdk.TaskID(t.id), ContextID: t.context, Status: t.status()}, nil)
}

// An encoder yields parts as events of a task. It implements [compat.Encoder].
type encoder struct {
	server *Server
	task   *task
	yield  func(sdk.Event, error) bool
	pauses pauseFilter

	news   []sdk.Event
	text   strings.Builder // unsent text of the answer
	answer strings.Builder // sent text
	number int             // of status messages

	gone   bool // the client has gone
	paused bool
	ended  bool
	failed error
}

const maxNews = 16 << 10 // bytes of a status message

// Part implements [compat.Encoder].
func (e *encoder) Part(p compat.Part) {
	switch p.Kind {
	case compat.Text:
		e.text.WriteString(p.Text)
	case compat.Reasoning: // pieces of a word or two
	case compat.Paused:
		e.paused = e.paused || e.pauses.isNew(p)
	default:
		text := strings.TrimSpace(p.Thinking())
		if text == "" {
			return
		}
		e.number++
		m := e.task.newMessage(fmt.Sprintf("%s-%d", e.task.job.ID(), e.number), textkit.TruncateBytes(text, maxNews))
		m.Metadata = map[string]any{"kind": string(p.Kind)}
		if p.Stage != "" {
			m.Metadata["stage"] = p.Stage
		}
		e.addText()
		e.news = append(e.news, sdk.NewStatusUpdateEvent(e.task, sdk.TaskStateWorking, m))
	}
}

// addText adds the unsent text as a chunk of the answer.
func (e *encoder) addText() {
	if e.text.Len() == 0 {
		return
	}
	ev := sdk.NewArtifactUpdateEvent(e.task, answerID, &sdk.Part{Content: sdk.Text(e.text.String()), MediaType: "text/markdown"})
	ev.Artifact.Name, ev.Append = answerID, e.answer.Len() > 0
	e.answer.WriteString(e.text.String())
	e.text.Reset()
	e.news = append(e.news, ev)
}

// Quiet implements [compat.Encoder]. The transport has its own heartbeat.
func (*encoder) Quiet() {}

// Fail implements [compat.Encoder].
func (e *encoder) Fail(f *compat.APIError) {
	if !e.paused {
		e.failed = f
	}
}

// End implements [compat.Encoder].
func (e *encoder) End(end compat.End) { e.ended = end.Status != ponder.Paused }

// Flush implements [compat.Encoder].
func (e *encoder) Flush() error {
	e.addText()
	for _, ev := range e.news {
		if e.gone = !e.yield(ev, nil); e.gone {
			return context.Canceled
		}
	}
	e.news = nil
	if e.paused {
		return errInterrupted
	}
	return nil
}
