package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"ponder"
	"ponder/engine"
	"ponder/internal/report"
	"ponder/internal/steering"
	"ponder/internal/stream"
	"ponder/internal/textkit"
	"ponder/internal/transcript"
	"ponder/mode/session"
	"ponder/store/sqlite"
)

func (s *Service) Go(ctx context.Context, id ponder.ThreadID, model string) error {
	info, err := s.prepareRun(ctx, id, model)
	if err != nil {
		return err
	}
	return s.continueThread(ctx, info, func() error { return s.place.Start(ctx, id) })
}

func (s *Service) Resume(ctx context.Context, id ponder.ThreadID, model string, tell func() error) error {
	info, err := s.prepareRun(ctx, id, model)
	if err != nil {
		return err
	}
	return s.continueThinking(ctx, info, func() error {
		if err := tell(); err != nil {
			return err
		}
		if l, err := s.ModelSet(ctx, ""); err == nil {
			l.ResetAuthErrors()
		}
		return s.place.Start(ctx, id)
	})
}

func (s *Service) prepareRun(ctx context.Context, id ponder.ThreadID, model string) (ponder.Info, error) {
	a, info, err := s.threadOwner(ctx, id)
	if err != nil {
		return info, err
	}
	if model != "" {
		if err := s.changeModel(ctx, a, info, model); err != nil {
			return info, OfModel(model, err)
		}
	}
	return info, OfModel(model, s.checkRunnable(ctx, info))
}

// changeModel sets the model of a thread after a check that it will answer.
func (s *Service) changeModel(ctx context.Context, a *App, info ponder.Info, model string) error {
	if info.Kind == ponder.KindConversation {
		t, err := a.ChatSetup(ctx, model, false)
		if err == nil {
			err = t.Check(ctx)
		}
		if err != nil {
			return err
		}
	} else {
		l, err := a.ModelSet(ctx, model)
		if err != nil {
			return err
		}
		models, err := l.Chains(rolesOf(info.Kind)...)
		if err == nil {
			err = a.CheckModels(ctx, l, models, rolesOf(info.Kind)...)
		}
		if err != nil {
			return err
		}
	}
	return s.DB.ChangePrefs(ctx, info.ID, func(w *threadPrefs) { w.Model = model })
}

func (s *Service) Fork(ctx context.Context, owner string, from, id ponder.ThreadID, f Fork) error {
	if _, err := s.Store.Thread(ctx, id); err == nil {
		return ponder.ErrTaken
	}
	a, info, err := s.threadOwner(ctx, from)
	if err != nil {
		return err
	}
	limit := ponder.Budget{}
	return s.startWithQuota(ctx, id, &limit, func() error {
		if info.Kind == ponder.KindConversation {
			err = s.forkConversation(ctx, info, id, f)
		} else {
			err = s.forkSession(ctx, a, info, id, f, limit.Money)
		}
		if err != nil {
			return OfModel(f.Model, err)
		}
		if f.Paused {
			return nil
		}
		return s.place.Start(ctx, id)
	})
}

func (s *Service) forkConversation(ctx context.Context, info ponder.Info, id ponder.ThreadID, f Fork) error {
	at := f.At
	if at == 0 {
		at = info.Head
	}
	to := ponder.Thread{ID: id, Title: textkit.Truncate(textkit.OneLine(textkit.Clean(f.Title)), MaxTitle), Model: f.Model}
	if err := engine.Fork(ctx, s.Log, info.ID, at, to, f.Commands...); err != nil {
		return noSuchEvent(err, at)
	}
	return s.copyPrefs(ctx, info.ID, id, f.Model)
}

// copyPrefs gives a fork the preferences of its origin, or another model.
func (s *Service) copyPrefs(ctx context.Context, from, id ponder.ThreadID, model string) error {
	asked, err := s.DB.readPrefs(ctx, from)
	if err != nil {
		return err
	}
	if model != "" {
		asked.Model = model
	}
	return s.DB.ChangePrefs(ctx, id, func(w *threadPrefs) { *w = asked })
}

// forkSession forks a session or a research. A positive most limits its cost.
func (s *Service) forkSession(ctx context.Context, a *App, info ponder.Info, id ponder.ThreadID, f Fork, most ponder.Money) error {
	w := a.SessionView(s.Store, info.ID)
	if err := w.Read(ctx, 0); err != nil {
		return err
	}
	p, err := w.PrepareFork(ctx, info, f, func(then *SessionView) ([]ponder.Event, error) {
		seen, commands := then.View.Session, f.Commands
		if most > 0 && !isWithinLimit(seen, commands, most) {
			commands = append(slices.Clip(commands), limitTo(seen, most)) // the last one counts
		}
		return commands, nil
	})
	if err != nil {
		return err
	}
	if err := p.Fork(ctx, s.Log, id); err != nil {
		return noSuchEvent(err, p.At)
	}
	return s.copyPrefs(ctx, info.ID, id, p.to.Model)
}

