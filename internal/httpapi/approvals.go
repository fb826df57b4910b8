package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/mode/chat"
)

func (a *api) registerApprovals(op func(scope auth.Scope, method, path, id, summary string, errs ...int) huma.Operation) {
	const all, one = "/api/approvals", "/api/threads/{id}/approvals"
	read, think := auth.Read, auth.Think
	missing, wrong, state := http.StatusNotFound, http.StatusBadRequest, http.StatusConflict
	huma.Register(a.huma, op(read, http.MethodGet, all, "list-approvals", "List the open questions of Ponder, oldest first"), a.listApprovals)
	huma.Register(a.huma, op(read, http.MethodGet, one, "list-thread-approvals", "List the open questions of a conversation", missing, state), a.listThreadApprovals)
	decide := op(think, http.MethodPost, one+"/{approval_id}", "decide-approval", "Approve or deny a tool call that a model requested", wrong, missing, state)
	decide.DefaultStatus = http.StatusAccepted
	decide = a.jsonOr(decide, "202", reflect.TypeFor[turnOutput](), "Posted", "the events and deltas of the turn, then an event named turn")
	decide.Responses["200"] = &huma.Response{Description: "with `?wait`: the turn has ended", Content: decide.Responses["202"].Content}
	huma.Register(a.huma, decide, a.decideApproval)
}

type manyApprovals struct {
	Body struct {
		Success   bool           `json:"success"`
		Count     int            `json:"approval_count"`
		Approvals []app.Approval `json:"approvals" nullable:"false"`
	}
}

func approvalsOf(list []app.Approval) *manyApprovals {
	out := &manyApprovals{}
	out.Body.Success, out.Body.Count, out.Body.Approvals = true, len(list), append([]app.Approval{}, list...)
	return out
}

func (a *api) listApprovals(ctx context.Context, _ *struct{}) (*manyApprovals, error) {
	list, err := app.OpenApprovals(ctx, a.Store, auth.CallerOf(ctx).Owner)
	if err != nil {
		return nil, a.apiError(err)
	}
	return approvalsOf(list), nil
}

func (a *api) listThreadApprovals(ctx context.Context, in *ThreadPath) (*manyApprovals, error) {
	info, err := a.ownedConversation(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	list, err := app.ThreadApprovals(ctx, a.Store, info.ID)
	if err != nil {
		return nil, a.apiError(err)
	}
	return approvalsOf(list), nil
}

// Decisions.
const approveDecision = "approve"

type decideApproval struct {
	ThreadPath
	Approval string `path:"approval_id" maxLength:"200" doc:"ID or code of the question" example:"WPA7RD"`
	OnceKey
	WaitParam
	Body struct {
		Decision string `json:"decision" enum:"approve,deny" doc:"approve runs the call with exactly the shown arguments" example:"approve"`
	}
}

func (in *decideApproval) Resolve(huma.Context) []error { return in.WaitParam.check() }

// decideApproval answers with the turn that follows, as for a message.
func (a *api) decideApproval(ctx context.Context, in *decideApproval) (*bodyFunc, error) {
	info, err := a.ownedConversation(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	open, err := app.ThreadApprovals(ctx, a.Store, info.ID)
	if err != nil {
		return nil, a.apiError(err)
	}
	m, err := app.DecisionMessage(open, ponder.ApprovalDecision{ID: in.Approval, Approved: in.Body.Decision == approveDecision})
	if err != nil {
		if m, err = a.decidedBefore(ctx, info, in, err); err != nil {
			return nil, a.apiError(err)
		}
	}
	return a.startTurn(info, turnStart{in.OnceKey, in.WaitParam, Message{UserMessage: m}}), nil
}

// decidedBefore returns the message of an equal request with the same key, or the error otherwise.
func (a *api) decidedBefore(ctx context.Context, info ponder.Info, in *decideApproval, otherwise error) (m ponder.UserMessage, err error) {
	cause := in.causeKey(info.Owner, "message "+string(info.ID))
	if cause == "" {
		return m, otherwise
	}
	sent, err := a.sentInputs(ctx, info.ID, cause)
	if err != nil {
		return m, err
	}
	for _, ev := range sent {
		b, ok := ev.Body.(ponder.UserMessage)
		if ok && len(b.Decisions) == 1 && b.Decisions[0].Approved == (in.Body.Decision == approveDecision) && (b.Decisions[0].ID == in.Approval || chat.ApprovalCode(b.Decisions[0].ID) == in.Approval) {
			return b, nil
		}
	}
	return m, otherwise
}
