package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ponder"
	"ponder/internal/fileio"
	"ponder/internal/limitio"
	"ponder/internal/planfile"
	"ponder/internal/report"
)

func (a *cli) researchApproveCommand() *cobra.Command {
	var f resumeFlags
	var file string
	var edit bool
	cmd := &cobra.Command{
		Use:   "approve ID",
		Short: "Run the plan of a research that waits for approval",
		Long: `Run the plan of a research that ponder research --plan has made. The research searches
exactly the queries of the plan. --edit opens the plan in $VISUAL or $EDITOR first.
--plan-file replaces it by a file, or with - by standard input: the text that
"ponder session show ID" prints, or JSON with steps, terms, web_queries and memory_queries.

"ponder session show ID" shows the plan, "ponder session cancel ID" ends the research.`,
		Example: `ponder research approve last
ponder research approve last --edit -o report.html
ponder research approve 01K --plan-file plan.txt --detach
echo '{"web_queries": ["ozone layer 2024"]}' | ponder research approve last --plan-file -`,
		Args:              requireID,
		ValidArgsFunction: a.completeThreads(ponder.KindResearch),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.researchApprove(cmd.Context(), args[0], f, file, edit)
		},
	}
	f.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&file, "plan-file", "", "run the plan in this `file` instead; - reads standard input")
	cmd.Flags().BoolVar(&edit, "edit", false, "edit the plan before it runs")
	return cmd
}

func (a *cli) researchApprove(ctx context.Context, name string, f resumeFlags, file string, edit bool) error {
	w, info, store, err := a.openSession(ctx, name)
	if err != nil {
		return err
	}
	defer store.Close()
	w.internal = f.internal
	if w.Research == nil {
		return usagef("%s is a %s, not a research", info.ID, info.Kind)
	}
	var plan *ponder.Plan
	switch {
	case file != "" && edit:
		return usagef("--plan-file and --edit cannot be combined: use one")
	case file != "":
		plan, err = a.readPlanFile(ctx, file)
	case edit && w.hasProposal():
		plan, err = a.editPlan(ctx, w.View.Session.Question, w.proposedPlan())
	}
	if err != nil {
		return err
	}
	if f.commands, err = w.Research.Approval(plan); err != nil {
		return w.noProposalError(err)
	}
	if err := w.checkOutput(f); err != nil {
		return err
	}
	return a.resumeOpened(ctx, w, info, store, f)
}

func (w *sessionScreen) noProposalError(err error) error {
	if w.hasProposal() {
		return err
	}
	return conflictf("%w; to show it: %s", err, w.formatCommand("session show", w.Id))
}

