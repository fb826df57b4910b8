package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"
)

// A randomClient repeatedly sends random requests.
type randomClient struct {
	*owner
	other *owner
	*tally
	r    *rand.Rand
	http *http.Client
}

type clientRequest struct {
	method, path, body string
	stream             bool // accepts server-sent events
}

const (
	maxPause        = 60 * time.Millisecond // between requests
	maxStreamTime   = 3 * time.Second       // on a stream
	responseTimeout = 30 * time.Second      // for a response
)

func (c *randomClient) sendRandom(ctx context.Context) {
	if !randomPause(ctx, c.r, maxPause/2) {
		return
	}
	a := c.randomRequest()
	switch {
	case a.body != "" && c.r.IntN(12) == 0:
		c.sendPartial(ctx, a)
	case a.stream:
		c.sendRequest(ctx, a, time.Duration(c.r.Float64()*float64(maxStreamTime)))
	case c.r.IntN(8) == 0: // disconnects, usually before the response
		c.sendRequest(ctx, a, time.Duration(c.r.ExpFloat64()*float64(5*time.Millisecond)))
	default:
		c.sendRequest(ctx, a, responseTimeout)
	}
}

// randomRequest returns a random request.
func (c *randomClient) randomRequest() clientRequest {
	sorts := []func() clientRequest{c.startRequest, c.startRequest, c.conversationRequest, c.messageRequest, c.messageRequest, c.completionRequest, c.controlRequest, c.controlRequest, c.controlRequest, c.readRequest, c.readRequest, c.streamRequest, c.streamRequest, c.memoryRequest, c.memoryRequest, c.mindRequest, c.removeRequest, c.removeRequest, c.invalidRequest}
	return sorts[c.r.IntN(len(sorts))]()
}

// randomThread returns a thread ID, sometimes of another owner or invalid.
func (c *randomClient) randomThread() string {
	switch c.r.IntN(20) {
	case 0:
		return c.other.pickObject(c.r, false)
	case 1:
		return "thr_%00none"
	}
	return c.pickObject(c.r, false)
}

func (c *randomClient) startRequest() clientRequest {
	body := fmt.Sprintf(`{"question":"What is the use of pump %d?","duration_minutes":%d,"max_calls":%d,"parallel":%d,"synthesis_interval_seconds":%d}`,
		c.r.IntN(4), 1+c.r.IntN(3), 1+c.r.IntN(40), 1+c.r.IntN(3), 1+c.r.IntN(5))
	return clientRequest{method: http.MethodPost, path: "/api/thinking/start", body: body}
}

func (c *randomClient) conversationRequest() clientRequest {
	return clientRequest{method: http.MethodPost, path: "/api/threads", body: fmt.Sprintf(`{"title":"talk %d"}`, c.r.IntN(3))}
}

// messageRequest sends a message in a conversation.
func (c *randomClient) messageRequest() clientRequest {
	path := "/api/threads/" + c.randomThread() + "/messages"
	if c.r.IntN(4) == 0 {
		return clientRequest{method: http.MethodPost, path: "/api/threads/" + c.randomThread() + "/stop", body: "{}"}
	}
	body := fmt.Sprintf(`{"content":"What comes after %d?","deep":%t}`, c.r.IntN(5), c.r.IntN(6) == 0)
	if c.r.IntN(2) == 0 {
		return clientRequest{method: http.MethodPost, path: path, body: body, stream: true}
	}
	return clientRequest{method: http.MethodPost, path: path + fmt.Sprintf("?wait=%dms", c.r.IntN(1500)), body: body}
}

