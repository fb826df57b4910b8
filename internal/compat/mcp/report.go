package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

type reportInput struct {
	Action      string      `json:"action" jsonschema:"start, plan, approve, read, follow_up, ask or rewrite"`
	Research    string      `json:"research,omitempty" jsonschema:"the id of the research; not for start and plan"`
	Question    string      `json:"question,omitempty" jsonschema:"of start and plan: what to research; of ask: the question about the report; of follow_up: another wording"`
	Plan        *reportPlan `json:"plan,omitempty" jsonschema:"of start and approve: the plan to run"`
	Section     string      `json:"section,omitempty" jsonschema:"of rewrite: the number of the section, from 1, or the beginning of its heading"`
	Instruction string      `json:"instruction,omitempty" jsonschema:"of rewrite: how to rewrite it"`
	Minutes     float64     `json:"minutes,omitempty" jsonschema:"of start, plan and follow_up: how long it may take at most, in minutes"`
	MaxCost     float64     `json:"max_cost_usd,omitempty" jsonschema:"of start, plan and follow_up: what it may cost at most, in US dollars"`
	NoWeb       bool        `json:"no_web,omitempty" jsonschema:"of start, plan and follow_up: do not look at the web"`
	NoMemory    bool        `json:"no_memory,omitempty" jsonschema:"of start, plan and follow_up: do not look into the memory"`
}

type reportPlan struct {
	Questions []string `json:"questions,omitempty" jsonschema:"what the answer covers"`
	Terms     []string `json:"terms,omitempty" jsonschema:"important terms"`
	Web       []string `json:"web_queries,omitempty" jsonschema:"queries for the web"`
	Memory    []string `json:"memory_queries,omitempty" jsonschema:"queries for the memory and the documents"`
}

type reportOutput struct {
	Research string      `json:"research" jsonschema:"the id of the research"`
	Status   string      `json:"status" jsonschema:"thinking, paused, completed, failed or cancelled"`
	Question string      `json:"question,omitempty"`
	Reason   string      `json:"reason,omitempty" jsonschema:"why it paused or ended"`
	Plan     *reportPlan `json:"plan,omitempty" jsonschema:"the plan that waits for approval"`
	Calls    int         `json:"calls,omitempty" jsonschema:"calls of models so far"`
	Cost     float64     `json:"cost_usd,omitempty" jsonschema:"cost so far, in US dollars"`
	Since    string      `json:"since,omitempty" jsonschema:"the research that this one updates"`
	Changes  string      `json:"changes,omitempty" jsonschema:"of an update: what has changed, in a line"`
	Reply    string      `json:"reply,omitempty" jsonschema:"of ask: the answer about the report, with ids of passages"`
	Report   string      `json:"report,omitempty" jsonschema:"of read: the report as Markdown"`
}

func (c *client) addReport(server *sdk.Server) {
	closed, open := false, true
	offerTool(c, server, &sdk.Tool{
		Name: "ponder_report", Title: "Research and its report",
		Description: `Research in the background, and work with its report. "start" begins and returns at once. "plan" makes only a plan with its questions and queries, which "approve" runs, as it is or changed; nothing is searched before. "read" returns the state and the finished report. "follow_up" researches the question again and reports what has changed. "ask" answers a question about the report from its sources. "rewrite" writes one section again, as a new research.`,
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &closed, OpenWorldHint: &open},
	}, c.runReport, renderReport)
}

func (c *client) runReport(ctx context.Context, in reportInput) (reportOutput, error) {
	if err := oneOf("action", in.Action, "start", "plan", "approve", "read", "follow_up", "ask", "rewrite"); err != nil {
		return reportOutput{}, err
	}
	need := auth.Think
	if in.Action == "read" {
		need = auth.Read
	}
	if err := c.checkScope(need); err != nil {
		return reportOutput{}, err
	}
	if in.Action == "start" || in.Action == "plan" {
		return c.startReport(ctx, in, compat.Job{})
	}
	if in.Research == "" {
		return reportOutput{}, compat.InvalidField("research", "research: expected the id of a research; use ponder_session to list them")
	}
	work, err := c.findWork(ctx, in.Research)
	if err != nil {
		return reportOutput{}, err
	}
	switch in.Action {
	case "approve":
		err = c.Desk.ApprovePlan(ctx, work, in.Plan.toPlan())
	case "follow_up":
		return c.startReport(ctx, in, work)
	case "ask":
		return c.askReport(ctx, work, in.Question)
	case "rewrite":
		if strings.TrimSpace(in.Section) == "" {
			return reportOutput{}, compat.InvalidField("section", "section: expected its number, or the beginning of its heading")
		}
		work, err = c.Desk.RewriteSection(ctx, c.caller.Owner, work, in.Section, in.Instruction)
	}
	if err != nil {
		return reportOutput{}, err
	}
	out, err := c.reportState(ctx, work)
	if err == nil && in.Action == "read" && out.Status == string(ponder.Completed) {
		var doc app.Document
		doc, err = c.Desk.Service.Report(ctx, work.Thread, "markdown")
		out.Report = textkit.TruncateBytes(string(doc.Body), maxReport)
	}
	return out, err
}

