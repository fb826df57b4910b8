package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/access"
	"ponder/internal/dialect"
)

// tasks is the name of the extension for long work. A task is a work of the desk: it is
// in the log, and outlives clients and servers.
const tasks = "io.modelcontextprotocol/tasks"

// pollEvery is how often clients are to ask how a task stands, in milliseconds.
const pollEvery = 2000

// Errors of requests about tasks, as the protocol numbers them.
const codeHeader = -32020 // a header says something else than the body

// A taskParams names a task.
type taskParams struct {
	sdk.ParamsBase
	TaskID    string          `json:"taskId"`
	Responses json.RawMessage `json:"inputResponses,omitempty"` // to nothing: no task asks
}

// A taskState says how a task stands.
type taskState struct {
	sdk.ResultBase
	ResultType string    `json:"resultType"`
	TaskID     string    `json:"taskId"`
	Status     string    `json:"status"`
	Message    string    `json:"statusMessage,omitempty"`
	Created    time.Time `json:"createdAt"`
	Updated    time.Time `json:"lastUpdatedAt"`
	TTL        *int      `json:"ttlMs"` // null: it stays
	Poll       int       `json:"pollIntervalMs,omitempty"`
	Result     any       `json:"result,omitempty"`
}

// An ack says that a request was taken.
type ack struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// A taskSlot is where a tool leaves the work that is to be a task.
type taskSlot struct{ work *dialect.Work }

type taskKey struct{}

// taskOf returns where to leave work that is to be a task; nil if it is not to be one.
func taskOf(ctx context.Context) *taskSlot {
	slot, _ := ctx.Value(taskKey{}).(*taskSlot)
	return slot
}

// tasking makes tasks of the work that tools begin, for clients that know tasks.
func (c *client) tasking(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		call, ok := req.(*sdk.CallToolRequest)
		if !ok {
			if err := sameName(req); err != nil {
				return nil, err
			}
			return next(ctx, method, req)
		}
		if call.ProtocolVersion() < modern || !declares(call.ClientCapabilities(), tasks) {
			return next(ctx, method, req)
		}
		slot := &taskSlot{}
		res, err := next(context.WithValue(ctx, taskKey{}, slot), method, req)
		if err != nil || slot.work == nil {
			return res, err
		}
		return &taskState{
			ResultType: "task", TaskID: slot.work.ID(), Status: "working", Message: "thinking",
			Created: slot.work.Begun.UTC(), Updated: slot.work.Begun.UTC(), Poll: pollEvery,
		}, nil
	}
}

// sameName refuses a request about a task whose header names another one.
func sameName(req sdk.Request) error {
	p, ok := req.GetParams().(*taskParams)
	if !ok || p == nil || req.GetExtra() == nil || req.GetExtra().Header == nil {
		return nil
	}
	h := req.GetExtra().Header
	if h.Get("Mcp-Protocol-Version") >= modern && h.Get("Mcp-Name") != p.TaskID {
		return &jsonrpc.Error{Code: codeHeader, Message: "the header Mcp-Name is not the taskId of the body"}
	}
	return nil
}

// addTasks answers requests about tasks.
func (c *client) addTasks(server *sdk.Server) {
	add := func(method string, do func(ctx context.Context, p *taskParams) (sdk.Result, error)) {
		err := sdk.AddReceivingCustomMethod(server, method, func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (sdk.Result, error) {
			if p == nil {
				p = &taskParams{}
			}
			return do(ctx, p)
		})
		if err != nil { // the method is one of the protocol's own, which it is not
			panic(err)
		}
	}
	add("tasks/get", c.getTask)
	add("tasks/update", func(ctx context.Context, p *taskParams) (sdk.Result, error) {
		_, err := c.task(ctx, p, access.Think)
		return &ack{ResultType: "complete"}, err
	})
	add("tasks/cancel", func(ctx context.Context, p *taskParams) (sdk.Result, error) {
		work, err := c.task(ctx, p, access.Think)
		if err == nil {
			err = c.told(c.Desk.Cancel(ctx, work))
		}
		return &ack{ResultType: "complete"}, err
	})
}

// task returns the work of a task.
func (c *client) task(ctx context.Context, p *taskParams, s access.Scope) (dialect.Work, error) {
	if err := c.may(s); err != nil {
		return dialect.Work{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: c.told(err).Error()}
	}
	work, err := c.work(ctx, p.TaskID)
	switch {
	case err != nil && c.Desk.FaultOf(err).Status < http.StatusInternalServerError, err == nil && work.Way == dialect.Exchange:
		return work, badParams("there is no task %q", clip(p.TaskID, 60))
	case err != nil:
		return work, c.told(err)
	}
	return work, nil
}

// getTask says how a task stands.
func (c *client) getTask(ctx context.Context, p *taskParams) (sdk.Result, error) {
	work, err := c.task(ctx, p, access.Read)
	if err != nil {
		return nil, err
	}
	out, err := c.stands(ctx, work)
	if err != nil {
		return nil, c.told(err)
	}
	st := &taskState{ResultType: "complete", TaskID: work.ID(), Status: "working", Message: out.Status, Created: work.Begun.UTC(), Updated: work.Begun.UTC(), Poll: pollEvery}
	if info, err := c.Desk.Store.Thread(ctx, work.Thread); err == nil {
		st.Updated = info.Updated.UTC()
	}
	switch ponder.Status(out.Status) {
	case ponder.Completed, ponder.Failed:
		st.Status, st.Poll = "completed", 0
		res := shown(out.outcome)
		res.StructuredContent = out.outcome
		st.Result = res
	case ponder.Cancelled:
		st.Status, st.Poll = "cancelled", 0
	}
	return st, nil
}
