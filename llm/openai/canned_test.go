package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"ponder/llm"
)

// A cannedServer server gives answers in turn, repeats the last and records requests.
type cannedServer struct {
	answers []cannedAnswer
	asked   []object
	paths   []string
	headers []http.Header
	t       testing.TB
}

type cannedAnswer struct {
	status int
	ctype  string
	body   string
}

func streamAnswer(body string) cannedAnswer { return cannedAnswer{200, "text/event-stream", body} }

func refuseAnswer(status int, message string) cannedAnswer {
	return cannedAnswer{status, "application/json", `{"error":{"message":` + string(rawJSON(message)) + `,"type":"invalid_request_error","param":null,"code":null}}`}
}

func (c *cannedServer) RoundTrip(r *http.Request) (*http.Response, error) {
	c.paths, c.headers = append(c.paths, r.Method+" "+r.URL.RequestURI()), append(c.headers, r.Header)
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		c.asked = append(c.asked, parseObject(c.t, data))
	}
	a := c.answers[min(len(c.paths), len(c.answers))-1]
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {a.ctype}}, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func serveCanned(t testing.TB, c Config, answers ...cannedAnswer) (*cannedServer, *Provider) {
	server := &cannedServer{answers: answers, t: t}
	c.HTTP = &http.Client{Transport: server}
	if c.Key == "" {
		c.Key = "secret-key-7"
	}
	return server, New(c)
}

func sayChunk(text string) string {
	return `data: {"id":"c1","model":"m-1","choices":[{"index":0,"delta":{"content":` + string(rawJSON(text)) + "}}]}\n\n"
}

const (
	finish  = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	done    = "data: [DONE]\n\n"
	counted = `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}` + "\n\n"
)

func askRequest(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.Say(llm.User, text)}}
}
