package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ponder/internal/calibration"
)

func (a *cli) sessionResolveCommand() *cobra.Command {
	var outcome, note string
	cmd := &cobra.Command{
		Use:   "resolve ID",
		Short: "Record how the answer of a session turned out",
		Long: fmt.Sprintf(`Record how the answer of a session turned out: right, wrong, partly, or a number from
0 (wrong) to 1 (right). The newest outcome counts; "unknown" takes it back.

From %d sessions on whose outcome is known, Ponder learns what its confidences are
worth, and shows that; see "ponder usage --calibration".`, calibration.Wanted),
		Example: `ponder session resolve last --outcome right
ponder session resolve 01K --outcome partly --note "right about the cause, wrong about the date"
ponder session resolve last --outcome 0.8`,
		Args: takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("outcome") {
				return usagef("say how it turned out: --outcome right, wrong, partly, or a number from 0 to 1")
			}
			return a.sessionResolve(cmd.Context(), args[0], outcome, note)
		},
	}
	cmd.Flags().StringVar(&outcome, "outcome", "", "`how` it turned out: right, wrong, partly, unknown, or a number from 0 to 1")
	cmd.Flags().StringVar(&note, "note", "", "`text` to remember with it")
	return cmd
}

func (a *cli) sessionResolve(ctx context.Context, name, word, note string) error {
	outcome, err := outcomeOf(word)
	if err != nil {
		return err
	}
	r, err := a.ResolveSession(ctx, name, outcome, note)
	if err != nil {
		return err
	}
	return a.result(r, r.Text("ponder usage --calibration"))
}

// outcomeOf reads how something turned out; nil if that is unknown.
func outcomeOf(word string) (*float64, error) {
	at := func(v float64) (*float64, error) { return &v, nil }
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "right":
		return at(1)
	case "wrong":
		return at(0)
	case "partly":
		return at(0.5)
	case "unknown":
		return nil, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
		return nil, usagef("--outcome: %q is none of right, wrong, partly, unknown, nor a number from 0 to 1", clip(oneLine(word), 20))
	}
	return at(v)
}