// completionRequest requests a completion in a new, named or existing conversation, sometimes with
// research.
func (c *randomClient) completionRequest() clientRequest {
	named := ""
	switch c.r.IntN(3) {
	case 0:
		named = fmt.Sprintf(`,"newUniqueId":"talk-%d","messageId":"m%d"`, c.r.IntN(8), c.r.IntN(30))
	case 1:
		named = fmt.Sprintf(`,"conversationUniqueId":%q`, c.randomThread())
	}
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":"What is better, %d or %d?"}],"isDeepThinkMode":%t,"isWebSearchEnabled":%t%s}`,
		c.r.IntN(9), c.r.IntN(9), c.r.IntN(5) == 0, c.r.IntN(2) == 0, named)
	return clientRequest{method: http.MethodPost, path: "/api/completions", body: body, stream: true}
}

func (c *randomClient) controlRequest() clientRequest {
	one := "/api/thinking/" + c.randomThread()
	list := []clientRequest{
		{path: one + "/pause", body: "{}"}, {path: one + "/resume", body: "{}"}, {path: one + "/cancel", body: "{}"},
		{path: one + "/steer?wait=500ms", body: `{"wishes":[{"order":"correct","content":"It is salt."},{"order":"add_question","content":"What does it cost?"}]}`},
		{path: one + "/steer", body: `{"order":"answer_now"}`},
		{path: one + "/steer?wait=0s", body: fmt.Sprintf(`{"order":"budget","max_calls":%d}`, 1+c.r.IntN(80))},
		{path: one + "/fork", body: fmt.Sprintf(`{"paused":%t,"wishes":[{"order":"answer_now"}]}`, c.r.IntN(2) == 0)},
		{path: one + "/fork", body: fmt.Sprintf(`{"at":%d,"model_id":"openai/slow"}`, 1+c.r.IntN(60))},
		{path: one + "/resume", body: `{"model_id":"openai/fast"}`},
	}
	a := list[c.r.IntN(len(list))]
	a.method = http.MethodPost
	return a
}

func (c *randomClient) readRequest() clientRequest {
	id := c.randomThread()
	one, thread := "/api/thinking/"+id, "/api/threads/"+id
	list := []string{
		"/api/thinking/", "/api/thinking/?status=thinking&limit=5", "/api/threads?limit=3", "/api/usage?by=model", "/api/memory", "/api/memory/search?q=pump", "/metrics", "/readyz", "/openapi.json", "/docs",
		one, one + "/questions", one + "/syntheses", one + "/stats", one + "/stream?limit=3", one + "/export", one + "/export?format=markdown", one + "/export?format=jsonl", one + "/export?format=html",
		thread, thread + "/events?limit=5", thread + "/export",
	}
	return clientRequest{method: http.MethodGet, path: list[c.r.IntN(len(list))]}
}

func (c *randomClient) streamRequest() clientRequest {
	path := "/api/thinking/" + c.randomThread() + "/stream"
	switch c.r.IntN(6) {
	case 0, 1:
		path = "/api/threads/" + c.randomThread() + "/events"
	case 2:
		path = "/api/mind/events"
	}
	return clientRequest{method: http.MethodGet, path: fmt.Sprintf("%s?after=%d", path, c.r.IntN(40)), stream: true}
}

func (c *randomClient) memoryRequest() clientRequest {
	if c.r.IntN(3) == 0 {
		return clientRequest{method: http.MethodDelete, path: "/api/memory/" + c.pickObject(c.r, true)}
	}
	list := make([]string, 1+c.r.IntN(3))
	for i := range list {
		list[i] = memoryBody(c.r)
	}
	return clientRequest{method: http.MethodPost, path: "/api/memory", body: "[" + strings.Join(list, ",") + "]"}
}

func (c *randomClient) mindRequest() clientRequest {
	switch c.r.IntN(12) {
	case 0:
		return clientRequest{method: http.MethodPost, path: "/api/mind/tick", body: "{}"}
	case 1:
		return clientRequest{method: http.MethodPost, path: "/api/mind/forget", body: `{"entry":"e1"}`}
	case 2:
		return clientRequest{method: http.MethodPost, path: "/api/mind/resolve", body: `{"entry":"e1"}`}
	case 3:
		return clientRequest{method: http.MethodGet, path: "/api/mind/log"}
	}
	return clientRequest{method: http.MethodGet, path: "/api/mind"}
}

