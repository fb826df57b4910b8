package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// tasks is the name of the extension for long work.
const tasks = "io.modelcontextprotocol/tasks"

// What is asked about tasks.
const (
	methodGet    = "tasks/get"
	methodUpdate = "tasks/update"
	methodCancel = "tasks/cancel"
)

// pollEvery is how often clients are to ask how a task stands, in milliseconds.
const pollEvery = 2000

// ErrNeedsTasks is the error of what only clients can ask for that know tasks.
var ErrNeedsTasks = &jsonrpc.Error{
	Code: sdk.CodeMissingRequiredClientCapabilities, Message: "the client has to declare the extension " + tasks,
	Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasks + `":{}}}}`),
}

// A Task is long work that outlives the call of the tool that began it: its client asks how
// it stands. It is safe for concurrent use.
type Task interface {
	ID() string
	Begun() time.Time
	// Stands returns how it stands, for a client that can do so much.
	Stands(ctx context.Context, caps *sdk.ClientCapabilities) (TaskState, error)
	// Answer takes answers to what it asks, by the keys of Asks. Others come to nothing.
	Answer(ctx context.Context, answers sdk.InputResponseMap) error
	// Cancel ends it. Where it has ended, nothing happens.
	Cancel(ctx context.Context) error
}

// A TaskStatus says what of a task goes on.
type TaskStatus string

// The ways that a task may stand. The last three are ends.
const (
	TaskWorking   TaskStatus = "working"
	TaskAsks      TaskStatus = "input_required"
	TaskCompleted TaskStatus = "completed" // also where a tool has failed
	TaskFailed    TaskStatus = "failed"    // in the protocol, which is no result
	TaskCancelled TaskStatus = "cancelled"
)

// A TaskState says how a task stands.
type TaskState struct {
	Status  TaskStatus
	Message string // to people
	Updated time.Time
	Result  *sdk.CallToolResult // of what is completed
	Error   *jsonrpc.Error      // of what failed
	Asks    sdk.InputRequestMap // of what asks its client
}

// AsTask has the call of a tool answered with a task, and reports whether its client knows
// tasks: if so, what the tool returns is not sent.
func AsTask(ctx context.Context, t Task) bool {
	slot, _ := ctx.Value(taskKey{}).(*taskSlot)
	if slot != nil {
		slot.task = t
	}
	return slot != nil
}

// A taskSlot is where a tool leaves a task.
type taskSlot struct{ task Task }

type taskKey struct{}

// A taskParams names a task.
type taskParams struct {
	sdk.ParamsBase
	TaskID    string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// answers returns those that have a form which is known.
func (p *taskParams) answers() sdk.InputResponseMap {
	list := make(sdk.InputResponseMap)
	for key, raw := range p.Responses {
		js, err := json.Marshal(map[string]json.RawMessage{key: raw})
		var one sdk.InputResponseMap
		if err == nil && json.Unmarshal(js, &one) == nil {
			list[key] = one[key]
		}
	}
	return list
}

// A taskReply says how a task stands, on the wire.
type taskReply struct {
	sdk.ResultBase
	ResultType string              `json:"resultType"`
	TaskID     string              `json:"taskId"`
	Status     TaskStatus          `json:"status"`
	Message    string              `json:"statusMessage,omitempty"`
	Created    time.Time           `json:"createdAt"`
	Updated    time.Time           `json:"lastUpdatedAt"`
	TTL        *int                `json:"ttlMs"` // null: it stays
	Poll       int                 `json:"pollIntervalMs,omitempty"`
	Result     *taskResult         `json:"result,omitempty"`
	Error      *jsonrpc.Error      `json:"error,omitempty"`
	Asks       sdk.InputRequestMap `json:"inputRequests,omitempty"`
}

// A taskResult is what a tool came to, as it would have been sent without a task.
type taskResult struct{ *sdk.CallToolResult }

// MarshalJSON says of a result that it is whole, which else who sends it does.
func (r taskResult) MarshalJSON() ([]byte, error) {
	js, err := json.Marshal(r.CallToolResult)
	if err != nil {
		return nil, err
	}
	whole := map[string]json.RawMessage{}
	if err := json.Unmarshal(js, &whole); err != nil {
		return nil, err
	}
	whole["resultType"] = json.RawMessage(`"complete"`)
	return json.Marshal(whole)
}

// An ack says that a request was taken.
type ack struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// tasking makes tasks of the work that tools begin, for clients that know tasks, and has
// others ask nothing about them.
func (c *client) tasking(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if about, ok := req.(*sdk.ServerRequest[*taskParams]); ok {
			if !declares(about.ClientCapabilities(), tasks) {
				return nil, ErrNeedsTasks
			}
			return next(context.WithValue(ctx, capsKey{}, about.ClientCapabilities()), method, req)
		}
		call, ok := req.(*sdk.CallToolRequest)
		if !ok || call.ProtocolVersion() < modern || !declares(call.ClientCapabilities(), tasks) {
			return next(ctx, method, req)
		}
		slot := &taskSlot{}
		res, err := next(context.WithValue(ctx, taskKey{}, slot), method, req)
		if err != nil || slot.task == nil {
			return res, err
		}
		at := slot.task.Begun().UTC()
		return &taskReply{ResultType: "task", TaskID: slot.task.ID(), Status: TaskWorking, Created: at, Updated: at, Poll: pollEvery}, nil
	}
}

