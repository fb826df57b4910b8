package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/httpapi"
	"ponder/internal/textkit"
	"ponder/mode/chat"
)

// Open implements [httpapi.Talker].
func (s *server) Open(ctx context.Context, owner string, id ponder.ThreadID, c httpapi.Conversation) error {
	if _, err := s.store.Thread(ctx, id); err == nil {
		return ponder.ErrTaken
	}
	a := s.as(owner)
	memory, _, err := s.looks(ctx, owner, false, c.NoWeb)
	if err != nil {
		return err
	}
	t, err := a.ChatSetup(ctx, c.Model, memory)
	if err != nil {
		return app.OfModel(c.Model, err)
	}
	if c.Model != "" {
		if err := t.Check(ctx); err != nil {
			return app.OfModel(c.Model, err)
		}
	}
	if c.Persona != "" {
		if _, err := a.PersonaVoice(ctx, c.Persona); err != nil {
			return app.Invalidf("persona", "%s", oneLine(err.Error()))
		}
	}
	if c.System, err = cleanSystem(c.System); err != nil {
		return err
	}
	thread := ponder.Thread{
		ID: id, Kind: ponder.KindConversation, Title: clip(oneLine(textkit.Clean(c.Title)), maxTitle), Owner: owner, Created: time.Now(), Model: t.Name,
	}
	return s.goesOn(ctx, ponder.Info{Thread: thread}, func() error {
		if err := s.log.Create(ctx, thread); err != nil {
			return err
		}
		return s.books.wish(ctx, id, func(w *wishing) {
			*w = wishing{Model: c.Model, NoWeb: c.NoWeb, Persona: c.Persona, System: c.System}
		})
	})
}

// Say implements [httpapi.Talker].
func (s *server) Say(ctx context.Context, info ponder.Info, key string, m httpapi.Message) (ponder.Event, error) {
	text, err := saying(m.Content)
	if err != nil || text == "" && len(m.Media) == 0 {
		return ponder.Event{}, app.Invalidf("content", "%s", sayWhy(err))
	}
	m.Content = text
	known := brief{info: info, since: time.Now()}
	if known.entry, err = s.books.entry(ctx, info.ID); err != nil {
		return ponder.Event{}, err
	}
	if known.entry, err = s.wishOf(ctx, known, key, m); err != nil {
		return ponder.Event{}, err
	}
	var said ponder.Event
	err = s.grantedTo(ctx, known.token, info, func() error {
		said, err = s.tell(ctx, known, key, m)
		return err
	})
	return said, err
}

// wishOf notes what a message asks for beside an answer, unless it was said before. It
// returns what the books have of the thread then.
func (s *server) wishOf(ctx context.Context, known brief, key string, m httpapi.Message) (entry, error) {
	before, info := known.entry, known.info
	system, err := cleanSystem(m.System)
	if err != nil {
		return before, err
	}
	system = cmp.Or(system, before.System)
	if m.Model == "" && m.NoWeb == before.NoWeb && system == before.System {
		return before, nil
	}
	if m.After != "" { // nothing is changed for what may not be said
		return before, ponder.ErrStale
	}
	if err := s.unsaid(ctx, info.ID, key); err != nil {
		return before, err
	}
	if m.Model != "" {
		if err := s.change(ctx, s.as(info.Owner), info, m.Model); err != nil {
			return before, app.OfModel(m.Model, err)
		}
	}
	if err := s.books.wish(ctx, info.ID, func(w *wishing) { w.NoWeb, w.System = m.NoWeb, system }); err != nil {
		return before, err
	}
	return s.books.entry(ctx, info.ID)
}

// unsaid returns [ponder.ErrTaken] if a message of a key is on a thread already.
func (s *server) unsaid(ctx context.Context, id ponder.ThreadID, key string) error {
	if key == "" {
		return nil
	}
	for ev, err := range s.store.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		if ev.IsInput() && ev.Cause == key {
			return ponder.ErrTaken
		}
	}
	return nil
}

func sayWhy(err error) string {
	if err == nil {
		return "there is nothing to answer"
	}
	return oneLine(err.Error())
}

// tell tells a thread a message, with what is on the owner's mind of it.
func (s *server) tell(ctx context.Context, known brief, key string, m httpapi.Message) (ponder.Event, error) {
	owner, id := known.info.Owner, known.info.ID
	before, told := s.undercurrents.before(ctx, s, owner, id, m.Content)
	var list []ponder.Event
	if m.Deep {
		list = append(list, ponder.Event{Internal: true, Body: ponder.Observation{Content: m.Content, Sensor: chat.DeepAsked}})
	}
	list = append(list, ponder.Event{Cause: key, Body: m.UserMessage})
	behind := 0
	if m.Note != nil {
		list, behind = append(list, ponder.Event{Cause: app.NoteCause(key), Internal: true, Body: *m.Note}), 1
	}
	stored, err := s.tellWith(ctx, known, m.After, before, list)
	if errors.Is(err, ponder.ErrTaken) && len(before) > 0 { // another process has told it here, or the key is taken
		told = nil
		stored, err = s.tellWith(ctx, known, m.After, nil, list)
	}
	if err != nil {
		return ponder.Event{}, err
	}
	s.undercurrents.noteTold(ctx, s, owner, told)
	return stored[len(stored)-1-behind], nil
}

func (s *server) tellWith(ctx context.Context, known brief, after string, before, list []ponder.Event) ([]ponder.Event, error) {
	all := slices.Concat(before, list)
	for i := range all {
		all[i].ID = ponder.NewID("evt")
	}
	start := func(ctx context.Context) error { return s.start(ctx, known) }
	if after != "" {
		return s.mind.PostAfter(ctx, known.info.ID, after, start, all...)
	}
	return s.mind.Post(ctx, known.info.ID, start, all...)
}

// Undercurrents are what conversations are told of the subconscious of owners. They are
// safe for concurrent use.
type undercurrents struct {
	mu   sync.Mutex
	list map[string]*undercurrent
}

// of returns that of an owner. The caller holds u.mu.
func (u *undercurrents) of(owner string) *undercurrent {
	if u.list[owner] == nil {
		u.list[owner] = &undercurrent{owner: owner}
	}
	return u.list[owner]
}

// before returns what stands before a message, and the escalations in that. That
// something is amiss keeps nobody from talking.
func (u *undercurrents) before(ctx context.Context, s *server, owner string, id ponder.ThreadID, said string) (list []ponder.Event, told []untold) {
	if !s.Settings.Mind.Feeds() {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	one, now := u.of(owner), time.Now()
	err := one.read(ctx, s.store)
	if err == nil {
		list = one.background(said, id, true, now)
		told, err = one.raise(ctx, s.store, id, now)
	}
	if err != nil {
		slog.Warn("the subconscious is not handed on", "error", err)
	}
	for _, e := range told {
		list = append(list, e.observation())
	}
	return list, told
}

// noteTold notes that a conversation has escalations in its log.
func (u *undercurrents) noteTold(ctx context.Context, s *server, owner string, list []untold) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range list {
		if err := u.of(owner).told(context.WithoutCancel(ctx), s.store, e); err != nil {
			slog.Warn("the subconscious may tell something twice", "error", err)
		}
	}
}
