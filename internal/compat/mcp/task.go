package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/limitio"
	"ponder/internal/textkit"
)

const tasks = "io.modelcontextprotocol/tasks"

const (
	methodGet    = "tasks/get"
	methodUpdate = "tasks/update"
	methodCancel = "tasks/cancel"
)

// pollEvery is in milliseconds.
const pollEvery = 2000

var ErrNeedsTasks = &jsonrpc.Error{
	Code: sdk.CodeMissingRequiredClientCapabilities, Message: "the client has to declare the extension " + tasks,
	Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasks + `":{}}}}`),
}

// A Task is polled work that outlives its tool call. It is safe for concurrent use.
type Task interface {
	ID() string
	Begun() time.Time
	// CurrentState returns the state for a client.
	CurrentState(ctx context.Context, caps *sdk.ClientCapabilities) (TaskState, error)
	// Answer applies answers by the keys of Asks, and ignores others.
	Answer(ctx context.Context, answers sdk.InputResponseMap) error
	// Cancel ends the task, unless it has ended.
	Cancel(ctx context.Context) error
}

type TaskStatus string

// The statuses. The last three are final.
const (
	TaskWorking       TaskStatus = "working"
	TaskInputRequired TaskStatus = "input_required"
	TaskCompleted     TaskStatus = "completed" // also if the tool failed
	TaskFailed        TaskStatus = "failed"    // without a result
	TaskCancelled     TaskStatus = "cancelled"
)

type TaskState struct {
	Status  TaskStatus
	Message string // for people
	Updated time.Time
	Result  *sdk.CallToolResult
	Error   *jsonrpc.Error
	Asks    sdk.InputRequestMap
}

// AsTask turns a tool call into a task and drops its result, if the client supports tasks. It reports whether
// it did.
func AsTask(ctx context.Context, t Task) bool {
	slot, _ := ctx.Value(taskKey{}).(*taskSlot)
	if slot != nil {
		slot.task = t
	}
	return slot != nil
}

type taskSlot struct{ task Task }

type taskKey struct{}

