package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
	"ponder/internal/textkit"
	"ponder/llm"
)

type mode struct {
	name, title, doc string
	way              compat.JobKind
	effort           string // default
	long             bool   // may become a task
}

var modes = []mode{
	{
		"ponder_think", "Think", "Think about a question for a minute or two and return the answer with its reasons. For more than that, use ponder_deep_think.",
		compat.Session, "minimal", true,
	},
	{
		"ponder_deep_think", "Think deeply", "Think about a hard question for many minutes: it is taken apart into questions, thought about in rounds, and summed up. Returns the answer. Takes as long as minutes says, 15 if it does not.",
		compat.Session, "high", true,
	},
	{
		"ponder_research", "Research", "Do research on a question: look into what is remembered and, if it is configured, the web, and write a report with citations. Takes minutes.",
		compat.Research, "", true,
	},
	{
		"ponder_chat", "Talk", "Say something in a conversation that Ponder keeps, with its memory, and return what it answers. The same conversation name goes on with the same conversation.",
		compat.Chat, "", false,
	},
}

type thinkInput struct {
	Question     string  `json:"question" jsonschema:"what to think about, as a full question in plain words"`
	Context      string  `json:"context,omitempty" jsonschema:"what must be known of the question: facts, constraints, what was said before"`
	Effort       string  `json:"effort,omitempty" jsonschema:"how hard to think: none, minimal, low, medium, high, xhigh or max"`
	Minutes      float64 `json:"minutes,omitempty" jsonschema:"how long to think at most, in minutes"`
	MaxCost      float64 `json:"max_cost_usd,omitempty" jsonschema:"what it may cost at most, in US dollars"`
	MaxCalls     int     `json:"max_calls,omitempty" jsonschema:"how many calls of models it may take at most"`
	Model        string  `json:"model,omitempty" jsonschema:"provider/model that thinks, if not the one that is configured"`
	Conversation string  `json:"conversation,omitempty" jsonschema:"of ponder_chat: a name of the conversation"`
	NoWeb        bool    `json:"no_web,omitempty" jsonschema:"do not look at the web"`
	NoMemory     bool    `json:"no_memory,omitempty" jsonschema:"do not look into what is remembered"`
}

type outcome struct {
	Session string   `json:"session" jsonschema:"the id to go on with, in ponder_session, ponder_steer and ponder_step"`
	Status  string   `json:"status" jsonschema:"thinking, paused, completed, failed, cancelled, or needs_answer: then think about prompt and call ponder_step"`
	Answer  string   `json:"answer,omitempty"`
	Reason  string   `json:"reason,omitempty" jsonschema:"why it ended or failed"`
	Model   string   `json:"model,omitempty"`
	Sources []source `json:"sources,omitempty" jsonschema:"what the answer cites"`
	Tokens  int      `json:"tokens,omitempty"`

	Step   string `json:"step,omitempty" jsonschema:"with needs_answer: the step that is to be answered"`
	Prompt string `json:"prompt,omitempty" jsonschema:"with needs_answer: what to think about"`
}

type source struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"`
	File  string `json:"file,omitempty"`
	Quote string `json:"quote,omitempty"`
}

func (c *client) addModes(server *sdk.Server) {
	for _, m := range modes {
		open := true
		do := func(ctx context.Context, req *sdk.CallToolRequest, in thinkInput) (*sdk.CallToolResult, outcome, error) {
			c.texts.Restore(&in)
			res, out, err := c.runThink(ctx, req, m, in)
			return res, out, c.clientError(err)
		}
		c.tools[m.name] = newDirectTool(do)
		addTool(c, server, &sdk.Tool{
			Name: m.name, Title: m.title, Description: m.doc,
			Annotations: &sdk.ToolAnnotations{Title: m.title, DestructiveHint: new(bool), OpenWorldHint: &open},
		}, do)
	}
}

func (c *client) runThink(ctx context.Context, req *sdk.CallToolRequest, m mode, in thinkInput) (*sdk.CallToolResult, outcome, error) {
	if err := c.checkScope(auth.Think); err != nil {
		return nil, outcome{}, err
	}
	if req.Params.RequestState != "" {
		return c.continueSampled(ctx, req)
	}
	a, err := c.newRequest(m, in)
	if err != nil {
		return nil, outcome{}, err
	}
	if a.Model.Model == "" && c.hasNoModel(ctx) {
		return c.byHost(ctx, req, a)
	}
	work, err := c.Desk.Begin(ctx, a)
	if app.CodeOf(err) == app.NotReady && a.Model.Model == "" && c.Hosts != nil {
		return c.byHost(ctx, req, a)
	}
	if err != nil {
		return nil, outcome{}, err
	}
	if m.long && AsTask(ctx, &deskTask{c, work}) {
		work.Forget()
		return nil, outcome{Session: work.ID(), Status: string(ponder.Thinking)}, nil
	}
	return c.waitApproved(ctx, req, work)
}

