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
	"ponder/internal/steering"
	"ponder/internal/textkit"
)

type sessionInput struct {
	Action   string `json:"action" jsonschema:"start, status, pause, resume, cancel, export or list"`
	Session  string `json:"session,omitempty" jsonschema:"the session that it is about; not for start and list"`
	Question string `json:"question,omitempty" jsonschema:"of start: what to think about"`
	Context  string `json:"context,omitempty" jsonschema:"of start: what must be known of the question"`
	Effort   string `json:"effort,omitempty" jsonschema:"of start: how hard to think: minimal, low, medium, high, xhigh or max"`
	Research bool   `json:"research,omitempty" jsonschema:"of start: do research, with sources, instead of thinking"`
	Format   string `json:"format,omitempty" jsonschema:"of export: markdown (the default) or json"`
}

type sessionStatus struct {
	outcome
	Meaning   string         `json:"meaning,omitempty" jsonschema:"of a sentence of ponder_steer"`
	Question  string         `json:"question,omitempty"`
	Interim   string         `json:"interim,omitempty" jsonschema:"what it has come to so far"`
	Thoughts  int            `json:"thoughts,omitempty" jsonschema:"how many there are so far"`
	Questions []string       `json:"questions,omitempty" jsonschema:"the sub-questions so far"`
	Report    string         `json:"report,omitempty" jsonschema:"of export"`
	Sessions  []sessionEntry `json:"sessions,omitempty" jsonschema:"of list, the newest first"`
}

type sessionEntry struct {
	Session string `json:"session"`
	Kind    string `json:"kind"`
	Title   string `json:"title"`
	Status  string `json:"status"`
}

const (
	maxListed    = 30
	maxQuestions = 50
	maxReport    = 1 << 20 // bytes
)

func (c *client) addSession(server *sdk.Server) {
	closed := false
	hints := &sdk.ToolAnnotations{DestructiveHint: &closed, OpenWorldHint: &closed}
	offerTool(c, server, &sdk.Tool{
		Name: "ponder_session", Title: "Sessions",
		Description: `Start a session or research in the background and return at once (action "start"), see how it stands ("status"), "pause", "resume" or "cancel" it, "export" its report, or "list" what there is.`,
		Annotations: hints,
	}, c.runAction, renderStatus)
	offerTool(c, server, &sdk.Tool{
		Name: "ponder_steer", Title: "Steer",
		Description: `Change what a session thinks about while it goes on: add a question to it ("add_question", the default), tell it something ("tell"), have it answer with what it has ("answer_now"), revert the last change ("undo"), or say in plain words what to change ("sentence"): its focus, questions, facts, sources, time, calls, tokens or cost.`,
		Annotations: hints,
	}, c.steerSession, renderStatus)
}

