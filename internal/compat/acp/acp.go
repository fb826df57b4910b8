// Package acp serves the Agent Client Protocol over standard input and output, so that editors such as Zed and those
// of JetBrains offer Ponder as an agent. The modes of a session are Ponder's ways of thinking.
//
// acp.go dispatches requests, lines.go checks the input, session.go has the sessions and their options, prompt.go the
// turns, and encoder.go the updates.
package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"ponder/internal/auth"
	"ponder/internal/compat"
)

type Config struct {
	Desk    *compat.Dispatcher
	Caller  auth.Caller
	Version string
	Dir     string // the working directory of sessions that the client did not create
}

// Help is the help of the command that runs the agent.
const Help = `Run an agent of the Agent Client Protocol (ACP) on standard input and output. An editor, such
as Zed or one of JetBrains, starts it and shows Ponder beside its other agents. It ends when
standard input is closed. Running sessions are then paused; ponder serve, ponder session
resume or the editor continues them.

Settings of Zed (of JetBrains: the same table in ~/.jetbrains/acp.json):

  "agent_servers": {"Ponder": {"type": "custom", "command": "ponder", "args": ["acp"]}}

The modes of the editor are the ways of thinking: think, deep_think, research, session and
subconscious. Commands such as /session minutes=30 QUESTION use a way once. /pause, /resume,
/answer, /tell, /question, /steer, /undo, /cancel, /status and /report steer the newest work.
Cancelling a session or research in the editor pauses it.`

const protocolVersion = 1

// codeNotFound is the code of a missing resource.
const codeNotFound = -32002

const maxSessions = 1000 // open at once

type server struct {
	Config
	conn *sdk.Connection
	out  *syncWriter

	mu       sync.Mutex
	sessions map[string]*session
}

// Serve serves a client until ctx is done or the client closes its end. Thinking continues without the client as long
// as the process runs.
func Serve(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	s := &server{Config: c, sessions: make(map[string]*session)}
	s.out = newSyncWriter(out)
	ready := make(chan struct{})
	s.conn = sdk.NewConnection(func(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
		return s.handle(auth.WithCaller(ctx, c.Caller), method, params)
	}, s.out, newLines(&startReader{in, ready}, s.out))
	s.conn.SetLogger(slog.New(slog.DiscardHandler)) // it logs whole messages
	close(ready)
	select {
	case <-ctx.Done(): // a read of standard input cannot be interrupted
		return nil
	case <-s.conn.Done():
	}
	s.out.awaitAnswers(lastAnswers) // the end cancels requests
	return nil
}

// A startReader delays reads until ready is closed.
type startReader struct {
	io.Reader
	ready <-chan struct{}
}

func (r *startReader) Read(b []byte) (int, error) {
	<-r.ready
	return r.Reader.Read(b)
}

// handle answers a request or a notification.
func (s *server) handle(ctx context.Context, method string, params json.RawMessage) (result any, fault *sdk.RequestError) {
	defer func() {
		if p := recover(); p != nil {
			s.Desk.APIErrorOf(fmt.Errorf("%s: panic: %v\n%s", method, p, debug.Stack())) // logs it
			result, fault = nil, &sdk.RequestError{Code: -32603, Message: "internal error: see the log"}
		}
	}()
	if do := s.methods()[method]; do != nil {
		result, err := do(ctx, params)
		return result, s.requestError(err)
	}
	if strings.HasPrefix(method, "$/") {
		return nil, nil
	}
	return nil, sdk.NewMethodNotFound(method)
}

type methodFunc func(ctx context.Context, params json.RawMessage) (any, error)

func (s *server) methods() map[string]methodFunc {
	return map[string]methodFunc{
		sdk.AgentMethodInitialize:             decodeParams(s.initialize),
		sdk.AgentMethodAuthenticate:           decodeParams(s.authenticate),
		sdk.AgentMethodSessionNew:             decodeParams(s.newSession),
		sdk.AgentMethodSessionLoad:            decodeParams(s.loadSession),
		sdk.AgentMethodSessionResume:          decodeParams(s.resumeSession),
		sdk.AgentMethodSessionList:            decodeParams(s.listSessions),
		sdk.AgentMethodSessionClose:           decodeParams(s.closeSession),
		sdk.AgentMethodSessionCancel:          decodeParams(s.cancelPrompt),
		sdk.AgentMethodSessionSetMode:         decodeParams(s.setMode),
		sdk.AgentMethodSessionSetConfigOption: decodeParams(s.setOption),
		sdk.AgentMethodSessionPrompt:          decodeParams(s.prompt),
	}
}

func decodeParams[In, Out any](do func(context.Context, In) (Out, error)) methodFunc {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		var in In
		if len(params) > 0 {
			if err := json.Unmarshal(params, &in); err != nil {
				return nil, sdk.NewInvalidParams(map[string]any{"error": compat.Plain(err.Error())})
			}
		}
		return do(ctx, in)
	}
}

// requestError converts an error. It hides internal errors from the client.
func (s *server) requestError(err error) *sdk.RequestError {
	if err == nil {
		return nil
	}
	if known, ok := err.(*sdk.RequestError); ok { //nolint:errorlint // as the handlers return it
		return known
	}
	f := s.Desk.APIErrorOf(err)
	text := cmp.Or(f.Detail, http.StatusText(f.Status))
	if f.Field != "" && !strings.Contains(text, f.Field) {
		text = f.Field + ": " + text
	}
	code := -32603
	switch f.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		code = -32602
	case http.StatusNotFound:
		code = codeNotFound
	}
	return &sdk.RequestError{Code: code, Message: text}
}

func (s *server) initialize(_ context.Context, _ sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	title := "Ponder"
	return sdk.InitializeResponse{
		ProtocolVersion: protocolVersion,
		AgentInfo:       &sdk.Implementation{Name: "ponder", Title: &title, Version: cmp.Or(s.Version, "dev")},
		AuthMethods:     []sdk.AuthMethod{},
		AgentCapabilities: sdk.AgentCapabilities{
			LoadSession:        true,
			PromptCapabilities: sdk.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: sdk.SessionCapabilities{
				List: &sdk.SessionListCapabilities{}, Resume: &sdk.SessionResumeCapabilities{}, Close: &sdk.SessionCloseCapabilities{},
			},
		},
	}, nil
}

func (s *server) authenticate(context.Context, sdk.AuthenticateRequest) (sdk.AuthenticateResponse, error) {
	return sdk.AuthenticateResponse{}, sdk.NewInvalidParams(map[string]any{"error": "this agent needs no authentication"})
}

// notify sends an update of a session.
func (s *server) notify(name string, u sdk.SessionUpdate) error {
	return s.conn.SendNotification(context.Background(), sdk.ClientMethodSessionUpdate, sdk.SessionNotification{SessionId: sdk.SessionId(name), Update: u})
}
