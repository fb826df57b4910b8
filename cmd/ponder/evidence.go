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
		Short:   "Show the evidence of an answer",
		Example: "ponder evidence show last\nponder evidence show last e3",
		GroupID: groupLook,
	}, a.evidenceShowCommand())
}

func (a *cli) evidenceShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show THREAD [ID...]",
		Short: "Show the evidence of a thread and check each quote",
		Long: `Show the quotes of a thread: source, date, search, quality of the source, and whether the
original still contains the quote. Pages and remembered files are checked in Ponder's
archived copy, without the network; other files are checked at their path.

Exit codes: 0 shown, 2 wrong usage, 3 a quote no longer matches its source.`,
		Example: "ponder evidence show last\nponder evidence show last e3 e7 --json",
		Args:    requireArgs(1, 1000, "the ID of a thread, or last, and optional IDs of evidence"),
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
		a.printNote("this thread has no evidence")
	case broken > 0:
		return failure{exitIncomplete, fmt.Errorf("%s of %d no longer matches the source", textkit.Count(broken, "quote", "quotes"), len(list))}
	}
	return nil
}

func (a *cli) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify REPORT",
		Short: "Verify a research report without network or model",
		Long: `Verify a research report. Ponder checks that each archived original still contains its
quotes, computes the status of each claim again from the quotes, and checks that the text
is unchanged. REPORT is the ID of a research, or a file from "ponder research -o" or
"ponder session export": Markdown, HTML or JSON. The check uses neither the network nor a
model. It needs the database only for archived pages, not for the thread.

Exit codes: 0 everything verified, 1 something failed or could not be checked because its
original is missing, 2 not a report, or a report without an answer.`,
		Example: "ponder verify report.md\nponder verify last --json",
		GroupID: groupLook,
		Args:    requireArgs(1, 1, "a report: a file, or the ID of a research"),
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
