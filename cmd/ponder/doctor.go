package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ponder/internal/doctor"
	"ponder/internal/tui"
)

func (a *cli) doctorCommand() *cobra.Command {
	var docs []string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the setup and show how to fix problems",
		Long: `Check the setup: show what works, what is missing, and how to fix it. The exit code is 0
if Ponder can think here, with a model or, without one, about documents.`,
		Example: "ponder doctor\nponder doctor --docs ./contract",
		GroupID: groupSetUp,
		Args:    requireNoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runDoctor(cmd.Context(), docs)
		},
	}
	cmd.Flags().StringArrayVar(&docs, "docs", nil, "test the file or folder at `path`; may be repeated")
	return cmd
}

func (a *cli) runDoctor(ctx context.Context, docs []string) error {
	found, err := doctor.Examine(ctx, a.App, doctor.Options{Docs: docs, Explain: a.errorLine, Near: nearPath})
	if err != nil {
		return err
	}
	found = append(append([]doctor.Finding{{About: "version", State: doctor.OK, Message: readBuildVersion().String()}}, found...), a.terminalFinding())
	sick := false
	var rows [][]string
	for _, f := range found {
		sick = sick || f.State == doctor.Broken
		f.Message = oneLine(f.Message)
		if a.flags.json {
			if err := a.printJSON(f); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{string(f.State), f.About, f.Message})
	}
	a.printTable(rows)
	if sick {
		return failure{code: exitNotReady}
	}
	return ctx.Err()
}

func (a *cli) terminalFinding() doctor.Finding {
	says := "standard error is no terminal: progress is shown as plain lines"
	if stderr, ok := a.log.out.(*os.File); ok && term.IsTerminal(int(stderr.Fd())) {
		width, height, err := term.GetSize(int(stderr.Fd()))
		switch {
		case err != nil || !tui.CanShow(stderr):
			says = "this terminal cannot show a live view: progress is shown as plain lines"
		case a.isPlainOutput():
			says = fmt.Sprintf("%d by %d, without colours", width, height)
		default:
			says = fmt.Sprintf("%d by %d, with colours", width, height)
		}
	}
	return doctor.Finding{About: "terminal", State: doctor.OK, Message: says}
}
