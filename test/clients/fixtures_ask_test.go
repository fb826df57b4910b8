package clients

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// form returns a request for texts from a user.
func form(message string, fields ...string) *sdk.ElicitParams {
	properties := make(map[string]any)
	for _, f := range fields {
		properties[f] = map[string]any{"type": "string"}
	}
	return &sdk.ElicitParams{Message: message, RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": fields}}
}

// message returns a request to the client's model.
func message(text string) *sdk.CreateMessageParams {
	return &sdk.CreateMessageParams{Messages: []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}, MaxTokens: 100}
}

// accepted returns the values that a user entered, or nil.
func accepted(list sdk.InputResponseMap, key string) map[string]any {
	if in, ok := list[key].(*sdk.ElicitResult); ok && in.Action == "accept" {
		return in.Content
	}
	return nil
}

// sampled returns the answer of the client's model, if there is one.
func sampled(list sdk.InputResponseMap, key string) (string, bool) {
	in, ok := list[key].(*sdk.CreateMessageWithToolsResult)
	if !ok || len(in.Content) == 0 {
		return "", false
	}
	t, ok := in.Content[0].(*sdk.TextContent)
	return t.Text, ok
}

// asks returns a result that requests input from the client.
func asks(state string, list sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{InputRequests: list, RequestState: state}, nil
}

// signed returns a state that others cannot forge.
func signed(state string) string {
	m := hmac.New(sha256.New, picture)
	m.Write([]byte(state))
	return state + "." + hex.EncodeToString(m.Sum(nil))
}

// state returns the verified state of a call, or "".
func (c call) state() (string, error) {
	got := c.Params.RequestState
	state, _, _ := strings.Cut(got, ".")
	if got != "" && !hmac.Equal([]byte(got), []byte(signed(state))) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState is not one of this server"}
	}
	return state, nil
}

// elicits returns a tool that asks the user during a call, as in versions with sessions.
func elicits(schema string) func(context.Context, call) (*sdk.CallToolResult, error) {
	return func(ctx context.Context, c call) (*sdk.CallToolResult, error) {
		message := c.text("message")
		if message == "" {
			message = "Please fill this in"
		}
		res, err := c.Session.Elicit(ctx, &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(res.Content)
		if err != nil {
			return nil, err
		}
		return said("Elicitation completed: action=%s, content=%s", res.Action, content)
	}
}

// Forms in the suite.
const (
	userForm     = `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`
	defaultsForm = `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}},"required":[]}`
	enumsForm    = `{"type":"object","properties":{
"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]}`
)

// askingTools request input from their client, during a call or by their result.
var askingTools = []fixture{
	{"test_sampling", "Asks the client's model", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, func(ctx context.Context, c call) (*sdk.CallToolResult, error) {
		//nolint:staticcheck // sampling is deprecated, but in the suite
		res, err := c.Session.CreateMessage(ctx, message(c.text("prompt")))
		if err != nil {
			return nil, err
		}
		t, _ := res.Content.(*sdk.TextContent)
		return said("LLM response: %v", t)
	}},
	{"test_elicitation", "Asks the user", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`, elicits(userForm)},
	{"test_elicitation_sep1034_defaults", "Asks the user, with what most say", "", elicits(defaultsForm)},
	{"test_elicitation_sep1330_enums", "Asks the user to choose", "", elicits(enumsForm)},
	{"test_input_required_result_elicitation", "Asks for a name", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if name, _ := accepted(c.Params.InputResponses, "user_name")["name"].(string); name != "" {
			return said("Hello, %s!", name)
		}
		return asks("", sdk.InputRequestMap{"user_name": form("What is your name?", "name")})
	}},
	{"test_input_required_result_sampling", "Asks a model", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if text, ok := sampled(c.Params.InputResponses, "capital_question"); ok {
			return said("The model says: %s", text)
		}
		return asks("", sdk.InputRequestMap{"capital_question": message("What is the capital of France?")})
	}},
	{"test_input_required_result_list_roots", "Asks for folders", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if in, ok := c.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok {
			return said("There are %d roots", len(in.Roots))
		}
		return asks("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}})
	}},
	{"test_input_required_result_request_state", "Has a state", "", confirms},
	{"test_input_required_result_tampered_state", "Has a state that is signed", "", confirms},
	{"test_input_required_result_multiple_inputs", "Asks for much at once", "", asksMuch},
	{"test_input_required_result_multi_round", "Asks twice", "", asksTwice},
	{"test_input_required_result_capabilities", "Asks for what the client can", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if len(c.Params.InputResponses) > 0 {
			return said("That will do.")
		}
		list, caps := sdk.InputRequestMap{}, c.ClientCapabilities()
		if caps != nil && caps.Elicitation != nil {
			list["user_name"] = form("What is your name?", "name")
		}
		if caps != nil && caps.Sampling != nil {
			list["greeting"] = message("Write a short greeting")
		}
		if len(list) == 0 {
			return said("There is nothing to ask of this client.")
		}
		return asks("", list)
	}},
}

// confirms requests a confirmation and a returned state.
func confirms(_ context.Context, c call) (*sdk.CallToolResult, error) {
	state, err := c.state()
	if err != nil {
		return nil, err
	}
	if state != "" && accepted(c.Params.InputResponses, "confirm") != nil {
		return said("state-ok: confirmed")
	}
	return asks(signed("confirm"), sdk.InputRequestMap{"confirm": &sdk.ElicitParams{
		Message: "Please confirm", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`),
	}})
}

func asksMuch(_ context.Context, c call) (*sdk.CallToolResult, error) {
	list := c.Params.InputResponses
	name, _ := accepted(list, "user_name")["name"].(string)
	greeting, greets := sampled(list, "greeting")
	if roots, ok := list["client_roots"].(*sdk.ListRootsResult); ok && greets && name != "" {
		return said("%s %s, with %d roots", greeting, name, len(roots.Roots))
	}
	return asks(signed("much"), sdk.InputRequestMap{
		"user_name": form("What is your name?", "name"), "greeting": message("Write a greeting"), "client_roots": &sdk.ListRootsParams{},
	})
}

func asksTwice(_ context.Context, c call) (*sdk.CallToolResult, error) {
	state, err := c.state()
	if err != nil {
		return nil, err
	}
	name, named := strings.CutPrefix(state, "second ")
	switch in := c.Params.InputResponses; {
	case state == "first":
		if first, _ := accepted(in, "step1")["name"].(string); first != "" {
			return asks(signed("second "+first), sdk.InputRequestMap{"step2": form("Step 2: What is your favorite color?", "color")})
		}
	case named:
		if color, _ := accepted(in, "step2")["color"].(string); color != "" {
			return said("%s likes %s", name, color)
		}
	}
	return asks(signed("first"), sdk.InputRequestMap{"step1": form("Step 1: What is your name?", "name")})
}
