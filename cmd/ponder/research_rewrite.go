package main

import (
	"context"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
)

type rewriteFlags struct {
	instruction, model, output string
	internal                   bool
}

func (a *cli) researchRewriteCommand() *cobra.Command {
	var f rewriteFlags
	cmd := &cobra.Command{
		Use:   "rewrite ID SECTION",
		Short: "Rewrite a section of a report from its evidence",
		Long: `Rewrite one section of the answer of a research from the evidence of the research, without a
new search. SECTION is the number of the section, from 1, or the beginning of its heading. In
an answer without headings, each paragraph is a section. Ponder checks all citations again.

The result is a new research; the old one keeps its version.`,
		Example: `ponder research rewrite last 2
ponder research rewrite 01K "Side effects" --instruction "shorter, and name the dosage" -o report.html`,
		Args:              requireArgs(2, 2, `an ID or "last", and a section`),
		ValidArgsFunction: a.completeThreads(ponder.KindResearch),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.researchRewrite(cmd.Context(), args[0], args[1], f)
		},
	}
	cmd.Flags().StringVar(&f.instruction, "instruction", "", "`text` that says how to rewrite it")
	cmd.Flags().StringVar(&f.model, "model", "", "write with `provider/model`")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write the new report to this `file`: .md, .json or .html")
	cmd.Flags().BoolVar(&f.internal, "internal", false, "with --json: include internal events")
	return cmd
}

func (a *cli) researchRewrite(ctx context.Context, name, section string, f rewriteFlags) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	if w.Research == nil {
		return usagef("%s is a %s, not a research", info.ID, info.Kind)
	}
	if err := w.checkOutput(resumeFlags{output: f.output}); err != nil {
		return err
	}
	fork, err := w.Research.RewriteFork(ctx, store, section, f.instruction)
	if err != nil {
		return err
	}
	fork.Model, fork.Title = f.model, info.Title
	p, err := w.PrepareFork(ctx, info, fork, func(*app.SessionView) ([]ponder.Event, error) { return fork.Commands, nil })
	if err != nil {
		return err
	}
	id := ponder.ThreadID(ponder.NewID("thr"))
	if err := p.Fork(ctx, store, id); err != nil {
		return err
	}
	a.printNote("research %s is a new version of %s", id, w.Id)
	return a.continueFork(ctx, store, id, p.Models, forkFlags{internal: f.internal, output: f.output})
}
