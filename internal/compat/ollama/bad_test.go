package ollama_test

import (
	"net/http"
	"testing"

	"ponder/internal/compat/protocoltest"
)

const at = "/api/chat"

func TestBad(t *testing.T) {
	const hello = `"messages":[{"role":"user","content":"hello"}]`
	list := []protocoltest.Bad{
		{Path: at, Body: ``, Why: "not JSON"},
		{Path: at, Body: `[]`, Why: "expected"},
		{Path: at, Body: `{}`, Why: "model is required"},
		{Path: at, Body: `{"model":"nonsense",` + hello + `}`, Code: http.StatusNotFound, Why: "'nonsense' not found"},
		{Path: at, Body: `{"model":"nonsense"}`, Code: http.StatusNotFound, Why: "not found"},
		{Path: at, Body: `{"model":"nobody/none:latest",` + hello + `}`, Code: http.StatusUnprocessableEntity, Why: "nobody/none"},
		{Path: at, Body: `{"model":"ponder","messages":7}`, Why: "messages"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":[]}]}`, Why: "content"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":""}]}`, Why: "contain text"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"nobody","content":"x"}]}`, Why: "messages[0].role"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"assistant","content":"x"}]}`, Why: "must have the role user"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"tool","content":"x"}]}`, Why: "no tool call before it"},
		{Path: at, Body: `{"model":"ponder","messages":[{"role":"user","content":"x","images":["?"]}]}`, Why: "messages[0].images[0]"},
		{Path: at, Body: `{"model":"ponder","stream":"yes",` + hello + `}`, Why: "stream"},
		{Path: at, Body: `{"model":"ponder","think":"hardest",` + hello + `}`, Why: "think"},
		{Path: at, Body: `{"model":"ponder","think":7,` + hello + `}`, Why: "think"},
		{Path: at, Body: `{"model":"ponder","format":"xml",` + hello + `}`, Why: "format"},
		{Path: at, Body: `{"model":"ponder","format":[],` + hello + `}`, Why: "format"},
		{Path: at, Body: `{"model":"ponder","tools":[{}],` + hello + `}`, Why: "tools[0].function.name"},
		{Path: at, Body: `{"model":"ponder","tools":[{"function":{"name":"f","parameters":7}}],` + hello + `}`, Why: "parameters"},
		{Path: at, Body: `{"model":"ponder","options":{"temperature":"hot"},` + hello + `}`, Why: "temperature"},
		{Path: "/api/generate", Body: `{"model":"nonsense","prompt":"x"}`, Code: http.StatusNotFound, Why: "not found"},
		{Path: "/api/generate", Body: `{"model":"ponder","prompt":7}`, Why: "prompt"},
		{Path: "/api/generate", Body: `{"prompt":"x"}`, Why: "model is required"},
		{Path: "/api/show", Body: `{}`, Why: "model is required"},
		{Path: "/api/show", Body: `{"model":"nonsense"}`, Code: http.StatusNotFound, Why: "not found"},
		{Path: "/api/embed", Body: `{"model":"ponder/embed"}`, Why: "input"},
		{Path: "/api/embed", Body: `{"model":"nonsense","input":"x"}`, Code: http.StatusNotFound, Why: "no model"},
		{Path: "/api/embeddings", Body: `{"model":"ponder/embed"}`, Why: "empty"},
		{Path: "/api/pull", Body: `{"model":"llama3"}`, Why: "cannot change models"},
	}
	protocoltest.CheckBad(t, language, list)
}

func FuzzChat(f *testing.F) {
	protocoltest.Fuzz(f, language, at,
		`{"model":"ponder/chat:latest","messages":[{"role":"system","content":"s"},{"role":"user","content":"hello","images":["iVBORw0KGgo="]}],"think":"low","options":{"num_predict":3.5,"temperature":1}}`,
		`{"model":"test/model","stream":false,"tools":[`+weather+`],"messages":[{"role":"user","content":"x"},{"role":"assistant","tool_calls":[{"function":{"name":"weather","arguments":{"city":1}}}]},{"role":"tool","tool_name":"weather","content":"y"}]}`,
		`{"model":"ponder","format":{"type":"object"},"messages":[{"role":"user","content":"x"}],"keep_alive":0}`,
	)
}

func FuzzGenerate(f *testing.F) {
	protocoltest.Fuzz(f, language, "/api/generate", `{"model":"ponder","prompt":"x","system":"s","images":["iVBORw0KGgo="],"format":"json"}`, `{"model":"ponder"}`)
}

func FuzzEmbed(f *testing.F) {
	protocoltest.Fuzz(f, language, "/api/embed", `{"model":"ponder/embed","input":["a"]}`, `{"input":"a"}`)
}
