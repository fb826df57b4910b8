package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/limitio"
)

// In the newer era, each request describes its client completely. The SDK still makes a session for each,
// which dominates the time before the model call. So this file answers plain tool calls like the SDK. The SDK
// handles errors, and clients with sampling or tasks.

// A directTool needs no session. ok is false, without any effect, if the arguments are invalid.
type directTool func(ctx context.Context, req *sdk.CallToolRequest) (res *sdk.CallToolResult, ok bool, err error)

func newDirectTool[In, Out any](do sdk.ToolHandlerFor[In, Out]) directTool {
	schema := schemaFor[In]()
	takes, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil { // our types have schemas
		panic(err)
	}
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, bool, error) {
		in, ok := argumentsOf[In](coerceArguments(schema, req.Params.Arguments), takes)
		if !ok {
			return nil, false, nil
		}
		res, out, err := do(ctx, req, in)
		var wire *jsonrpc.Error
		switch {
		case errors.As(err, &wire):
			return nil, true, wire
		case err != nil:
			res = new(sdk.CallToolResult)
			res.SetError(err)
		default:
			res.StructuredContent = out
		}
		return res, true, nil
	}
}

func argumentsOf[In any](js json.RawMessage, takes *jsonschema.Resolved) (in In, ok bool) {
	var values map[string]any
	ok = json.Unmarshal(js, &values) == nil && takes.Validate(values) == nil && json.Unmarshal(js, &in) == nil
	return in, ok
}

type directCall struct {
	id   json.RawMessage
	tool directTool
	req  *sdk.CallToolRequest
}

// serveDirect answers a request. It returns false, with the body restored, if the SDK must answer.
func (c *client) serveDirect(w http.ResponseWriter, r *http.Request) bool {
	tool := c.tools[r.Header.Get("Mcp-Name")]
	if tool == nil || !isDirect(r) {
		return false
	}
	body, err := limitio.RequestBody(r)
	if err != nil || len(body) > maxBody {
		return false
	}
	call, ok := directOf(r, body)
	if !ok {
		return false
	}
	call.tool = tool
	return c.answerCall(w, r, call)
}

// isDirect reports whether the header is that of a direct call.
func isDirect(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	var accepts []string
	for kind := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		accepts = append(accepts, strings.TrimSpace(kind))
	}
	return r.Method == http.MethodPost && err == nil && kind == "application/json" &&
		slices.Contains(accepts, "application/json") && slices.Contains(accepts, "text/event-stream") &&
		r.Header.Get("Mcp-Protocol-Version") == modern && r.Header.Get("Mcp-Method") == "tools/call" && len(r.Header.Values("Last-Event-Id")) == 0
}

// directOf parses a call. It returns false if anything is unusual or needs a session.
func directOf(r *http.Request, body []byte) (call directCall, ok bool) {
	var version, method string
	params := &sdk.CallToolParamsRaw{}
	fields, meta := object{}, object{}
	whole, ok := parseExact(body, "jsonrpc", "id", "method", "params")
	if ok {
		fields, ok = parseExact(whole["params"], "name", "arguments", "_meta")
	}
	for _, one := range []struct {
		js   []byte
		into any
	}{
		{whole["jsonrpc"], &version}, {whole["method"], &method},
		{fields["name"], &params.Name}, {fields["arguments"], &params.Arguments}, {fields["_meta"], &params.Meta}, {fields["_meta"], &meta},
	} {
		ok = ok && json.Unmarshal(one.js, one.into) == nil
	}
	call = directCall{id: json.RawMessage(whole["id"]), req: &sdk.CallToolRequest{Params: params, Extra: &sdk.RequestExtra{Header: r.Header}}}
	if !ok || version != "2.0" || method != "tools/call" || params.Name != r.Header.Get("Mcp-Name") || !isID(call.id) {
		return call, false
	}
	if call.req.ProtocolVersion() != modern || meta[sdk.MetaKeyClientInfo] != nil && call.req.ClientInfo() == nil {
		return call, false
	}
	if string(meta[sdk.MetaKeyClientCapabilities]) == "{}" {
		return call, true
	}
	caps := call.req.ClientCapabilities()
	return call, caps != nil && caps.Sampling == nil && caps.Elicitation == nil && !declaresExtension(caps, tasks)
}

