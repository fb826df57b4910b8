package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/locale"
	"ponder/internal/toolname"
)

const instructions = `Ponder thinks about questions for minutes or hours, does research with sources, and remembers.
ponder_think and ponder_deep_think think about a question; ponder_research looks things up first. ponder_session shows and controls what goes on, ponder_steer adds to it. ponder_report plans research first, and reads, updates, rewrites or asks its report.
If no model is configured at Ponder, or you want to do the thinking yourself, use ponder_step: it returns what to think about next; answer it by calling ponder_step again with session, step and answer, until its status is "completed".
ponder_recall finds what was remembered, ponder_remember keeps something.`

func (s *Server) serverFor(c *client) *sdk.Server {
	caps := &sdk.ServerCapabilities{ // lists do not change during a session
		Tools: &sdk.ToolCapabilities{}, Prompts: &sdk.PromptCapabilities{}, Resources: &sdk.ResourceCapabilities{Subscribe: true},
		Completions: &sdk.CompletionCapabilities{},
	}
	caps.AddExtension(tasks, nil)
	o := &sdk.ServerOptions{
		Instructions: instructions, Logger: slog.New(slog.DiscardHandler), Capabilities: caps,
		SetCacheable:      func(_ context.Context, _ sdk.Request, a *sdk.Cacheable) { a.CacheScope = "private" },
		CompletionHandler: c.complete, SubscribeHandler: c.subscribe, UnsubscribeHandler: c.unsubscribe,
	}
	if s.Extra.Options != nil {
		s.Extra.Options(o)
	}
	c.info, c.tools = &sdk.Implementation{Name: "ponder", Title: "Ponder", Version: s.versionText()}, make(map[string]directTool)
	c.inputs = make(map[string]*jsonschema.Schema)
	server := sdk.NewServer(c.info, o)
	c.server = server
	c.addModes(server)
	c.addStep(server)
	c.addSession(server)
	c.addReport(server)
	c.addMemory(server)
	c.addResources(server)
	c.addPrompts(server)
	c.addTasks(server)
	if s.Extra.Add != nil {
		s.Extra.Add(server)
	}
	server.AddReceivingMiddleware(c.recoverPanics, c.coerceCalls, c.handleTasks, c.listResources)
	return server
}

func (s *Server) versionText() string {
	if s.Version == "" {
		return "dev"
	}
	return s.Version
}

// recoverPanics sets the caller of a request and recovers panics.
func (c *client) recoverPanics(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (res sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				c.logger().Error("a request went wrong", "method", method, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error: see the server's log"}
			}
		}()
		return next(withLocale(c.withCaller(ctx), req), method, req)
	}
}

// withLocale returns a context with the zone and the language that an HTTP client names.
func withLocale(ctx context.Context, req sdk.Request) context.Context {
	if x := req.GetExtra(); x != nil {
		if c, err := locale.ReadChoice(x.Header, nil); err == nil {
			return locale.WithChoice(ctx, c)
		}
	}
	return ctx
}

// coerceCalls converts the arguments of tools.
func (c *client) coerceCalls(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if call, ok := req.(*sdk.CallToolRequest); ok && call.Params != nil {
			c.texts.Restore(&call.Params.InputResponses)
			call.Params.Arguments = coerceArguments(c.inputs[call.Params.Name], call.Params.Arguments)
		}
		return next(ctx, method, req)
	}
}

func (s *Server) logger() *slog.Logger {
	if s.Desk.Logger != nil {
		return s.Desk.Logger
	}
	return slog.Default()
}

func badParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// addTool adds a tool with pre-encoded schemas of its types, because the SDK encodes them for each list and
// each HTTP call.
func addTool[In, Out any](c *client, server *sdk.Server, tool *sdk.Tool, do sdk.ToolHandlerFor[In, Out]) {
	takes, returns := schemaFor[In](), schemaFor[Out]()
	dropNullTypes(takes)
	dropNullTypes(returns)
	c.inputs[tool.Name] = takes
	tool.InputSchema, tool.OutputSchema = schemaJSON(takes), schemaJSON(returns)
	sdk.AddTool(server, tool, func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		c.texts.Restore(&in)
		return do(ctx, req, in)
	})
}

// offerTool adds a tool that needs only its input. show renders the result as text; nil leaves that to the SDK.
func offerTool[In, Out any](c *client, server *sdk.Server, tool *sdk.Tool, do func(context.Context, In) (Out, error), show func(Out) *sdk.CallToolResult) {
	addTool(c, server, tool, func(ctx context.Context, _ *sdk.CallToolRequest, in In) (res *sdk.CallToolResult, out Out, err error) {
		if out, err = do(ctx, in); show != nil {
			res = show(out)
		}
		return res, out, c.clientError(err)
	})
}

func schemaFor[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil { // our types have schemas
		panic(err)
	}
	return schema
}

func schemaJSON(s *jsonschema.Schema) json.RawMessage {
	js, err := json.Marshal(s)
	if err != nil { // schemas encode
		panic(err)
	}
	return js
}

// dropNullTypes removes null from types, because some clients reject several types. No output has a null
// list, and an omitted input may be null: see coerceValue.
func dropNullTypes(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	dropNullTypes(s.Items)
	for _, p := range s.Properties {
		dropNullTypes(p)
	}
}

// A hostPrompt is a prompt that explains the tools.
type hostPrompt struct {
	name, title, doc, arg, argDoc string
	text                          string // %s is the argument
}

var hostPrompts = []hostPrompt{
	{
		toolname.DeepThink, "Think deeply, with your own model", "Think about a question step by step with ponder_step; no key is needed.", "question", "what to think about",
		`Think deeply about this question, with the tool ponder_step:

%s

1. Call ponder_step with question set to the question, and context set to what you know of it that matters.
2. It returns session, step and prompt. Think about the prompt as thoroughly as you can. If it asks for JSON of a schema, your answer is that JSON and nothing else.
3. Call ponder_step with session, step and answer.
4. While its status is "needs_answer", go on with 2 for the new prompt. Do not stop before, and do not ask me in between.
5. When its status is "completed", show me answer, and say which session it was.
If a call fails or you lose the thread, call ponder_step with session alone: it returns the prompt that waits.`,
	},
	{
		"research", "Research with sources", "Do research on a question with ponder_research and sum up what it finds.", "question", "what to find out",
		`Find out: %s

Call ponder_recall first to see what is known. Then call ponder_research with the question. Show me its answer with its sources, and say what stays open.`,
	},
	{
		"continue", "Go on with a session", "See how a session of Ponder stands, and go on with it.", "session", "the session",
		`Call ponder_session with action "status" and session %s. If it is completed, show me its answer. If it is paused, call ponder_session with action "resume". If it needs answers of you, go on with ponder_step until it is completed.`,
	},
}

const maxArgument = 64 << 10

func (*client) addPrompts(server *sdk.Server) {
	for _, l := range hostPrompts {
		server.AddPrompt(&sdk.Prompt{
			Name: l.name, Title: l.title, Description: l.doc,
			Arguments: []*sdk.PromptArgument{{Name: l.arg, Description: l.argDoc, Required: true}},
		}, func(_ context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			arg := strings.TrimSpace(req.Params.Arguments[l.arg])
			if arg == "" || len(arg) > maxArgument {
				return nil, badParams("the argument %s is needed, of at most %d bytes", l.arg, maxArgument)
			}
			return &sdk.GetPromptResult{
				Description: l.doc,
				Messages:    []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: strings.Replace(l.text, "%s", arg, 1)}}},
			}, nil
		})
	}
}
