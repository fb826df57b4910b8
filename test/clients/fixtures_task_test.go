package clients

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/compat/mcp"
)

// A jobs holds the tasks of the suite's tools.
type jobs struct {
	mu   sync.Mutex
	list map[string]*job // by ID
}

type job struct {
	id    string
	begun time.Time
	end   context.CancelFunc

	mu    sync.Mutex
	state mcp.TaskState
	got   sdk.InputResponseMap
	all   chan struct{} // closed once the client has answered everything
}

// begin starts a task, which first asks its client if first is not empty, then calls do.
func (j *jobs) begin(first sdk.InputRequestMap, do func(ctx context.Context, got sdk.InputResponseMap) (*sdk.CallToolResult, *jsonrpc.Error)) *job {
	ctx, end := context.WithCancel(context.Background())
	one := &job{id: rand.Text(), begun: time.Now(), end: end, got: make(sdk.InputResponseMap), all: make(chan struct{})}
	one.state = mcp.TaskState{Status: mcp.TaskWorking, Updated: one.begun}
	if len(first) > 0 {
		one.state.Status, one.state.Asks = mcp.TaskInputRequired, first
	} else {
		close(one.all)
	}
	j.mu.Lock()
	j.list[one.id] = one
	j.mu.Unlock()
	go func() {
		defer end()
		select {
		case <-one.all:
		case <-ctx.Done():
			return
		}
		res, err := do(ctx, one.got)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			one.set(mcp.TaskState{Status: mcp.TaskFailed, Error: err})
		default:
			one.set(mcp.TaskState{Status: mcp.TaskCompleted, Result: res})
		}
	}()
	return one
}

// set sets the state of a task that has not ended.
func (j *job) set(st mcp.TaskState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if is := j.state.Status; is == mcp.TaskWorking || is == mcp.TaskInputRequired {
		st.Updated = time.Now()
		j.state = st
	}
}

// task implements [mcp.Extra].
func (j *jobs) task(id string) mcp.Task {
	j.mu.Lock()
	defer j.mu.Unlock()
	if one := j.list[id]; one != nil {
		return one
	}
	return nil
}

// ID implements [mcp.Task].
func (j *job) ID() string { return j.id }

// Begun implements [mcp.Task].
func (j *job) Begun() time.Time { return j.begun }

// CurrentState implements [mcp.Task].
func (j *job) CurrentState(context.Context, *sdk.ClientCapabilities) (mcp.TaskState, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	st := j.state
	st.Asks = maps.Clone(st.Asks)
	return st, nil
}

// Answer implements [mcp.Task].
func (j *job) Answer(_ context.Context, answers sdk.InputResponseMap) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for key, answer := range answers {
		if _, asked := j.state.Asks[key]; asked {
			j.got[key] = answer
			delete(j.state.Asks, key)
		}
	}
	if j.state.Status == mcp.TaskInputRequired && len(j.state.Asks) == 0 {
		j.state = mcp.TaskState{Status: mcp.TaskWorking, Updated: time.Now()}
		close(j.all)
	}
	return nil
}

// Cancel implements [mcp.Task].
func (j *job) Cancel(context.Context) error {
	j.set(mcp.TaskState{Status: mcp.TaskCancelled})
	j.end()
	return nil
}

// A work is the part of a task after the client's answers.
type work = func(ctx context.Context, got sdk.InputResponseMap) (*sdk.CallToolResult, *jsonrpc.Error)

func fixedWork(format string, args ...any) work {
	return func(context.Context, sdk.InputResponseMap) (*sdk.CallToolResult, *jsonrpc.Error) {
		res, _ := textResult(format, args...)
		return res, nil
	}
}

func (j *jobs) tools() []fixture {
	must := func(first sdk.InputRequestMap, do work) func(context.Context, call) (*sdk.CallToolResult, error) {
		return func(ctx context.Context, _ call) (*sdk.CallToolResult, error) {
			if !mcp.AsTask(ctx, j.begin(maps.Clone(first), do)) {
				return nil, mcp.ErrNeedsTasks
			}
			return &sdk.CallToolResult{}, nil
		}
	}
	ask := must(sdk.InputRequestMap{"confirm": form("Delete it?", "confirm")}, fixedWork("It is deleted."))
	return []fixture{
		{"greet", "Greets", `{"type":"object","properties":{"name":{"type":"string"}}}`, func(_ context.Context, c call) (*sdk.CallToolResult, error) {
			return textResult("Hello, %s!", c.text("name"))
		}},
		{"slow_compute", "Takes its time", `{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`, j.compute},
		{"failing_job", "Fails", "", must(nil, func(context.Context, sdk.InputResponseMap) (*sdk.CallToolResult, *jsonrpc.Error) {
			res, _ := textResult("This job always fails.")
			res.IsError = true
			return res, nil
		})},
		{"protocol_error_job", "Ends in no result", "", must(nil, func(context.Context, sdk.InputResponseMap) (*sdk.CallToolResult, *jsonrpc.Error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "there is no result"}
		})},
		{"confirm_delete", "Asks whether to delete, who can be asked", "", func(ctx context.Context, c call) (*sdk.CallToolResult, error) {
			res, err := ask(ctx, c)
			if errors.Is(err, mcp.ErrNeedsTasks) {
				return textResult("It is not deleted.")
			}
			return res, err
		}},
		{"multi_input", "Asks for two things", "", must(sdk.InputRequestMap{"one": form("One?", "name"), "two": form("Two?", "name")}, fixedWork("both"))},
		{"test_tool_with_task", "Asks, and is a task then", "", func(ctx context.Context, c call) (*sdk.CallToolResult, error) {
			name, _ := acceptedForm(c.Params.InputResponses, "user_name")["name"].(string)
			if name == "" {
				return requestInput(signState("task"), sdk.InputRequestMap{"user_name": form("What is your name?", "name")})
			}
			return must(nil, fixedWork("Hello, %s!", name))(ctx, c)
		}},
	}
}

// compute runs for the given number of seconds.
func (j *jobs) compute(ctx context.Context, c call) (*sdk.CallToolResult, error) {
	seconds, _ := c.args["seconds"].(float64)
	do := func(ctx context.Context, _ sdk.InputResponseMap) (*sdk.CallToolResult, *jsonrpc.Error) {
		select {
		case <-time.After(time.Duration(seconds * float64(time.Second))):
		case <-ctx.Done():
		}
		res, _ := textResult("%s took %v seconds", c.text("label"), seconds)
		return res, nil
	}
	if one := j.begin(nil, do); mcp.AsTask(ctx, one) {
		return &sdk.CallToolResult{}, nil
	}
	res, _ := do(ctx, nil)
	return res, nil
}