// hasNoModel reports whether no model is configured.
func (c *client) hasNoModel(ctx context.Context) bool {
	if c.Hosts == nil {
		return false
	}
	names, err := c.Desk.Service.Models(ctx, c.caller.Owner)
	return err == nil && len(names) == 0
}

func (c *client) newRequest(m mode, in thinkInput) (compat.Request, error) {
	a := compat.Request{Owner: c.caller.Owner, Model: compat.Model{Name: m.name, Kind: m.way}, Effort: m.effort, Chat: in.Conversation}
	options := ways.Options{
		Effort: in.Effort, Minutes: in.Minutes, MaxCost: in.MaxCost, MaxCalls: in.MaxCalls, Model: in.Model, NoWeb: in.NoWeb, NoMemory: in.NoMemory,
	}
	if err := options.Apply(c.Desk, &a); err != nil {
		return a, err
	}
	if strings.TrimSpace(textkit.Clean(in.Question)) == "" {
		return a, compat.InvalidField("question", "question: the text is empty; write a question")
	}
	if text := strings.TrimSpace(in.Context); text != "" {
		a.Messages = append(a.Messages, llm.Say(llm.User, text))
	}
	a.Messages = append(a.Messages, llm.Say(llm.User, in.Question))
	return a, nil
}

// waitWork reports progress until work ends.
func (c *client) waitWork(ctx context.Context, req *sdk.CallToolRequest, work compat.Job) (*sdk.CallToolResult, outcome, error) {
	tell := progressFunc(ctx, req)
	var cited []compat.Citation
	end, err := c.Desk.Wait(ctx, work, func(p compat.Part) error {
		cited = append(cited, p.Citations...)
		if p.Kind != compat.Reasoning && p.Kind != compat.Text {
			tell(p.Thinking())
		}
		return nil
	}, nil, func() error {
		tell("still thinking")
		return nil
	})
	if err != nil {
		if ctx.Err() != nil && c.wasCancelled(req) {
			if err := c.Desk.Cancel(c.withCaller(context.WithoutCancel(ctx)), work); err != nil {
				c.logger().Warn("cannot cancel the work of a cancelled request", "thread", work.Thread, "error", err)
			}
		}
		return nil, outcome{}, err
	}
	out := outcomeOf(work, cited, end)
	return renderOutcome(out), out, nil
}

// progressFunc sends progress if the client asked for it.
func progressFunc(ctx context.Context, req *sdk.CallToolRequest) func(text string) {
	token := req.Params.GetProgressToken()
	n := 0.0
	return func(text string) {
		text = strings.TrimSpace(text)
		if token == nil || text == "" {
			return
		}
		n++
		// a disconnect ends the call
		_ = sendProgress(ctx, req, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: textkit.TruncateBytes(text, maxNews)})
	}
}

// maxNews is in bytes.
const maxNews = 300

func outcomeOf(work compat.Job, cited []compat.Citation, end compat.End) outcome {
	out := outcome{
		Session: work.ID(), Status: string(end.Status), Answer: end.Text, Reason: cmp.Or(end.StopReason, end.Reason), Model: end.Model, Tokens: end.Usage.Total(),
	}
	seen := make(map[source]bool)
	for _, x := range cited {
		one := source{Title: x.Title, URL: x.URL, File: x.File, Quote: textkit.TruncateBytes(x.Quote, maxNews)}
		if !seen[one] {
			seen[one] = true
			out.Sources = append(out.Sources, one)
		}
	}
	return out
}

func renderOutcome(out outcome) *sdk.CallToolResult {
	res := &sdk.CallToolResult{IsError: out.Status == string(ponder.Failed)}
	var b strings.Builder
	switch {
	case out.Prompt != "":
		b.WriteString(out.Prompt)
	case out.Answer != "":
		b.WriteString(out.Answer)
		for i, s := range out.Sources {
			if i == 0 {
				b.WriteString("\n\nSources:")
			}
			fmt.Fprintf(&b, "\n- %s %s%s", s.Title, s.URL, s.File)
		}
	default:
		fmt.Fprintf(&b, "The session is %s.", out.Status)
	}
	if out.Reason != "" {
		fmt.Fprintf(&b, "\n\n(%s: %s)", out.Status, out.Reason)
	}
	fmt.Fprintf(&b, "\n\nsession: %s", out.Session)
	res.Content = []sdk.Content{&sdk.TextContent{Text: b.String()}}
	return res
}
