package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/racetest"
)

type leakAsk struct {
	method, path, body string
	headers            []string // alternating names and values
}

const leakTools = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}]`

var leakBroken = []string{`{`, `[]`, `{}`, `{"model":"nobody/none","messages":[{"role":"user","content":"CONTENTMARK"}],"max_tokens":9}`, `{"model":7}`, `{"model":"ponder/chat","messages":[]}`}

// leakAsks returns requests of all protocols that start or continue thinking. text must be
// unique.
func leakAsks(text string) (list []leakAsk) {
	add := func(path, body string) {
		for _, stream := range []string{"true", "false"} {
			list = append(list, leakAsk{method: http.MethodPost, path: path, body: strings.NewReplacer("STREAM", stream, "TEXT", text+stream).Replace(body)})
		}
	}
	for _, model := range []string{"ponder/chat", "ponder/openai/slow", "ponder/session", "ponder/research"} {
		said := `"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is TEXT for ` + model + `?"}]`
		effort := `,"reasoning_effort":"none","max_tokens":900`
		for _, path := range []string{"/v1/chat/completions", "/openwebui/v1/chat/completions"} {
			add(path, `{"model":"`+model+`","stream":STREAM,"stream_options":{"include_usage":true},`+said+effort+`}`)
		}
		add("/api/chat", `{"model":"`+model+`","stream":STREAM,`+said+`}`)
		add("/v1/messages", `{"model":"`+model+`","stream":STREAM,"max_tokens":900,"output_config":{"effort":"low"},"messages":[{"role":"user","content":"What is TEXT?"}]}`)
		add("/v1/responses", `{"model":"`+model+`","stream":STREAM,"input":"What is TEXT?","reasoning":{"effort":"none","summary":"auto"},"include":["file_search_call.results","web_search_call.action.sources","ponder.events"]}`)
		add("/ai/chat", `{"id":"`+model+`STREAM","model":"`+model+`","reasoningEffort":"none","messages":[{"role":"user","parts":[{"type":"text","text":"What is TEXT?"}]}]}`)
	}
	add("/v1/chat/completions", `{"model":"openai/slow","stream":STREAM,"messages":[{"role":"user","content":"The weather of TEXT?"}],`+leakTools+`}`)
	add("/v1/chat/completions", `{"model":"openai/slow","stream":STREAM,"messages":[{"role":"user","content":"TEXT as JSON"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}}`)
	add("/api/generate", `{"model":"ponder/chat","stream":STREAM,"prompt":"What is TEXT?"}`)
	add("/v1/responses", `{"model":"ponder/session","background":true,"input":"What is TEXT in the background?","metadata":{"a":"STREAM"}}`)
	add("/v1/responses/compact", `{"model":"ponder/chat","input":"TEXT STREAM"}`)
	add("/v1/responses/input_tokens", `{"model":"ponder/chat","input":"TEXT STREAM"}`)
	add("/v1/messages/count_tokens", `{"model":"ponder/chat","messages":[{"role":"user","content":"TEXT STREAM"}]}`)
	add("/v1/embeddings", `{"model":"openai/slow","input":["TEXT STREAM"]}`)
	add("/api/embed", `{"model":"openai/slow","input":"TEXT STREAM"}`)
	add("/api/embeddings", `{"model":"openai/slow","prompt":"TEXT STREAM"}`)
	add("/api/show", `{"model":"ponder/chat"}`)
	return list
}

// createdIDs returns the ids in an answer that later requests can read.
func createdIDs(text string) (responses, conversations []string) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !strings.ContainsRune("_-.", r) && (r < '0' || r > '9') && (r < 'A' || r > 'z')
	}) {
		switch {
		case strings.HasPrefix(word, "resp_"):
			responses = append(responses, word)
		case strings.HasPrefix(word, "conv_"):
			conversations = append(conversations, word)
		}
	}
	return responses, conversations
}

// protocolIDs returns the protocol names of a thread: of responses and of conversations.
func protocolIDs(thread ponder.ThreadID, kind ponder.Kind) (responses []string, conversation string) {
	name := strings.TrimPrefix(string(thread), "thr_")
	responses = []string{"resp_" + name, "resp_" + name + ".1"}
	if kind == ponder.KindConversation {
		for n := range 25 {
			responses = append(responses, "resp_"+name+"-"+strconv.Itoa(n))
		}
	}
	return responses, "conv_" + name
}

func (l *leakServer) sendAsk(a leakAsk) string {
	l.t.Helper()
	timeout := time.Minute
	if strings.Contains(a.path, "stream") {
		timeout = leakStream
	}
	status, text := l.sendLimited(a.method, a.path, a.body, "application/json, text/event-stream", timeout, a.headers...)
	refused := status >= http.StatusBadRequest || strings.Contains(text, `"isError":true`) || strings.Contains(text, `"error":{`)
	if strings.Contains(a.path+a.body, "_anna") && !refused {
		l.t.Errorf("%s %s %s: as another owner: %d %.300s", a.method, a.path, a.body, status, text)
	}
	return text
}

// sendAll sends all requests in all protocols, and reads everything they create.
func (l *leakServer) sendAll(text string) {
	l.t.Helper()
	var responses, conversations []string
	took := func(text string) {
		r, c := createdIDs(text)
		responses, conversations = append(responses, r...), append(conversations, c...)
	}
	for _, a := range leakAsks(text) {
		took(l.sendAsk(a))
	}
	took(l.sendAsk(leakAsk{method: http.MethodPost, path: "/v1/conversations", body: `{"items":[{"type":"message","role":"user","content":"CONTENTMARK"}],"metadata":{"a":"b"}}`}))
	l.readCreated(responses, conversations)
	for _, action := range []string{"stop", "steer"} {
		l.sendAsk(leakAsk{method: http.MethodPost, path: "/ai/chat/ponder%2Fsessiontrue/" + action, body: `{"text":"CONTENTMARK?"}`})
	}
	l.callThinkTools(text)
	l.useWebSocket(text)
	l.useStatefulMCP(text)
}

func (l *leakServer) readCreated(responses, conversations []string) {
	slices.Sort(responses)
	slices.Sort(conversations)
	for _, id := range slices.Compact(responses) {
		for _, path := range []string{"", "?stream=true", "?stream=true&starting_after=2", "/input_items"} {
			l.sendAsk(leakAsk{method: http.MethodGet, path: "/v1/responses/" + id + path})
		}
		if strings.Contains(id, "_anna") {
			l.sendAsk(leakAsk{method: http.MethodPost, path: "/v1/responses/" + id + "/cancel", body: "{}"})
			l.sendAsk(leakAsk{method: http.MethodPost, path: "/v1/responses", body: `{"model":"ponder/chat","input":"And?","previous_response_id":"` + id + `"}`})
			l.sendAsk(leakAsk{method: http.MethodDelete, path: "/v1/responses/" + id})
		}
	}
	for _, id := range slices.Compact(conversations) {
		for _, path := range []string{"", "/items", "/items?limit=100&order=asc", "/items/none"} {
			l.sendAsk(leakAsk{method: http.MethodGet, path: "/v1/conversations/" + id + path})
		}
		l.sendAsk(leakAsk{method: http.MethodPost, path: "/v1/responses", body: `{"model":"ponder/chat","input":"And?","conversation":"` + id + `"}`})
	}
}

// readInitial reads all initial threads in all protocols, and sends invalid requests.
func (l *leakServer) readInitial() {
	var responses, conversations []string
	for _, thread := range leakThreads() {
		r, c := protocolIDs(thread.ID, thread.Kind)
		responses, conversations = append(responses, r...), append(conversations, c)
	}
	l.readCreated(responses, conversations)
	for _, path := range []string{"/v1/models", "/v1/models/ponder/chat", "/v1/models/none", "/api/tags", "/api/ps", "/api/version", "/ai/chat/ponder%2Fchattrue/stream", "/ai/chat/none/stream", "/v1/webhooks"} {
		l.sendAsk(leakAsk{method: http.MethodGet, path: path})
	}
	for _, path := range []string{"/v1/chat/completions", "/openwebui/v1/chat/completions", "/v1/responses", "/v1/responses/compact", "/v1/conversations", "/v1/embeddings", "/v1/messages", "/v1/messages/count_tokens", "/api/chat", "/api/generate", "/api/show", "/api/embed", "/ai/chat", "/mcp", "/v1/webhooks"} {
		for _, body := range leakBroken {
			l.sendAsk(leakAsk{method: http.MethodPost, path: path, body: body})
		}
	}
}

func (l *leakServer) callRPC(method, name string, params map[string]any) string {
	l.t.Helper()
	params = maps.Clone(params)
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	js, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.sendAsk(leakAsk{http.MethodPost, "/mcp", string(js), []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name}})
}

func (l *leakServer) callTool(tool string, args map[string]any) string {
	l.t.Helper()
	return l.callRPC("tools/call", tool, map[string]any{"name": tool, "arguments": args})
}

type leakArgs = map[string]any

func (l *leakServer) callThinkTools(text string) {
	for _, tool := range []string{"ponder_think", "ponder_deep_think", "ponder_research", "ponder_chat"} {
		l.callTool(tool, leakArgs{"question": "What is " + text + " for " + tool + "?", "max_calls": 3, "effort": "none"})
		l.callTool(tool, leakArgs{"question": "", "max_calls": -1})
	}
	l.callTool("ponder_chat", leakArgs{"question": "What is " + text + "?", "conversation": "c"})
	l.callTool("ponder_session", leakArgs{"action": "start", "question": "What is " + text + " there?", "max_calls": 3})
	l.callTool("ponder_session", leakArgs{"action": "list"})
	l.callTool("ponder_remember", leakArgs{"text": "CONTENTMARK is salt."})
	for _, query := range []string{"CONTENTMARK", "what is hers"} {
		l.callTool("ponder_recall", leakArgs{"query": query})
	}
	l.callTool("ponder_mind", leakArgs{})
	l.callTool("none", leakArgs{})
	list := l.callRPC("resources/list", "", leakArgs{})
	for _, m := range regexp.MustCompile(`"uri":"([^"]+)"`).FindAllStringSubmatch(list, -1) {
		l.callRPC("resources/read", m[1], leakArgs{"uri": m[1]})
	}
}

