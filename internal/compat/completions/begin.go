package completions

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/compat"
)

// begin begins to answer a request, or finds the answer that was begun before.
func (a *api) begin(ctx context.Context, owner string, in *completion) (*telling, error) {
	p, err := a.placeOf(ctx, owner, in)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // what is begun is not left half done by one who goes away
	var work compat.Work
	begin := func() (string, error) {
		ask, err := a.ask(ctx, owner, in, p)
		if err == nil {
			work, err = a.Desk.Begin(ctx, ask)
		}
		return wordsOf(work.Thread), err
	}
	once := cmp.Or(p.own, in.Key) // of a message with an id, other words are told by its thread
	err = a.Once(ctx, owner, route, once, wordsOf([]any{in.deep(), p.id, compat.Bare(in.last().Text())}), begin)
	if err == nil && work.Thread == "" { // it was begun before: its threads know what it was
		_, err = begin()
	}
	if err != nil {
		work.Forget()
		return nil, in.mended(err)
	}
	t := &telling{Desk: a.Desk, work: work, feed: a.Desk.Feed(work, !p.found), name: p.name, fresh: !p.found, models: []string{}}
	if model := cmp.Or(in.model(), work.Model); model != "" {
		t.models = []string{model}
	}
	return t, nil
}

// wordsOf returns what tells a request from another one.
func wordsOf(of any) string {
	js, err := json.Marshal(of)
	if err != nil { // which what was read from JSON cannot be
		return ""
	}
	return causeOf(string(js))
}

// ask returns what is asked at a place of a conversation.
func (a *api) ask(ctx context.Context, owner string, in *completion, p place) (ask compat.Ask, err error) {
	ask = compat.Ask{
		Owner: owner, Messages: in.said, Model: compat.Model{Way: compat.Chat, Model: in.model()}, NoWeb: in.noWeb(), Persona: textOf(in.Body.App),
		At: p.id, Key: p.own,
	}
	var but ponder.ThreadID
	if in.deep() {
		ask.Model.Way = compat.Research
		ask.Cause = wordsOf([]any{strings.TrimSpace(in.last().Text()), ask.NoWeb, ask.Model.Model, ask.Persona})
		ask.At, err = a.researchThread(ctx, in, p, ask.Cause)
	} else {
		if p.kind != "" && p.kind != ponder.KindConversation {
			ask.At = besides(p.id, "talk", "")
		}
		ask.Cause, but = causeOf(owner, route, string(ask.At), p.key), ask.At
	}
	if err == nil {
		ask.Known, err = a.known(ctx, owner, p.id, but)
	}
	return ask, err
}

// researchThread returns the thread of a research: that of the conversation, if it begins
// with it, or else one beside it.
func (a *api) researchThread(ctx context.Context, in *completion, p place, cause string) (ponder.ThreadID, error) {
	if p.kind == "" {
		return p.id, nil
	}
	if p.kind == ponder.KindResearch && !p.found {
		for ev, err := range a.Desk.Store.Events(ctx, p.id, 0) {
			if err != nil {
				return "", fmt.Errorf("read %s: %w", p.id, err)
			}
			if _, ok := ev.Body.(ponder.RunStarted); !ok {
				continue
			}
			if ev.Cause == cause || !in.keyed() { // which is told that its words are others
				return p.id, nil
			}
			break
		}
	}
	return besides(p.id, "research", p.key), nil
}

// keyed reports whether the caller says which message it is.
func (in *completion) keyed() bool { return in.Key != "" || textOf(in.Body.MessageID) != "" }

// mended returns the error of a request. Without a key, it is the name of a conversation
// that was used for other words.
func (in *completion) mended(err error) error {
	var known *app.Error
	if !errors.As(err, &known) || known.Field != keyField || in.keyed() {
		return err
	}
	return huma.NewError(http.StatusUnprocessableEntity, "validation failed", &huma.ErrorDetail{
		Location: "body.newUniqueId", Message: "a conversation of this name has begun with other words: go on with it as conversationUniqueId, or choose another name",
	})
}
