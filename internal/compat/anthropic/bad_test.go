package anthropic_test

import (
	"net/http"
	"testing"

	"ponder/internal/compat/protocoltest"
)

const at = "/v1/messages"

func TestBad(t *testing.T) {
	const head = `{"model":"ponder","max_tokens":9,`
	const hello = `"messages":[{"role":"user","content":"hello"}]`
	one := func(block string) string { return head + `"messages":[{"role":"user","content":[` + block + `]}]}` }
	list := []protocoltest.Bad{
		{Path: at, Body: ``, Why: "not JSON"},
		{Path: at, Body: `[]`, Why: "expected"},
		{Path: at, Body: `{"model":"ponder","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://192.168.1.5/"}}]}]}`, Why: "public internet"},
		{Path: at, Body: `{"max_tokens":9,` + hello + `}`, Why: "model: Field required"},
		{Path: at, Body: `{"model":"ponder",` + hello + `}`, Why: "max_tokens: Field required"},
		{Path: at, Body: `{"model":"ponder","max_tokens":0,` + hello + `}`, Why: "max_tokens"},
		{Path: at, Body: `{"model":"ponder","max_tokens":"9",` + hello + `}`, Why: "max_tokens"},
		{Path: at, Body: `{"model":"nonsense","max_tokens":9,` + hello + `}`, Code: http.StatusNotFound, Why: "nonsense"},
		{Path: at, Body: `{"model":"nobody/none","max_tokens":9,` + hello + `}`, Code: http.StatusUnprocessableEntity, Why: "nobody/none"},
		{Path: at, Body: head + `"messages":[]}`, Why: "at least one message"},
		{Path: at, Body: head + `"messages":[{"role":"user","content":[]}]}`, Why: "non-empty"},
		{Path: at, Body: head + `"messages":[{"role":"user","content":7}]}`, Why: "messages.0.content"},
		{Path: at, Body: head + `"messages":[{"role":"nobody","content":"x"}]}`, Why: "messages.0.role"},
		{Path: at, Body: head + `"messages":[{"role":"assistant","content":"x"}]}`, Why: "must have the role user"},
		{Path: at, Body: head + `"system":7,` + hello + `}`, Why: "system"},
		{Path: at, Body: head + `"temperature":2,` + hello + `}`, Why: "temperature"},
		{Path: at, Body: head + `"thinking":{"type":"deep"},` + hello + `}`, Why: "thinking.type"},
		{Path: at, Body: head + `"output_config":{"effort":"hardest"},` + hello + `}`, Why: "output_config.effort"},
		{Path: at, Body: head + `"output_config":{"format":{"type":"json_schema","schema":[]}},` + hello + `}`, Why: "output_config.format"},
		{Path: at, Body: head + `"tools":[{"input_schema":{}}],` + hello + `}`, Why: "tools.0.name"},
		{Path: at, Body: head + `"tools":[{"name":"f","input_schema":7}],` + hello + `}`, Why: "tools.0.input_schema"},
		{Path: at, Body: head + `"tool_choice":{"type":"any"},` + hello + `}`, Why: "tools is empty"},
		{Path: at, Body: head + `"tool_choice":{"type":"perhaps"},` + hello + `}`, Why: "tool_choice.type"},
		{Path: at, Body: head + `"tools":[` + weather + `],"tool_choice":{"type":"tool","name":"rain"},` + hello + `}`, Why: `tool "rain" is not in tools`},
		{Path: at, Body: one(`{"type":"image"}`), Why: "messages.0.content.0.source"},
		{Path: at, Body: one(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}`), Why: "source"},
		{Path: at, Body: one(`{"type":"image","source":{"type":"url","url":"file:///etc/passwd"}}`), Why: "source"},
		{Path: at, Body: one(`{"type":"tool_result","tool_use_id":"x"}`), Why: "no tool_use before it"},
		{Path: at, Body: one(`{"type":"tool_use","id":"a"}`), Why: "needs id and name"},
		{Path: at, Body: one(`{"type":"tool_use","id":"a","name":"f","input":[]}`), Why: "input"},
		{Path: at + "/count_tokens", Body: `{}`, Why: "model"},
		{Path: at + "/count_tokens", Body: `{"model":"ponder","messages":7}`, Why: "messages"},
	}
	protocoltest.CheckBad(t, language, list)
}

func FuzzMessages(f *testing.F) {
	protocoltest.Fuzz(f, language, at,
		`{"model":"ponder/chat","max_tokens":9,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":"hello"}],"stream":true,"thinking":{"type":"enabled","budget_tokens":5000}}`,
		`{"model":"ponder","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}],"metadata":{"user_id":"u"}}`,
		`{"model":"test/model","max_tokens":9,"tools":[`+weather+`],"tool_choice":{"type":"tool","name":"weather"},"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"c","name":"weather","input":{"city":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"y"}],"is_error":true}]}]}`,
		`{"model":"ponder/chat","max_tokens":1,"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object"}}},"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"{"}]}`,
	)
}

func FuzzCount(f *testing.F) {
	protocoltest.Fuzz(f, language, at+"/count_tokens", `{"model":"ponder","messages":[{"role":"user","content":"hello"}]}`)
}
