package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/auth"
	"ponder/internal/compat"
	"ponder/internal/textkit"
)

// What is said of a topic of the subconscious. In the log, what is resolved has no other
// word.
const (
	resolved    = "resolved"
	asForgotten = "forgotten"
)

// Bounds of a topic in the user's words.
const (
	leastTopic = 3   // letters
	mostTopic  = 500 // bytes
)

type resolving struct {
	OnceKey
	Body struct {
		Entry string `json:"entry,omitempty" maxLength:"100" doc:"the id of an entry"`
		Text  string `json:"text,omitempty" maxLength:"500" doc:"or a topic, in your words" example:"the bill of the dentist"`
	}
}

// Resolve implements [huma.Resolver].
func (in *resolving) Resolve(huma.Context) []error {
	text := strings.TrimSpace(in.Body.Text)
	switch {
	case (in.Body.Entry == "") == (text == ""):
		return []error{&huma.ErrorDetail{Location: "body", Message: "expected either entry or text"}}
	case text != "" && (len([]rune(text)) < leastTopic || len(text) > mostTopic):
		return []error{&huma.ErrorDetail{Location: "body.text", Message: "expected at least 3 letters, and at most 500 bytes"}}
	}
	return nil
}

type settled struct {
	Body struct {
		Success bool   `json:"success"`
		As      string `json:"as"`
		Entry   string `json:"entry,omitempty"`
		Text    string `json:"text"`
	}
}

func (a *api) resolve(ctx context.Context, in *resolving) (*settled, error) {
	said := ponder.Resolved{Content: strings.Join(strings.Fields(compat.Plain(in.Body.Text)), " ")}
	if out, err := a.settledBefore(ctx, in.OnceKey, resolveRoute, in.Body.Entry, said.Content); out != nil || err != nil {
		return out, err
	}
	entry, err := a.entry(ctx, in.Body.Entry, said.Content)
	if err != nil {
		return nil, err
	}
	if entry.ID != "" {
		said.Content, said.Ref = entry.Summary, entry.ID
	}
	return a.settle(ctx, in.OnceKey, resolveRoute, said)
}

type forgetting struct {
	OnceKey
	Body struct {
		Entry string `json:"entry" minLength:"1" maxLength:"100" doc:"the id of an entry"`
	}
}

func (a *api) forgetEntry(ctx context.Context, in *forgetting) (*settled, error) {
	if out, err := a.settledBefore(ctx, in.OnceKey, forgetRoute, in.Body.Entry, ""); out != nil || err != nil {
		return out, err
	}
	entry, err := a.entry(ctx, in.Body.Entry, "")
	if err != nil {
		return nil, err
	}
	return a.settle(ctx, in.OnceKey, forgetRoute, ponder.Resolved{Content: entry.Summary, Ref: entry.ID, As: asForgotten})
}

// entry returns the entry of an id, or else that which says the text, if there is one.
func (a *api) entry(ctx context.Context, id, text string) (MindEntry, error) {
	js, err := a.Service.Mind(ctx, auth.CallerOf(ctx).Owner)
	if err != nil {
		return MindEntry{}, a.failed(err)
	}
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(js, &lists); err != nil {
		return MindEntry{}, a.failed(err)
	}
	for _, name := range []string{"active_threads", "patterns", "hunches", "insights"} {
		var list []MindEntry
		if err := json.Unmarshal(lists[name], &list); err != nil {
			continue
		}
		for _, e := range list {
			if id != "" && e.ID == id || id == "" && strings.EqualFold(e.Summary, text) {
				return e, nil
			}
		}
	}
	if id != "" {
		return MindEntry{}, huma.Error404NotFound("nothing on its mind has the id " + textkit.Truncate(textkit.OneLine(id), 40) + ": see /api/mind")
	}
	return MindEntry{}, nil
}

// settle tells the subconscious of whoever asks what he says of it.
func (a *api) settle(ctx context.Context, key OnceKey, route string, said ponder.Resolved) (*settled, error) {
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, err
	}
	_, err = a.Store.Append(ctx, info.ID, 0, ponder.Event{Cause: key.cause(info.Owner, route), Body: said})
	if err != nil && !errors.Is(err, ponder.ErrTaken) { // then it was said before
		return nil, a.failed(err)
	}
	return settledOf(said), nil
}

func settledOf(said ponder.Resolved) *settled {
	out := &settled{}
	out.Body.Success, out.Body.As, out.Body.Entry, out.Body.Text = true, cmp.Or(said.As, resolved), said.Ref, said.Content
	return out
}

// settledBefore returns what was said with a key; nil if nothing was.
func (a *api) settledBefore(ctx context.Context, key OnceKey, route, entry, text string) (*settled, error) {
	if key.Key == "" {
		return nil, nil
	}
	info, err := a.mindThread(ctx)
	if err != nil {
		return nil, err
	}
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return nil, a.failed(err)
		}
		b, ok := ev.Body.(ponder.Resolved)
		if !ok || ev.Cause != key.cause(info.Owner, route) {
			continue
		}
		if entry != "" && b.Ref != entry || entry == "" && !strings.EqualFold(b.Content, text) {
			return nil, otherWords()
		}
		return settledOf(b), nil
	}
	return nil, nil
}

const (
	resolveRoute = "POST /api/mind/resolve"
	forgetRoute  = "POST /api/mind/forget"
)
