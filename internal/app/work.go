package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/config"
	"ponder/internal/retention"
	"ponder/internal/stream"
	"ponder/internal/textkit"
	"ponder/mode/chat"
	"ponder/mode/passthrough"
	"ponder/mode/research"
)

func (s *Service) workThread(ctx context.Context, id ponder.ThreadID) error {
	known, err := s.takeSnapshot(ctx, id)
	info := known.info
	if err != nil {
		return err
	}
	if info.Kind == ponder.KindSubconscious {
		return s.Minds.workThread(ctx, info)
	}
	o, err := s.engineSpecFor(ctx, known)
	if err != nil {
		return fmt.Errorf("cannot work on %s: %w", id, err)
	}
	mind, leave, err := s.engines.acquire(ctx, o)
	if err != nil {
		return fmt.Errorf("cannot work on %s: %w", id, err)
	}
	defer leave()
	if info.Kind == ponder.KindConversation {
		defer s.live.Open(id, listeningBehind)()
		if o.Payer != "" && !info.Held { // its last process may have been killed
			if err := s.quotas.Free(ctx, id); err != nil {
				return fmt.Errorf("cannot work on %s: %w", id, err)
			}
		}
	}
	err = mind.Work(ctx, id)
	s.finishWork(context.WithoutCancel(ctx), info)
	if hasBudget(info.Kind) {
		select {
		case s.ended <- struct{}{}:
		default:
		}
	}
	return err
}

func (s *Service) finishWork(ctx context.Context, before ponder.Info) {
	now, err := s.Store.Thread(ctx, before.ID)
	if err != nil {
		return
	}
	switch {
	case now.Kind == ponder.KindConversation:
		s.forgetThoughts(ctx, now.ID, before.Head)
	case now.Kind == ponder.KindExchange:
	case now.Status == ponder.Completed && before.Status != ponder.Completed:
		a := s.forOwner(now.Owner)
		w := a.SessionView(s.Store, now.ID)
		if err := w.Read(ctx, 0); err == nil {
			w.Keep(ctx, s.Store)
		}
		if _, err := s.Store.Thread(ctx, now.ID); errors.Is(err, ponder.ErrNoThread) { // removed meanwhile
			if _, err := a.forgetThread(ctx, s.Store, now.ID); err != nil {
				slog.Warn("cannot remove a session from the memory", "thread", now.ID, "error", err)
			}
		}
	}
}

// forgetThoughts erases expired thoughts of a conversation after an event.
func (s *Service) forgetThoughts(ctx context.Context, id ponder.ThreadID, after ponder.Seq) {
	rule, err := s.Settings.Thinking.Rule()
	if err != nil || rule.KeepsAll() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, CleanupTime)
	defer cancel()
	if _, err := retention.Apply(ctx, s.Store, id, max(0, after-1), rule, time.Now()); err != nil {
		slog.Warn("cannot erase expired thoughts", "thread", id, "error", err)
	}
}

// buildEngine makes the engine of a spec, and returns a function that releases its tools.
func (s *Service) buildEngine(o engineSpec) (*engine.Engine, func(), error) {
	ctx, cancel := context.WithTimeout(s.life, buildTimeout)
	defer cancel()
	a := s.forOwner(o.Owner)
	t := ChatSetup{Sources: o.sources()}
	var err error
	switch {
	case o.Kind == ponder.KindConversation:
		t, err = a.chatSetupFor(ctx, o)
	case o.Kind == ponder.KindExchange:
		t, err = a.exchangeSetup(ctx, o)
	case !o.Alone:
		t.Models, err = a.thinkingModels(ctx, o)
	}
	if err != nil {
		return nil, nil, err
	}
	if t.Models, err = s.meterModels(ctx, o, t.Models); err != nil {
		return nil, nil, err
	}
	c, end, err := a.engineConfig(context.WithoutCancel(ctx), s.Store, &t)
	if err != nil {
		return nil, nil, err
	}
	c.OnDelta = s.deltaReceiver(o.Kind)
	mind, err := s.rootEngine.Derive(c)
	if err != nil {
		end()
		return nil, nil, err
	}
	return mind, end, nil
}

const buildTimeout = 30 * time.Second

func (a *App) thinkingModels(ctx context.Context, o engineSpec) (map[ponder.Role][]ponder.Model, error) {
	l, err := a.ModelSet(ctx, o.Model)
	if err != nil {
		return nil, err
	}
	models, err := l.Chains(rolesOf(o.Kind)...)
	if err == nil && len(models[ponder.Slow]) == 0 {
		err = NoModel(l.Missed)
	}
	return models, err
}

func (a *App) chatSetupFor(ctx context.Context, o engineSpec) (ChatSetup, error) {
	t, err := a.ChatSetup(ctx, o.Model, o.Memory)
	if err != nil {
		return t, err
	}
	t.Sources = o.sources()
	says := []string{t.Config.Prompts[chat.Name]}
	if o.Persona != "" {
		voice, err := a.PersonaVoice(ctx, o.Persona)
		if err != nil {
			return t, err
		}
		says = append(says, "You answer as "+textkit.OneLine(voice.Name)+", without saying that you play a role. Their voice:\n"+voice.Voice)
	}
	if o.System != "" {
		says = append(says, systemProblem(o.System))
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

// listeningBehind delays the socket of a conversation, so that work does not wait for it.
const listeningBehind = 2 * time.Millisecond

// deltaReceiver returns the receiver of deltas for a kind of thread. It publishes only text for the
// user.
func (s *Service) deltaReceiver(kind ponder.Kind) func(ponder.Delta) {
	return func(d ponder.Delta) {
		switch kind {
		case ponder.KindConversation:
			if chat.WritesAnswer(d.Key) {
				s.Hub.Delta(d)
				s.live.Add(d)
			}
		case ponder.KindExchange:
			if strings.HasPrefix(d.Key, passthrough.AskKey) {
				s.Hub.Delta(d)
			}
		case ponder.KindResearch:
			if research.WritesAnswer(d.Key) {
				s.Hub.Delta(d)
			}
		case ponder.KindSession:
			if shown, ok := s.writings.Extract(d); ok {
				s.Hub.Delta(shown)
			}
		}
	}
}

// limitsOf returns the requested limits, else the configured ones, else a time.
func limitsOf(b ponder.Budget, c config.Budgets, otherwise time.Duration) ponder.Budget {
	b.Time = cmp.Or(b.Time, time.Duration(c.For), otherwise)
	b.Tokens, b.Calls, b.Money = cmp.Or(b.Tokens, c.Tokens), cmp.Or(b.Calls, c.Calls), cmp.Or(b.Money, MoneyOf(c.Cost))
	return b
}

func (a *App) Broadcasts() *stream.Broadcasts {
	dir, err := a.Settings.StateDir()
	if err != nil {
		dir = os.DevNull
	}
	return stream.NewBroadcasts(filepath.Join(dir, "live"), chat.WritesAnswer)
}
