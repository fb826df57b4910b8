package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ponder"
)

const threads = "threads"

// A Thread is what is known of a thread.
type Thread struct {
	ponder.Info
	Interrupted bool `json:"interrupted"` // nobody works on it, though there is something to do
}

// A Message is what a user says in a conversation.
type Message struct {
	Content string `json:"content"`
	Deep    bool   `json:"deep,omitempty"`  // it is to be reflected on
	Model   string `json:"model,omitempty"` // answers it; as before if empty
}

// A Turn is how far the answer to a message has come.
type Turn struct {
	Message string       `json:"message_id"` // the id of its event
	Run     ponder.RunID `json:"run_id"`
	Status  string       `json:"status"` // answering, answered or failed
	Answer  string       `json:"answer"`
	Model   string       `json:"model"`
	Error   string       `json:"error_message"`
}

// Threads iterates over threads, the newest first: those of a kind, unless that is empty.
// An error is the last that it yields.
func (c *Client) Threads(ctx context.Context, kind ponder.Kind) iter.Seq2[Thread, error] {
	query := url.Values{}
	if kind != "" {
		query.Set("kind", string(kind))
	}
	type page struct {
		Threads []Thread `json:"threads"`
		Next    string   `json:"next_cursor"`
	}
	return pages(ctx, c, path(threads), query, func(p *page) ([]Thread, string) { return p.Threads, p.Next })
}

type oneThread struct {
	Thread Thread `json:"thread"`
}

// Thread returns what is known of a thread.
func (c *Client) Thread(ctx context.Context, id string) (Thread, error) {
	var out oneThread
	err := c.get(ctx, path(threads, id), nil, &out)
	return out.Thread, err
}

// Open begins a conversation. The title and the model may be empty.
func (c *Client) Open(ctx context.Context, title, model string) (Thread, error) {
	var out oneThread
	err := c.post(ctx, path(threads), struct {
		Title string `json:"title,omitempty"`
		Model string `json:"model,omitempty"`
	}{title, model}, &out)
	return out.Thread, err
}

// DeleteThread erases a thread and all that belongs to it.
func (c *Client) DeleteThread(ctx context.Context, id string) error {
	return c.remove(ctx, path(threads, id))
}

// ExportThread returns a thread as JSON Lines.
func (c *Client) ExportThread(ctx context.Context, id string) ([]byte, error) {
	var file []byte
	err := c.get(ctx, path(threads, id, "export"), nil, &file)
	return file, err
}

// Say says something in a conversation, and waits for the answer for so long at most; the
// turn may go on then.
func (c *Client) Say(ctx context.Context, id string, m Message, wait time.Duration) (Turn, error) {
	var out struct {
		Turn Turn `json:"turn"`
	}
	query := url.Values{"wait": {strconv.FormatFloat(wait.Seconds(), 'f', 3, 64)}}
	err := c.do(ctx, call{method: http.MethodPost, path: path(threads, id, "messages"), query: query, body: m, key: newKey()}, &out)
	return out.Turn, err
}

// Talk says something in a conversation, and follows the turn to its end, which is the
// last update. If the connection breaks, pieces may come again; events do not. An error is
// the last that it yields.
func (c *Client) Talk(ctx context.Context, id string, m Message) iter.Seq2[Update, error] {
	return c.stream(ctx, call{method: http.MethodPost, path: path(threads, id, "messages"), body: m, key: newKey()}, 0)
}

// Events follows a thread from behind an event. The stream of a conversation has no end
// but that of ctx. An error is the last that it yields.
func (c *Client) Events(ctx context.Context, id string, after ponder.Seq) iter.Seq2[Update, error] {
	return c.follow(ctx, path(threads, id, "events"), after)
}

// Stop ends what is being done on a thread, such as an answer that is being written.
func (c *Client) Stop(ctx context.Context, id string) error {
	return c.post(ctx, path(threads, id, "stop"), nil, nil)
}

// Work has the server do what is left to do on a thread, such as one that was made by a
// command on its database, with another model unless that is empty.
func (c *Client) Work(ctx context.Context, id, model string) error {
	return c.post(ctx, path(threads, id, "work"), struct {
		Model string `json:"model,omitempty"`
	}{model}, nil)
}
