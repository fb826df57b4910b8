package protocoltest

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"ponder"
	"ponder/mode/research"
)

// Lookups returns tools for memory, search and pages, with distinct delays up to most. Queries with "nothing"
// fail.
func Lookups(most time.Duration) []ponder.Tool {
	return []ponder.Tool{
		newLookup(research.SearchTool, most, func(string) string {
			return `{"hits":[{"source":"mem_1","quote":"The notes say that the sea is deep.","start":0,"end":35,"score":0.8}]}`
		}),
		newLookup(research.WebSearchTool, most, func(q string) string {
			n := len(q) % 3
			return fmt.Sprintf(`{"results":[{"url":"https://a.test/%d","title":"A\u001b[31m","snippet":"The sea is %d metres deep.","score":0.7}]}`, n, 4000+n)
		}),
		newLookup(research.WebFetchTool, most, func(q string) string {
			quote := "What " + q + " says of the sea is long."
			return fmt.Sprintf(`{"hits":[{"source":%q,"quote":%q,"start":0,"end":%d,"score":0.8}]}`, q, quote, len(quote))
		}),
	}
}

func newLookup(name string, most time.Duration, result func(query string) string) ponder.Tool {
	schema := json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"url":{"type":"string"}}}`)
	t := ponder.NewTool(name, "Look something up.", schema, func(ctx context.Context, in struct{ Query, URL string }) (string, error) {
		const parts = 997
		own := most * time.Duration(crc32.ChecksumIEEE([]byte(name+in.Query+in.URL))%parts+1) / parts
		switch {
		case !sleepContext(ctx, own):
			return "", ctx.Err()
		case strings.Contains(in.Query, "nothing"):
			return "", errNothing
		}
		return result(in.Query + in.URL), nil
	})
	t.Untrusted = true
	return t
}
