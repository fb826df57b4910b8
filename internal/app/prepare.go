package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/store/memory"
)

// A SessionModels is what a session is thought with.
type SessionModels struct {
	Models map[ponder.Role][]ponder.Model
	Name   string // of the model that thinks, or empty
	Missed error  // why the model is missing that the user named
}

// SessionRoles are the roles whose models a session asks.
func SessionRoles() []ponder.Role { return []ponder.Role{ponder.Slow, ponder.Frontier} }

// PrepareSession finds the models for a session and makes sure that they will answer, as
// far as they can say. Where there is none, it sets the options to do without, if
// there is something to quote.
func (a *App) PrepareSession(ctx context.Context, model string, budget ponder.Budget, opts *session.Options) (*SessionModels, error) {
	p, unaided, err := a.PrepareModels(ctx, model, budget, SessionRoles(), len(opts.Docs) > 0 || opts.Memory || opts.Web)
	opts.WithoutModel = opts.WithoutModel || unaided
	return p, err
}

// PrepareModels finds the models of some roles, and reports whether there are none, which
// is an error if there is nothing to quote.
func (a *App) PrepareModels(ctx context.Context, model string, budget ponder.Budget, roles []ponder.Role, quotable bool) (p *SessionModels, unaided bool, err error) {
	defer func() { err = ofModelName(model, err) }()
	l, err := a.ModelSet(ctx, model)
	if err != nil {
		return nil, false, err
	}
	if l.Empty() {
		if !quotable {
			return nil, false, NoModel(l.Missed)
		}
		return &SessionModels{Missed: l.Missed}, true, nil
	}
	models, err := l.Chains(roles...)
	if err != nil {
		return nil, false, err
	}
	if err := CheckPrices(models, budget, l.Config); err != nil {
		return nil, false, err
	}
	if err := a.CheckModels(ctx, l, models, roles...); err != nil {
		return nil, false, err
	}
	return &SessionModels{Models: models, Name: models[ponder.Slow][0].Name()}, false, nil
}

// CheckPrices makes sure that a budget of money can be kept.
func CheckPrices(models map[ponder.Role][]ponder.Model, budget ponder.Budget, cfg *config.Config) error {
	if budget.Money == 0 {
		return nil
	}
	for _, role := range slices.Sorted(maps.Keys(models)) {
		for _, m := range models[role] {
			if m.Price.Source == ponder.PriceUnknown {
				return Invalidf("max_cost_usd", "the cost of %s cannot be limited: %w; add [models.price.%q] with input = and output = "+
					"(USD per million tokens) to %s", m.Name(), ErrUnpriced, m.Name(), cfg.File)
			}
		}
	}
	return nil
}

// CheckDocs returns the absolute paths of documents, having made sure that something in
// them can be read. Field is that of the paths. The tools of a take what it has read.
func (a *App) CheckDocs(ctx context.Context, field string, paths []string) ([]string, error) {
	all, listing, err := FindDocs(ctx, field, paths, document.Options{Readings: a.readings})
	if err != nil || listing == nil || slices.ContainsFunc(listing.Files, func(f document.File) bool { return f.Named }) {
		return all, err
	}
	unread := CheckDocuments(ctx, listing, 1).Unread
	if len(unread) < len(listing.Files) || ctx.Err() != nil {
		return all, ctx.Err()
	}
	return nil, Invalidf(field, "%s: %w%s", strings.Join(paths, ", "), ErrUnreadable, Skipped(unread))
}

// FindDocs returns the absolute paths of documents and, if there are any, what is there to
// read. Files that are named have been read; folders are only looked through.
func FindDocs(ctx context.Context, field string, paths []string, read document.Options) ([]string, *document.Listing, error) {
	var all, files []string
	for _, path := range paths {
		if path == "" {
			return nil, nil, Invalidf(field, "needs a file or a folder")
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		info, err := os.Stat(abs)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, Invalidf(field, "%s: there is no such file or folder", path)
		case err != nil:
			return nil, nil, Invalidf(field, "%s: %w", path, errors.Unwrap(err))
		case !info.IsDir():
			files = append(files, abs)
		}
		all = append(all, abs)
	}
	if len(files) > 0 {
		check := read
		check.Check = true
		if _, _, err := document.Load(ctx, files, check); err != nil {
			return nil, nil, docsError(ctx, field, err)
		}
	}
	if len(all) == 0 {
		return nil, nil, nil
	}
	listing, err := document.Scan(ctx, all, read)
	if err != nil {
		return nil, nil, docsError(ctx, field, err)
	}
	if len(listing.Files) == 0 {
		return nil, nil, Invalidf(field, "%s: nothing to read in it: Ponder reads Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code%s", paths[0], Skipped(listing.Skipped))
	}
	return all, listing, nil
}

// docsError is an error of reading documents, save that of an interruption.
func docsError(ctx context.Context, field string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return Invalidf(field, "%w", err)
}

func Skipped(list []document.Skipped) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", document.Legible(list[0].Path), list[0].Reason)
}

// CheckTime is how long it is tried to read documents, in which what reads PDFs may have
// to be made ready first.
const CheckTime = 20 * time.Second

// A DocumentCheck is what came of reading files.
type DocumentCheck struct {
	Read   int
	Unread []document.Skipped // of which nothing can be read
}

// CheckDocuments reads files of a listing for a while, until it has read enough of them.
func CheckDocuments(ctx context.Context, list *document.Listing, enough int) (t DocumentCheck) {
	since := time.Now()
	for _, f := range list.Files {
		if t.Read >= enough || time.Since(since) >= CheckTime || ctx.Err() != nil {
			break
		}
		if err := list.Check(ctx, f); err != nil {
			t.Unread = append(t.Unread, document.Skipped{Path: f.Path, Reason: textkit.OneLine(err.Error())})
			continue
		}
		t.Read++
	}
	return t
}

// AllowsCall returns an error if the budget of a session is too small for a single call. It
// starts the session in memory without sources, because such a call is the cheapest, and ends
// it as soon as a model is asked.
func (p *PreparedStart) AllowsCall(ctx context.Context) error {
	opts := p.session
	if opts.WithoutModel || p.Budget.Tokens == 0 && p.Budget.Money == 0 {
		return nil
	}
	opts.Earlier, opts.Docs, opts.Memory, opts.Web = false, nil, false, false
	store := memory.New()
	id, err := p.make(ctx, store, p.run, opts)
	if err != nil {
		return err
	}
	rehearsal, stop := context.WithCancel(ctx)
	defer stop()
	var asked atomic.Bool
	models := make(map[ponder.Role][]ponder.Model, len(p.Models))
	for role, chain := range p.Models {
		for _, m := range chain {
			m.Model = refusingModel{m.Model, func() { asked.Store(true); stop() }}
			models[role] = append(models[role], m)
		}
	}
	mind, err := engine.New(engine.Config{Store: store, Modes: []ponder.Mode{session.New()}, Models: models, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	err = mind.Open(rehearsal)
	if err == nil {
		err = mind.Work(rehearsal, id)
	}
	err = errors.Join(err, mind.Close(context.WithoutCancel(ctx)))
	switch {
	case ctx.Err() != nil:
		return err
	case asked.Load() || err != nil: // then it is for the session to find out
		return nil
	}
	return Invalidf("", "a budget of %s does not allow a single call of %s: give it more", p.Budget, p.Name)
}

type refusingModel struct {
	llm.Model
	asked func()
}

func (m refusingModel) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.asked()
		<-ctx.Done()
		yield(llm.Delta{}, &llm.Error{Class: llm.Transient, Model: m.Name(), Message: "this is a rehearsal"})
	}
}
