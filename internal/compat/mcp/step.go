package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
	"ponder/llm"
)

const (
	maxAnswer     = 256 << 10 // bytes
	defaultSteps  = 12        // default
	maxSteps      = 200
	hostTime      = 24 * time.Hour   // of a session: its steps limit it earlier
	stepWait      = 45 * time.Second // for the next step; most clients time out after a minute
	stepHeartbeat = 20 * time.Second // between heartbeats
	maxContext    = 64 << 10         // bytes of each message in a prompt
)

type stepInput struct {
	Question string `json:"question,omitempty" jsonschema:"to begin: what to think about"`
	Context  string `json:"context,omitempty" jsonschema:"to begin: what must be known of the question"`
	Mode     string `json:"mode,omitempty" jsonschema:"to begin: think (the default) or research"`
	Steps    int    `json:"steps,omitempty" jsonschema:"to begin: how many steps to take at most, 12 if it is not said"`
	Session  string `json:"session,omitempty" jsonschema:"to go on: the session that ponder_step returned"`
	Step     string `json:"step,omitempty" jsonschema:"to go on: the step that is answered"`
	Answer   string `json:"answer,omitempty" jsonschema:"to go on: your answer to the prompt of the step, in just the form that it asks for"`
}

func (c *client) addStep(server *sdk.Server) {
	if c.Hosts == nil {
		return
	}
	closed := false
	addTool(c, server, &sdk.Tool{
		Name: "ponder_step", Title: "Think step by step",
		Description: `Think about a question with your own model, and no key: Ponder says what to think about next, you think and answer, and Ponder keeps the questions, the log and the synthesis. ` +
			`Begin with question. Then think about the prompt that is returned, and call again with session, step and answer, until status is "completed": then answer is the result. Call with session alone to have the prompt again.`,
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &closed, OpenWorldHint: &closed},
	}, func(ctx context.Context, req *sdk.CallToolRequest, in stepInput) (*sdk.CallToolResult, outcome, error) {
		out, err := c.takeStep(ctx, req, in)
		return renderOutcome(out), out, c.clientError(err)
	})
}

// takeStep starts a session or accepts an answer, and returns the next prompt.
func (c *client) takeStep(ctx context.Context, req *sdk.CallToolRequest, in stepInput) (outcome, error) {
	if err := c.checkScope(auth.Think); err != nil {
		return outcome{}, err
	}
	if in.Session == "" {
		a, err := c.stepAsk(in)
		if err != nil {
			return outcome{}, err
		}
		h, err := c.beginHosted(ctx, a, in.Steps)
		if err != nil {
			return outcome{}, err
		}
		return h.nextPrompt(ctx, progressFunc(ctx, req), "")
	}
	h, err := c.findHosted(ctx, in.Session)
	if err != nil {
		return outcome{}, err
	}
	if in.Answer == "" {
		return h.nextPrompt(ctx, progressFunc(ctx, req), "")
	}
	if len(in.Answer) > maxAnswer {
		return outcome{}, compat.InvalidField("answer", "answer: at most %d bytes", maxAnswer)
	}
	return h.acceptAnswer(ctx, progressFunc(ctx, req), in.Step, in.Answer)
}

func (c *client) stepAsk(in stepInput) (compat.Request, error) {
	m := mode{name: "ponder_step", way: compat.Session}
	switch in.Mode {
	case "", "think":
	case "research":
		m.way = compat.Research
	default:
		return compat.Request{}, compat.InvalidField("mode", "mode: expected think or research")
	}
	if in.Steps < 0 || in.Steps > maxSteps {
		return compat.Request{}, compat.InvalidField("steps", "steps: expected 1 to %d", maxSteps)
	}
	if strings.TrimSpace(in.Question) == "" {
		return compat.Request{}, compat.InvalidField("question", "question: write a question, or set session to continue one")
	}
	return c.newRequest(m, thinkInput{Question: in.Question, Context: in.Context})
}

// hostedRun is work that a client's model thinks about.
type hostedRun struct {
	*client
	work compat.Job
	name string
}

func (c *client) beginHosted(ctx context.Context, a compat.Request, most int) (*hostedRun, error) {
	name := hostName()
	a.Model.Model, a.Budget.Time = Host+"/"+name, hostTime
	a.Budget.Calls = cmp.Or(a.Budget.Calls, defaultSteps)
	if most > 0 {
		a.Budget.Calls = most
	}
	if a.Model.Kind == compat.Chat {
		return nil, compat.InvalidField("", "no model for conversations is configured: run `ponder doctor` for remedies, or use ponder_step with your own model")
	}
	work, err := c.Desk.Begin(ctx, a)
	if err != nil {
		return nil, err
	}
	work.Forget()
	return &hostedRun{c, work, name}, nil
}

// findHosted returns the work of an id if a client's model thinks about it.
func (c *client) findHosted(ctx context.Context, id string) (*hostedRun, error) {
	work, err := c.findWork(ctx, id)
	if err != nil {
		return nil, err
	}
	name, ok := hostOf(work.Model)
	if !ok {
		return nil, compat.InvalidField("session", "the model %s answers this session: use ponder_session to see its status", work.Model)
	}
	return &hostedRun{c, work, name}, nil
}

