package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ponder/internal/report"

	"ponder/internal/app"

	"ponder/internal/textkit"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/tui"
	"ponder/mode/session"
)

func (a *cli) sessionShowCommand() *cobra.Command {
	var thoughts bool
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show what a session or a research has come to",
		Example: "ponder session show last\nponder session show 01K --thoughts\nponder session show last --json",
		Args:    takeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.sessionShow(cmd.Context(), args[0], thoughts)
		},
	}
	cmd.Flags().BoolVar(&thoughts, "thoughts", false, "and how it was thought")
	return cmd
}

func (a *cli) sessionShow(ctx context.Context, name string, thoughts bool) error {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	w, info, err := a.loadSession(ctx, store, name)
	if err != nil {
		return err
	}
	if w.Looked != nil {
		return w.researchShow(info, thoughts)
	}
	v := w.View
	if a.flags.json {
		return a.object(report.DetailOf(info, v, app.IsInterrupted(info)))
	}
	a.printf("%s\n%s, %s, started %s", oneLine(v.Session.Question), info.ID, w.statusOf(info), textkit.Ago(info.Created, time.Now()))
	if words, _ := nearest(v.Session); words != "" && !info.Status.Ended() {
		a.printf(", %s", words)
	}
	a.printf("\n\n")
	if thoughts {
		a.thoughts(v)
	}
	a.report(v)
	if !a.flags.quiet {
		a.printf("%s%s", report.Questions(v), a.next(info, v.Session, a.command("session resume", info.ID)))
	}
	return nil
}

// next says what can be done with a session, with the command that would go on.
func (a *cli) next(info ponder.Info, s session.Session, goOn string) string {
	var rows [][2]string
	switch {
	case app.IsInterrupted(info), s.Status == ponder.Paused:
		rows = append(rows, [2]string{"to go on", goOn})
	case s.Status == ponder.Thinking:
		rows = append(rows, [2]string{"to look on", a.command("session watch", info.ID)}, [2]string{"to steer it", a.command("session steer", info.ID) + " --help"})
	case s.Status == ponder.Completed:
		rows = append(rows, [2]string{"to try otherwise", a.command("session fork", info.ID)})
		if s.Resolution == nil && info.Kind == ponder.KindSession {
			rows = append(rows, [2]string{"how it turned out", a.command("session resolve", info.ID) + " --outcome 1"})
		}
	}
	var b strings.Builder
	for i, r := range rows {
		if i == 0 {
			b.WriteString("Next\n")
		}
		fmt.Fprintf(&b, "  %s\n    %s\n", r[0], r[1])
	}
	return b.String()
}

func (a *cli) thoughts(v session.View) {
	for i, t := range v.Thoughts {
		if i == 0 || t.Focus != v.Thoughts[i-1].Focus {
			a.printf("%s\n", oneLine(t.Focus))
		}
		text := tui.RenderItem(tui.Item{At: textkit.Seconds(t.Offset), Kind: t.Kind, Mark: givenSure(t.Confidence, t.Assumed), Text: t.Text}, 100, tui.Style{Plain: true})
		a.printf("%s\n", text)
	}
	if len(v.Thoughts) > 0 {
		a.printf("\n")
	}
}