func (c *randomClient) removeRequest() clientRequest {
	group := []string{"thinking", "threads"}[c.r.IntN(2)]
	return clientRequest{method: http.MethodDelete, path: "/api/" + group + "/" + c.pickObject(c.r, false)}
}

func (c *randomClient) invalidRequest() clientRequest {
	list := []clientRequest{
		{method: http.MethodPost, path: "/api/thinking/start", body: `{"question":"x","duration_minutes":-1,"more":1}`},
		{method: http.MethodPost, path: "/api/thinking/start", body: `{"question":`},
		{method: http.MethodPut, path: "/api/thinking/start", body: "{}"},
		{method: http.MethodPost, path: "/api/completions", body: `{"messages":[]}`},
		{method: http.MethodPost, path: "/api/memory", body: "[" + strings.Repeat("[", 1000)},
		{method: http.MethodPost, path: "/api/memory", body: `{"text":"` + strings.Repeat("x", 1<<20+1) + `"}`},
		{method: http.MethodGet, path: "/api/threads?cursor=x&limit=-1"},
		{method: http.MethodGet, path: "/api/%ff/../" + strings.Repeat("x", 2000)},
		{method: http.MethodPost, path: "/api/threads/" + c.randomThread() + "/messages?wait=forever", body: `{"content":""}`},
		{method: http.MethodPost, path: "/api/thinking/start", body: `{"question":"What is it?","model_id":"none/none"}`},
	}
	return list[c.r.IntN(len(list))]
}

// sendRequest sends a request and reads the response for at most stays.
func (c *randomClient) sendRequest(ctx context.Context, a clientRequest, stays time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, stays)
	defer cancel()
	accept := "application/json"
	if a.stream {
		accept = "text/event-stream"
	}
	req, err := newRequest(ctx, c.serveProcess, a.method, a.path, a.body, accept)
	if err != nil {
		return // no client could send this path
	}
	if a.method == http.MethodPost && c.r.IntN(3) == 0 {
		req.Header.Set("Idempotency-Key", fmt.Sprint("key-", c.r.IntN(40)))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.recordResponse(a.method+" "+a.path, 0, nil)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // may be cut off intentionally
	c.recordResponse(a.method+" "+a.path, resp.StatusCode, text)
	if resp.StatusCode < http.StatusMultipleChoices {
		c.recordObjects(text)
	}
}

// recordObjects records the objects that a response created.
func (c *randomClient) recordObjects(text []byte) {
	var out struct {
		Session  string `json:"session_id"`
		Thread   string `json:"thread_id"`
		Talk     string `json:"conversationUniqueId"`
		Memories []struct {
			ID string `json:"id"`
		} `json:"memories"`
	}
	if first, ok := strings.CutPrefix(string(text), "data: "); ok { // chunks of a completion
		line, _, _ := strings.Cut(first, "\n")
		text = []byte(line)
	}
	if json.Unmarshal(text, &out) != nil {
		return // not JSON
	}
	c.recordCreated(out.Session, "")
	c.recordCreated(out.Thread, "")
	c.recordCreated(out.Talk, "")
	for _, m := range out.Memories {
		c.recordCreated("", m.ID)
	}
}

// sendPartial sends part of a request and disconnects, immediately or after a moment.
func (c *randomClient) sendPartial(ctx context.Context, a clientRequest) {
	host := strings.TrimPrefix(c.base, "http://")
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return
	}
	defer conn.Close()
	text := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		a.method, a.path, host, c.token, len(a.body), a.body)
	if _, err := io.WriteString(conn, text[:c.r.IntN(len(text))]); err != nil {
		return
	}
	randomPause(ctx, c.r, time.Duration(c.r.IntN(200))*time.Millisecond)
	c.recordResponse(a.method+" "+a.path, 0, nil)
}
