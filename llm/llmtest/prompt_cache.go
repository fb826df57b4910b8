package llmtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"ponder/llm"
)

// Limits of Anthropic's prompt cache.
const (
	maxCacheMarks = 4
	cacheLookBack = 20 // blocks, from each mark
)

// A PromptCache applies the rules of Anthropic's prompt cache to the bodies of requests. It stores prompts
// up to marked blocks, for ever and of any length, and compares them byte for byte. The zero value is empty.
type PromptCache struct {
	stored map[[sha256.Size]byte]bool
}

// MeasurePrompt returns the bytes of the prompt that are read from the cache, written to it, and neither. It
// fails if the API would refuse the marks.
func (c *PromptCache) MeasurePrompt(body []byte) (used llm.Usage, err error) {
	blocks, err := promptBlocks(body)
	if err != nil {
		return used, err
	}
	if c.stored == nil {
		c.stored = make(map[[sha256.Size]byte]bool)
	}
	read, written, size, marks := 0, 0, 0, 0
	sums, sizes := make([][sha256.Size]byte, len(blocks)), make([]int, len(blocks))
	var before [sha256.Size]byte
	for i, b := range blocks {
		before = sha256.Sum256(append(before[:], b.text...))
		size += len(b.text)
		sums[i], sizes[i] = before, size
	}
	for i, b := range blocks {
		if !b.marked {
			continue
		}
		marks++
		for j := i; j >= 0 && j > i-cacheLookBack; j-- {
			if c.stored[sums[j]] {
				read = max(read, sizes[j])
				break
			}
		}
		written = sizes[i]
	}
	if marks > maxCacheMarks {
		return used, fmt.Errorf("a maximum of %d blocks with cache_control may be provided, found %d", maxCacheMarks, marks)
	}
	for i, b := range blocks {
		if b.marked {
			c.stored[sums[i]] = true
		}
	}
	used.CacheRead, used.CacheWrite = read, max(0, written-read)
	used.Input = size - used.CacheRead - used.CacheWrite
	return used, nil
}

// A promptBlock is a block of a prompt, with all that must be equal for it to be found.
type promptBlock struct {
	text   []byte
	marked bool
}

// RoundTrip answers a request of the Messages API with the usage of its prompt, in bytes. So a PromptCache is
// the transport of a client.
func (c *PromptCache) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	status, kind, answer := http.StatusOK, "text/event-stream", ""
	used, err := c.MeasurePrompt(body)
	if err != nil {
		status, kind = http.StatusBadRequest, "application/json"
		answer = fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, err)
	} else {
		answer = fmt.Sprintf(cachedAnswer, used.Input, used.CacheRead, used.CacheWrite)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

const cachedAnswer = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","model":"claude","content":[],"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"yes"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}

event: message_stop
data: {"type":"message_stop"}

`

// promptBlocks returns the blocks in the order of the API: settings, tools, system prompt, messages.
func promptBlocks(body []byte) (list []promptBlock, err error) {
	var req struct {
		Model      json.RawMessage   `json:"model"`
		Tools      []json.RawMessage `json:"tools"`
		ToolChoice json.RawMessage   `json:"tool_choice"`
		Thinking   json.RawMessage   `json:"thinking"`
		Output     json.RawMessage   `json:"output_config"`
		System     []json.RawMessage `json:"system"`
		Messages   []struct {
			Role    string            `json:"role"`
			Content []json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	add := func(before string, block json.RawMessage) error {
		var has struct {
			Type  string           `json:"type"`
			Text  *string          `json:"text"`
			Cache *json.RawMessage `json:"cache_control"`
		}
		if err := json.Unmarshal(block, &has); err != nil {
			return fmt.Errorf("read a block: %w", err)
		}
		switch {
		case has.Type == "text" && (has.Text == nil || len(bytes.TrimSpace([]byte(*has.Text))) == 0):
			return errors.New("text content blocks must be non-empty")
		case has.Cache != nil && (has.Type == "thinking" || has.Type == "redacted_thinking"):
			return fmt.Errorf("cache_control is not allowed on a block of type %s", has.Type)
		}
		text := append([]byte(before), block...)
		if has.Cache != nil {
			text = bytes.ReplaceAll(text, append([]byte(`,"cache_control":`), *has.Cache...), nil)
		}
		list = append(list, promptBlock{text, has.Cache != nil})
		return nil
	}
	place := string(req.Model) + "\n"
	for _, b := range req.Tools {
		err = errors.Join(err, add(place+"tool ", b))
		place = ""
	}
	for _, b := range req.System {
		err = errors.Join(err, add(place+"system ", b))
		place = ""
	}
	place += fmt.Sprintf("%s %s %s\n", req.ToolChoice, req.Thinking, req.Output)
	for _, m := range req.Messages {
		place += m.Role + " "
		for _, b := range m.Content {
			err = errors.Join(err, add(place, b))
			place = ""
		}
	}
	return list, err
}
