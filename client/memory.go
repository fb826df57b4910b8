package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/url"
	"strconv"
	"time"

	"ponder"
)

type Memory struct {
	ID         string    `json:"id,omitempty"`
	Kind       string    `json:"kind,omitempty"` // memory, document, post or journal
	Title      string    `json:"title,omitempty"`
	Text       string    `json:"text"`
	Source     string    `json:"source,omitempty"`      // an address or a name
	ExternalID string    `json:"external_id,omitempty"` // its ID at Source
	URL        string    `json:"url,omitempty"`         // of the original
	Persona    string    `json:"persona,omitempty"`
	Created    time.Time `json:"created_at,omitzero"`
}

// A Hit is a passage that a search found.
type Hit struct {
	Memory
	Quote string  `json:"quote"`
	Score float64 `json:"score"`
}

type memoryPage struct {
	Memories []Memory `json:"memories"`
	Next     string   `json:"next_cursor"`
}

// Remember stores a memory, and returns it with its id.
func (c *Client) Remember(ctx context.Context, m Memory) (Memory, error) {
	var out memoryPage
	err := c.post(ctx, apiPath("memory"), m, &out)
	if err == nil && len(out.Memories) > 0 {
		m = out.Memories[0]
	}
	return m, err
}

// Memories iterates over the memories, newest first. An error ends the iteration.
func (c *Client) Memories(ctx context.Context) iter.Seq2[Memory, error] {
	return listPages(ctx, c, apiPath("memory"), url.Values{}, func(p *memoryPage) ([]Memory, string) { return p.Memories, p.Next })
}

// Search returns the best hits for a text, the best first. With a limit of zero, the server
// chooses one.
func (c *Client) Search(ctx context.Context, text string, limit int) ([]Hit, error) {
	var out struct {
		Hits []Hit `json:"hits"`
	}
	query := url.Values{"q": {text}}
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	err := c.get(ctx, apiPath("memory", "search"), query, &out)
	return out.Hits, err
}

func (c *Client) Forget(ctx context.Context, id string) error {
	return c.sendDelete(ctx, apiPath("memory", id))
}

// Mind returns the state of the subconscious, in the format of subconscious.json.
func (c *Client) Mind(ctx context.Context) (json.RawMessage, error) {
	var js json.RawMessage
	err := c.get(ctx, apiPath("mind"), nil, &js)
	return js, err
}

// Tick runs a tick of the subconscious and returns its report. It may take minutes.
func (c *Client) Tick(ctx context.Context) (json.RawMessage, error) {
	var out struct {
		Report json.RawMessage `json:"report"`
	}
	err := c.post(ctx, apiPath("mind", "tick"), nil, &out)
	return out.Report, err
}

// MindEvents follows the events of the subconscious after one. It ends only with ctx. An
// error ends the iteration.
func (c *Client) MindEvents(ctx context.Context, after ponder.Seq) iter.Seq2[Update, error] {
	return c.followStream(ctx, apiPath("mind", "events"), after)
}

// A UsageRow is the usage of the calls with one key.
type UsageRow struct {
	Key      string  `json:"key"`
	Thread   string  `json:"thread_id"` // set by run, because a fork has runs with the same ids
	Calls    int     `json:"calls"`
	Failed   int     `json:"failed_calls"`
	Input    int     `json:"input_tokens"`
	Output   int     `json:"output_tokens"`
	Total    int     `json:"total_tokens"`
	USD      float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced_calls"` // calls with an unknown price, not in USD
}

// Usage returns the usage and cost of models by a key, since a time. A zero time selects
// all.
func (c *Client) Usage(ctx context.Context, by ponder.GroupBy, since time.Time) ([]UsageRow, error) {
	var out struct {
		Rows []UsageRow `json:"rows"`
	}
	query := url.Values{"by": {string(by)}}
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	err := c.get(ctx, apiPath("usage"), query, &out)
	return out.Rows, err
}
