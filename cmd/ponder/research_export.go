package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"ponder/internal/report"
	"ponder/store/sqlite"
)

// writeReport writes what a research has come to, in the form that the name asks for.
func (w *viewing) writeReport(ctx context.Context, store *sqlite.Store, file string) error {
	r := w.asReport()
	if r == nil {
		return nil
	}
	form := reportForms[strings.ToLower(filepath.Ext(file))]
	if form == "html" {
		w.fetchIcons(ctx, store, r)
	}
	return w.deliverResearch(context.WithoutCancel(ctx), store, *r, form, file)
}

// deliverResearch writes a report of research to a file, or prints it if none is named.
func (a *app) deliverResearch(ctx context.Context, store *sqlite.Store, r report.Research, form, file string) error {
	var text []byte
	var err error
	switch form {
	case "markdown", "md":
		text, err = r.Markdown()
	case "html":
		a.icons(ctx, store, &r)
		text, err = r.HTML()
	case "json":
		text, err = r.JSON()
	default:
		err = usagef("--format: %q is none of html, markdown, json, jsonl", clip(form, 20))
	}
	if err != nil {
		return err
	}
	if file != "" {
		if err := writable(file); err != nil {
			return fmt.Errorf("the report is not written: %w", err)
		}
	}
	return a.deliver(file, func(out *bytes.Buffer) error { out.Write(text); return nil })
}