func (a *cli) readPlanFile(ctx context.Context, file string) (*ponder.Plan, error) {
	in := a.cancelableInput(ctx)
	if file != "-" {
		f, err := fileio.OpenRegular(file)
		if err != nil {
			return nil, usagef("--plan-file: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := limitio.ReadAll(in, planfile.MaxBytes)
	if err != nil {
		return nil, usagef("--plan-file %s: %w", oneLine(file), err)
	}
	p, err := planfile.Parse(text)
	if err != nil {
		return nil, usagef("--plan-file %s: %w", oneLine(file), err)
	}
	return &p, nil
}

// editPlan has the user edit a plan in the editor of the environment.
func (a *cli) editPlan(ctx context.Context, question string, p ponder.Plan) (*ponder.Plan, error) {
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"))
	if len(editor) == 0 {
		return nil, usagef("$VISUAL and $EDITOR name no editor: set one, or use --plan-file")
	}
	f, err := os.CreateTemp("", "ponder-plan-*.txt")
	if err != nil {
		return nil, fmt.Errorf("edit the plan: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = io.WriteString(f, planfile.EditText(question, p))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("edit the plan: %w", err)
	}
	cmd := exec.CommandContext(ctx, editor[0], append(editor[1:], f.Name())...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, usagef("edit the plan with %s: %w: set $EDITOR to another editor, or use --plan-file", oneLine(editor[0]), err)
	}
	return a.readPlanFile(ctx, f.Name())
}

// hasProposal reports whether the plan of a research waits for approval.
func (w *sessionScreen) hasProposal() bool {
	return w.Research != nil && w.Research.View.Proposal != nil && w.View.Session.Status == ponder.Paused
}

func (w *sessionScreen) proposedPlan() ponder.Plan {
	p := w.Research.View.Proposal
	return ponder.Plan{Steps: p.Steps, Terms: p.Terms, Web: p.Web, Memory: p.Memory}
}

// planOutcome prints the waiting plan and the commands that approve it. It returns the exit code as an
// error.
func (w *sessionScreen) planOutcome() error {
	w.printPlan()
	w.printNote("the plan waits for your approval; to run it: %s", w.approveCommand())
	w.printNote("to change it first, add --edit or --plan-file FILE; to end the research: %s", w.formatCommand("session cancel", w.Id))
	return failure{code: exitIncomplete}
}

func (w *sessionScreen) approveCommand() string {
	line := w.formatCommand("research approve", w.Id)
	if w.Research.File != "" {
		line += " -o " + shellQuote(w.Research.File)
	}
	return line
}

// showProposal prints the waiting plan and the commands for it, as a part of ponder session show.
func (w *sessionScreen) showProposal() error {
	w.printPlan()
	if !w.flags.quiet {
		w.printf("\nNext\n  to run the plan\n    %s\n  to change it first\n    %s --edit\n", w.approveCommand(), w.formatCommand("research approve", w.Id))
	}
	return nil
}

func (w *sessionScreen) printPlan() {
	if w.flags.json {
		return
	}
	w.printf("%s", planfile.Text(w.proposedPlan()))
	if !w.flags.quiet {
		w.printf("\nCost of the plan: %s\n", report.CostText(w.View.Session))
	}
}

// decidePlan asks the user about a waiting plan until it runs, is cancelled or left waiting. Without
// a terminal it does nothing.
func (w *sessionScreen) decidePlan(ctx context.Context, work func(context.Context) error) error {
	if !w.hasProposal() || !w.canAsk() {
		return nil
	}
	in := bufio.NewReader(w.cancelableInput(ctx))
	for w.hasProposal() {
		w.printPlan()
		fmt.Fprint(w.log, "\nRun this plan? [y]es, [e]dit, [c]ancel the research, [l]ater: ")
		line, err := in.ReadString('\n')
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			fmt.Fprintln(w.log)
			return nil //nolint:nilerr // the end of the input: the plan waits
		}
		commands, err := w.planCommands(ctx, strings.ToLower(strings.TrimSpace(line)))
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			w.printMessage("%s", w.errorLine(err))
		case commands == nil:
			return nil
		default:
			if err := w.postAndWork(ctx, commands, work); err != nil {
				return err
			}
		}
	}
	return nil
}

// planCommands returns the commands of an answer about a waiting plan, or nil to leave it.
func (w *sessionScreen) planCommands(ctx context.Context, answer string) ([]ponder.Event, error) {
	run := w.View.Session.Run
	switch answer {
	case "y", "yes":
		return w.Research.Approval(nil)
	case "e", "edit":
		p, err := w.editPlan(ctx, w.View.Session.Question, w.proposedPlan())
		if errors.Is(err, planfile.ErrEmpty) {
			return []ponder.Event{{Run: run, Body: ponder.Steer{Do: ponder.Cancel}}}, nil
		}
		if err != nil {
			return nil, err
		}
		commands, err := w.Research.Approval(p)
		return commands[:min(len(commands), 1)], err // the change alone
	case "c", "cancel":
		return []ponder.Event{{Run: run, Body: ponder.Steer{Do: ponder.Cancel}}}, nil
	case "l", "later":
		return nil, nil
	}
	return nil, errors.New("answer y, e, c or l")
}

func (w *sessionScreen) postAndWork(ctx context.Context, commands []ponder.Event, work func(context.Context) error) error {
	if _, err := ponder.SendCommands(ctx, w.Store, w.Id, commands...); err != nil {
		return fmt.Errorf("answer the plan of %s: %w", w.Id, err)
	}
	return work(ctx)
}

// canAsk reports whether a person can answer a question of the program.
func (a *cli) canAsk() bool {
	in, ok := a.in.(*os.File)
	return ok && term.IsTerminal(int(in.Fd())) && a.isTerminal() && !a.flags.json && !a.flags.quiet
}

func (f *researchFlags) readPlan(ctx context.Context, a *cli) (*ponder.Plan, error) {
	switch {
	case f.planFile == "":
		return nil, nil
	case f.plan:
		return nil, usagef("--plan and --plan-file cannot be combined: --plan-file needs no approval")
	}
	return a.readPlanFile(ctx, f.planFile)
}
