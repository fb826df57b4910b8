package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ponder/internal/textkit"

	"ponder/internal/app"

	"github.com/spf13/cobra"

	"ponder"
)

func (a *cli) sessionListCommand() *cobra.Command {
	var status string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List sessions and research, the newest first",
		Example: "ponder session list --status paused\nponder session list --json --limit 5",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.sessionList(cmd.Context(), ponder.Status(status), limit)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only those that are created, thinking, paused, completed, failed or cancelled")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most so many")
	return cmd
}

func (a *cli) sessionList(ctx context.Context, status ponder.Status, limit int) error {
	switch status {
	case "", ponder.Created, ponder.Thinking, ponder.Paused, ponder.Completed, ponder.Failed, ponder.Cancelled:
	default:
		return usagef("--status: %q is none of created, thinking, paused, completed, failed, cancelled", clip(string(status), 20))
	}
	if limit < 1 {
		return usagef("--limit: must be 1 or more")
	}
	store, err := a.OpenReadOnly(ctx)
	if errors.Is(err, app.ErrNothingYet) {
		a.note("%s", a.line(app.ErrNothingYet))
		return nil
	}
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := listByStatus(ctx, store, status, limit)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		if status == "" {
			a.note("there are no sessions yet: begin with `ponder think QUESTION`")
		} else {
			a.note("there are no such sessions")
		}
	}
	rows := [][]string{{"ID", "KIND", "STATUS", "STARTED", "CONFIDENCE", "QUESTION"}}
	for _, info := range list {
		if a.flags.json {
			if err := a.listObject(ctx, store, info); err != nil {
				return err
			}
			continue
		}
		status, sure, err := a.ending(ctx, store, info)
		if err != nil {
			return err
		}
		rows = append(rows, []string{string(info.ID), string(info.Kind), status, textkit.Ago(info.Created, time.Now()), sure, clip(info.Title, 60)})
	}
	if len(rows) > 1 {
		a.table(rows)
	}
	return nil
}

// listObject prints a session or a research as programs are shown it.
func (a *cli) listObject(ctx context.Context, store ponder.Store, info ponder.Info) error {
	if info.Kind == ponder.KindResearch {
		v, _, err := app.FoldResearch(ctx, store, info.ID)
		if err != nil {
			return err
		}
		return a.object(researchObjectOf(info, v))
	}
	v, err := app.Fold(ctx, store, info.ID)
	if err != nil {
		return err
	}
	return a.object(objectOf(info, v.Calibrate(a.Calibration(ctx, store))))
}

// ending returns the status of a session and, if it has ended, how sure it is, in words.
func (a *cli) ending(ctx context.Context, store ponder.Store, info ponder.Info) (status, sure string, err error) {
	status = statusOf(info)
	if !info.Status.Ended() {
		return status, "", nil
	}
	j, err := app.JudgeSession(ctx, store, info, true)
	if err != nil || !j.Claimed() {
		return status, "", err
	}
	if j.Claim.Final && j.Claim.Unaided && info.Model != "" {
		status += withoutIt
	}
	if info.Kind == ponder.KindSession {
		sure = a.Calibration(ctx, store).Certainty(j.Claim.Confidence, j.Claim.Basis).String()
	}
	return status, sure, nil
}

// listByStatus lists sessions of a status as people see it: one that was
// interrupted is paused.
func listByStatus(ctx context.Context, threads ponder.Threads, status ponder.Status, limit int) ([]ponder.Info, error) {
	filter := ponder.Filter{Kind: ponder.KindSession, Status: status, Limit: limit}
	if status == ponder.Thinking || status == ponder.Paused {
		filter.Status, filter.Limit = "", 0
	}
	all, err := app.NewestThreads(ctx, threads, filter)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var list []ponder.Info
	for _, info := range all {
		seen := info.Status
		if app.IsInterrupted(info) {
			seen = ponder.Paused
		}
		if (status == "" || seen == status) && len(list) < limit {
			list = append(list, info)
		}
	}
	return list, nil
}
