package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// instructions tell a host's model what this is for.
const instructions = `Ponder thinks about questions for minutes or hours, does research with sources, and remembers.
ponder_think and ponder_deep_think think about a question; ponder_research looks things up first. ponder_session shows and controls what goes on, ponder_steer adds to it.
If no model is configured at Ponder, or you want to do the thinking yourself, use ponder_step: it returns what to think about next; answer it by calling ponder_step again with session, step and answer, until its status is "completed".
ponder_recall finds what was remembered, ponder_remember keeps something.`

// serverFor returns what a client is offered.
func (s *Server) serverFor(c *client) *sdk.Server {
	caps := &sdk.ServerCapabilities{ // nothing says when lists change
		Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{},
	}
	caps.AddExtension(tasks, nil)
	o := &sdk.ServerOptions{
		Instructions: instructions, Logger: slog.New(slog.DiscardHandler), Capabilities: caps,
		SetCacheable: func(_ context.Context, _ sdk.Request, a *sdk.Cacheable) { a.CacheScope = "private" },
	}
	if s.Extra.Options != nil {
		s.Extra.Options(o)
	}
	c.info, c.tools = &sdk.Implementation{Name: "ponder", Title: "Ponder", Version: s.version()}, make(map[string]directTool)
	server := sdk.NewServer(c.info, o)
	c.addModes(server)
	c.addStep(server)
	c.addSession(server)
	c.addMemory(server)
	c.addResources(server)
	c.addPrompts(server)
	c.addTasks(server)
	if s.Extra.Add != nil {
		s.Extra.Add(server)
	}
	server.AddReceivingMiddleware(c.guarding, c.tasking, c.listing)
	return server
}

func (s *Server) version() string {
	if s.Version == "" {
		return "dev"
	}
	return s.Version
}

// guarding has each request be one of the caller, and outlives what goes wrong in it.
func (c *client) guarding(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				c.log().Error("a request went wrong", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "something failed in the server: its log says what"}
			}
		}()
		return next(c.in(ctx), method, req)
	}
}

func (s *Server) log() *slog.Logger {
	if s.Desk.Logger != nil {
		return s.Desk.Logger
	}
	return slog.Default()
}

// badParams returns the error of parameters that mean nothing.
func badParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
