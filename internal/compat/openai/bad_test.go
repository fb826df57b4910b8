package openai_test

import (
	"net/http"
	"testing"

	"ponder/internal/compat/protocoltest"
)

const at = "/v1/chat/completions"

const legacyPath = "/v1/completions"

func TestBad(t *testing.T) {
	const hello = `"messages":[{"role":"user","content":"hello"}]`
	list := []protocoltest.Bad{
		{Path: at, Body: ``, Why: "not JSON"},
		{Path: at, Body: `{`, Why: "not JSON"},
		{Path: at, Body: `[]`, Why: "expected"},
		{Path: at, Body: `null`, Why: "model"},
		{Path: at, Body: `{}`, Why: "model"},
		{Path: at, Body: `{"model":7}`, Why: "model: expected string"},
		{Path: at, Body: `{"model":"nonsense",` + hello + `}`, Code: http.StatusNotFound, Why: "does not exist"},
		{Path: at, Body: `{"model":"nobody/none",` + hello + `}`, Code: http.StatusUnprocessableEntity, Why: "there is no model nobody/none"},
		{Path: at, Body: `{"model":"ponder"}`, Why: "at least one message"},
		{Path: at, Body: `{"model":"ponder","messages":[]}`, Why: "at least one message"},
		{Path: at, Body: `{"model":"ponder","messages":{}}`, Why: "messages: expected"},
		{Path: at, Body: `{"model":"ponder","messages":[7]}`, Why: "expected"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user"}]}`, Why: "contain text"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"nobody","content":"x"}]}`, Why: "messages[0].role"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":7}]}`, Why: "messages[0].content"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":[{"type":"smell"}]}]}`, Why: "messages[0].content[0].type"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"file:///etc/passwd"}}]}]}`, Why: "https://"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,???"}]}]}`, Why: "https://"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://127.0.0.1:8744/metrics"}}]}]}`, Why: "public internet"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"file_1"}}]}]}`, Why: "https://"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"assistant","content":"x"}]}`, Why: "must have the role user"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"tool","tool_call_id":"x","content":"y"}]}`, Why: "no tool call before it"},
		{Path: at, Body: `{"model":"ponder","n":17,` + hello + `}`, Why: "expected 1 to 16"},
		{Path: at, Body: `{"model":"ponder","n":0,` + hello + `}`, Why: "expected 1 to 16"},
		{Path: at, Body: `{"model":"ponder/research","n":2,` + hello + `}`, Why: "gives one answer"},
		{Path: at, Body: `{"model":"ponder","logprobs":true,` + hello + `}`, Why: "logprobs: not supported"},
		{Path: at, Body: `{"model":"ponder","max_tokens":-1,` + hello + `}`, Why: "at least 1"},
		{Path: at, Body: `{"model":"ponder","temperature":3,` + hello + `}`, Why: "temperature"},
		{Path: at, Body: `{"model":"ponder","temperature":"hot",` + hello + `}`, Why: "temperature"},
		{Path: at, Body: `{"model":"ponder","reasoning_effort":"hardest",` + hello + `}`, Why: "reasoning_effort"},
		{Path: at, Body: `{"model":"ponder","stream":"yes",` + hello + `}`, Why: "stream"},
		{Path: at, Body: `{"model":"ponder","tools":[{}],` + hello + `}`, Why: "tools[0].function.name"},
		{Path: at, Body: `{"model":"ponder","tools":[{"type":"web_search"}],` + hello + `}`, Why: "tools[0].type"},
		{Path: at, Body: `{"model":"ponder","tools":[{"type":"function","function":{"name":"f","parameters":[]}}],` + hello + `}`, Why: "parameters"},
		{Path: at, Body: `{"model":"ponder","tool_choice":"required",` + hello + `}`, Why: "tools is empty"},
		{Path: at, Body: `{"model":"ponder","tool_choice":"perhaps",` + hello + `}`, Why: "tool_choice"},
		{Path: at, Body: `{"model":"ponder","tools":[` + weather + `],"tool_choice":{"type":"function","function":{"name":"rain"}},` + hello + `}`, Why: `tool "rain" is not in tools`},
		{Path: at, Body: `{"model":"ponder","response_format":{"type":"xml"},` + hello + `}`, Why: "response_format"},
		{Path: at, Body: `{"model":"ponder","response_format":{"type":"json_schema","json_schema":{"schema":7}},` + hello + `}`, Why: "response_format"},
		{Path: at, Body: `{"model":"ponder/research","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}`, Why: "must have the role user"},
		{Path: "/v1/embeddings", Body: `{"model":"ponder/embed"}`, Why: "input"},
		{Path: "/v1/embeddings", Body: `{"model":"ponder/embed","input":[]}`, Why: "at least one text"},
		{Path: "/v1/embeddings", Body: `{"model":"ponder/embed","input":[""]}`, Why: "input[0] is empty"},
		{Path: "/v1/embeddings", Body: `{"model":"ponder/embed","input":[[1,200000]]}`, Why: "input[0]: 200000 is no token"},
		{Path: "/v1/embeddings", Body: `{"model":"ponder/embed","input":{"a":1}}`, Why: "token IDs"},
		{Path: "/v1/embeddings", Body: `{"model":"ponder/embed","input":"x","dimensions":0}`, Why: "dimensions"},
		{Path: "/v1/embeddings", Body: `{"model":"ponder/embed","input":"x","dimensions":9}`, Why: "dimensions: expected 1 to 8"},
		{Path: at, Body: `{"model":"ponder","reasoning_format":"raw",` + hello + `}`, Why: "parsed or hidden"},
		{Path: at, Body: `{"model":"ponder","prompt_mode":"fast",` + hello + `}`, Why: "prompt_mode"},
		{Path: at, Body: `{"model":"ponder","tool_choice":{"type":"allowed_tools"},` + hello + `}`, Why: "allowed_tools"},
		{Path: at, Body: `{"model":"ponder","tools":[` + weather + `],"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"weather","arguments":"{}"}}]}]}`, Why: "add their results"},
		{Path: legacyPath, Body: `{"model":"ponder"}`, Why: "prompt: expected"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":""}`, Why: "prompt: expected"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":["a","b"]}`, Why: "a request for each prompt"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":[200000]}`, Why: "no token"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":"x","n":17}`, Why: "n: expected 1 to 16"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":"x","n":2,"best_of":3}`, Why: "cannot compare"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":"x","best_of":2}`, Why: "cannot compare"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":"x","logprobs":0}`, Why: "logprobs"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":"x","suffix":"y","echo":true}`, Why: "echo"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":"x","max_tokens":-1}`, Why: "max_tokens"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":"x","temperature":3}`, Why: "temperature"},
		{Path: legacyPath, Body: `{"model":"ponder","prompt":"x","stop":7}`, Why: "stop"},
		{Path: legacyPath, Body: `{"model":"nonsense","prompt":"x"}`, Code: http.StatusNotFound, Why: "does not exist"},
		{Path: "/v1/embeddings", Body: `{"model":"nonsense","input":"x"}`, Code: http.StatusNotFound, Why: "no model"},
		{Path: "/v1/embeddings", Body: `{"model":"ponder/embed","input":"x","encoding_format":"hex"}`, Why: "base64"},
	}
	protocoltest.CheckBad(t, language, list)
}

func FuzzChat(f *testing.F) {
	protocoltest.Fuzz(f, language, at,
		`{"model":"ponder/chat","messages":[{"role":"system","content":"s"},{"role":"user","content":"hello"}],"stream":true,"stream_options":{"include_usage":true}}`,
		`{"model":"ponder","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}],"temperature":1e3}`,
		`{"model":"test/model","tools":[`+weather+`],"tool_choice":{"type":"function","function":{"name":"weather"}},"messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"weather","arguments":"{\"city\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"y"}]}`,
		`{"model":"ponder/chat","response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}},"messages":[{"role":"developer"},{"role":"user","content":"x"}],"max_tokens":1}`,
	)
}

func FuzzEmbeddings(f *testing.F) {
	protocoltest.Fuzz(f, language, "/v1/embeddings", `{"model":"ponder/embed","input":["a","b"],"encoding_format":"base64"}`, `{"input":"a"}`, `{"model":"ponder/chat","input":"a"}`)
}
