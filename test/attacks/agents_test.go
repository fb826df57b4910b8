//go:build linux

package attacks

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// writeFile writes a file in a new folder of a home, and returns the folder.
func (h *home) writeFile(t *testing.T, folder, name, text string) string {
	t.Helper()
	dir := filepath.Join(h.dir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A tokenTransport adds a token to requests.
type tokenTransport string

// RoundTrip sends a request with the token.
func (token tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// playMCP talks with the tool ponder_chat. The client declines every question.
func playMCP(t *testing.T, _ *world, h *home, s *scenario) {
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	client := sdk.NewClient(&sdk.Implementation{Name: "attacks", Version: "1.0"}, &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "decline"}, nil
		},
	})
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: h.url + "/mcp", HTTPClient: &http.Client{Transport: tokenTransport(s.token)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, text := range s.messages() {
		if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "ponder_chat", Arguments: map[string]any{"question": text, "conversation": "talk-" + s.id}}); err != nil {
			t.Fatalf("ponder_chat: %v", err)
		}
	}
}

// playA2A sends messages of one context.
func playA2A(t *testing.T, _ *world, h *home, s *scenario) {
	contextID := ""
	for i, text := range s.messages() {
		contextID = h.sendA2A(t, s, i, text, contextID, nil)
	}
}

// sendA2A sends a message and returns its context.
func (h *home) sendA2A(t *testing.T, s *scenario, n int, text, contextID string, metadata map[string]any) string {
	t.Helper()
	message := map[string]any{"messageId": fmt.Sprintf("%s-%d", s.id, n), "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	if contextID != "" {
		message["contextId"] = contextID
	}
	if metadata != nil {
		message["metadata"] = metadata
	}
	var out struct {
		Result struct {
			Task struct{ ContextID string }
		}
		Error json.RawMessage
	}
	h.decode(t, s.token, http.MethodPost, "/a2a", map[string]any{"jsonrpc": "2.0", "id": n, "method": "SendMessage", "params": map[string]any{"message": message}}, &out)
	if out.Error != nil {
		t.Fatalf("SendMessage: %s", out.Error)
	}
	return out.Result.Task.ContextID
}

// playAGUI runs the messages in one thread of a page.
func playAGUI(t *testing.T, _ *world, h *home, s *scenario) {
	var messages []any
	for i, text := range s.messages() {
		messages = append(messages, map[string]any{"id": fmt.Sprint("u", i), "role": "user", "content": text})
		body := map[string]any{"threadId": "talk-" + s.id, "runId": fmt.Sprintf("run-%s-%d", s.id, i), "messages": messages, "tools": []any{}, "context": []any{}, "state": map[string]any{}, "forwardedProps": map[string]any{}}
		said := ""
		for _, data := range eventData(h.request(t, s.token, http.MethodPost, "/agui", body, http.StatusOK)) {
			var ev struct{ Type, Delta string }
			if json.Unmarshal(data, &ev) == nil && ev.Type == "TEXT_MESSAGE_CONTENT" {
				said += ev.Delta
			}
		}
		messages = append(messages, map[string]any{"id": fmt.Sprint("a", i), "role": "assistant", "content": said})
	}
}

// playACP talks with `ponder acp`, as an editor does. It rejects every request for permission.
func playACP(t *testing.T, _ *world, h *home, s *scenario) {
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	cmd := h.command(ctx, t, "acp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait() // standard input has ended
	}()
	e := &editor{in: in, out: bufio.NewReaderSize(out, 1<<20)}
	e.call(t, "initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	var session struct{ SessionID string }
	if err := json.Unmarshal(e.call(t, "session/new", `{"cwd":"/tmp","mcpServers":[]}`), &session); err != nil {
		t.Fatal(err)
	}
	for _, text := range s.messages() {
		prompt, err := json.Marshal(map[string]any{"sessionId": session.SessionID, "prompt": []any{map[string]any{"type": "text", "text": text}}})
		if err != nil {
			t.Fatal(err)
		}
		e.call(t, "session/prompt", string(prompt))
	}
}

// An editor is a client of the Agent Client Protocol.
type editor struct {
	in   io.Writer
	out  *bufio.Reader
	last int
}

// call sends a request and returns its result.
func (e *editor) call(t *testing.T, method, params string) json.RawMessage {
	t.Helper()
	e.last++
	fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", e.last, method, params)
	for {
		line, err := e.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v: %s", method, err, line)
		}
		switch {
		case m.Method == "session/request_permission":
			fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"cancelled"}}}`+"\n", m.ID)
		case m.Method != "":
		case strings.TrimSpace(string(m.ID)) == fmt.Sprint(e.last):
			if m.Error != nil {
				t.Fatalf("%s: %s", method, m.Error)
			}
			return m.Result
		}
	}
}
