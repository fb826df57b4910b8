package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/config"
	"ponder/knowledge/document"
	"ponder/mode/session"
)

// A prepared is what a session is thought with.
type prepared struct {
	models map[ponder.Role][]ponder.Model
	name   string // of the model that thinks, or empty
	missed error  // why there is none, though the user named one: see lineup
}

// sessionRoles are the roles whose models a session asks.
func sessionRoles() []ponder.Role { return []ponder.Role{ponder.Slow, ponder.Frontier} }

// prepare finds the models for a session and makes sure that they will answer, as
// far as they can say. Where there is none, it sets the options to do without, if
// there is something to quote.
func (a *cli) prepare(ctx context.Context, model string, budget ponder.Budget, opts *session.Options) (*prepared, error) {
	p, unaided, err := a.prepareFor(ctx, model, budget, sessionRoles(), len(opts.Docs) > 0 || opts.Memory || opts.Web)
	opts.WithoutModel = opts.WithoutModel || unaided
	return p, err
}

// prepareFor finds the models of some roles, and reports whether there are none, which
// is an error if there is nothing to quote.
func (a *cli) prepareFor(ctx context.Context, model string, budget ponder.Budget, roles []ponder.Role, quotable bool) (p *prepared, unaided bool, err error) {
	l, err := a.lineup(ctx, model)
	if err != nil {
		return nil, false, err
	}
	if l.none() {
		if !quotable {
			return nil, false, notReadyf("%s", noModel(l.missed, toHaveOne(l.missed)))
		}
		return &prepared{missed: l.missed}, true, nil
	}
	models, err := l.models(roles...)
	if err != nil {
		return nil, false, err
	}
	if err := priced(models, budget, l.cfg); err != nil {
		return nil, false, err
	}
	if err := a.check(ctx, l, models, roles...); err != nil {
		return nil, false, err
	}
	return &prepared{models: models, name: models[ponder.Slow][0].Name()}, false, nil
}

// priced makes sure that a budget of money can be kept.
func priced(models map[ponder.Role][]ponder.Model, budget ponder.Budget, cfg *config.Config) error {
	if budget.Money == 0 {
		return nil
	}
	for _, role := range slices.Sorted(maps.Keys(models)) {
		for _, m := range models[role] {
			if m.Price.Source == ponder.PriceUnknown {
				return usagef("--cost cannot be kept: the price of %s is not known; add [models.price.%q] with input = and output = "+
					"(USD per million tokens) to %s, or run `ponder model refresh`", m.Name(), m.Name(), cfg.File)
			}
		}
	}
	return nil
}

// checkDocs returns the absolute paths of documents, having made sure that something in
// them can be read. An error names the flag that names the paths.
func checkDocs(ctx context.Context, flag string, paths []string) ([]string, error) {
	all, listing, err := findDocs(ctx, flag, paths)
	if err != nil || listing == nil || slices.ContainsFunc(listing.Files, func(f document.File) bool { return f.Named }) {
		return all, err
	}
	unread := tryDocs(ctx, listing.Files, 1).unread
	if len(unread) < len(listing.Files) || ctx.Err() != nil {
		return all, ctx.Err()
	}
	return nil, usagef("%s %s: nothing in it can be read%s: `ponder doctor --docs` says why of each file", flag, strings.Join(paths, ", "), skipped(unread))
}

// findDocs returns the absolute paths of documents and, if there are any, what is there to
// read. Files that are named have been read; folders are only looked through.
func findDocs(ctx context.Context, flag string, paths []string) ([]string, *document.Listing, error) {
	var all, files []string
	for _, path := range paths {
		if path == "" {
			return nil, nil, usagef("%s: needs a file or a folder", flag)
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", flag, path, err)
		}
		info, err := os.Stat(abs)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil, usagef("%s %s: there is no such file or folder", flag, path)
		case err != nil:
			return nil, nil, usagef("%s %s: %w", flag, path, errors.Unwrap(err))
		case !info.IsDir():
			files = append(files, abs)
		}
		all = append(all, abs)
	}
	if len(files) > 0 {
		if _, _, err := document.Load(ctx, files, document.Options{}); err != nil {
			return nil, nil, docsError(ctx, flag, err)
		}
	}
	if len(all) == 0 {
		return nil, nil, nil
	}
	listing, err := document.Scan(ctx, all, document.Options{})
	if err != nil {
		return nil, nil, docsError(ctx, flag, err)
	}
	if len(listing.Files) == 0 {
		return nil, nil, usagef("%s: nothing to read in %s: Ponder reads Markdown, text, HTML, PDF, DOCX, EPUB, XLSX, CSV, JSON, mail and source code%s", flag, paths[0], skipped(listing.Skipped))
	}
	return all, listing, nil
}

// docsError is an error of reading documents, save that of an interruption.
func docsError(ctx context.Context, flag string, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return usagef("%s: %w", flag, err)
}

func skipped(list []document.Skipped) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s: %s)", document.Legible(list[0].Path), list[0].Reason)
}
