package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/retention"
	"ponder/mode/chat"
	"ponder/mode/passthrough"
	"ponder/mode/research"
)

// work works on a thread: the Work of the server's placement.
func (s *server) work(ctx context.Context, id ponder.ThreadID) error {
	known, err := s.briefed(ctx, id)
	info := known.info
	if err != nil {
		return err
	}
	if info.Kind == ponder.KindSubconscious {
		return s.minds.work(ctx, info)
	}
	o, err := s.outfitOf(ctx, known)
	if err != nil {
		return fmt.Errorf("%s is not taken: %w", id, err)
	}
	mind, leave, err := s.outfits.wear(ctx, o)
	if err != nil {
		return fmt.Errorf("%s is not taken: %w", id, err)
	}
	defer leave()
	if info.Kind == ponder.KindConversation {
		defer s.casts.open(ctx, s.cli, id)()
		defer s.atRest(context.WithoutCancel(ctx), id)
		if o.Payer != "" {
			s.atRest(ctx, id) // another process that had it was killed
		}
	}
	err = mind.Work(ctx, id)
	s.worked(context.WithoutCancel(ctx), info)
	return err
}

// worked does what is to be done after work on a thread, of which info was known before.
func (s *server) worked(ctx context.Context, before ponder.Info) {
	now, err := s.store.Thread(ctx, before.ID)
	if err != nil {
		return
	}
	switch {
	case now.Kind == ponder.KindConversation:
		s.forgetThoughts(ctx, now.ID, before.Head)
	case now.Kind == ponder.KindExchange: // it is nothing to remember
	case now.Status == ponder.Completed && before.Status != ponder.Completed:
		a := s.as(now.Owner)
		w := a.viewing(s.store, now.ID)
		if err := w.load(ctx); err == nil {
			w.keep(ctx, s.store)
		}
		if _, err := s.store.Thread(ctx, now.ID); errors.Is(err, ponder.ErrNoThread) { // removed meanwhile
			if _, err := a.forgetThread(ctx, s.store, now.ID); err != nil {
				slog.Warn("a session that is removed is remembered", "thread", now.ID, "error", err)
			}
		}
	}
}

// forgetThoughts erases thoughts of a conversation, after an event, that are not to be
// kept.
func (s *server) forgetThoughts(ctx context.Context, id ponder.ThreadID, after ponder.Seq) {
	rule, err := s.Settings.Thinking.Rule()
	if err != nil || rule.Keeps() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	if _, err := retention.Apply(ctx, s.store, id, max(0, after-1), rule, time.Now()); err != nil {
		slog.Warn("thoughts that are not to be kept are still there", "thread", id, "error", err)
	}
}

// dress makes the mind of an outfit, and returns what ends the use of what it looks
// through.
func (s *server) dress(o outfit) (*engine.Engine, func(), error) {
	ctx, cancel := context.WithTimeout(s.life, dressTime)
	defer cancel()
	a := s.as(o.Owner)
	t := app.ChatSetup{Sources: o.sight()}
	var err error
	switch {
	case o.Kind == ponder.KindConversation:
		t, err = a.talkingIn(ctx, o)
	case o.Kind == ponder.KindExchange:
		t, err = a.relayingIn(ctx, o)
	case !o.Alone:
		t.Models, err = a.thinkingModels(ctx, o)
	}
	if err != nil {
		return nil, nil, err
	}
	if t.Models, err = s.paid(ctx, o, t.Models); err != nil {
		return nil, nil, err
	}
	c, end, err := a.equip(context.WithoutCancel(ctx), s.store, &t)
	if err != nil {
		return nil, nil, err
	}
	c.OnDelta = s.heard(o.Kind)
	mind, err := s.mind.Derive(c)
	if err != nil {
		end()
		return nil, nil, err
	}
	return mind, end, nil
}

// dressTime is how long it may take to find the models of an outfit.
const dressTime = 30 * time.Second

