package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ponder/internal/tui"
)

func (a *cli) doctorCommand() *cobra.Command {
	var docs []string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what works here, what is missing, and how to get it",
		Long: `Say what works here, what is missing, and how to get it. Exits with 0 if Ponder can
think here at all, with a model or, without one, over documents.`,
		Example: "ponder doctor\nponder doctor --docs ./contract",
		GroupID: groupSetUp,
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.doctor(cmd.Context(), docs)
		},
	}
	cmd.Flags().StringArrayVar(&docs, "docs", nil, "try the file or folder at `path`; may be repeated")
	return cmd
}

// A finding is what the doctor says of one thing.
type finding struct {
	About string `json:"about"`
	State state  `json:"state"`
	Says  string `json:"says"`
}

// A state is how a thing is.
type state string

const (
	fine    state = "ok"
	lacking state = "missing" // and one can do without
	broken  state = "broken"  // and Ponder cannot do what is asked of it
)

func (a *cli) doctor(ctx context.Context, docs []string) error {
	found := []finding{{"version", fine, thisBuild().String()}}
	cfg, err := a.Config()
	if err != nil { // all else stands on it
		return a.diagnose(ctx, append(found, finding{"settings", broken, err.Error()}, a.terminalFinding()))
	}
	found = append(found, a.configFinding(cfg))
	found = append(found, a.databaseFindings(ctx)...)
	models, err := a.modelFindings(ctx)
	if err != nil {
		return err
	}
	found = append(append(found, models...), docsFinding(ctx, docs), a.memoryFinding(ctx), a.webFinding())
	found = append(found, a.outsideFindings(ctx)...)
	return a.diagnose(ctx, append(append(found, a.mindFindings(ctx)...), a.terminalFinding()))
}

// diagnose says what was found, and fails if something is broken.
func (a *cli) diagnose(ctx context.Context, found []finding) error {
	sick := false
	var rows [][]string
	for _, f := range found {
		sick = sick || f.State == broken
		f.Says = oneLine(f.Says)
		if a.flags.json {
			if err := a.object(f); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{string(f.State), f.About, f.Says})
	}
	a.table(rows)
	if sick {
		return failure{code: notReady}
	}
	return ctx.Err()
}

func (a *cli) terminalFinding() finding {
	stderr, ok := a.log.out.(*os.File)
	if !ok || !term.IsTerminal(int(stderr.Fd())) {
		return finding{"terminal", fine, "standard error is no terminal: progress is shown as plain lines"}
	}
	width, height, err := term.GetSize(int(stderr.Fd()))
	if err != nil || !tui.CanShow(stderr) {
		return finding{"terminal", fine, "this terminal cannot show a live view: progress is shown as plain lines"}
	}
	colours := "with colours"
	if a.plain() {
		colours = "without colours"
	}
	return finding{"terminal", fine, fmt.Sprintf("%d by %d, %s", width, height, colours)}
}
