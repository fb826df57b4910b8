package httpapi

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"

	"ponder"
	"ponder/internal/access"
	"ponder/internal/stream"
)

// An answer is the work that a request has begun, or found at work.
type answer struct {
	name     string          // what the caller calls the conversation
	thread   ponder.ThreadID // that the answer is written on
	watch    *stream.Watcher
	tell     teller
	fresh    bool     // the conversation begins with it
	question string   // what was asked
	models   []string // of whom, as far as that is known
}

// clientThread returns the id of the conversation that an owner calls so.
func clientThread(owner, name string) ponder.ThreadID {
	return ponder.ThreadID("thr_" + crockford(digest(owner, "newUniqueId", name)))
}

// A place in a conversation is where a message belongs.
type spot struct {
	id    ponder.ThreadID // of the conversation
	name  string          // what the caller calls it
	kind  ponder.Kind     // of its thread; empty if there is none yet
	key   string          // of the message
	found bool            // the conversation had to be there
	once  string          // of the request, where it is to be made in the same words only
}

// spotOf finds the conversation of a request, as far as there is one.
func (a *api) spotOf(ctx context.Context, in *completion) (s spot, err error) {
	owner := access.CallerOf(ctx).Owner
	s.name, s.found = in.name(), in.goesOn()
	s.key, s.once = cmp.Or(in.Key, textOf(in.Body.MessageID)), in.Key
	switch {
	case s.found:
		info, err := a.conversation(ctx, s.name)
		if err != nil {
			return s, err
		}
		s.id, s.kind, s.key = info.ID, info.Kind, cmp.Or(s.key, ponder.NewID("key"))
		return s, nil
	case s.name != "":
		s.id, s.key = clientThread(owner, s.name), cmp.Or(s.key, "first")
	default:
		s.id = OnceKey{s.key}.thread(owner, completionsRoute)
		if err := a.unspent(ctx, s.key, s.id); err != nil {
			return s, err
		}
		s.name, s.once, s.key = string(s.id), s.key, cmp.Or(s.key, "first")
	}
	info, err := a.Store.Thread(ctx, s.id)
	if errors.Is(err, ponder.ErrNoThread) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.kind = info.Kind
	return s, nil
}

// conversation returns the thread of a conversation of whoever asks, by its id or by what
// a client has called it.
func (a *api) conversation(ctx context.Context, name string) (ponder.Info, error) {
	kinds := []ponder.Kind{ponder.KindConversation, ponder.KindResearch, ponder.KindSession}
	info, err := a.owned(ctx, name, kinds...)
	if err == nil {
		return info, nil
	}
	if own, errOwn := a.owned(ctx, string(clientThread(access.CallerOf(ctx).Owner, name)), kinds...); errOwn == nil {
		return own, nil
	}
	return info, err
}

// answering begins to answer a request, or finds the answer that was begun before.
func (a *api) answering(ctx context.Context, in *completion) (*answer, error) {
	s, err := a.spotOf(ctx, in)
	if err != nil {
		return nil, err
	}
	whole := context.WithoutCancel(ctx) // what is begun is not left half done by one who goes away
	begin := func() (*answer, error) {
		if in.deep() {
			return a.researching(whole, in, s)
		}
		return a.talking(whole, in, s)
	}
	var begun *answer
	id := onceID{access.CallerOf(ctx).Owner, completionsRoute, s.once}
	_, err = a.once(ctx, id, words([]any{in.deep(), s.id, bare(in.last().text)}), func() (string, error) {
		got, err := begin()
		if err != nil {
			return "", err
		}
		begun = got
		return words(got.thread), nil
	})
	if err == nil && begun == nil { // it was begun before: its threads know what it was
		return begin()
	}
	return begun, err
}

// researching begins research on the last message: on the thread of the conversation, if
// it begins with it, or else on one beside it.
func (a *api) researching(ctx context.Context, in *completion, s spot) (*answer, error) {
	st := Start{
		Kind: ponder.KindResearch, Question: in.question(), Model: in.model(), NoWeb: in.noWeb(), Persona: textOf(in.Body.App),
		Title: clip(in.question(), maxTitle),
	}
	st.Cause = words([]any{st.Question, st.NoWeb, st.Model, st.Persona})
	id, begun, err := a.researchThread(ctx, in, s, st.Cause)
	if err != nil {
		return nil, err
	}
	if !begun {
		if st.Context, err = a.contextOf(ctx, in, s); err != nil {
			return nil, err
		}
		err = a.Service.Begin(ctx, access.CallerOf(ctx).Owner, id, st)
		if errors.Is(err, ponder.ErrTaken) {
			err = a.sameResearch(ctx, in, id, st.Cause)
		}
		if err != nil {
			return nil, err
		}
	}
	info, err := a.owned(ctx, string(id), ponder.KindResearch)
	if err != nil {
		return nil, err
	}
	models := given(cmp.Or(in.model(), info.Model))
	return &answer{
		name: s.name, thread: id, watch: a.Hub.Watch(id, 0), fresh: !s.found, question: st.Question, models: models,
		tell: &researchTeller{models: models, queries: make(map[string]string)},
	}, nil
}

// researchThread returns the thread of a research, and whether it was begun before.
func (a *api) researchThread(ctx context.Context, in *completion, s spot, cause string) (id ponder.ThreadID, begun bool, err error) {
	switch {
	case s.kind == "":
		return s.id, false, nil
	case s.kind == ponder.KindResearch && !s.found:
		begun, err = a.asks(ctx, s.id, cause)
		if err == nil && !begun && !in.keyed() {
			err = otherConversation()
		}
		if begun || err != nil {
			return s.id, begun, err
		}
	}
	return besides(s.id, "research", s.key), false, nil
}

