package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
	"ponder/internal/compat/ways"
)

// approvalStep is the step of a [state] that waits for decisions of the user.
const approvalStep = "approval"

// canElicit reports whether the client shows forms to its user. Otherwise the text of an answer has the questions of
// Ponder, and the codes that answer them.
func canElicit(req *sdk.CallToolRequest) bool {
	caps := req.ClientCapabilities()
	return caps != nil && caps.Elicitation != nil
}

// waitApproved waits for work, and has the client ask its user the questions of Ponder. The model of the client never
// sees a code, so only its user can answer.
func (c *client) waitApproved(ctx context.Context, req *sdk.CallToolRequest, work compat.Job) (*sdk.CallToolResult, outcome, error) {
	work.NativeApprovals = work.Kind == compat.Chat && canElicit(req)
	for {
		res, out, err := c.waitWork(ctx, req, work)
		if err != nil || !work.NativeApprovals {
			return res, out, err
		}
		questions, err := ways.FindAsked(ctx, c.Desk, work)
		if err != nil || len(questions) == 0 {
			return res, out, err
		}
		if req.ProtocolVersion() >= modern {
			list := make(sdk.InputRequestMap)
			for _, q := range questions {
				list[q.ID] = approvalForm(q)
			}
			return &sdk.CallToolResult{InputRequests: list, RequestState: c.signState(state{work.ID(), approvalStep, 0})}, outcome{}, nil
		}
		answers := make(sdk.InputResponseMap)
		for _, q := range questions {
			if answer, err := req.Session.Elicit(ctx, approvalForm(q)); err == nil {
				answers[q.ID] = answer
			}
		}
		next, err := c.decide(ctx, work, questions, answers)
		if err != nil || next.Thread == "" {
			return withOpen(out, questions), out, err
		}
		work = next
	}
}

// continueApproved continues work after the decisions of the user.
func (c *client) continueApproved(ctx context.Context, req *sdk.CallToolRequest, st state) (*sdk.CallToolResult, outcome, error) {
	work, err := c.Desk.FindJob(ctx, c.caller.Owner, st.Session)
	if err != nil {
		return nil, outcome{}, err
	}
	questions, err := ways.FindAsked(ctx, c.Desk, work)
	if err != nil {
		return nil, outcome{}, err
	}
	next, err := c.decide(ctx, work, questions, req.Params.InputResponses)
	if err != nil || next.Thread != "" {
		if err != nil {
			return nil, outcome{}, err
		}
		return c.waitApproved(ctx, req, next)
	}
	work.NativeApprovals = true
	res, out, err := c.waitWork(ctx, req, work)
	if err == nil && len(questions) > 0 {
		res = withOpen(out, questions)
	}
	return res, out, err
}

// decide posts the decisions among answers. It returns a zero job if there are none.
func (c *client) decide(ctx context.Context, work compat.Job, questions []app.Approval, answers sdk.InputResponseMap) (compat.Job, error) {
	var decisions []ponder.ApprovalDecision
	for _, q := range questions {
		r, ok := answers[q.ID].(*sdk.ElicitResult)
		if !ok || r.Action != "accept" && r.Action != "decline" {
			continue // the question stays open
		}
		decisions = append(decisions, ponder.ApprovalDecision{ID: q.ID, Approved: r.Action == "accept" && r.Content["decision"] == approveDecision})
	}
	if len(decisions) == 0 {
		return compat.Job{}, nil
	}
	next, err := ways.Decide(ctx, c.Desk, c.caller.Owner, work.Thread, "mcp-"+decisions[0].ID, decisions...)
	next.NativeApprovals = true
	return next, err
}

const approveDecision = "approve"

func approvalForm(q app.Approval) *sdk.ElicitParams {
	q.Code = "" // the form answers
	return &sdk.ElicitParams{Mode: "form", Message: q.Text(), RequestedSchema: json.RawMessage(`{"type":"object","properties":{"decision":{"type":"string","enum":["deny","approve"],"title":"Run this call?"}},"required":["decision"]}`)}
}

// withOpen returns an outcome that tells where the open questions can be answered, without their codes.
func withOpen(out outcome, questions []app.Approval) *sdk.CallToolResult {
	out.Reason = questions[0].Tool + " waits for the approval of the user, who can run `ponder approve`"
	return renderOutcome(out)
}
