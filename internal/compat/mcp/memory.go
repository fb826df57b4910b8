package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ponder/internal/app"
	"ponder/internal/auth"
	"ponder/internal/compat"
)

// Bounds of what is remembered and found.
const (
	hits     = 8
	mostHits = 50
	maxKept  = 256 << 10 // bytes
)

// recalling is what ponder_recall is told.
type recalling struct {
	Query string `json:"query" jsonschema:"what to look for, in words"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many passages at most, 8 if it is not said"`
}

// recalled is what it returns.
type recalled struct {
	Hits []hit `json:"hits" jsonschema:"what was found, the best first"`
}

type hit struct {
	ID      string  `json:"id,omitempty"`
	Title   string  `json:"title,omitempty"`
	Quote   string  `json:"quote"`
	Source  string  `json:"source,omitempty"`
	Score   float64 `json:"score"`
	Created string  `json:"created_at,omitempty"`
}

// keeping is what ponder_remember is told.
type keeping struct {
	Text  string `json:"text" jsonschema:"what to remember"`
	Title string `json:"title,omitempty"`
}

// kept is what it returns.
type kept struct {
	ID string `json:"id"`
}

// minding is what ponder_mind is told.
type minding struct {
	Tick bool `json:"tick,omitempty" jsonschema:"have it think a little first"`
}

// minded is what it returns.
type minded struct {
	Mind map[string]any `json:"mind" jsonschema:"what is on its mind: thoughts, questions, wishes"`
}

// addMemory offers what is remembered, and what is on the mind.
func (c *client) addMemory(server *sdk.Server) {
	closed := false
	offer(c, server, &sdk.Tool{
		Name: "ponder_recall", Title: "Recall", Description: "Find what was remembered, read or concluded before, by meaning and by words.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}, c.recall, nil)
	offer(c, server, &sdk.Tool{
		Name: "ponder_remember", Title: "Remember", Description: "Keep something, so that it is found later by ponder_recall and by all thinking.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &closed, OpenWorldHint: &closed, IdempotentHint: true},
	}, c.remember, nil)
	offer(c, server, &sdk.Tool{
		Name: "ponder_mind", Title: "Mind", Description: "See what is on Ponder's mind between questions: what it noticed, wonders about and waits for.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &closed, OpenWorldHint: &closed},
	}, c.mind, nil)
}

// recall finds what is remembered.
func (c *client) recall(ctx context.Context, in recalling) (recalled, error) {
	out := recalled{Hits: []hit{}}
	if err := c.may(auth.Read); err != nil {
		return out, err
	}
	if app.CheckQuery(in.Query) != nil {
		return out, compat.Wrong("query", "query: say what to look for")
	}
	if in.Limit < 0 || in.Limit > mostHits {
		return out, compat.Wrong("limit", "limit: it is not from 1 to %d", mostHits)
	}
	in.Limit = cmp.Or(in.Limit, hits)
	found, err := c.Desk.Service.Search(ctx, c.caller.Owner, app.Query{Text: in.Query, Limit: in.Limit})
	for _, h := range found {
		one := hit{ID: h.ID, Title: h.Title, Quote: h.Quote, Source: h.Source, Score: h.Score}
		if !h.Created.IsZero() {
			one.Created = h.Created.UTC().Format("2006-01-02T15:04:05Z")
		}
		out.Hits = append(out.Hits, one)
	}
	return out, err
}

// remember keeps something.
func (c *client) remember(ctx context.Context, in keeping) (kept, error) {
	if err := c.may(auth.Think); err != nil {
		return kept{}, err
	}
	if strings.TrimSpace(in.Text) == "" || len(in.Text) > maxKept {
		return kept{}, compat.Wrong("text", "text: say what to remember, in at most %d bytes", maxKept)
	}
	list, err := c.Desk.Service.Remember(ctx, c.caller.Owner, app.Memory{Text: in.Text, Title: in.Title})
	if err != nil || len(list) == 0 {
		return kept{}, err
	}
	return kept{list[0].ID}, nil
}

// mind returns what is on the mind.
func (c *client) mind(ctx context.Context, in minding) (minded, error) {
	need := auth.Read
	if in.Tick {
		need = auth.Think
	}
	if err := c.may(need); err != nil {
		return minded{}, err
	}
	if in.Tick {
		if _, err := c.Desk.Service.Tick(ctx, c.caller.Owner); err != nil {
			return minded{}, err
		}
	}
	js, err := c.Desk.Service.Mind(ctx, c.caller.Owner)
	if err != nil {
		return minded{}, err
	}
	out := minded{}
	if err := json.Unmarshal(js, &out.Mind); err != nil {
		return out, fmt.Errorf("read what is on the mind: %w", err)
	}
	return out, nil
}