type steerInput struct {
	Session string `json:"session" jsonschema:"the session to steer"`
	Action  string `json:"action,omitempty" jsonschema:"add_question (the default), tell, answer_now, undo or sentence"`
	Text    string `json:"text,omitempty" jsonschema:"the question to add, what to tell it, or the sentence, such as: ten more minutes, and stop at 50 cents"`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"with sentence: only return its meaning"`
}

// findWork also accepts a thread id.
func (c *client) findWork(ctx context.Context, id string) (compat.Job, error) {
	if id == "" {
		return compat.Job{}, compat.InvalidField("session", "session: expected an id; use ponder_session to list them")
	}
	return c.Desk.FindJob(ctx, c.caller.Owner, strings.TrimPrefix(id, "thr_"))
}

func (c *client) runAction(ctx context.Context, in sessionInput) (sessionStatus, error) {
	if err := oneOf("action", in.Action, "start", "status", "pause", "resume", "cancel", "export", "list"); err != nil {
		return sessionStatus{}, err
	}
	need := auth.Think
	if in.Action == "status" || in.Action == "export" || in.Action == "list" {
		need = auth.Read
	}
	if err := c.checkScope(need); err != nil {
		return sessionStatus{}, err
	}
	switch in.Action {
	case "start":
		return c.startSession(ctx, in)
	case "list":
		return c.listSessions(ctx)
	}
	work, err := c.findWork(ctx, in.Session)
	if err != nil {
		return sessionStatus{}, err
	}
	switch in.Action {
	case "pause":
		err = c.Desk.Pause(ctx, work, "paused by the user")
	case "resume":
		err = c.Desk.Resume(ctx, work)
	case "cancel":
		err = c.Desk.Cancel(ctx, work)
	case "export":
		return c.exportSession(ctx, work, in.Format)
	}
	if err != nil {
		return sessionStatus{}, err
	}
	return c.sessionStatus(ctx, work)
}

func (c *client) startSession(ctx context.Context, in sessionInput) (sessionStatus, error) {
	m := mode{name: "ponder_session", way: compat.Session}
	if in.Research {
		m.way = compat.Research
	}
	a, err := c.newRequest(m, thinkInput{Question: in.Question, Context: in.Context, Effort: in.Effort})
	if err != nil {
		return sessionStatus{}, err
	}
	if c.hasNoModel(ctx) {
		h, err := c.beginHosted(ctx, a, 0)
		if err != nil {
			return sessionStatus{}, err
		}
		out, err := h.nextPrompt(ctx, func(string) {}, "")
		return sessionStatus{outcome: out}, err
	}
	work, err := c.Desk.Begin(ctx, a)
	if err != nil {
		return sessionStatus{}, err
	}
	work.Forget()
	return c.sessionStatus(ctx, work)
}

func (c *client) sessionStatus(ctx context.Context, work compat.Job) (sessionStatus, error) {
	parts, end, err := c.Desk.Result(ctx, work)
	if err != nil {
		return sessionStatus{}, err
	}
	out := sessionStatus{}
	var cited []compat.Citation
	for _, p := range parts {
		cited = append(cited, p.Citations...)
		switch p.Kind {
		case compat.Thought:
			out.Thoughts++
		case compat.Question:
			if len(out.Questions) < maxQuestions {
				out.Questions = append(out.Questions, p.Text)
			}
		case compat.Interim:
			out.Interim = p.Text
		}
	}
	if end.Text != "" {
		out.Interim = ""
	}
	out.outcome = outcomeOf(work, cited, end)
	if info, err := c.Desk.Store.Thread(ctx, work.Thread); err == nil {
		out.Question = info.Title
		if out.Status == string(ponder.Thinking) && info.Interrupted(time.Now()) {
			out.Status = string(ponder.Paused)
		}
	}
	return out, nil
}

func (c *client) exportSession(ctx context.Context, work compat.Job, format string) (sessionStatus, error) {
	format = cmp.Or(format, "markdown")
	if err := oneOf("format", format, "markdown", "json"); err != nil {
		return sessionStatus{}, err
	}
	out, err := c.sessionStatus(ctx, work)
	if err != nil {
		return out, err
	}
	doc, err := c.Desk.Service.Report(ctx, work.Thread, format)
	if err != nil {
		return out, err
	}
	out.Report = textkit.TruncateBytes(string(doc.Body), maxReport)
	return out, nil
}

func (c *client) listSessions(ctx context.Context) (sessionStatus, error) {
	out := sessionStatus{outcome: outcome{Status: "listed"}}
	list, err := c.newestSessions(ctx)
	now := time.Now()
	for _, info := range list {
		out.Sessions = append(out.Sessions, sessionEntry{idOf(info.ID), string(info.Kind), info.Title, string(info.CurrentStatus(now))})
	}
	return out, err
}

// newestSessions returns at most maxListed sessions and research.
func (c *client) newestSessions(ctx context.Context) (list []ponder.Info, err error) {
	const looked = 4 * maxListed
	all, err := c.Desk.Store.List(ctx, ponder.Filter{Owner: c.caller.Owner, Without: ponder.KindExchange, Limit: looked})
	for _, info := range all {
		if (info.Kind == ponder.KindSession || info.Kind == ponder.KindResearch) && len(list) < maxListed {
			list = append(list, info)
		}
	}
	return list, err
}

func idOf(id ponder.ThreadID) string { return strings.TrimPrefix(string(id), "thr_") }

func (c *client) steerSession(ctx context.Context, in steerInput) (sessionStatus, error) {
	if err := c.checkScope(auth.Think); err != nil {
		return sessionStatus{}, err
	}
	work, err := c.findWork(ctx, in.Session)
	if err != nil {
		return sessionStatus{}, err
	}
	command := steering.Request{Order: ponder.SteerOp(in.Action), Content: in.Text}
	switch command.Order {
	case "sentence", steering.Undo:
		return c.steerBySentence(ctx, work, in)
	case "", ponder.AddQuestion:
		command = compat.AddQuestion(in.Text)
	case steering.Tell, ponder.AnswerNow:
	default:
		return sessionStatus{}, compat.InvalidField("action", "action: expected add_question, tell, answer_now, undo or sentence")
	}
	if err := c.Desk.Steer(ctx, work, "", "text", command); err != nil {
		return sessionStatus{}, err
	}
	return c.sessionStatus(ctx, work)
}

// steerBySentence applies a sentence, or reverts the last change.
func (c *client) steerBySentence(ctx context.Context, work compat.Job, in steerInput) (sessionStatus, error) {
	sentence := in.Text
	if in.Action == string(steering.Undo) {
		sentence = string(steering.Undo)
	}
	meaning, err := c.Desk.SteerSentence(ctx, work, "text", sentence, in.DryRun)
	if err != nil {
		return sessionStatus{}, err
	}
	out, err := c.sessionStatus(ctx, work)
	out.Meaning = meaning
	return out, err
}

func renderStatus(out sessionStatus) *sdk.CallToolResult {
	res := renderOutcome(out.outcome)
	var b strings.Builder
	switch {
	case out.Report != "":
		b.WriteString(out.Report)
	case len(out.Sessions) > 0:
		for _, s := range out.Sessions {
			fmt.Fprintf(&b, "%s  %s  %s  %s\n", s.Session, s.Kind, s.Status, s.Title)
		}
	case out.Status == "listed":
		b.WriteString("There are no sessions.")
	case out.Answer == "" && out.Prompt == "":
		if out.Meaning != "" {
			b.WriteString(out.Meaning + "\n")
		}
		fmt.Fprintf(&b, "%s is %s: %q, %d thoughts so far.\n\n%s", out.Session, out.Status, out.Question, out.Thoughts, out.Interim)
	default:
		res.IsError = false
		return res
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.TrimSpace(b.String())}}}
}