// startReport starts a research, or an update of the research older. With the action plan, it waits for
// the plan.
func (c *client) startReport(ctx context.Context, in reportInput, older compat.Job) (reportOutput, error) {
	if in.Action == "plan" && in.Plan != nil {
		return reportOutput{}, compat.InvalidField("plan", "plan: a given plan needs no approval: use the action start")
	}
	if older.Thread != "" {
		l, err := c.Desk.ReadResearch(ctx, older)
		if err != nil {
			return reportOutput{}, err
		}
		in.Question = cmp.Or(strings.TrimSpace(in.Question), l.View.Research.Question)
	}
	a, err := c.newRequest(mode{name: "ponder_report", way: compat.Research}, thinkInput{
		Question: in.Question, Minutes: in.Minutes, MaxCost: in.MaxCost, NoWeb: in.NoWeb, NoMemory: in.NoMemory,
	})
	if err != nil {
		return reportOutput{}, err
	}
	a.PlanFirst, a.Plan, a.Since = in.Action == "plan", in.Plan.toPlan(), older.Thread
	work, err := c.Desk.Begin(ctx, a)
	if err != nil {
		return reportOutput{}, err
	}
	work.Forget()
	if a.PlanFirst {
		if _, err := c.Desk.AwaitPlan(ctx, work); err != nil {
			return reportOutput{}, err
		}
	}
	return c.reportState(ctx, work)
}

func (c *client) askReport(ctx context.Context, work compat.Job, question string) (reportOutput, error) {
	if strings.TrimSpace(textkit.Clean(question)) == "" {
		return reportOutput{}, compat.InvalidField("question", "question: the text is empty; write a question about the report")
	}
	out, err := c.reportState(ctx, work)
	if err != nil {
		return out, err
	}
	talk, err := c.Desk.AskReport(ctx, c.caller.Owner, work, question)
	if err != nil {
		return out, err
	}
	end, err := c.Desk.Wait(ctx, talk, func(compat.Part) error { return nil }, nil, nil)
	if err != nil {
		return out, err
	}
	if fault := end.APIError(); fault != nil {
		return out, fault
	}
	out.Reply = end.Text
	return out, nil
}

func (c *client) reportState(ctx context.Context, work compat.Job) (reportOutput, error) {
	l, err := c.Desk.ReadResearch(ctx, work)
	if err != nil {
		return reportOutput{}, err
	}
	r := l.View.Research
	out := reportOutput{
		Research: idOf(r.ID), Status: string(r.Status), Question: r.Question, Reason: r.StopReason, Calls: r.Usage.Calls, Cost: r.Usage.USD,
		Since: idOf(ponder.ThreadID(r.Setup.Since)),
	}
	if p := l.View.Proposal; p != nil && r.Status == ponder.Paused {
		out.Plan = &reportPlan{Questions: slices.Clone(p.Steps), Terms: slices.Clone(p.Terms), Web: slices.Clone(p.Web), Memory: slices.Clone(p.Memory)}
	}
	if d := l.Report().Since; d != nil && r.Status == ponder.Completed {
		out.Changes = d.Summary()
	}
	return out, nil
}

func (p *reportPlan) toPlan() *ponder.Plan {
	if p == nil {
		return nil
	}
	return &ponder.Plan{Steps: p.Questions, Terms: p.Terms, Web: p.Web, Memory: p.Memory}
}

func renderReport(out reportOutput) *sdk.CallToolResult {
	var b strings.Builder
	switch {
	case out.Reply != "":
		b.WriteString(out.Reply + "\n\n")
	case out.Report != "":
		b.WriteString(out.Report + "\n\n")
	case out.Plan != nil:
		for _, list := range []struct {
			title string
			lines []string
		}{{"Questions", out.Plan.Questions}, {"Web queries", out.Plan.Web}, {"Memory queries", out.Plan.Memory}, {"Terms", out.Plan.Terms}} {
			if len(list.lines) > 0 {
				b.WriteString(list.title + ":\n- " + strings.Join(list.lines, "\n- ") + "\n\n")
			}
		}
		b.WriteString("This plan waits for approval. To run it, use the action approve, with plan to change it.\n\n")
	}
	if out.Changes != "" {
		b.WriteString("Changes: " + out.Changes + "\n\n")
	}
	fmt.Fprintf(&b, "research: %s (%s)", out.Research, out.Status)
	if out.Reason != "" {
		b.WriteString("\n" + out.Reason)
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: b.String()}}}
}
