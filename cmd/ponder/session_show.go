package main

import (
	"context"
	"fmt"
	"strings"
	"time"

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
		return a.object(struct {
			sessionObject
			Thoughts  []session.Thought   `json:"thoughts"`
			Questions []session.Question  `json:"questions"`
			Syntheses []session.Synthesis `json:"syntheses"`
			Sources   []session.Source    `json:"sources"`

			Steering    []session.Steering   `json:"steering,omitempty"`
			Corrections []session.Correction `json:"corrections,omitempty"`
			Pinned      []string             `json:"pinned_sources,omitempty"`
			Banned      []string             `json:"banned_sources,omitempty"`

			Notes []string `json:"notes,omitempty"`
		}{objectOf(info, v), v.Thoughts, v.Questions, v.Syntheses, v.Sources, v.Steering, v.Corrections, v.Pinned, v.Banned, v.Notes})
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
		a.printf("%s%s", questions(v), a.next(info, v.Session, a.command("session resume", info.ID)))
	}
	return nil
}

// maxTree is the most questions that are listed; the export has all of them.
const maxTree = 20

// questions lists what was asked, each below what it came from.
func questions(v session.View) string {
	var b strings.Builder
	n := 0
	for q := range v.Tree() {
		if n++; n > maxTree {
			continue
		}
		if n == 1 {
			b.WriteString("Questions\n")
		}
		text := string(q.State)
		if q.By != "" {
			text += ", of the " + oneLine(q.By)
		}
		fmt.Fprintf(&b, "%s- %s %s (%s)\n", strings.Repeat("  ", q.Depth+1), stateMarks[q.State], oneLine(q.Text), text)
	}
	if n > maxTree {
		fmt.Fprintf(&b, "  and %d more\n", n-maxTree)
	}
	return b.String()
}

// stateMarks are the signs of what has become of questions.
var stateMarks = map[session.QuestionState]string{session.Open: "○", session.Exploring: "◐", session.Explored: "●", session.Dropped: "✕"}

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

// thoughts prints what was thought, in order.
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