// thinkingModels returns the models of sessions and research.
func (a *cli) thinkingModels(ctx context.Context, o outfit) (map[ponder.Role][]ponder.Model, error) {
	l, err := a.ModelSet(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	models, err := l.Chains(rolesOf(o.Kind)...)
	if err == nil && len(models[ponder.Slow]) == 0 {
		err = notReadyf("%s", noModel(l.Missed, "; `ponder doctor` says how to have one"))
	}
	return models, err
}

// talkingIn returns how conversations of an outfit are held.
func (a *cli) talkingIn(ctx context.Context, o outfit) (app.ChatSetup, error) {
	t, err := a.ChatSetup(ctx, o.Model, o.Memory)
	if err != nil {
		return t, err
	}
	t.Sources = o.sight()
	says := []string{t.Config.Prompts[chat.Name]}
	if o.Persona != "" {
		voice, err := a.PersonaVoice(ctx, o.Persona)
		if err != nil {
			return t, err
		}
		says = append(says, "You answer as "+oneLine(voice.Name)+", without saying that you play a role. Their voice:\n"+voice.Voice)
	}
	if o.System != "" {
		says = append(says, saysOfSystem(o.System))
	}
	if len(says) == 1 {
		return t, nil
	}
	if t.Config.Prompts = maps.Clone(t.Config.Prompts); t.Config.Prompts == nil {
		t.Config.Prompts = make(map[string]string)
	}
	t.Config.Prompts[chat.Name] = strings.TrimSpace(strings.Join(says, "\n\n"))
	return t, nil
}

// heard returns what takes in what models write on threads of a kind: only words that
// are for the user are told.
func (s *server) heard(kind ponder.Kind) func(ponder.Delta) {
	return func(d ponder.Delta) {
		switch kind {
		case ponder.KindConversation:
			if chat.WritesAnswer(d.Key) {
				s.hub.Delta(d)
				s.casts.add(d)
			}
		case ponder.KindExchange:
			if strings.HasPrefix(d.Key, passthrough.AskKey) {
				s.hub.Delta(d)
			}
		case ponder.KindResearch:
			if research.WritesAnswer(d.Key) {
				s.hub.Delta(d)
			}
		case ponder.KindSession: // of which models write JSON
			if shown, ok := s.writings.Hear(d); ok {
				s.hub.Delta(shown)
			}
		}
	}
}

// Casts tell other processes what is written on the conversations at work here.
type casts struct {
	mu   sync.Mutex
	list map[ponder.ThreadID]*caster
}

// castAfter is when a socket is made: what is done before a model is asked goes first.
const castAfter = 2 * time.Millisecond

// open begins to tell what is written on a conversation, until close. Work does not wait
// for the socket.
func (c *casts) open(ctx context.Context, a *cli, id ponder.ThreadID) (closeIt func()) {
	one, listening := &caster{subs: make(map[chan casting]bool)}, make(chan struct{})
	soon := time.AfterFunc(castAfter, func() {
		defer close(listening)
		if l := a.castOn(ctx, id); l != nil {
			one.begin(l)
		}
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list[id] = one
	return func() {
		c.mu.Lock()
		delete(c.list, id)
		c.mu.Unlock()
		if !soon.Stop() {
			<-listening // the next may listen at the same place
		}
		one.close()
	}
}

func (c *casts) add(d ponder.Delta) {
	c.mu.Lock()
	one := c.list[d.Thread]
	c.mu.Unlock()
	one.add(d)
}

// limitsOf returns the limits of a run: those that are asked for, else those that are
// configured, else a time.
func limitsOf(asked ponder.Budget, c config.Budgets, otherwise time.Duration) ponder.Budget {
	b := asked
	if b.Time == 0 {
		b.Time = time.Duration(c.For)
	}
	if b.Time == 0 {
		b.Time = otherwise
	}
	if b.Tokens == 0 {
		b.Tokens = c.Tokens
	}
	if b.Calls == 0 {
		b.Calls = c.Calls
	}
	if b.Money == 0 {
		b.Money = money(c.Cost)
	}
	return b
}