type taskParams struct {
	sdk.ParamsBase
	TaskID    string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

func (p *taskParams) parseAnswers() sdk.InputResponseMap {
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

type taskReply struct {
	sdk.ResultBase
	ResultType string              `json:"resultType"`
	TaskID     string              `json:"taskId"`
	Status     TaskStatus          `json:"status"`
	Message    string              `json:"statusMessage,omitempty"`
	Created    time.Time           `json:"createdAt"`
	Updated    time.Time           `json:"lastUpdatedAt"`
	TTL        *int                `json:"ttlMs"` // null: unlimited
	Poll       int                 `json:"pollIntervalMs,omitempty"`
	Result     *taskResult         `json:"result,omitempty"`
	Error      *jsonrpc.Error      `json:"error,omitempty"`
	Asks       sdk.InputRequestMap `json:"inputRequests,omitempty"`
}

type taskResult struct{ *sdk.CallToolResult }

// MarshalJSON adds the resultType, as the SDK does for other results.
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

type ack struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// handleTasks supplies tasks to clients with the extension, and rejects task requests of others.
func (c *client) handleTasks(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if about, ok := req.(*sdk.ServerRequest[*taskParams]); ok {
			if !declaresExtension(about.ClientCapabilities(), tasks) {
				return nil, ErrNeedsTasks
			}
			return next(context.WithValue(ctx, capsKey{}, about.ClientCapabilities()), method, req)
		}
		call, ok := req.(*sdk.CallToolRequest)
		if !ok || call.ProtocolVersion() < modern || !declaresExtension(call.ClientCapabilities(), tasks) {
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

// capsKey is a context key.
type capsKey struct{}

// sameTask reports whether the header names the task of the body, or else writes an error.
func sameTask(w http.ResponseWriter, r *http.Request) bool {
	switch r.Header.Get("Mcp-Method") {
	case methodGet, methodUpdate, methodCancel:
	default:
		return true
	}
	body, err := limitio.RequestBody(r)
	var asks struct {
		ID     json.RawMessage `json:"id"`
		Params struct {
			TaskID string `json:"taskId"`
		} `json:"params"`
	}
	if err != nil || json.Unmarshal(body, &asks) != nil || r.Header.Get("Mcp-Name") == asks.Params.TaskID {
		return true // the SDK rejects it
	}
	writeRPCError(w, http.StatusBadRequest, asks.ID, sdk.CodeHeaderMismatch, "the header Mcp-Name is not the taskId of the body")
	return false
}

func (c *client) addTasks(server *sdk.Server) {
	add := func(method string, need auth.Scope, do func(ctx context.Context, t Task, p *taskParams) (sdk.Result, error)) {
		err := sdk.AddReceivingCustomMethod(server, method, func(ctx context.Context, _ *sdk.ServerSession, p *taskParams) (sdk.Result, error) {
			if p == nil {
				p = &taskParams{}
			}
			c.texts.Restore(p)
			t, err := c.findTask(ctx, p.TaskID, need)
			if err != nil {
				return nil, err
			}
			return do(ctx, t, p)
		})
		if err != nil { // only standard methods fail
			panic(err)
		}
	}
	add(methodGet, auth.Read, c.getTask)
	add(methodUpdate, auth.Think, func(ctx context.Context, t Task, p *taskParams) (sdk.Result, error) {
		return &ack{ResultType: "complete"}, c.clientError(t.Answer(ctx, p.parseAnswers()))
	})
	add(methodCancel, auth.Think, func(ctx context.Context, t Task, _ *taskParams) (sdk.Result, error) {
		return &ack{ResultType: "complete"}, c.clientError(t.Cancel(ctx))
	})
}

func (c *client) findTask(ctx context.Context, id string, need auth.Scope) (Task, error) {
	if err := c.checkScope(need); err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: c.clientError(err).Error()}
	}
	if c.Extra.Task != nil {
		if t := c.Extra.Task(id); t != nil {
			return t, nil
		}
	}
	return c.deskTask(ctx, id)
}

func (c *client) getTask(ctx context.Context, t Task, _ *taskParams) (sdk.Result, error) {
	caps, _ := ctx.Value(capsKey{}).(*sdk.ClientCapabilities)
	st, err := t.CurrentState(ctx, caps)
	if err != nil {
		return nil, c.clientError(err)
	}
	r := &taskReply{
		ResultType: "complete", TaskID: t.ID(), Status: st.Status, Message: st.Message, Created: t.Begun().UTC(), Updated: st.Updated.UTC(),
		Error: st.Error, Asks: st.Asks,
	}
	if st.Result != nil {
		r.Result = &taskResult{st.Result}
	}
	if st.Status == TaskWorking || st.Status == TaskInputRequired {
		r.Poll = pollEvery
	}
	return r, nil
}

// A deskTask survives restarts of clients and servers.
type deskTask struct {
	*client
	work compat.Job
}

func (c *client) deskTask(ctx context.Context, id string) (Task, error) {
	work, err := c.findWork(ctx, id)
	switch {
	case err != nil && c.Desk.APIErrorOf(err).Status < http.StatusInternalServerError, err == nil && work.Kind == compat.Exchange:
		return nil, badParams("there is no task %q", textkit.TruncateBytes(id, 60))
	case err != nil:
		return nil, c.clientError(err)
	}
	return &deskTask{c, work}, nil
}

func (t *deskTask) ID() string { return t.work.ID() }

func (t *deskTask) Begun() time.Time { return t.work.Started }

func (t *deskTask) Cancel(ctx context.Context) error { return t.Desk.Cancel(ctx, t.work) }

func (t *deskTask) CurrentState(ctx context.Context, caps *sdk.ClientCapabilities) (TaskState, error) {
	out, err := t.sessionStatus(ctx, t.work)
	if err != nil {
		return TaskState{}, err
	}
	st := TaskState{Status: TaskWorking, Message: out.Status, Updated: t.work.Started}
	if info, err := t.Desk.Store.Thread(ctx, t.work.Thread); err == nil {
		st.Updated = info.Updated
	}
	switch ponder.Status(out.Status) {
	case ponder.Completed, ponder.Failed:
		st.Status, st.Result = TaskCompleted, renderOutcome(out.outcome)
		st.Result.StructuredContent = out.outcome
	case ponder.Cancelled:
		st.Status = TaskCancelled
	default:
		if name, ok := hostOf(t.work.Model); ok && t.Hosts != nil && caps != nil && caps.Sampling != nil {
			return t.addSamplePrompts(ctx, name, ponder.Status(out.Status), st)
		}
	}
	return st, nil
}

// addSamplePrompts adds the prompts for the client's model.
func (t *deskTask) addSamplePrompts(ctx context.Context, name string, is ponder.Status, st TaskState) (TaskState, error) {
	waiting := t.Hosts.allSamples(name)
	if len(waiting) == 0 {
		if is == ponder.Paused && !t.awaitsClient(ctx) {
			return st, nil // the user paused it
		}
		h := &hostedRun{t.client, t.work, name}
		return st, h.wakeWork(ctx)
	}
	st.Status, st.Asks = TaskInputRequired, make(sdk.InputRequestMap)
	for _, a := range waiting {
		st.Asks[a.id] = messageFor(a.req)
	}
	return st, nil
}

func (t *deskTask) awaitsClient(ctx context.Context) (yes bool) {
	for ev, err := range t.Desk.Store.Events(ctx, t.work.Thread, t.work.After) {
		if err != nil {
			return false
		}
		if p, ok := ev.Body.(ponder.RunPaused); ok {
			yes = p.Reason == awaitReason
		}
	}
	return yes
}

func (t *deskTask) Answer(_ context.Context, answers sdk.InputResponseMap) error {
	name, ok := hostOf(t.work.Model)
	if !ok || t.Hosts == nil {
		return nil // no client's model
	}
	for step, a := range answers {
		if text, ok := saidBy(a); ok {
			t.Hosts.answerSample(name, step, textkit.TruncateBytes(text, maxAnswer))
		}
	}
	return nil
}
