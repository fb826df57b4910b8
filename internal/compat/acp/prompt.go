package acp

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
	"ponder/llm"
)

// startTurn returns the context of a prompt, which [session.cancelTurn] ends. It reports whether another prompt runs.
func (s *session) startTurn(ctx context.Context) (turn context.Context, end func(), busy bool) {
	turn, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return turn, cancel, true
	}
	s.stop = cancel
	return turn, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stop = nil
		cancel()
	}, false
}

func (s *session) cancelTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
}

func (s *session) currentJob() compat.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.job
}

func (s *session) setJob(w compat.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.job = w
}

func (s *server) cancelPrompt(_ context.Context, in sdk.CancelNotification) (any, error) {
	one, err := s.findSession(in.SessionId)
	if err == nil {
		one.cancelTurn()
	}
	return nil, err
}

func (s *server) prompt(ctx context.Context, in sdk.PromptRequest) (out sdk.PromptResponse, err error) {
	one, err := s.findSession(in.SessionId)
	if err != nil {
		return out, err
	}
	msg, err := readBlocks(in.Prompt)
	if err != nil {
		return out, err
	}
	o, err := ways.ReadOptions(in.Meta)
	if err != nil {
		return out, err
	}
	turn, end, busy := one.startTurn(ctx)
	defer end()
	t := &promptTurn{server: s, session: one, ctx: turn, options: one.currentOptions().Merge(o), busy: busy}
	out.StopReason, err = t.run(msg)
	return out, err
}

// A promptTurn answers one prompt.
type promptTurn struct {
	*server
	session *session
	ctx     context.Context //nolint:containedctx // of the turn: done when the client cancels it
	options ways.Options
	busy    bool // another prompt of the session runs
}

func (t *promptTurn) run(msg llm.Message) (sdk.StopReason, error) {
	text := strings.TrimSpace(msg.Text())
	c, isCommand := ways.ParseCommand(text)
	job := t.session.currentJob()
	switch {
	case isCommand && c.Name == ways.Tick:
		return t.showMind(true)
	case isCommand && c.Options.Way == "":
		return t.applyCommand(job, c)
	case isCommand:
		t.options = t.options.Merge(c.Options)
		if msg = withText(msg, c.Text); c.Text == "" && c.Name != ways.Subconscious.ID {
			return t.say("Write a question after /" + c.Name + ".")
		}
	case job.Kind != compat.Chat && job.Thread != "":
		state, err := ways.ReadState(t.ctx, t.Desk, job)
		if err != nil {
			return "", err
		}
		if t.busy && !state.Status.Ended() || state.PlanWaits {
			return t.steerJob(job, text, state.PlanWaits)
		}
	}
	w, err := t.options.FindWay()
	if err != nil {
		return "", err
	}
	if w.Kind == "" {
		return t.showMind(false)
	}
	return t.answer(msg)
}

// say sends a text of the agent and ends the turn.
func (t *promptTurn) say(text string) (sdk.StopReason, error) {
	e := &encoder{server: t.server, session: t.session}
	e.addText(messageText, text)
	return sdk.StopReasonEndTurn, e.Flush()
}

func (t *promptTurn) showMind(tick bool) (sdk.StopReason, error) {
	if tick && !t.Caller.HasScope(auth.Think) {
		return "", compat.InvalidField("", "this token lacks a scope: use a token with the scope think")
	}
	m, err := ways.ReadMind(t.ctx, t.Desk, t.Caller.Owner, tick)
	if err != nil && t.ctx.Err() != nil {
		return sdk.StopReasonCancelled, nil //nolint:nilerr // the client cancelled it
	}
	if err != nil {
		return "", err
	}
	return t.say(m.Text)
}

// applyCommand applies a command to the newest job. After a continuation, it follows the job.
func (t *promptTurn) applyCommand(job compat.Job, c ways.Command) (sdk.StopReason, error) {
	if job.Thread == "" {
		return t.say("There is nothing to steer yet: ask a question first.")
	}
	reply, err := ways.Apply(t.ctx, t.Desk, job, c)
	follows := c.Name == ways.Resume || c.Name == ways.Answer
	if err != nil {
		f := t.requestError(err)
		return t.say(f.Message)
	}
	if _, err := t.say(reply); err != nil || !follows || t.busy {
		return sdk.StopReasonEndTurn, err
	}
	return t.follow(job)
}