// capsKey is where a request about a task has what its client can do.
type capsKey struct{}

// sameTask reports whether the header of a request about a task names that task. If not, it
// has answered.
func sameTask(w http.ResponseWriter, r *http.Request) bool {
	switch r.Header.Get("Mcp-Method") {
	case methodGet, methodUpdate, methodCancel:
	default:
		return true
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	var asks struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			TaskID string `json:"taskId"`
		} `json:"params"`
	}
	if err != nil || json.Unmarshal(body, &asks) != nil || r.Header.Get("Mcp-Name") == asks.Params.TaskID {
		return true // what is no request is refused by who reads it
	}
	refuse(w, http.StatusBadRequest, asks.ID, sdk.CodeHeaderMismatch, "the header Mcp-Name is not the taskId of the body")
	return false
}

// addTasks answers requests about tasks.
func (c *client) addTasks(server *sdk.Server) {
	add := func(method string, need auth.Scope, do func(ctx context.Context, t Task, p *taskParams) (sdk.Result, error)) {
		err := sdk.AddReceivingCustomMethod(server, method, func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (sdk.Result, error) {
			if p == nil {
				p = &taskParams{}
			}
			t, err := c.task(ctx, p.TaskID, need)
			if err != nil {
				return nil, err
			}
			return do(ctx, t, p)
		})
		if err != nil { // the method is one of the protocol's own, which it is not
			panic(err)
		}
	}
	add(methodGet, auth.Read, c.getTask)
	add(methodUpdate, auth.Think, func(ctx context.Context, t Task, p *taskParams) (sdk.Result, error) {
		return &ack{ResultType: "complete"}, c.told(t.Answer(ctx, p.answers()))
	})
	add(methodCancel, auth.Think, func(ctx context.Context, t Task, _ *taskParams) (sdk.Result, error) {
		return &ack{ResultType: "complete"}, c.told(t.Cancel(ctx))
	})
}

// task returns a task of the caller.
func (c *client) task(ctx context.Context, id string, need auth.Scope) (Task, error) {
	if err := c.may(need); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: c.told(err).Error()}
	}
	if c.Extra.Task != nil {
		if t := c.Extra.Task(id); t != nil {
			return t, nil
		}
	}
	return c.deskTask(ctx, id)
}

