package httpapi

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/auth"
	"ponder/mode/session"
)

// A forkBody is where a session goes another way, and how.
type forkBody struct {
	At     int64      `json:"at,omitempty" minimum:"1" doc:"begin with what there was up to the event of this seq; the newest if missing, or, of a session that has ended, the newest before it began to conclude"`
	Model  string     `json:"model_id,omitempty" maxLength:"200" doc:"go on with this provider/model"`
	Title  string     `json:"title,omitempty" maxLength:"200" doc:"how lists show it"`
	Paused bool       `json:"paused,omitempty" doc:"do not go on yet"`
	Wishes []WishBody `json:"wishes,omitempty" maxItems:"50" doc:"what is to be different: see steer"`
}

func (b forkBody) wishes() (w wishes) {
	for i, one := range b.Wishes {
		w.list, w.at = append(w.list, one), append(w.at, "body.wishes["+strconv.Itoa(i)+"]")
	}
	return w
}

type forkSession struct {
	ActOn
	Body *forkBody
}

// Resolve implements [huma.Resolver].
func (in *forkSession) Resolve(huma.Context) (wrong []error) {
	if in.Body == nil {
		in.Body = &forkBody{}
	}
	w := in.Body.wishes()
	for i, one := range w.list {
		wrong = append(wrong, one.check(w.at[i])...)
	}
	return wrong
}

func (a *api) forkSession(ctx context.Context, in *forkSession) (*steered, error) {
	info, err := a.owned(ctx, in.ID, ponder.KindSession)
	if err != nil {
		return nil, err
	}
	owner, route, b := auth.CallerOf(ctx).Owner, "fork "+string(info.ID), *in.Body
	id := in.thread(owner, route)
	if err := a.unspent(ctx, in.Key, id); err != nil {
		return nil, err
	}
	var run ponder.RunID
	var unfit error
	w := b.wishes()
	err = a.look(ctx, info, func(v session.View) {
		if run = v.Session.Run; b.At == 0 { // of what was before, the session itself says what fits
			unfit = w.fit(v)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case run == "":
		return nil, wrongState("the session has no question to think about")
	}
	wished, err := w.events(run, in.cause(owner, route))
	if err != nil {
		return nil, a.failed(err)
	}
	_, err = a.onces.do(ctx, onceID{owner, route, in.Key}, words(b), func() (any, error) {
		if _, err := a.Store.Thread(ctx, id); err == nil {
			return nil, ponder.ErrTaken
		}
		if unfit != nil {
			return nil, unfit
		}
		return nil, a.fork(ctx, info, id, b, wished)
	})
	if errors.Is(err, ponder.ErrTaken) && in.Key != "" {
		return a.forkedBefore(ctx, id, b, wished)
	}
	if err != nil {
		return nil, a.failed(err)
	}
	return a.forked(ctx, id, "the session goes its own way from here")
}

// fork makes the fork that a request asks for.
func (a *api) fork(ctx context.Context, info ponder.Info, id ponder.ThreadID, b forkBody, wished []ponder.Event) error {
	if b.At > int64(info.Head) {
		return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
			Location: "body.at", Message: "the session has only " + strconv.FormatInt(int64(info.Head), 10) + " events", Value: b.At,
		})
	}
	f := Fork{At: ponder.Seq(b.At), Model: b.Model, Title: strings.TrimSpace(b.Title), Paused: b.Paused, Wishes: wished}
	return a.Service.Fork(ctx, info.Owner, info.ID, id, f)
}

// forked answers with a fork, and what became of the wishes on it.
func (a *api) forked(ctx context.Context, id ponder.ThreadID, message string) (*steered, error) {
	sent, _, err := a.ownWishes(ctx, id)
	if err != nil {
		return nil, a.failed(err)
	}
	if len(sent) > 0 { // also one that is paused says what it does about them
		info, err := a.owned(ctx, string(id), ponder.KindSession)
		if err != nil {
			return nil, err
		}
		a.obey(ctx, info)
	}
	out, err := a.outcomes(ctx, id, sent, obeyTime)
	if err == nil && len(sent) == 0 {
		out.Body.Message = message
	}
	return out, err
}

// ownWishes returns what a fork was told when it was made, and from which event it comes.
func (a *api) ownWishes(ctx context.Context, id ponder.ThreadID) (sent []ponder.Event, at ponder.Seq, err error) {
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return nil, 0, err
		}
		switch b := ev.Body.(type) {
		case ponder.SystemNote:
			if b.From != "" {
				sent, at = nil, b.At // wishes before it are those of the other
			}
		case ponder.Steer:
			sent = append(sent, ev)
		}
	}
	return sent, at, nil
}

// forkedBefore answers a request that was answered already, unless it asks for something
// else.
func (a *api) forkedBefore(ctx context.Context, id ponder.ThreadID, b forkBody, wished []ponder.Event) (*steered, error) {
	info, err := a.owned(ctx, string(id), ponder.KindSession)
	if err != nil {
		return nil, spent()
	}
	sent, at, err := a.ownWishes(ctx, id)
	if err != nil {
		return nil, a.failed(err)
	}
	first := sent[:min(len(sent), len(wished))]
	if b.At != 0 && ponder.Seq(b.At) != at || !alike(b.Title, info.Title) || !same(first, wished) {
		return nil, otherWords()
	}
	return a.forked(ctx, id, "the session was forked already")
}

// alike reports whether a title that is wished for may be that of a thread, where it may
// have been shortened.
func alike(wished, title string) bool {
	const enough = 20
	is := []rune(strings.Join(strings.Fields(wished), " "))
	return strings.HasPrefix(title, string(is[:min(len(is), enough)]))
}
