package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/knowledge/recall"
)

// Limits on a memory.
const (
	maxText     = 8 << 10 // bytes
	maxItemTags = 16
	maxTag      = 100 // bytes
	maxTitle    = 200 // bytes
	maxRefused  = 300 // bytes of the reason of a refusal
)

var rememberSchema = json.RawMessage(`{
  "type": "object",
  "properties": {
    "text": {"type": "string", "maxLength": 8192, "description": "What to remember, so that it can be understood by itself."},
    "title": {"type": "string", "maxLength": 200, "description": "What it is about, in a few words."},
    "kind": {"type": "string", "enum": ["memory", "journal"], "description": "memory: something to know; journal: something that happened. memory if left out."},
    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 16, "description": "Words to find it by later."},
    "date": {"type": "string", "description": "When it happened or was said: 2024-03-01, or with a time as in RFC 3339. Today if left out."}
  },
  "required": ["text"],
  "additionalProperties": false
}`)

type rememberInput struct {
	Text  string   `json:"text"`
	Title string   `json:"title"`
	Kind  string   `json:"kind"`
	Tags  []string `json:"tags"`
	Date  string   `json:"date"`

	Untrusted bool `json:"untrusted"` // the model had read text of strangers; the gate sets it, no model
}

// rememberResult is the JSON result of remember.
type rememberResult struct {
	ID   string    `json:"id"`
	Kind string    `json:"kind"`
	Date time.Time `json:"date,omitzero"`
	Tags []string  `json:"tags,omitempty"`
}

func (o Options) rememberItem(ctx context.Context, in rememberInput) (string, error) {
	it, err := in.toItem()
	if err != nil {
		return "", fmt.Errorf("%s: %w", RememberName, err)
	}
	it.Persona, it.Source = o.Persona, o.Source
	if o.Approve != nil {
		if err := o.Approve(ctx, it); err != nil {
			return "", fmt.Errorf("%s: not remembered: %s: go on without", RememberName, textkit.VisibleLine(err.Error(), maxRefused))
		}
	}
	items, err := o.Keep(ctx, it)
	if err != nil {
		return "", fmt.Errorf("%s: %w", RememberName, err)
	}
	if len(items) != 1 {
		return "", errors.New(RememberName + ": it is not known whether it was kept: look for it with " + SearchName)
	}
	it = items[0]
	return textkit.JSON(rememberResult{ID: it.ID, Kind: string(it.Kind), Date: storedTime(it.Date), Tags: it.Tags})
}

// toItem returns the item to store.
func (in rememberInput) toItem() (it recall.Item, err error) {
	it = recall.Item{Kind: recall.KindMemory, Title: textkit.VisibleLine(in.Title, maxTitle), Text: strings.TrimSpace(strings.ToValidUTF8(in.Text, "\uFFFD"))}
	switch {
	case it.Text == "":
		return it, errors.New("text is empty: say what to remember")
	case len(it.Text) > maxText:
		return it, fmt.Errorf("text has %d bytes, of at most %d: remember what matters, or in parts", len(it.Text), maxText)
	case len(in.Tags) > maxItemTags:
		return it, fmt.Errorf("%d tags, of at most %d", len(in.Tags), maxItemTags)
	}
	switch in.Kind {
	case "", string(recall.KindMemory):
	case string(recall.KindJournal):
		it.Kind = recall.KindJournal
	default:
		return it, fmt.Errorf("there is no kind %.40q: it is memory or journal", in.Kind)
	}
	for _, tag := range in.Tags {
		if tag = textkit.VisibleLine(tag, maxTag); tag != "" {
			it.Tags = append(it.Tags, tag)
		}
	}
	if in.Untrusted {
		it.Meta = map[string]string{recall.UntrustedMeta: "true"}
	}
	if in.Date != "" {
		it.Date, err = parseDate(in.Date)
	}
	return it, err
}

// parseDate parses a day or a time.
func parseDate(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.40q is not a date: write it as 2024-03-01 or 2024-03-01T15:04:05Z", text)
}
