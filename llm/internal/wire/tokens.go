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
	resp, err := c.Do(ctx, model, http.MethodPost, address, header, body)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // read to the end
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxSmall))
	if err != nil {
		return 0, err
	}
	e := InBand(data)
	if e == nil {
		var got map[string]json.RawMessage
		var n Count
		if json.Unmarshal(data, &got) == nil && json.Unmarshal(got[name], &n) == nil && n > 0 {
			return int(n), nil
		}
		e = &llm.Error{Class: llm.Malformed, Message: "the answer has no count of tokens"}
	}
	return 0, Ask{Model: c.full(model), Sent: header, Advice: c.Advice}.Blame(e, llm.Usage{})
}
