package clients

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/compat/mcp"
)

// The MCP conformance suite expects tools, prompts and resources with fixed answers. They exist
// only in this test server.

// A call is a tool call: its arguments and the earlier answers of the client.
type call struct {
	*sdk.CallToolRequest
	args map[string]any
}

func (c call) text(name string) string {
	s, _ := c.args[name].(string)
	return s
}

// A fixture is a tool of the suite. An empty schema accepts any arguments.
type fixture struct {
	name, doc, schema string
	do                func(ctx context.Context, c call) (*sdk.CallToolResult, error)
}

func fixedResult(list ...sdk.Content) func(context.Context, call) (*sdk.CallToolResult, error) {
	return func(context.Context, call) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: list}, nil
	}
}

func text(format string, args ...any) *sdk.TextContent {
	return &sdk.TextContent{Text: fmt.Sprintf(format, args...)}
}

func textResult(format string, args ...any) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{text(format, args...)}}, nil
}

// decoded decodes valid base64.
func decoded(text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return b
}

// An image of one pixel and an empty sound.
var (
	picture = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	sound   = decoded("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func image() *sdk.ImageContent { return &sdk.ImageContent{Data: picture, MIMEType: "image/png"} }

func embedded(uri, kind, text string) *sdk.EmbeddedResource {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: kind, Text: text}}
}

// schema2020 has JSON Schema 2020-12 keywords that must be listed unchanged.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

// plainTools answer without input.
var plainTools = []fixture{
	{"test_simple_text", "Returns a text", "", fixedResult(text("This is a simple text response for testing."))},
	{"test_image_content", "Returns an image", "", fixedResult(image())},
	{"test_audio_content", "Returns a sound", "", fixedResult(&sdk.AudioContent{Data: sound, MIMEType: "audio/wav"})},
	{"test_embedded_resource", "Returns a resource", "", fixedResult(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))},
	{"test_multiple_content_types", "Returns several things", "", fixedResult(text("Multiple content types test:"), image(), embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`))},
	{"test_error_handling", "Fails", "", func(context.Context, call) (*sdk.CallToolResult, error) {
		res, err := textResult("This tool intentionally returns an error for testing")
		res.IsError = true
		return res, err
	}},
	{"test_tool_with_logging", "Logs", "", logTool},
	{"test_logging_tool", "Logs to who wants that", "", logTool},
	{"test_tool_with_progress", "Says how far it is", "", progressTool},
	{"test_streaming_elicitation", "Says how far it is, and asks nothing", "", progressTool},
	{"json_schema_2020_12_tool", "Has a schema with many words", schema2020, func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		return textResult("JSON Schema 2020-12 tool called with: %s", c.Params.Arguments)
	}},
	{"test_x_mcp_header", "Has an argument that is a header, too", `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`, func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		return textResult("region=%s", c.text("region"))
	}},
	{"test_reconnection", "Breaks its stream off, and answers on the next", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if x := c.Extra; x != nil && x.CloseSSEStream != nil {
			x.CloseSSEStream(sdk.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
		}
		time.Sleep(100 * time.Millisecond) // until the client has reconnected
		return textResult("Reconnection test completed successfully.")
	}},
	{"test_missing_capability", "Needs a client that lets its model be asked", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if caps := c.ClientCapabilities(); caps == nil || caps.Sampling == nil {
			return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "the client has to let its model be asked", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
		}
		return textResult("It lets its model be asked.")
	}},
}

// logTool sends log messages to the client.
func logTool(ctx context.Context, c call) (*sdk.CallToolResult, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		//nolint:staticcheck // logging is deprecated, but in the suite
		if err := c.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: line}); err != nil {
			return nil, err
		}
	}
	return textResult("Tool with logging executed successfully")
}

func progressTool(ctx context.Context, c call) (*sdk.CallToolResult, error) {
	token := c.Params.GetProgressToken()
	for at := 0.0; at <= 100 && token != nil; at += 50 {
		if err := c.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: at, Total: 100, Message: "on its way"}); err != nil {
			return nil, err
		}
		time.Sleep(20 * time.Millisecond) // a message sent immediately before a result may arrive after it
	}
	return textResult("%v", token)
}

// suite returns the tools, prompts and resources of the suite.
func suite() mcp.Extra {
	jobs := &jobs{list: make(map[string]*job)}
	return mcp.Extra{
		Task: jobs.task,
		Options: func(o *sdk.ServerOptions) {
			o.Capabilities.Tools.ListChanged, o.Capabilities.Prompts.ListChanged, o.Capabilities.Resources.Subscribe = true, true, true
			o.Capabilities.Logging = &sdk.LoggingCapabilities{} //nolint:staticcheck // deprecated, but in the suite
			o.CompletionHandler = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
				return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
			}
			o.SubscribeHandler = func(context.Context, *sdk.SubscribeRequest) error { return nil }
			o.UnsubscribeHandler = func(context.Context, *sdk.UnsubscribeRequest) error { return nil }
		},
		Add: func(s *sdk.Server) {
			for _, list := range [][]fixture{plainTools, inputTools, jobs.tools()} {
				for _, f := range list {
					f.addTo(s)
				}
			}
			addChanges(s)
			addSuiteResources(s)
			addSuitePrompts(s)
		},
	}
}

func (f fixture) addTo(s *sdk.Server) {
	schema := f.schema
	if schema == "" {
		schema = `{"type":"object"}`
	}
	s.AddTool(&sdk.Tool{Name: f.name, Description: f.doc, InputSchema: json.RawMessage(schema)}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := call{CallToolRequest: r}
		if len(r.Params.Arguments) > 0 {
			if err := json.Unmarshal(r.Params.Arguments, &c.args); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
		}
		return f.do(ctx, c)
	})
}

// addChanges registers tools that change the list of tools.
func addChanges(s *sdk.Server) {
	change := func(name, what string, do func()) {
		fixture{name, "Changes the " + what, "", func(context.Context, call) (*sdk.CallToolResult, error) {
			do()
			return textResult("%s changed", what)
		}}.addTo(s)
	}
	change("test_trigger_tool_change", "tools", func() {
		fixture{"passing_tool", "Comes and goes", "", fixedResult(text("gone"))}.addTo(s)
	})
	change("test_trigger_prompt_change", "prompts", func() {
		s.AddPrompt(&sdk.Prompt{Name: "passing_prompt", Description: "Comes and goes"}, fixedPrompt(text("gone")))
	})
}

func addSuiteResources(s *sdk.Server) {
	read := func(kind, text string, blob []byte) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: kind, Text: text, Blob: blob}}}, nil
		}
	}
	s.AddResource(&sdk.Resource{URI: "test://static-text", Name: "static-text", Description: "A text", MIMEType: "text/plain"}, read("text/plain", "This is the content of the static text resource.", nil))
	s.AddResource(&sdk.Resource{URI: "test://static-binary", Name: "static-binary", Description: "An image", MIMEType: "image/png"}, read("image/png", "", picture))
	s.AddResource(&sdk.Resource{URI: "test://watched-resource", Name: "watched-resource", Description: "What is watched", MIMEType: "text/plain"}, read("text/plain", "Watched resource content", nil))
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", Description: "A template", MIMEType: "application/json"},
		func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return read("application/json", fmt.Sprintf(`{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id), nil)(ctx, r)
		})
}

