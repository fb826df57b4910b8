package main

import (
	"context"
	"errors"
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
	list, err := app.ListSessions(ctx, store, status, limit)
	if err != nil {
		return err
	}
	if len(list) == 0 && status == "" {
		a.note("there are no sessions yet: begin with `ponder think QUESTION`")
	} else if len(list) == 0 {
		a.note("there are no such sessions")
	}
	rows := [][]string{{"ID", "KIND", "STATUS", "STARTED", "CONFIDENCE", "QUESTION"}}
	for _, info := range list {
		if a.flags.json {
			o, err := a.SessionObject(ctx, store, info)
			if err == nil {
				err = a.object(o)
			}
			if err != nil {
				return err
			}
			continue
		}
		status, sure, err := a.SessionEnd(ctx, store, info)
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
