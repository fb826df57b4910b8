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

type SessionModels struct {
	Models map[ponder.Role][]ponder.Model
	Name   string
	Missed error // why the named model is unavailable
}

func SessionRoles() []ponder.Role { return []ponder.Role{ponder.Slow, ponder.Frontier} }

// PrepareSession finds the models of a session and checks that they will answer. Without a
// model, it sets opts to quote sources if there are any.
func (a *App) PrepareSession(ctx context.Context, model string, budget ponder.Budget, opts *session.Options) (*SessionModels, error) {
	p, unaided, err := a.PrepareModels(ctx, model, budget, SessionRoles(), len(opts.Docs) > 0 || opts.Memory || opts.Web)
	opts.WithoutModel = opts.WithoutModel || unaided
	return p, err
}

// PrepareModels finds the models of roles. It reports true if there are none, which is an
// error unless quotable is set.
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

// CheckPrices refuses a budget of money with models of unknown price.
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

// CheckDocs returns absolute paths after checking for readable documents. Errors name field.
// The tools of a reuse the readings.
func (a *App) CheckDocs(ctx context.Context, field string, paths []string) ([]string, error) {
	all, listing, err := FindDocs(ctx, field, paths, document.Options{CheckCache: a.readings})
	if err != nil || listing == nil || slices.ContainsFunc(listing.Files, func(f document.File) bool { return f.Named }) {
		return all, err
	}
	unread := CheckDocuments(ctx, listing, 1).Unread
	if len(unread) < len(listing.Files) || ctx.Err() != nil {
		return all, ctx.Err()
	}
	return nil, Invalidf(field, "%s: %w%s", strings.Join(paths, ", "), ErrUnreadable, Skipped(unread))
}

func FindDocs(ctx context.Context, field string, paths []string, read document.Options) ([]string, *document.FileList, error) {
	var all, files []string
	for _, path := range paths {
		if path == "" {
			return nil, nil, Invalidf(field, "requires a file or a folder")
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		info, err := os.Stat(abs)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, Invalidf(field, "%s: no such file or folder", path)
		case err != nil:
			return nil, nil, Invalidf(field, "%s: %w", path, errors.Unwrap(err))
		case !info.IsDir():
			files = append(files, abs)
		}
		all = append(all, abs)
	}
	if len(files) > 0 {
		check := read
		check.CacheResults = true
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
		return nil, nil, Invalidf(field, "%s: no readable documents: Ponder reads Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code%s", paths[0], Skipped(listing.Skipped))
	}
	return all, listing, nil
}

// docsError returns an error of reading documents, or the cause of ctx.
func docsError(ctx context.Context, field string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return Invalidf(field, "%w", err)
}

func Skipped(list []document.SkippedFile) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", document.QuotePath(list[0].Path), list[0].Reason)
}

// CheckTime limits the check of documents, including the start of the PDF reader.
const CheckTime = 20 * time.Second

type DocumentCheck struct {
	Read   int
	Unread []document.SkippedFile
}

// CheckDocuments reads until enough documents are readable or its time is up.
func CheckDocuments(ctx context.Context, list *document.FileList, enough int) (t DocumentCheck) {
	since := time.Now()
	for _, f := range list.Files {
		if t.Read >= enough || time.Since(since) >= CheckTime || ctx.Err() != nil {
			break
		}
		if err := list.Check(ctx, f); err != nil {
			t.Unread = append(t.Unread, document.SkippedFile{Path: f.Path, Reason: textkit.OneLine(err.Error())})
			continue
		}
		t.Read++
	}
	return t
}

// AllowsCall returns an error if the budget is too small for one call. It simulates a session
// without sources, whose first call is the cheapest.
func (p *PreparedStart) AllowsCall(ctx context.Context) error {
	opts := p.session
	if opts.WithoutModel || p.Budget.Tokens == 0 && p.Budget.Money == 0 {
		return nil
	}
	opts.Earlier, opts.Docs, opts.Memory, opts.Web = false, nil, false, false
	store := memory.New()
	id, err := p.createThread(ctx, store, p.run, opts)
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
	case asked.Load() || err != nil: // left to the session
		return nil
	}
	return Invalidf("", "a budget of %s is too small for one call of %s: increase it", p.Budget, p.Name)
}

type refusingModel struct {
	llm.Model
	asked func()
}

func (m refusingModel) Generate(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.asked()
		<-ctx.Done()
		yield(llm.Delta{}, &llm.Error{Class: llm.Transient, Model: m.Name(), Message: "dry run"})
	}
}
