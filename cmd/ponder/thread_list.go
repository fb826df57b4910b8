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

func (a *cli) threadListCommand() *cobra.Command {
	var kind string
	var limit int
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List threads, the newest first",
		Example: "ponder thread list --kind session\nponder thread list --json",
		Args:    takeNone,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.threadList(cmd.Context(), ponder.Kind(kind), limit)
		},
	}
	cmd.Flags().StringVar(&kind, "kind", "", "only those of a kind: conversation, session, research, subconscious, or exchange, which are not listed otherwise")
	cmd.Flags().IntVar(&limit, "limit", 20, "at most so many")
	return cmd
}

func (a *cli) threadList(ctx context.Context, kind ponder.Kind, limit int) error {
	switch kind {
	case "", ponder.KindConversation, ponder.KindSession, ponder.KindResearch, ponder.KindSubconscious, ponder.KindExchange:
	default:
		return usagef("--kind: %q is none of conversation, session, research, subconscious, exchange", clip(string(kind), 20))
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
	filter := ponder.Filter{Kind: kind, Limit: limit}
	if kind == "" {
		filter.Without = ponder.KindExchange
	}
	list, err := store.List(ctx, filter)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	if len(list) == 0 {
		a.note("there are no such threads")
		return nil
	}
	rows := [][]string{{"ID", "KIND", "STATUS", "EVENTS", "CHANGED", "TITLE"}}
	for _, info := range list {
		if a.flags.json {
			if err := a.object(info); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{string(info.ID), string(info.Kind), statusOf(info), textkit.Number(int(info.Head)), textkit.Ago(info.Updated, time.Now()), clip(info.Title, 50)})
	}
	if !a.flags.json {
		a.table(rows)
	}
	return nil
}