// getTask says how a task stands.
func (c *client) getTask(ctx context.Context, t Task, _ *taskParams) (sdk.Result, error) {
	caps, _ := ctx.Value(capsKey{}).(*sdk.ClientCapabilities)
	st, err := t.Stands(ctx, caps)
	if err != nil {
		return nil, c.told(err)
	}
	r := &taskReply{
		ResultType: "complete", TaskID: t.ID(), Status: st.Status, Message: st.Message, Created: t.Begun().UTC(), Updated: st.Updated.UTC(),
		Error: st.Error, Asks: st.Asks,
	}
	if st.Result != nil {
		r.Result = &taskResult{st.Result}
	}
	if st.Status == TaskWorking || st.Status == TaskAsks {
		r.Poll = pollEvery
	}
	return r, nil
}

// A deskTask is a work of the desk: it is in the log, and outlives clients and servers.
type deskTask struct {
	*client
	work compat.Work
}

// deskTask returns a task by its id.
func (c *client) deskTask(ctx context.Context, id string) (Task, error) {
	work, err := c.work(ctx, id)
	switch {
	case err != nil && c.Desk.FaultOf(err).Status < http.StatusInternalServerError, err == nil && work.Way == compat.Exchange:
		return nil, badParams("there is no task %q", textkit.TruncateBytes(id, 60))
	case err != nil:
		return nil, c.told(err)
	}
	return &deskTask{c, work}, nil
}

// ID implements [Task].
func (t *deskTask) ID() string { return t.work.ID() }

// Begun implements [Task].
func (t *deskTask) Begun() time.Time { return t.work.Begun }

// Cancel implements [Task].
func (t *deskTask) Cancel(ctx context.Context) error { return t.Desk.Cancel(ctx, t.work) }

// Stands implements [Task].
func (t *deskTask) Stands(ctx context.Context, caps *sdk.ClientCapabilities) (TaskState, error) {
	out, err := t.stands(ctx, t.work)
	if err != nil {
		return TaskState{}, err
	}
	st := TaskState{Status: TaskWorking, Message: out.Status, Updated: t.work.Begun}
	if info, err := t.Desk.Store.Thread(ctx, t.work.Thread); err == nil {
		st.Updated = info.Updated
	}
	switch ponder.Status(out.Status) {
	case ponder.Completed, ponder.Failed:
		st.Status, st.Result = TaskCompleted, shown(out.outcome)
		st.Result.StructuredContent = out.outcome
	case ponder.Cancelled:
		st.Status = TaskCancelled
	default:
		if name, ok := hostOf(t.work.Model); ok && t.Hosts != nil && caps != nil && caps.Sampling != nil {
			return t.asks(ctx, name, ponder.Status(out.Status), st)
		}
	}
	return st, nil
}

// asks returns how a task stands whose client is asked to have its model think.
func (t *deskTask) asks(ctx context.Context, name string, is ponder.Status, st TaskState) (TaskState, error) {
	waiting := t.Hosts.waiting(name)
	if len(waiting) == 0 {
		if is == ponder.Paused && !t.rests(ctx) {
			return st, nil // somebody wants it so
		}
		h := &hosting{t.client, t.work, name}
		return st, h.awake(ctx)
	}
	st.Status, st.Asks = TaskAsks, make(sdk.InputRequestMap)
	for _, a := range waiting {
		st.Asks[a.id] = messageFor(a.req)
	}
	return st, nil
}

// rests reports whether the task was paused since its client did not come.
func (t *deskTask) rests(ctx context.Context) (yes bool) {
	for ev, err := range t.Desk.Store.Events(ctx, t.work.Thread, t.work.After) {
		if err != nil {
			return false
		}
		if p, ok := ev.Body.(ponder.RunPaused); ok {
			yes = p.Reason == awaits
		}
	}
	return yes
}

// Answer implements [Task].
func (t *deskTask) Answer(_ context.Context, answers sdk.InputResponseMap) error {
	name, ok := hostOf(t.work.Model)
	if !ok || t.Hosts == nil {
		return nil // it asks nothing
	}
	for step, a := range answers {
		if text, ok := saidBy(a); ok {
			t.Hosts.answer(name, step, textkit.TruncateBytes(text, maxAnswer))
		}
	}
	return nil
}
