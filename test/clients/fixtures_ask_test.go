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

// acceptedForm returns the values that a user entered, or nil.
func acceptedForm(list sdk.InputResponseMap, key string) map[string]any {
	if in, ok := list[key].(*sdk.ElicitResult); ok && in.Action == "accept" {
		return in.Content
	}
	return nil
}

// sampledText returns the answer of the client's model, if there is one.
func sampledText(list sdk.InputResponseMap, key string) (string, bool) {
	in, ok := list[key].(*sdk.CreateMessageWithToolsResult)
	if !ok || len(in.Content) == 0 {
		return "", false
	}
	t, ok := in.Content[0].(*sdk.TextContent)
	return t.Text, ok
}

func requestInput(state string, list sdk.InputRequestMap) (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{InputRequests: list, RequestState: state}, nil
}

// signState returns a state that others cannot forge.
func signState(state string) string {
	m := hmac.New(sha256.New, picture)
	m.Write([]byte(state))
	return state + "." + hex.EncodeToString(m.Sum(nil))
}

// state returns the verified state of a call, or "".
func (c call) state() (string, error) {
	got := c.Params.RequestState
	state, _, _ := strings.Cut(got, ".")
	if got != "" && !hmac.Equal([]byte(got), []byte(signState(state))) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the requestState is not one of this server"}
	}
	return state, nil
}

// elicitDuringCall returns a tool that asks the user during a call, as in versions with sessions.
func elicitDuringCall(schema string) func(context.Context, call) (*sdk.CallToolResult, error) {
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
		return textResult("Elicitation completed: action=%s, content=%s", res.Action, content)
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

// inputTools request input from their client, during a call or by their result.
var inputTools = []fixture{
	{"test_sampling", "Asks the client's model", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, func(ctx context.Context, c call) (*sdk.CallToolResult, error) {
		//nolint:staticcheck // sampling is deprecated, but in the suite
		res, err := c.Session.CreateMessage(ctx, message(c.text("prompt")))
		if err != nil {
			return nil, err
		}
		t, _ := res.Content.(*sdk.TextContent)
		return textResult("LLM response: %v", t)
	}},
	{"test_elicitation", "Asks the user", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`, elicitDuringCall(userForm)},
	{"test_elicitation_sep1034_defaults", "Asks the user, with what most say", "", elicitDuringCall(defaultsForm)},
	{"test_elicitation_sep1330_enums", "Asks the user to choose", "", elicitDuringCall(enumsForm)},
	{"test_input_required_result_elicitation", "Asks for a name", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if name, _ := acceptedForm(c.Params.InputResponses, "user_name")["name"].(string); name != "" {
			return textResult("Hello, %s!", name)
		}
		return requestInput("", sdk.InputRequestMap{"user_name": form("What is your name?", "name")})
	}},
	{"test_input_required_result_sampling", "Asks a model", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if text, ok := sampledText(c.Params.InputResponses, "capital_question"); ok {
			return textResult("The model says: %s", text)
		}
		return requestInput("", sdk.InputRequestMap{"capital_question": message("What is the capital of France?")})
	}},
	{"test_input_required_result_list_roots", "Asks for folders", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if in, ok := c.Params.InputResponses["client_roots"].(*sdk.ListRootsResult); ok {
			return textResult("There are %d roots", len(in.Roots))
		}
		return requestInput("", sdk.InputRequestMap{"client_roots": &sdk.ListRootsParams{}})
	}},
	{"test_input_required_result_request_state", "Has a state", "", confirmTool},
	{"test_input_required_result_tampered_state", "Has a state that is signed", "", confirmTool},
	{"test_input_required_result_multiple_inputs", "Asks for much at once", "", askMuchTool},
	{"test_input_required_result_multi_round", "Asks twice", "", askTwiceTool},
	{"test_input_required_result_capabilities", "Asks for what the client can", "", func(_ context.Context, c call) (*sdk.CallToolResult, error) {
		if len(c.Params.InputResponses) > 0 {
			return textResult("That will do.")
		}
		list, caps := sdk.InputRequestMap{}, c.ClientCapabilities()
		if caps != nil && caps.Elicitation != nil {
			list["user_name"] = form("What is your name?", "name")
		}
		if caps != nil && caps.Sampling != nil {
			list["greeting"] = message("Write a short greeting")
		}
		if len(list) == 0 {
			return textResult("There is nothing to ask of this client.")
		}
		return requestInput("", list)
	}},
}

// confirmTool requests a confirmation and a returned state.
func confirmTool(_ context.Context, c call) (*sdk.CallToolResult, error) {
	state, err := c.state()
	if err != nil {
		return nil, err
	}
	if state != "" && acceptedForm(c.Params.InputResponses, "confirm") != nil {
		return textResult("state-ok: confirmed")
	}
	return requestInput(signState("confirm"), sdk.InputRequestMap{"confirm": &sdk.ElicitParams{
		Message: "Please confirm", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`),
	}})
}

func askMuchTool(_ context.Context, c call) (*sdk.CallToolResult, error) {
	list := c.Params.InputResponses
	name, _ := acceptedForm(list, "user_name")["name"].(string)
	greeting, greets := sampledText(list, "greeting")
	if roots, ok := list["client_roots"].(*sdk.ListRootsResult); ok && greets && name != "" {
		return textResult("%s %s, with %d roots", greeting, name, len(roots.Roots))
	}
	return requestInput(signState("much"), sdk.InputRequestMap{
		"user_name": form("What is your name?", "name"), "greeting": message("Write a greeting"), "client_roots": &sdk.ListRootsParams{},
	})
}

func askTwiceTool(_ context.Context, c call) (*sdk.CallToolResult, error) {
	state, err := c.state()
	if err != nil {
		return nil, err
	}
	name, named := strings.CutPrefix(state, "second ")
	switch in := c.Params.InputResponses; {
	case state == "first":
		if first, _ := acceptedForm(in, "step1")["name"].(string); first != "" {
			return requestInput(signState("second "+first), sdk.InputRequestMap{"step2": form("Step 2: What is your favorite color?", "color")})
		}
	case named:
		if color, _ := acceptedForm(in, "step2")["color"].(string); color != "" {
			return textResult("%s likes %s", name, color)
		}
	}
	return requestInput(signState("first"), sdk.InputRequestMap{"step1": form("Step 1: What is your name?", "name")})
}
