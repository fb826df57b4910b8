package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ponder/internal/tui"
	"ponder/mode/session"
)

func (a *app) sessionShowCommand() *cobra.Command {
	var thoughts bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show what a session has come to",
		Example: "ponder session show last\nponder session show 01K --thoughts\nponder session show last --json",
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionShow(cmd.Context(), args[0], thoughts)
		},
	}
	cmd.Flags().BoolVar(&thoughts, "thoughts", false, "and how it was thought")
	return cmd
}

func (a *app) sessionShow(ctx context.Context, name string, thoughts bool) error {
	store, err := a.lookup(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	w, info, err := a.loadSession(ctx, store, name)
	if err != nil {
		return err
	}
	v := w.view
	if a.flags.json {
		return a.object(struct {
			sessionObject
			Thoughts  []session.Thought   `json:"thoughts"`
			Questions []session.Question  `json:"questions"`
			Syntheses []session.Synthesis `json:"syntheses"`
			Sources   []session.Source    `json:"sources"`
			Notes     []string            `json:"notes,omitempty"`
		}{objectOf(info, v), v.Thoughts, v.Questions, v.Syntheses, v.Sources, v.Notes})
	}
	a.printf("%s\n%s, %s, started %s", oneLine(v.Session.Question), info.ID, statusOf(info), ago(info.Created, time.Now()))
	if words, _ := nearest(v.Session); words != "" && !info.Status.Ended() {
		a.printf(", %s", words)
	}
	a.printf("\n\n")
	if thoughts {
		a.thoughts(v)
	}
	a.report(v)
	return nil
}

// thoughts prints what was thought, in order.
func (a *app) thoughts(v session.View) {
	for i, t := range v.Thoughts {
		if i == 0 || t.Focus != v.Thoughts[i-1].Focus {
			a.printf("%s\n", oneLine(t.Focus))
		}
		text := tui.RenderItem(tui.Item{At: seconds(t.Offset), Kind: t.Kind, Mark: fmt.Sprintf("%.2f", t.Confidence), Text: t.Text}, 100, tui.Style{Plain: true})
		a.printf("%s\n", text)
	}
	if len(v.Thoughts) > 0 {
		a.printf("\n")
	}
}