// acceptAnswer delivers an answer and returns the next prompt.
func (h *hostedRun) acceptAnswer(ctx context.Context, tell func(string), step, answer string) (outcome, error) {
	if out, over, err := h.currentOutcome(ctx); err != nil || over {
		return out, err
	}
	until := time.Now().Add(stepWait)
	if err := h.wakeWork(ctx); err != nil {
		return outcome{}, err
	}
	for {
		a, _, news := h.Hosts.nextSample(h.name)
		if a != nil && step == "" {
			step = a.id
		}
		if h.Hosts.answerSample(h.name, step, answer) {
			return h.nextPrompt(ctx, tell, step)
		}
		if a != nil { // another step is pending
			out := h.promptOutcome(a)
			out.Reason = "there is no step " + textkit.TruncateBytes(step, 20) + " that waits for an answer; answer this one"
			return out, nil
		}
		if out, over, err := h.waitForChange(ctx, news, until); err != nil || over {
			return out, err
		}
	}
}

// nextPrompt returns the next prompt, or the end. before is the answered step, or empty.
func (h *hostedRun) nextPrompt(ctx context.Context, tell func(string), before string) (outcome, error) {
	until := time.Now().Add(stepWait)
	for first := before == ""; ; first = false {
		a, _, news := h.Hosts.nextSample(h.name)
		if a == nil && first { // the work may be paused or have no holder
			if err := h.wakeWork(ctx); err != nil {
				return outcome{}, err
			}
		}
		if a != nil {
			out := h.promptOutcome(a)
			if a.id == before {
				out.Reason = "the answer has the wrong form: use exactly the form that the prompt asks for"
			}
			return out, nil
		}
		if out, over, err := h.waitForChange(ctx, news, until); err != nil || over {
			return out, err
		}
		if err := h.wakeWork(ctx); err != nil {
			return outcome{}, err
		}
		tell("preparing the next step")
	}
}

// waitForChange waits for news, at most stepHeartbeat. over reports an ended work, or the end of until.
func (h *hostedRun) waitForChange(ctx context.Context, news <-chan struct{}, until time.Time) (out outcome, over bool, err error) {
	ended, stop := h.watchEnd(ctx)
	defer stop()
	select {
	case <-news:
		return out, false, nil
	case <-ended:
	case <-time.After(min(stepHeartbeat, time.Until(until))):
	case <-ctx.Done():
		return out, true, ctx.Err()
	}
	if out, over, err = h.currentOutcome(ctx); over || err != nil {
		return out, true, err
	}
	if time.Now().Before(until) {
		return out, false, nil
	}
	out.Reason = "the next step is not ready yet: call ponder_step again with this session alone"
	return out, true, nil
}

// watchEnd returns a channel that closes at the end of the work.
func (h *hostedRun) watchEnd(ctx context.Context) (ended <-chan struct{}, stop func()) {
	ctx, stop = context.WithCancel(ctx)
	c := make(chan struct{})
	go func() {
		_, err := h.Desk.Wait(ctx, h.work, func(compat.Part) error { return nil }, nil, nil)
		if err == nil {
			close(c)
		}
	}()
	return c, stop
}

func (h *hostedRun) currentOutcome(ctx context.Context) (outcome, bool, error) {
	parts, end, err := h.Desk.Result(ctx, h.work)
	if err != nil {
		return outcome{}, false, err
	}
	var cited []compat.Citation
	for _, p := range parts {
		cited = append(cited, p.Citations...)
	}
	return outcomeOf(h.work, cited, end), end.Status.Ended(), nil
}

// wakeWork resumes paused work, and starts work without a holder.
func (h *hostedRun) wakeWork(ctx context.Context) error {
	_, end, err := h.Desk.Result(ctx, h.work)
	switch {
	case err != nil || end.Status.Ended():
		return err
	case end.Status == ponder.Paused:
		return h.Desk.Resume(ctx, h.work)
	}
	return h.Desk.Service.Go(ctx, h.work.Thread, "")
}

// pauseAwaiting pauses the work until its client returns.
func (s *Server) pauseAwaiting(name string) {
	ctx := context.Background()
	list, err := s.Desk.Store.List(ctx, ponder.Filter{Limit: maxAwaiting})
	for _, info := range list {
		if info.Model != Host+"/"+name || info.Status != ponder.Thinking {
			continue
		}
		var work compat.Job
		if work, err = s.Desk.FindJob(ctx, info.Owner, strings.TrimPrefix(string(info.ID), "thr_")); err == nil {
			err = s.Desk.Pause(ctx, work, awaitReason)
		}
		break
	}
	if err != nil {
		s.logger().Warn("cannot pause a session whose client has left", "error", err)
	}
}

// awaitReason is the reason of that pause.
const awaitReason = "waits for its client"

// maxAwaiting limits the search of pauseAwaiting.
const maxAwaiting = 1000

func (h *hostedRun) promptOutcome(a *pendingSample) outcome {
	return outcome{Session: h.work.ID(), Status: "needs_answer", Step: a.id, Prompt: h.promptText(a)}
}

func (h *hostedRun) promptText(a *pendingSample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Think about the prompt below. Then call ponder_step with session=%q, step=%q and your answer.\n\n", h.work.ID(), a.id)
	b.WriteString(requestText(a.req))
	return b.String()
}

func requestText(req *llm.Request) string {
	var b strings.Builder
	if req.System != "" {
		fmt.Fprintf(&b, "%s\n\n", req.System)
	}
	for _, m := range req.Messages {
		text := m.Text()
		if len(req.Messages) > 1 {
			fmt.Fprintf(&b, "[%s]\n", m.Role)
		}
		fmt.Fprintf(&b, "%s\n\n", textkit.TruncateBytes(text, maxContext))
	}
	if form := formOf(req); form != "" {
		b.WriteString(form)
	}
	return strings.TrimSpace(b.String())
}

func formOf(req *llm.Request) string {
	if req.Schema == nil {
		return ""
	}
	return "The answer is one JSON value of this schema, and nothing else:\n" + string(req.Schema.JSON)
}