func (l *leakServer) listTools() {
	if list := l.callRPC("tools/list", "", leakArgs{}); !strings.Contains(list, "ponder_think") {
		l.t.Errorf("no tools: %.300s", list)
	}
	for _, method := range []string{"server/discover", "resources/templates/list", "prompts/list", "none"} {
		l.callRPC(method, "", leakArgs{})
	}
	for _, uri := range []string{"ponder://none", "file:///etc/passwd"} {
		l.callRPC("resources/read", uri, leakArgs{"uri": uri})
	}
	for _, thread := range leakThreads() {
		id := strings.TrimPrefix(string(thread.ID), "thr_")
		for _, action := range []string{"status", "export", "pause", "resume", "cancel"} {
			l.callTool("ponder_session", leakArgs{"session": id, "action": action})
		}
		l.callTool("ponder_steer", leakArgs{"session": string(thread.ID), "text": "CONTENTMARK"})
		l.callTool("ponder_step", leakArgs{"session": id})
		for _, tail := range []string{"", "/thoughts", "/report"} {
			uri := "ponder://sessions/" + id + tail
			l.callRPC("resources/read", uri, leakArgs{"uri": uri})
		}
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			l.callRPC(method, id, leakArgs{"taskId": id})
		}
	}
}

// callMounted sends a request to each route that the server has mounted for other protocols, so that a new
// route is covered without a request of its own in [leakAsks].
func (l *leakServer) callMounted() {
	l.t.Helper()
	m := regexp.MustCompile(`msg="mounted the client protocols" routes="([^"]+)"`).FindStringSubmatch(l.log.String())
	if m == nil {
		l.t.Fatal("the log has no list of routes")
	}
	placeholder := regexp.MustCompile(`\{[^}]*\}`)
	for pattern := range strings.SplitSeq(m[1], ", ") {
		method, path, named := strings.Cut(pattern, " ")
		if !named {
			method, path = http.MethodPost, pattern
		}
		body := ""
		if method != http.MethodGet && method != http.MethodDelete {
			body = `{"model":"ponder/chat","messages":[{"role":"user","content":"What is CONTENTMARK?"}],"input":"What is CONTENTMARK?","jsonrpc":"2.0","id":1,"method":"none"}`
		}
		for _, kind := range []string{"session", "conversation", "research"} {
			for _, name := range []string{"thr_" + kind + "_local", "resp_" + kind + "_local", "conv_" + kind + "_local"} {
				at := placeholder.ReplaceAllString(path, name)
				if at == path && (name != "thr_session_local") {
					continue
				}
				l.sendLimited(method, at, body, "application/json, text/event-stream", leakStream)
			}
		}
	}
}

// No foreign protocol leaks internal text, another owner's data or a secret.
func TestProtocolLeaks(t *testing.T) {
	racetest.Skip(t, "one client, which sends hundreds of requests")
	l, stop := serveLeaky(t)
	l.useOtherOwner()
	l.sendAll("CONTENTMARK")
	l.readInitial()
	l.listTools()
	l.callMounted()
	if l.seen < 50 {
		t.Errorf("only %d answers had content", l.seen)
	}
	l.failProvider()
	l.sendAll("CONTENTMARK now")
	stop()
	l.checkTexts(map[string]string{"the log": l.log.String(), "traces": l.traces.String()})
}
