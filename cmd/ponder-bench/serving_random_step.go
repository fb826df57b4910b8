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

type act struct {
	method, path, body string
	stream             bool // accepts server-sent events
}

const (
	maxPause = 60 * time.Millisecond // between requests
	maxStay  = 3 * time.Second       // on a stream
	patience = 30 * time.Second      // for a response
)

func (c *randomClient) step(ctx context.Context) {
	if !pause(ctx, c.r, maxPause/2) {
		return
	}
	a := c.any()
	switch {
	case a.body != "" && c.r.IntN(12) == 0:
		c.cut(ctx, a)
	case a.stream:
		c.send(ctx, a, time.Duration(c.r.Float64()*float64(maxStay)))
	case c.r.IntN(8) == 0: // disconnects, usually before the response
		c.send(ctx, a, time.Duration(c.r.ExpFloat64()*float64(5*time.Millisecond)))
	default:
		c.send(ctx, a, patience)
	}
}

// any returns a random request.
func (c *randomClient) any() act {
	sorts := []func() act{c.begin, c.begin, c.converse, c.say, c.say, c.complete, c.control, c.control, c.control, c.look, c.look, c.watch, c.watch, c.memory, c.memory, c.mind, c.remove, c.remove, c.wrong}
	return sorts[c.r.IntN(len(sorts))]()
}

// thread returns a thread ID, sometimes of another owner or invalid.
func (c *randomClient) thread() string {
	switch c.r.IntN(20) {
	case 0:
		return c.other.one(c.r, false)
	case 1:
		return "thr_%00none"
	}
	return c.one(c.r, false)
}

func (c *randomClient) begin() act {
	body := fmt.Sprintf(`{"question":"What is the use of pump %d?","duration_minutes":%d,"max_calls":%d,"parallel":%d,"synthesis_interval_seconds":%d}`,
		c.r.IntN(4), 1+c.r.IntN(3), 1+c.r.IntN(40), 1+c.r.IntN(3), 1+c.r.IntN(5))
	return act{method: http.MethodPost, path: "/api/thinking/start", body: body}
}

func (c *randomClient) converse() act {
	return act{method: http.MethodPost, path: "/api/threads", body: fmt.Sprintf(`{"title":"talk %d"}`, c.r.IntN(3))}
}

// say sends a message in a conversation.
func (c *randomClient) say() act {
	path := "/api/threads/" + c.thread() + "/messages"
	if c.r.IntN(4) == 0 {
		return act{method: http.MethodPost, path: "/api/threads/" + c.thread() + "/stop", body: "{}"}
	}
	body := fmt.Sprintf(`{"content":"What comes after %d?","deep":%t}`, c.r.IntN(5), c.r.IntN(6) == 0)
	if c.r.IntN(2) == 0 {
		return act{method: http.MethodPost, path: path, body: body, stream: true}
	}
	return act{method: http.MethodPost, path: path + fmt.Sprintf("?wait=%dms", c.r.IntN(1500)), body: body}
}

// complete requests a completion in a new, named or existing conversation, sometimes with
// research.
func (c *randomClient) complete() act {
	named := ""
	switch c.r.IntN(3) {
	case 0:
		named = fmt.Sprintf(`,"newUniqueId":"talk-%d","messageId":"m%d"`, c.r.IntN(8), c.r.IntN(30))
	case 1:
		named = fmt.Sprintf(`,"conversationUniqueId":%q`, c.thread())
	}
	body := fmt.Sprintf(`{"messages":[{"role":"user","content":"What is better, %d or %d?"}],"isDeepThinkMode":%t,"isWebSearchEnabled":%t%s}`,
		c.r.IntN(9), c.r.IntN(9), c.r.IntN(5) == 0, c.r.IntN(2) == 0, named)
	return act{method: http.MethodPost, path: "/api/completions", body: body, stream: true}
}

