package wire

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"ponder/llm"
)

// maxSmall bounds an answer of a few numbers, in bytes.
const maxSmall = 1 << 20

// Count asks how many tokens a request has, and returns the number that the answer has
// under a name.
func (c *Client) Count(ctx context.Context, model, address string, header http.Header, body any, name string) (int, error) {
	n, err := c.count(ctx, model, address, header, body, name)
	if err != nil {
		return 0, Ask{Model: c.full(model), Sent: header, Advice: c.Advice}.Blame(err, llm.Usage{})
	}
	return n, nil
}

func (c *Client) count(ctx context.Context, model, address string, header http.Header, body any, name string) (int, error) {
	resp, err := c.Do(ctx, model, http.MethodPost, address, header, body)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to the end
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxSmall))
	if err != nil {
		return 0, err
	}
	if e := InBand(data); e != nil {
		return 0, e
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(data, &got); err != nil {
		return 0, Mangled("the count", err)
	}
	var n Count
	if err := json.Unmarshal(got[name], &n); err != nil || n == 0 {
		return 0, &llm.Error{Class: llm.Malformed, Message: "the answer has no count of tokens"}
	}
	return int(n), nil
}