// steerJob applies a message to the running job of the session.
func (t *promptTurn) steerJob(job compat.Job, text string, waits bool) (sdk.StopReason, error) {
	reply, err := ways.Follow(t.ctx, t.Desk, job, text)
	if err != nil {
		return t.say(t.requestError(err).Message)
	}
	if _, err := t.say(reply); err != nil || !waits || t.busy {
		return sdk.StopReasonEndTurn, err
	}
	return t.follow(job)
}

// answer starts work and follows it. It has the client ask the questions of Ponder, and follows the answers.
func (t *promptTurn) answer(msg llm.Message) (sdk.StopReason, error) {
	c, err := ways.OpenContext(t.ctx, t.Desk, t.Caller.Owner, t.session.name)
	if err != nil {
		return "", err
	}
	a, err := t.options.NewRequest(t.Desk, t.Caller.Owner, msg)
	if err != nil {
		return "", err
	}
	job, err := c.Begin(t.ctx, a, t.session.fresh)
	for err == nil {
		job.NativeApprovals = true
		t.session.setJob(job)
		stop, err := t.follow(job)
		if err != nil || stop != sdk.StopReasonEndTurn || job.Kind != compat.Chat {
			return stop, err
		}
		questions, err := ways.FindAsked(t.ctx, t.Desk, job)
		if err != nil {
			return stop, err
		}
		decisions, err := t.askQuestions(questions)
		if err != nil || len(decisions) == 0 {
			return stop, err
		}
		job, err = ways.Decide(t.ctx, t.Desk, t.Caller.Owner, job.Thread, "acp-"+decisions[0].ID, decisions...)
		if err != nil {
			return "", err
		}
	}
	return "", err
}

// askQuestions asks the user, one question after another. A question stays open if the user cancels it, or if the
// client cannot ask; then its text says how to answer.
func (t *promptTurn) askQuestions(questions []app.Approval) (decisions []ponder.ApprovalDecision, err error) {
	for _, q := range questions {
		switch answer := t.askPermission(questionCall(q)); {
		case answer == allowOption || answer == rejectOption:
			decisions = append(decisions, ponder.ApprovalDecision{ID: q.ID, Approved: answer == allowOption})
		case t.ctx.Err() == nil:
			if _, err := t.say("\n\n" + q.Text()); err != nil {
				return nil, err
			}
		}
	}
	return decisions, nil
}

// follow streams a job. If the client cancels, a session or research pauses, so that nothing is lost; other work is
// cancelled.
func (t *promptTurn) follow(job compat.Job) (sdk.StopReason, error) {
	e := &encoder{server: t.server, session: t.session, kind: job.Kind}
	e.approve = func(plan string) { go t.approvePlan(job, plan) }
	received := t.Desk.EncodeJob(t.ctx, job, job.Fresh, e)
	switch {
	case e.fault != nil:
		return "", e.fault
	case e.stop != "":
		return e.stop, nil
	case t.isCancelled():
		return sdk.StopReasonCancelled, t.leave(job)
	case !received:
		return sdk.StopReasonCancelled, nil // the client has gone
	}
	return sdk.StopReasonEndTurn, nil
}

// isCancelled reports whether the client cancelled the turn, rather than disconnected.
func (t *promptTurn) isCancelled() bool {
	select {
	case <-t.conn.Done():
		return false
	default:
		return t.ctx.Err() != nil
	}
}

func (t *promptTurn) leave(job compat.Job) error {
	ctx := context.WithoutCancel(t.ctx)
	if job.Kind == compat.Chat {
		return t.Desk.Cancel(ctx, job)
	}
	state, err := ways.ReadState(ctx, t.Desk, job)
	if err == nil && state.Status != ponder.Paused { // a plan still waits
		err = t.Desk.Pause(ctx, job, "paused by the client")
	}
	if err != nil {
		return nil //nolint:nilerr // it has ended meanwhile
	}
	_, err = t.say("\n\nPaused: /resume continues it, /cancel ends it, /steer changes it.")
	return err
}

const (
	allowOption  = "allow"
	rejectOption = "reject"

	cancelledAnswer = "cancelled" // no option
)

// approvePlan asks the client to approve the plan of a research that waits.
func (t *promptTurn) approvePlan(job compat.Job, plan string) {
	if state, err := ways.ReadState(t.ctx, t.Desk, job); err != nil || !state.PlanWaits {
		return // the log repeats the pause after its approval
	}
	kind, title := sdk.ToolKindThink, "Run this plan of research"
	call := sdk.ToolCallUpdate{
		ToolCallId: sdk.ToolCallId("plan-" + job.ID()), Kind: &kind, Title: &title, Content: []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(plan))},
	}
	answer := t.askPermission(call)
	if answer == cancelledAnswer { // the client may answer before its cancellation arrives
		t.session.cancelTurn()
	}
	if t.ctx.Err() != nil {
		return
	}
	c := ways.Command{Name: ways.Cancel}
	if answer == allowOption {
		c.Name = ways.Resume
	}
	if _, err := ways.Apply(t.ctx, t.Desk, job, c); err != nil && t.ctx.Err() == nil {
		t.Desk.APIErrorOf(err) // logs it; the user may have continued it elsewhere
	}
}