func (c *randomClient) control() act {
	one := "/api/thinking/" + c.thread()
	list := []act{
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

func (c *randomClient) look() act {
	id := c.thread()
	one, thread := "/api/thinking/"+id, "/api/threads/"+id
	list := []string{
		"/api/thinking/", "/api/thinking/?status=thinking&limit=5", "/api/threads?limit=3", "/api/usage?by=model", "/api/memory", "/api/memory/search?q=pump", "/metrics", "/readyz", "/openapi.json", "/docs",
		one, one + "/questions", one + "/syntheses", one + "/stats", one + "/stream?limit=3", one + "/export", one + "/export?format=markdown", one + "/export?format=jsonl", one + "/export?format=html",
		thread, thread + "/events?limit=5", thread + "/export",
	}
	return act{method: http.MethodGet, path: list[c.r.IntN(len(list))]}
}

func (c *randomClient) watch() act {
	path := "/api/thinking/" + c.thread() + "/stream"
	switch c.r.IntN(6) {
	case 0, 1:
		path = "/api/threads/" + c.thread() + "/events"
	case 2:
		path = "/api/mind/events"
	}
	return act{method: http.MethodGet, path: fmt.Sprintf("%s?after=%d", path, c.r.IntN(40)), stream: true}
}

func (c *randomClient) memory() act {
	if c.r.IntN(3) == 0 {
		return act{method: http.MethodDelete, path: "/api/memory/" + c.one(c.r, true)}
	}
	list := make([]string, 1+c.r.IntN(3))
	for i := range list {
		list[i] = memoryOf(c.r)
	}
	return act{method: http.MethodPost, path: "/api/memory", body: "[" + strings.Join(list, ",") + "]"}
}

func (c *randomClient) mind() act {
	switch c.r.IntN(12) {
	case 0:
		return act{method: http.MethodPost, path: "/api/mind/tick", body: "{}"}
	case 1:
		return act{method: http.MethodPost, path: "/api/mind/forget", body: `{"entry":"e1"}`}
	case 2:
		return act{method: http.MethodPost, path: "/api/mind/resolve", body: `{"entry":"e1"}`}
	case 3:
		return act{method: http.MethodGet, path: "/api/mind/log"}
	}
	return act{method: http.MethodGet, path: "/api/mind"}
}

func (c *randomClient) remove() act {
	group := []string{"thinking", "threads"}[c.r.IntN(2)]
	return act{method: http.MethodDelete, path: "/api/" + group + "/" + c.one(c.r, false)}
}

func (c *randomClient) wrong() act {
	list := []act{
		{method: http.MethodPost, path: "/api/thinking/start", body: `{"question":"x","duration_minutes":-1,"more":1}`},
		{method: http.MethodPost, path: "/api/thinking/start", body: `{"question":`},
		{method: http.MethodPut, path: "/api/thinking/start", body: "{}"},
		{method: http.MethodPost, path: "/api/completions", body: `{"messages":[]}`},
		{method: http.MethodPost, path: "/api/memory", body: "[" + strings.Repeat("[", 1000)},
		{method: http.MethodPost, path: "/api/memory", body: `{"text":"` + strings.Repeat("x", 1<<20+1) + `"}`},
		{method: http.MethodGet, path: "/api/threads?cursor=x&limit=-1"},
		{method: http.MethodGet, path: "/api/%ff/../" + strings.Repeat("x", 2000)},
		{method: http.MethodPost, path: "/api/threads/" + c.thread() + "/messages?wait=forever", body: `{"content":""}`},
		{method: http.MethodPost, path: "/api/thinking/start", body: `{"question":"What is it?","model_id":"none/none"}`},
	}
	return list[c.r.IntN(len(list))]
}

// send sends a request and reads the response for at most stays.
func (c *randomClient) send(ctx context.Context, a act, stays time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, stays)
	defer cancel()
	accept := "application/json"
	if a.stream {
		accept = "text/event-stream"
	}
	req, err := request(ctx, c.served, a.method, a.path, a.body, accept)
	if err != nil {
		return // no client could send this path
	}
	if a.method == http.MethodPost && c.r.IntN(3) == 0 {
		req.Header.Set("Idempotency-Key", fmt.Sprint("key-", c.r.IntN(40)))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		c.note(a.method+" "+a.path, 0, nil)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body) // may be cut off intentionally
	c.note(a.method+" "+a.path, resp.StatusCode, text)
	if resp.StatusCode < http.StatusMultipleChoices {
		c.learn(text)
	}
}

// learn records the objects that a response created.
func (c *randomClient) learn(text []byte) {
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
	c.made(out.Session, "")
	c.made(out.Thread, "")
	c.made(out.Talk, "")
	for _, m := range out.Memories {
		c.made("", m.ID)
	}
}

// cut sends part of a request and disconnects, immediately or after a moment.
func (c *randomClient) cut(ctx context.Context, a act) {
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
	pause(ctx, c.r, time.Duration(c.r.IntN(200))*time.Millisecond)
	c.note(a.method+" "+a.path, 0, nil)
}
