package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ponder"
	"ponder/store/sqlite"
)

// endWithReport writes the report of a research that is through, if a file is named.
// Ended is how the research ended.
func (w *viewing) endWithReport(ctx context.Context, store *sqlite.Store, file string, ended error) error {
	if file == "" || w.View.Session.Status != ponder.Completed {
		return ended
	}
	if err := w.writeReport(ctx, store, file); err != nil {
		return errors.Join(ended, failure{failed, fmt.Errorf("%w; to write it again: %s -o FILE", err, w.command("session export", w.Id))})
	}
	return ended
}

// goOn returns the command that goes on, with the report that was asked for.
func (w *viewing) goOn() string {
	line := w.command("session resume", w.Id)
	if w.Looked != nil && w.Looked.File != "" {
		line += " -o " + shellQuote(w.Looked.File)
	}
	return line
}

// writeReport writes what a research has come to, in the form that the name asks for.
func (w *viewing) writeReport(ctx context.Context, store *sqlite.Store, file string) error {
	r := w.AsReport()
	if r == nil {
		return nil
	}
	form := reportForms[strings.ToLower(filepath.Ext(file))]
	if form == "html" {
		w.FetchIcons(ctx, store, r)
	}
	text, err := w.WriteResearch(context.WithoutCancel(ctx), store, r, form)
	if err != nil {
		return err
	}
	return w.deliverReport(file, text)
}

// deliverReport is deliver of a report of research, whose file must be writable.
func (a *cli) deliverReport(file string, text []byte) error {
	if file != "" {
		if err := writable(file); err != nil {
			return fmt.Errorf("the report is not written: %w", err)
		}
	}
	return a.deliver(file, text)
}