// questionCall returns a tool call for the question of a client. Its content shows the exact arguments.
func questionCall(q app.Approval) sdk.ToolCallUpdate {
	kind, title := sdk.ToolKindOther, "Ponder asks: run "+q.Tool+"?"
	return sdk.ToolCallUpdate{
		ToolCallId: sdk.ToolCallId("confirm-" + q.ID), Kind: &kind, Title: &title, RawInput: q.Args, Content: []sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock(q.Text()))},
	}
}

// askPermission returns the option that the user selects, [cancelledAnswer], or "" if the client cannot ask.
func (t *promptTurn) askPermission(call sdk.ToolCallUpdate) (option string) {
	out, err := sdk.SendRequest[sdk.RequestPermissionResponse](t.conn, t.ctx, sdk.ClientMethodSessionRequestPermission, sdk.RequestPermissionRequest{
		SessionId: sdk.SessionId(t.session.name), ToolCall: call,
		Options: []sdk.PermissionOption{
			{OptionId: allowOption, Name: "Allow once", Kind: sdk.PermissionOptionKindAllowOnce},
			{OptionId: rejectOption, Name: "Reject", Kind: sdk.PermissionOptionKindRejectOnce},
		},
	})
	switch {
	case err == nil && out.Outcome.Selected != nil:
		return string(out.Outcome.Selected.OptionId)
	case err == nil && out.Outcome.Cancelled != nil:
		return cancelledAnswer
	}
	return ""
}

// Limits of a prompt.
const (
	maxBlocks   = 200
	maxResource = 256 << 10 // bytes of an embedded resource
)

// readBlocks turns the content of a prompt into a message. Links stay links, because only the client may read files.
func readBlocks(blocks []sdk.ContentBlock) (m llm.Message, err error) {
	m.Role = llm.User
	if len(blocks) == 0 || len(blocks) > maxBlocks {
		return m, compat.InvalidField("prompt", "prompt: expected 1 to %d blocks", maxBlocks)
	}
	var text, attached strings.Builder
	for i, b := range blocks {
		switch {
		case b.Text != nil:
			text.WriteString(b.Text.Text)
		case b.ResourceLink != nil:
			fmt.Fprintf(&text, "[%s](%s)", compat.Plain(b.ResourceLink.Name), compat.Plain(b.ResourceLink.Uri))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			if len(r.Text) > maxResource {
				return m, compat.InvalidField("prompt", "prompt[%d]: the resource has more than %d bytes", i, maxResource)
			}
			fmt.Fprintf(&text, "[%s]", compat.Plain(r.Uri))
			fmt.Fprintf(&attached, "\n\n%s:\n\n%s", compat.Plain(r.Uri), r.Text)
		case b.Image != nil:
			data, err := base64.StdEncoding.DecodeString(b.Image.Data)
			if err != nil || len(data) == 0 || !strings.HasPrefix(b.Image.MimeType, "image/") {
				return m, compat.InvalidField("prompt", "prompt[%d]: expected an image in base64", i)
			}
			m.Parts = append(m.Parts, llm.Part{Media: &llm.Media{Type: b.Image.MimeType, Data: data}})
		default:
			return m, compat.InvalidField("prompt", "prompt[%d]: expected text, an image, a text resource or a link", i)
		}
	}
	m.Parts = append([]llm.Part{{Text: strings.TrimSpace(text.String()) + attached.String()}}, m.Parts...)
	return m, nil
}

// withText returns m with another text.
func withText(m llm.Message, text string) llm.Message {
	m.Parts = append([]llm.Part{{Text: text}}, m.Parts[1:]...)
	return m
}

// stopReason returns why a job ended, for the client. A session or research with an answer is complete, also if a limit
// ended it.
func stopReason(kind compat.JobKind, end compat.End) sdk.StopReason {
	switch {
	case end.Status == ponder.Cancelled:
		return sdk.StopReasonCancelled
	case end.Finish == llm.FinishFilter:
		return sdk.StopReasonRefusal
	case end.Finish == llm.FinishLength && kind == compat.Chat:
		return sdk.StopReasonMaxTokens
	}
	return sdk.StopReasonEndTurn
}
