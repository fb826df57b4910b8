package mcp

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"ponder/internal/compat/protocoltest"
	"ponder/llm"
)

var sessions = regexp.MustCompile(`[0-9A-HJKMNP-TV-Z]{26}(-\d+)?`)

// postCall sends a call and returns the answer without variable parts.
func (r *rig) postCall(t *testing.T, path, body string, header map[string]string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(sessions.ReplaceAllString(string(text), "ID")), "\n")
	for i, line := range lines { // fields have no order
		var message any
		if js, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(js), &message) == nil {
			sorted, err := json.Marshal(message)
			if err != nil {
				t.Fatal(err)
			}
			lines[i] = string(sorted)
		}
	}
	return strings.Join(append([]string{resp.Status, resp.Header.Get("Content-Type"), resp.Header.Get("Cache-Control")}, lines...), "\n")
}

// Direct answers equal those of the SDK, also for errors and unusual calls.
func TestDirect(t *testing.T) {
	const (
		meta  = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		hello = `{"question":"Hello, <sea> & \u2028 sky"}`
	)
	call := func(args, meta string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ponder_chat","arguments":` + args + `,"_meta":` + meta + `}}`
	}
	with := func(more string) string { return strings.TrimSuffix(meta, "}") + "," + more + "}" }
	for name, tt := range map[string]struct {
		body   string
		header map[string]string
		direct bool
	}{
		"plain":            {call(hello, meta), nil, true},
		"a named id":       {strings.Replace(call(hello, meta), `7`, `"se\u00e9ven"`, 1), nil, true},
		"who asks":         {call(hello, with(`"io.modelcontextprotocol/clientInfo":{"name":"it","version":"1"}`)), nil, true},
		"progress":         {call(hello, with(`"progressToken":"p-1"`)), nil, true},
		"roots":            {call(hello, strings.Replace(meta, `{}}`, `{"roots":{}}}`, 1)), nil, true},
		"fails":            {call(`{"question":"fail"}`, meta), nil, true},
		"thinks":           {strings.ReplaceAll(call(`{"question":"What is it?","max_calls":3}`, meta), "ponder_chat", "ponder_think"), map[string]string{"Mcp-Name": "ponder_think"}, true},
		"thinks aloud":     {strings.ReplaceAll(call(`{"question":"What is it?","max_calls":3}`, with(`"progressToken":7`)), "ponder_chat", "ponder_think"), map[string]string{"Mcp-Name": "ponder_think"}, true},
		"a bad effort":     {call(`{"question":"Hello","effort":"much"}`, meta), nil, true},
		"nothing to do":    {call(`{"question":" "}`, meta), nil, true},
		"no argument":      {call(`{}`, meta), nil, false},
		"arguments unread": {call(`{"question":"Hello","Question":"Who?"}`, meta), nil, false},
		"another type":     {call(`{"question":7}`, meta), nil, false},
		"no arguments":     {strings.Replace(call(hello, meta), `"arguments":`+hello+`,`, ``, 1), nil, false},
		"samples":          {call(hello, strings.Replace(meta, `{}}`, `{"sampling":{}}}`, 1)), nil, false},
		"another name":     {call(hello, meta), map[string]string{"Mcp-Name": "ponder_think"}, false},
		"no name":          {call(hello, meta), map[string]string{"Mcp-Name": ""}, false},
		"another method":   {call(hello, meta), map[string]string{"Mcp-Method": "tools/list"}, false},
		"no capabilities":  {call(hello, `{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`), nil, false},
		"another version":  {call(hello, strings.Replace(meta, "07-28", "07-29", 1)), nil, false},
		"nobody asks":      {call(hello, with(`"io.modelcontextprotocol/clientInfo":7`)), nil, false},
		"no meta":          {strings.Replace(call(hello, meta), `,"_meta":`+meta, ``, 1), nil, false},
		"an odd id":        {strings.Replace(call(hello, meta), `7`, `7.5`, 1), nil, false},
		"no id":            {strings.Replace(call(hello, meta), `"id":7,`, ``, 1), nil, false},
		"a null id":        {strings.Replace(call(hello, meta), `7`, `null`, 1), nil, false},
		"more":             {strings.Replace(call(hello, meta), `"id":7`, `"id":7,"more":1`, 1), nil, false},
		"a batch":          {"[" + call(hello, meta) + "]", nil, false},
		"two":              {call(hello, meta) + call(hello, meta), nil, false},
		"no JSON":          {`{`, nil, false},
		"too much":         {call(`{"question":"`+strings.Repeat("a", maxBody)+`"}`, meta), nil, false},
		"XML":              {call(hello, meta), map[string]string{"Content-Type": "text/xml"}, false},
		"no streams":       {call(hello, meta), map[string]string{"Accept": "application/json"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, protocoltest.Options{Model: &protocoltest.Model{Answer: func(req *llm.Request, _ int) protocoltest.Answer {
				said := req.Messages[len(req.Messages)-1].Text()
				if said == "fail" {
					return protocoltest.Answer{Err: &llm.Error{Class: llm.Auth, Message: "no"}}
				}
				if strings.Contains(said, "What is it?") {
					return protocoltest.Answer{} // plausible
				}
				return protocoltest.Answer{Reasoning: "They say something.", Text: "You said: " + said}
			}}})
			url := r.Server().URL + Path
			header := map[string]string{
				"Authorization": "Bearer " + protocoltest.Mine, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
				"Mcp-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": "ponder_chat",
			}
			maps.Copy(header, tt.header)
			ours := r.postCall(t, url, tt.body, header)
			r.server.library = true
			theirs := r.postCall(t, url, tt.body, header)
			if ours != theirs {
				t.Errorf("ours:\n%s\nthe library's:\n%s", ours, theirs)
			}
			if told := strings.Count(ours, "notifications/progress"); (told > 1) != strings.HasSuffix(name, "aloud") {
				t.Errorf("told how it goes %d times", told)
			}
			r.server.library = false
			req := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(tt.body))
			for name, value := range header {
				req.Header.Set(name, value)
			}
			c := r.server.callerServer(testCaller()).client
			if is := c.tools[req.Header.Get("Mcp-Name")] != nil && c.serveDirect(httptest.NewRecorder(), req); is != tt.direct {
				t.Errorf("answered without the library: %t", is)
			}
			if left, err := io.ReadAll(req.Body); !tt.direct && (err != nil || string(left) != tt.body) {
				t.Errorf("the library reads %d bytes of %d, %v", len(left), len(tt.body), err)
			}
		})
	}
}