func fixedPrompt(list ...sdk.Content) sdk.PromptHandler {
	return func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		res := &sdk.GetPromptResult{}
		for _, c := range list {
			res.Messages = append(res.Messages, &sdk.PromptMessage{Role: "user", Content: c})
		}
		return res, nil
	}
}

func addSuitePrompts(s *sdk.Server) {
	add := func(name string, do sdk.PromptHandler, args ...string) {
		p := &sdk.Prompt{Name: name, Description: "A prompt of the suite"}
		for _, arg := range args {
			p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: arg, Description: "An argument", Required: true})
		}
		s.AddPrompt(p, do)
	}
	add("test_simple_prompt", fixedPrompt(text("This is a simple prompt for testing.")))
	add("test_prompt_with_arguments", func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return fixedPrompt(text("Prompt with arguments: arg1='%s', arg2='%s'", r.Params.Arguments["arg1"], r.Params.Arguments["arg2"]))(ctx, r)
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return fixedPrompt(embedded(r.Params.Arguments["resourceUri"], "text/plain", "Embedded resource content for testing."), text("Please process the embedded resource above."))(ctx, r)
	}, "resourceUri")
	add("test_prompt_with_image", fixedPrompt(image(), text("Please analyze the image above.")))
	add("test_input_required_result_prompt", func(ctx context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		if in := acceptedForm(r.Params.InputResponses, "user_context"); in != nil {
			return fixedPrompt(text("Context: %v", in["context"]))(ctx, r)
		}
		return &sdk.GetPromptResult{InputRequests: sdk.InputRequestMap{"user_context": form("Please provide context for the prompt", "context")}}, nil
	})
}