// sameResearch makes sure that a research is that of the caller, and was asked for in
// these words.
func (a *api) sameResearch(ctx context.Context, in *completion, id ponder.ThreadID, cause string) error {
	if _, err := a.owned(ctx, string(id), ponder.KindResearch); err != nil {
		return huma.Error409Conflict("what was begun under this key is something else, or was removed: choose a new one")
	}
	same, err := a.asks(ctx, id, cause)
	if err == nil && !same {
		err = in.otherWords()
	}
	return err
}

// asks reports whether a thread was begun with a cause.
func (a *api) asks(ctx context.Context, id ponder.ThreadID, cause string) (bool, error) {
	for ev, err := range a.Store.Events(ctx, id, 0) {
		if err != nil {
			return false, fmt.Errorf("read %s: %w", id, err)
		}
		if _, ok := ev.Body.(ponder.RunStarted); ok {
			return ev.Cause == cause, nil
		}
	}
	return false, nil
}

// keyed reports whether the caller says which message it is.
func (in *completion) keyed() bool { return in.Key != "" || textOf(in.Body.MessageID) != "" }

// otherWords is the error of a request that was made before in other words.
func (in *completion) otherWords() error {
	if in.keyed() {
		return otherWords()
	}
	return otherConversation()
}

func otherConversation() error {
	return huma.Error422UnprocessableEntity("validation failed", &huma.ErrorDetail{
		Location: "body.newUniqueId", Message: "a conversation of this name has begun with other words: go on with it as conversationUniqueId, or choose another name",
	})
}

// talking says the last message in a conversation, and has it answered.
func (a *api) talking(ctx context.Context, in *completion, s spot) (*answer, error) {
	owner, id := access.CallerOf(ctx).Owner, s.id
	if s.kind != "" && s.kind != ponder.KindConversation {
		id, s.kind = besides(s.id, "talk", ""), ""
		if info, err := a.Store.Thread(ctx, id); err == nil {
			s.kind = info.Kind
		}
	}
	if s.kind == "" {
		c := Conversation{Title: clip(in.question(), maxTitle), Model: in.model(), NoWeb: in.noWeb(), Persona: textOf(in.Body.App)}
		if err := a.Service.Open(ctx, owner, id, c); err != nil && !errors.Is(err, ponder.ErrTaken) {
			return nil, err
		}
	}
	info, err := a.owned(ctx, string(id), ponder.KindConversation)
	if err != nil {
		return nil, err
	}
	key := causeOf(owner, id, s.key)
	known, err := a.saidBeside(ctx, owner, s.id, id)
	if err != nil {
		return nil, err
	}
	if err := a.recallBefore(ctx, info, key, known, in.said[:len(in.said)-1]); err != nil {
		return nil, err
	}
	w := a.Hub.Watch(id, info.Head)
	ev, deaf, err := a.say(ctx, owner, info, key, in)
	if err != nil {
		w.Close()
		return nil, err
	}
	if deaf > 0 {
		w.Close()
		w = a.Hub.Watch(id, ev.Seq-1)
	}
	models := given(cmp.Or(in.model(), info.Model))
	return &answer{
		name: s.name, thread: id, watch: w, fresh: !s.found, question: in.question(), models: models,
		tell: newTalkTeller(ev, deaf, models, !s.found),
	}, nil
}

// say appends the message. If it is there already, deaf is the newest event there was
// then: what is being written at that moment was not heard from its beginning.
func (a *api) say(ctx context.Context, owner string, info ponder.Info, key string, in *completion) (ev ponder.Event, deaf ponder.Seq, err error) {
	last := in.last()
	m := Message{UserMessage: ponder.UserMessage{Content: last.text, Media: last.media}, NoWeb: in.noWeb()}
	if in.model() != info.Model {
		m.Model = in.model()
	}
	ev, err = a.Service.Say(ctx, owner, info.ID, key, m)
	if !errors.Is(err, ponder.ErrTaken) {
		return ev, 0, err
	}
	for ev, err := range a.Store.Events(ctx, info.ID, 0) {
		if err != nil {
			return ev, 0, fmt.Errorf("read %s: %w", info.ID, err)
		}
		b, ok := ev.Body.(ponder.UserMessage)
		if !ok || ev.Cause != key {
			continue
		}
		if bare(b.Content) != bare(last.text) {
			return ev, 0, in.otherWords()
		}
		now, err := a.Store.Thread(ctx, info.ID)
		return ev, max(now.Head, ev.Seq), err
	}
	return ev, 0, &Error{Status: http.StatusConflict, Detail: "the message is there already, and cannot be found: choose another Idempotency-Key"}
}

// causeOf returns the cause of a message.
func causeOf(owner string, id ponder.ThreadID, key string) string {
	sum := digest(owner, completionsRoute, string(id), key)
	return "post-" + hex.EncodeToString(sum[:16])
}

// bare returns the letters and digits of a text: what is left of it however it is cleaned.
func bare(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSymbol(r) {
			return r
		}
		return -1
	}, text)
}

// given returns a list of a model, if there is one.
func given(model string) []string {
	if model == "" {
		return []string{}
	}
	return []string{model}
}