type object = map[string]limitio.RawJSON

// parseExact parses an object with exactly these fields.
func parseExact(js []byte, names ...string) (o object, ok bool) {
	ok = json.Unmarshal(js, &o) == nil && len(o) == len(names)
	for _, name := range names {
		ok = ok && len(o[name]) > 0
	}
	return o, ok
}

// isID reports whether js is a string, or an integer that every parser represents exactly.
func isID(js json.RawMessage) bool {
	const digits = 15
	return js[0] == '"' || len(js) <= digits && !slices.ContainsFunc(js, func(b byte) bool { return b != '-' && (b < '0' || b > '9') })
}

// answerCall runs a call and streams its result. It returns false if the tool did nothing.
func (c *client) answerCall(w http.ResponseWriter, r *http.Request, call directCall) bool {
	s := &directStream{w: w}
	taken := true
	res, err := c.recoverPanics(func(ctx context.Context, _ string, _ sdk.Request) (sdk.Result, error) {
		res, ok, err := call.tool(context.WithValue(ctx, streamKey{}, s), call.req)
		taken = ok
		return res, err
	})(r.Context(), "tools/call", call.req)
	if !taken {
		return false
	}
	reply := directReply{Version: "2.0", ID: call.id}
	var wire *jsonrpc.Error
	switch out, ok := res.(*sdk.CallToolResult); {
	case errors.As(err, &wire):
		reply.Error = wire
	case err != nil:
		reply.Error = &jsonrpc.Error{Message: err.Error()}
	case ok:
		reply.Result = &directResult{
			Meta: map[string]any{sdk.MetaKeyServerInfo: c.info}, Content: out.Content, Structured: out.StructuredContent, IsError: out.IsError, Type: "complete",
		}
	}
	s.sendMessage(reply, true)
	return true
}

type directReply struct {
	Version string         `json:"jsonrpc"`
	ID      any            `json:"id"`
	Result  *directResult  `json:"result,omitempty"`
	Error   *jsonrpc.Error `json:"error,omitempty"`
}

type directResult struct {
	Meta       map[string]any `json:"_meta"`
	Content    []sdk.Content  `json:"content"`
	Structured any            `json:"structuredContent,omitempty"`
	IsError    bool           `json:"isError,omitempty"`
	Type       string         `json:"resultType"`
}

type directNotice struct {
	Version string                          `json:"jsonrpc"`
	Method  string                          `json:"method"`
	Params  *sdk.ProgressNotificationParams `json:"params"`
}

// A directStream is for one goroutine.
type directStream struct {
	w     http.ResponseWriter
	begun bool
}

type streamKey struct{}

func sendProgress(ctx context.Context, req *sdk.CallToolRequest, p *sdk.ProgressNotificationParams) error {
	if s, ok := ctx.Value(streamKey{}).(*directStream); ok {
		s.sendMessage(directNotice{"2.0", "notifications/progress", p}, false)
		return nil
	}
	return req.Session.NotifyProgress(ctx, p)
}

// sendMessage flushes all messages but the last. A write error needs no handling: the disconnect ends the call.
func (s *directStream) sendMessage(message any, last bool) {
	js, err := json.Marshal(message)
	if err != nil { // JSON values encode
		return
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
		s.w.Header().Set("Cache-Control", "no-cache, no-transform")
		s.w.Header().Set("Connection", "keep-alive")
	}
	s.w.Write(slices.Concat([]byte("event: message\ndata: "), js, []byte("\n\n")))
	if !last { // the server flushes the last one
		_ = http.NewResponseController(s.w).Flush()
	}
}
