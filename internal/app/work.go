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
	"ponder/internal/interpret"
	"ponder/internal/retention"
	"ponder/internal/steering"
	"ponder/internal/stream"
	"ponder/internal/textkit"
	"ponder/mode/chat"
	"ponder/mode/passthrough"
	"ponder/mode/research"
	"ponder/mode/session"
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
		a.calibration = new(session.Calibration) // the memory stores no confidences
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
	t.Sources, t.Locale = o.sources(), o.Locale
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

// Interpret converts a sentence for a session into commands: by rules, else with the cheap model of the
// session, within its budget. It changes nothing. resolve may be nil.
func (a *App) Interpret(ctx context.Context, info ponder.Info, v session.View, sentence string, resolve func(string) string) (interpret.Result, error) {
	s := v.Session
	return interpret.Sentence(ctx, interpret.Input{
		Sentence: sentence, Question: s.Question, View: steering.ViewOf(v, info.Kind == ponder.KindResearch),
		Budget: restOf(s), Models: func() []ponder.Model { return a.cheapModels(ctx, info, s) }, Resolve: resolve,
	})
}

// restOf returns the rest of the cost of a session, at least one unit of each limit.
func restOf(s session.Session) (b ponder.Budget) {
	total := s.Budget.Budget()
	left := func(total, used int) int {
		if total == 0 {
			return 0
		}
		return max(1, total-used)
	}
	b.Calls, b.Tokens = left(total.Calls, s.Usage.Calls), left(total.Tokens, s.Usage.Total)
	if total.Money > 0 {
		b.Money = max(1, total.Money-MoneyOf(s.Usage.USD))
	}
	return b
}

// cheapModels returns the models that interpret a sentence for a session. Without any, only the rules do.
func (a *App) cheapModels(ctx context.Context, info ponder.Info, s session.Session) (list []ponder.Model) {
	if info.Model == "" && s.Metadata.WithoutModel {
		return nil
	}
	l, err := a.ModelSet(ctx, "")
	if err != nil {
		return nil
	}
	if slow := l.Choices.ForRole(ponder.Slow).Models; info.Model != "" && (slow == nil || slow[0] != info.Model) {
		if l, err = a.ModelSet(ctx, info.Model); err != nil {
			return nil
		}
	}
	chains, err := l.Chains()
	if err != nil {
		return nil
	}
	for _, role := range []ponder.Role{ponder.Cheap, ponder.Slow} {
		for _, m := range chains[role] {
			if s.Budget.USD == 0 || m.Price.Known() {
				list = append(list, m)
			}
		}
		if list != nil {
			return list
		}
	}
	return nil
}

// RaiseCost calls do, which sends commands. If they raise the cost limit, the payer must have the rest.
func RaiseCost(ctx context.Context, t Thinker, info ponder.Info, v session.View, commands []ponder.Event, do func() error) error {
	most := ponder.Money(0)
	for _, ev := range commands {
		most = max(most, commandBudget(ev))
	}
	limit := MoneyOf(v.Session.Budget.USD)
	quotas, ok := t.(interface {
		CostsMore(ctx context.Context, info ponder.Info, spent, most ponder.Money, do func() error) error
	})
	if !ok || most == 0 || limit > 0 && most <= limit {
		return do()
	}
	return quotas.CostsMore(ctx, info, MoneyOf(v.Session.Usage.USD), most, do)
}

// Interpret interprets a sentence with the models of t, if it has any.
func Interpret(ctx context.Context, t Thinker, info ponder.Info, v session.View, sentence string) (interpret.Result, error) {
	own, ok := t.(interface {
		Interpret(ctx context.Context, info ponder.Info, v session.View, sentence string, resolve func(string) string) (interpret.Result, error)
	})
	if ok {
		return own.Interpret(ctx, info, v, sentence, nil)
	}
	return interpret.Sentence(ctx, interpret.Input{Sentence: sentence, View: steering.ViewOf(v, info.Kind == ponder.KindResearch)})
}
