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
	data, err := c.Fetch(ctx, model, http.MethodPost, address, header, body, maxSmall)
	if err == nil {
		var got map[string]json.RawMessage
		var n Count
		if json.Unmarshal(data, &got) == nil && json.Unmarshal(got[name], &n) == nil && n > 0 {
			return int(n), nil
		}
		err = &llm.Error{Class: llm.Malformed, Message: "the answer has no count of tokens"}
	}
	return 0, Ask{Model: c.full(model), Sent: header, Advice: c.Advice}.Blame(err, llm.Usage{})
}

// Fetch sends one request and returns its whole answer, up to a number of bytes, unless
// that is an error. Errors of the answer name no model, see [Ask.Blame].
func (c *Client) Fetch(ctx context.Context, model, method, address string, header http.Header, body any, most int64) ([]byte, error) {
	resp, err := c.Do(ctx, model, method, address, header, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to the end
	data, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return nil, err
	}
	if e := InBand(data); e != nil {
		return nil, e
	}
	return data, nil
}