// limitTo returns a command that limits a session to more money than it has used.
func limitTo(seen session.Session, more ponder.Money) ponder.Event {
	args, err := json.Marshal(ponder.Budget{Cost: ponder.Cost{Money: MoneyOf(seen.Usage.USD) + more}})
	if err != nil {
		panic(err)
	}
	return ponder.Event{ID: ponder.NewID("evt"), Run: seen.Run, Body: ponder.Steer{Do: ponder.SetBudget, Args: args}}
}

// isWithinLimit reports whether a fork with these commands stays within most anyway.
func isWithinLimit(seen session.Session, commands []ponder.Event, most ponder.Money) bool {
	limit := MoneyOf(seen.Budget.USD)
	for _, ev := range commands {
		limit = cmp.Or(commandBudget(ev), limit)
	}
	return limit > 0 && limit <= MoneyOf(seen.Usage.USD)+most
}

func commandBudget(ev ponder.Event) ponder.Money {
	b, _ := ev.Body.(ponder.Steer)
	return steering.LimitsOf(b).Money
}

func noSuchEvent(err error, at ponder.Seq) error {
	if errors.Is(err, ponder.ErrNoEvent) {
		return Invalidf("at", "no such event: %d", at)
	}
	return err
}

// Remove implements [Thinker]. It completes even if the caller leaves.
func (s *Service) Remove(ctx context.Context, id ponder.ThreadID) error {
	a, info, err := s.threadOwner(ctx, id)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if _, _, err := a.EraseThread(ctx, s.Store, info, s.Log.Remove); err != nil {
		return err
	}
	return s.DB.Remove(ctx, id)
}

// Report implements [Thinker]. The formats are json, markdown, jsonl and html.
func (s *Service) Report(ctx context.Context, id ponder.ThreadID, format string) (Document, error) {
	a, info, err := s.threadOwner(ctx, id)
	if err != nil {
		return Document{}, err
	}
	var d Document
	switch format {
	case "", "json":
		d.Type, d.Name = "application/json", string(id)+".json"
	case "markdown", "md":
		d.Type, d.Name = "text/markdown; charset=utf-8", string(id)+".md"
	case "html":
		d.Type, d.Name = "text/html; charset=utf-8", string(id)+".html"
	case "jsonl":
		d.Type, d.Name = "application/x-ndjson", string(id)+".jsonl"
	default:
		return d, Invalidf("format", "%q is unknown; use json, markdown, html or jsonl", textkit.Truncate(textkit.OneLine(format), 20))
	}
	if format == "jsonl" {
		d.Body, err = s.exportLines(ctx, info)
	} else {
		worth := func(ctx context.Context) session.Calibration { return s.Calibrated(ctx, info.Owner) }
		d.Body, err = a.ReportOf(ctx, s.Public, s.Store, info, format, worth)
	}
	return d, err
}

func (s *Service) exportLines(ctx context.Context, info ponder.Info) ([]byte, error) {
	var out bytes.Buffer
	if err := transcript.Write(&out, info.Thread, stream.VisibleEvents(s.Public.Events(ctx, info.ID, 0)), false); err != nil {
		return nil, fmt.Errorf("export %s: %w", info.ID, err)
	}
	return out.Bytes(), nil
}

// ReportOf writes a session or a research of a log as json, markdown or html. store has the icons of
// sources. worth returns the
// calibration.
func (a *App) ReportOf(ctx context.Context, log ponder.Log, store *sqlite.Store, info ponder.Info, format string, worth func(context.Context) session.Calibration) ([]byte, error) {
	if info.Kind == ponder.KindResearch {
		v, since, err := FoldResearch(ctx, log, info.ID)
		if err != nil {
			return nil, err
		}
		if IsInterrupted(info) {
			v.Research.Status = ponder.Paused
		}
		r := report.NewResearch(v, since)
		return a.WriteResearch(ctx, store, &r, format)
	}
	v, err := Fold(ctx, log, info.ID)
	if err != nil {
		return nil, err
	}
	v = v.Calibrate(worth(ctx))
	if IsInterrupted(info) {
		v.Session.Status = ponder.Paused
	}
	switch format {
	case "markdown", "md":
		return []byte(report.Markdown(v)), nil
	case "html":
		return report.HTML(v)
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("export %s: %w", info.ID, err)
	}
	return append(text, '\n'), nil
}

func (a *App) WriteResearch(ctx context.Context, store *sqlite.Store, r *report.Research, format string) ([]byte, error) {
	switch format {
	case "markdown", "md":
		return r.Markdown()
	case "html":
		a.Icons(ctx, store, r)
		return r.HTML()
	}
	return r.JSON()
}
