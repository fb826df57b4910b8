package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"ponder/internal/textkit"
)

func (a *cli) evidenceCommand() *cobra.Command {
	return groupCommands(&cobra.Command{
		Use:     "evidence",
		Short:   "Look at what an answer rests on",
		Example: "ponder evidence show last\nponder evidence show last e3",
		GroupID: groupLook,
	}, a.evidenceShowCommand())
}

func (a *cli) evidenceShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show THREAD [ID...]",
		Short: "Show the evidence of a thread, and whether it still stands",
		Long: `Show the quotes that were gathered on a thread: where each is from, when, how it was
found, what is known of its source, and whether it still stands in the original. Pages
and remembered files are checked in the copy that was kept, without the network; other
files where they are.

Exit codes: 0 shown, 2 wrong usage, 3 a quote does not stand as it was quoted any more.`,
		Example: "ponder evidence show last\nponder evidence show last e3 e7 --json",
		Args:    requireArgs(1, 1000, "the id of a thread, or last, and perhaps ids of evidence"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.evidenceShow(cmd.Context(), args[0], args[1:])
		},
	}
}

func (a *cli) evidenceShow(ctx context.Context, name string, ids []string) error {
	list, err := a.CheckEvidence(ctx, name, ids...)
	if err != nil {
		return err
	}
	broken := 0
	for _, e := range list {
		if e.State.Broken() {
			broken++
		}
		if err := a.printResult(e, e.Text()+"\n"); err != nil {
			return err
		}
	}
	switch {
	case len(list) == 0:
		a.printNote("no evidence was gathered there")
	case broken > 0:
		return failure{exitIncomplete, fmt.Errorf("%s of %d cannot be found any more as quoted", textkit.Count(broken, "quote", "quotes"), len(list))}
	}
	return nil
}

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
		Args:    requireArgs(1, 1, "a report: a file, or the id of a research"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.Verify(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := a.printResult(v, v.Text()); err == nil && !v.Stands {
				return failure{code: exitFailed}
			}
			return err
		},
	}
}
