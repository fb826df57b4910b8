package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/store/sqlite"
)

func (a *cli) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify REPORT",
		Short: "Check a report of research again, without network and model",
		Long: `Check a report of research again: whether each quote still stands in the original that was
kept, whether each claim still stands as it was said to, worked out anew from the quotes,
and whether the text is still the one that was written. REPORT is a file that
"ponder research -o" or "ponder session export" wrote, as Markdown, HTML or JSON, or the id
of a research. Neither the network nor a model is asked; the database is needed for the
pages that were kept, not for the thread.

Exit codes: 0 all stands, 1 something does not, or could not be
checked, for its original is not here, 2 it is no report,
or has no answer.`,
		Example: "ponder verify report.md\nponder verify last --json",
		GroupID: groupLook,
		Args:    take(1, 1, "a report: a file, or the id of a research"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), args[0])
		},
	}
}

func (a *cli) verify(ctx context.Context, name string) error {
	store, err := a.OpenReadOnly(ctx)
	switch {
	case errors.Is(err, app.ErrNothingYet):
		store = nil // a report can be checked in itself
	case err != nil:
		return err
	default:
		defer store.Close()
	}
	f, err := a.filed(ctx, store, name)
	if err != nil {
		return err
	}
	v := a.verified(ctx, store, f)
	if a.flags.json {
		if err := a.object(v); err != nil {
			return err
		}
	} else {
		a.printf("%s", textkit.Clean(v.text()))
	}
	if !v.Stands {
		return failure{code: failed}
	}
	return nil
}

// filed returns the report that a user means.
func (a *cli) filed(ctx context.Context, store *sqlite.Store, name string) (*report.Filed, error) {
	raw, err := readReport(name)
	switch {
	case err == nil:
		f, err := report.ReadResearch(raw)
		if err != nil {
			return nil, usagef("%s: %w", clip(oneLine(name), 80), err)
		}
		if f.Answer == "" && !f.Altered {
			return nil, usagef("%s: the report has no answer, so there is nothing to check", clip(oneLine(name), 80))
		}
		return f, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%s cannot be read: %w", clip(oneLine(name), 80), err)
	case strings.ContainsAny(name, "./\\") || store == nil:
		return nil, usagef("%s: there is no such file", clip(oneLine(name), 80))
	}
	info, err := a.FindThread(ctx, store, name, ponder.KindResearch)
	if err != nil {
		return nil, err
	}
	v, since, err := foldResearch(ctx, store, info.ID)
	if err != nil {
		return nil, err
	}
	if v.Research.Answer == "" {
		return nil, usagef("research %s has no answer yet: ponder session show %s", info.ID, info.ID)
	}
	r := report.ResearchOf(v, since)
	return &report.Filed{Research: r, Form: "thread", Shown: r.Answer}, nil
}

// readReport reads a file that may be a report.
func readReport(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case info.Size() > report.MaxResearch:
		return nil, errors.New("it is larger than any report")
	}
	return io.ReadAll(io.LimitReader(file, report.MaxResearch+1))
}
