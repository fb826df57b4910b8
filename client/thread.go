package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"ponder"
)

const threads = "threads"

// A Thread is the info of a thread.
type Thread struct {
	ponder.Info
	Interrupted bool `json:"interrupted"` // it has work, and no process works on it
}

// A Message is a message of a user in a conversation.
type Message struct {
	Content string `json:"content"`
	Deep    bool   `json:"deep,omitempty"`  // asks for a reflection
	Model   string `json:"model,omitempty"` // the model for the answer; empty: unchanged
}

// A Turn is the state of the answer to a message.
type Turn struct {
	Message string       `json:"message_id"` // the id of its event
	Run     ponder.RunID `json:"run_id"`
	Status  string       `json:"status"` // answering, answered or failed
	Answer  string       `json:"answer"`
	Model   string       `json:"model"`
	Error   string       `json:"error_message"`

	Approvals []Approval `json:"approvals"` // questions of Ponder that the turn asked
}

// An Approval is a question of Ponder to the user: whether to run a tool call that a model requested.
type Approval struct {
	ID        string          `json:"approval_id"`
	Code      string          `json:"code"`
	Thread    ponder.ThreadID `json:"thread_id"`
	Tool      string          `json:"tool"`
	Args      json.RawMessage `json:"args"` // exactly as the tool gets them
	Reason    string          `json:"reason"`
	Untrusted []string        `json:"untrusted_sources"` // of text that the model had read
	Asked     time.Time       `json:"asked_at"`
	Expires   time.Time       `json:"expires"`
}

// Threads iterates over the threads of a kind, or over all if it is empty, newest first. An
// error ends the iteration.
func (c *Client) Threads(ctx context.Context, kind ponder.Kind) iter.Seq2[Thread, error] {
	query := url.Values{}
	if kind != "" {
		query.Set("kind", string(kind))
	}
	type page struct {
		Threads []Thread `json:"threads"`
		Next    string   `json:"next_cursor"`
	}
	return listPages(ctx, c, apiPath(threads), query, func(p *page) ([]Thread, string) { return p.Threads, p.Next })
}

type oneThread struct {
	Thread Thread `json:"thread"`
}

// Thread returns the info of a thread.
func (c *Client) Thread(ctx context.Context, id string) (Thread, error) {
	var out oneThread
	err := c.get(ctx, apiPath(threads, id), nil, &out)
	return out.Thread, err
}

// Open creates a conversation. The title and the model may be empty.
func (c *Client) Open(ctx context.Context, title, model string) (Thread, error) {
	var out oneThread
	err := c.post(ctx, apiPath(threads), struct {
		Title string `json:"title,omitempty"`
		Model string `json:"model,omitempty"`
	}{title, model}, &out)
	return out.Thread, err
}

// DeleteThread erases a thread and all its data.
func (c *Client) DeleteThread(ctx context.Context, id string) error {
	return c.sendDelete(ctx, apiPath(threads, id))
}

func (c *Client) ExportThread(ctx context.Context, id string) ([]byte, error) {
	var file []byte
	err := c.get(ctx, apiPath(threads, id, "export"), nil, &file)
	return file, err
}

// Say sends a message to a conversation, and waits up to wait for the answer. The turn may
// continue after that.
func (c *Client) Say(ctx context.Context, id string, m Message, wait time.Duration) (Turn, error) {
	var out struct {
		Turn Turn `json:"turn"`
	}
	query := url.Values{"wait": {strconv.FormatFloat(wait.Seconds(), 'f', 3, 64)}}
	err := c.sendRetrying(ctx, call{method: http.MethodPost, path: apiPath(threads, id, "messages"), query: query, body: m, key: newKey()}, &out)
	return out.Turn, err
}

// Approvals returns the open questions of Ponder in a conversation, or in all if id is empty.
func (c *Client) Approvals(ctx context.Context, id string) ([]Approval, error) {
	var out struct {
		Approvals []Approval `json:"approvals"`
	}
	path := apiPath("approvals")
	if id != "" {
		path = apiPath(threads, id, "approvals")
	}
	err := c.get(ctx, path, nil, &out)
	return out.Approvals, err
}

// Decide approves or denies the call of a question, and waits up to wait for the answer that follows. The turn
// may continue after that.
func (c *Client) Decide(ctx context.Context, a Approval, approve bool, wait time.Duration) (Turn, error) {
	var out struct {
		Turn Turn `json:"turn"`
	}
	decision := "deny"
	if approve {
		decision = "approve"
	}
	query := url.Values{"wait": {strconv.FormatFloat(wait.Seconds(), 'f', 3, 64)}}
	body := map[string]string{"decision": decision}
	err := c.sendRetrying(ctx, call{method: http.MethodPost, path: apiPath(threads, string(a.Thread), "approvals", a.ID), query: query, body: body, key: newKey()}, &out)
	return out.Turn, err
}

// StreamReply sends a message to a conversation, and follows the turn to its end, which is the
// last update. After a reconnection, pieces may repeat, but events do not. An error ends
// the iteration.
func (c *Client) StreamReply(ctx context.Context, id string, m Message) iter.Seq2[Update, error] {
	return c.streamUpdates(ctx, call{method: http.MethodPost, path: apiPath(threads, id, "messages"), body: m, key: newKey()}, 0)
}

// Events follows a thread after an event. The stream of a conversation ends only with ctx.
// An error ends the iteration.
func (c *Client) Events(ctx context.Context, id string, after ponder.Seq) iter.Seq2[Update, error] {
	return c.followStream(ctx, apiPath(threads, id, "events"), after)
}

// Stop cancels the work on a thread, such as an answer in progress.
func (c *Client) Stop(ctx context.Context, id string) error {
	return c.post(ctx, apiPath(threads, id, "stop"), nil, nil)
}

// Work makes the server work on a thread, for example one that a command created in its
// database. It changes the model unless model is empty.
func (c *Client) Work(ctx context.Context, id, model string) error {
	return c.post(ctx, apiPath(threads, id, "work"), struct {
		Model string `json:"model,omitempty"`
	}{model}, nil)
}
