package anthropic

import (
	"slices"
	"strings"
)

// The API stores the prompt up to each marked block; a request has at most four marks. From each mark it
// looks back over 20 blocks for a stored prompt. So a text that grows is sent as blocks that stay equal
// while it grows, and the marks are on blocks that later requests repeat.

const (
	prefixBlock = 2 << 10 // bytes of a block of a growing text, up to the end of a line
	anchorStep  = 4       // blocks between the places of the earlier mark
	maxMarks    = 2       // in messages; tools and system prompt have one each
)

// splitPrefix returns text as blocks. The cuts depend only on the text before them.
func (c *conversation) splitPrefix(text string, prefix int) (list []any) {
	c.grows = true
	prefix = min(prefix, len(text))
	start := 0
	for prefix-start > prefixBlock {
		n := strings.IndexByte(text[start+prefixBlock:prefix], '\n')
		if n < 0 {
			break
		}
		end := start + prefixBlock + n + 1
		if strings.TrimSpace(text[start:end]) == "" || strings.TrimSpace(text[end:]) == "" {
			break // the API refuses blank text
		}
		b := &block{Type: "text", Text: text[start:end]}
		list, c.prefix, start = append(list, b), append(c.prefix, b), end
	}
	return append(list, &block{Type: "text", Text: text[start:]})
}

// markMessages marks the end of the messages, if the next request repeats it. The other marks are on the
// growing text, or on the message before.
func (c *conversation) markMessages(out []message) {
	last, left := len(out)-1, maxMarks
	if last < 0 {
		return
	}
	if !c.grows || c.tools || last > 0 {
		markLast(out[last].Content)
		left--
	}
	if c.grows {
		c.markPrefix(left)
	} else if last > 0 {
		markLast(out[last-1].Content)
	}
}

// markPrefix marks the last complete block, and an earlier one in case that the last one changes.
func (c *conversation) markPrefix(marks int) {
	n := len(c.prefix)
	if n == 0 {
		return
	}
	c.prefix[n-1].CacheControl = ephemeralCache()
	if anchor := (n - 1) / anchorStep * anchorStep; marks > 1 && anchor > 0 {
		c.prefix[anchor-1].CacheControl = ephemeralCache()
	}
}

func markLast(content []any) {
	for _, c := range slices.Backward(content) {
		if b, ok := c.(*block); ok && b.Type != "thinking" && b.Type != "redacted_thinking" {
			b.CacheControl = ephemeralCache()
			return
		}
	}
}
