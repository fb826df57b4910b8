package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/textkit"
)

func (a *cli) evidenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "evidence",
		Short:   "Look at what an answer rests on",
		Example: "ponder evidence show last\nponder evidence show last e3",
		GroupID: groupLook,
		Args:    cobra.ArbitraryArgs,
		RunE:    onlyGroups,
	}
	cmd.AddCommand(a.evidenceShowCommand())
	return cmd
}

func (a *cli) evidenceShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show THREAD [ID...]",
		Short: "Show the evidence of a thread, and whether it still stands",
		Long: `Show the quotes that were gathered on a thread: where each is from, when, how it was
found, what is known of its source, and whether it still stands in the original. Pages
and remembered files are checked in the copy that was kept, without the network; other
files where they are.

Exit codes: 0 shown, 2 wrong usage, 3 a quote does not stand as it was quoted any more.`,
		Example: "ponder evidence show last\nponder evidence show last e3 e7 --json",
		Args:    take(1, 1000, "the id of a thread, or last, and perhaps ids of evidence"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.evidenceShow(cmd.Context(), args[0], args[1:])
		},
	}
}

func (a *cli) evidenceShow(ctx context.Context, name string, ids []string) error {
	store, err := a.OpenReadOnly(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := a.FindThread(ctx, store, name, "")
	if err != nil {
		return err
	}
	list, err := evidenceOf(ctx, store, info.ID, ids)
	if err != nil {
		return err
	}
	c := a.checker(ctx, store)
	broken := 0
	for _, e := range list {
		state := c.check(ctx, e.Evidence)
		if state.broken() {
			broken++
		}
		if a.flags.json {
			if err := a.object(evidenceObject{e.Evidence.ID, e.seq, e.Evidence.Content, e.Evidence, state, state.says()}); err != nil {
				return err
			}
			continue
		}
		a.printf("%s\n", evidenceText(e.Evidence, state))
	}
	switch {
	case len(list) == 0:
		a.note("no evidence was gathered there")
	case broken > 0:
		return failure{incomplete, fmt.Errorf("%s of %d cannot be found any more as quoted", counted(broken, "quote", "quotes"), len(list))}
	}
	return nil
}

// A gathered is an evidence event.
type gathered struct {
	seq ponder.Seq
	ponder.Evidence
}

// evidenceOf returns the evidence of a thread, or of that what has an id of ids.
func evidenceOf(ctx context.Context, log ponder.Log, id ponder.ThreadID, ids []string) (list []gathered, err error) {
	wanted := make(map[string]bool)
	for _, id := range ids {
		wanted[strings.Trim(id, "[]")] = true
	}
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", id, err)
		}
		b, ok := ev.Body.(ponder.Evidence)
		if !ok || ev.Internal || len(ids) > 0 && !wanted[b.ID] {
			continue
		}
		list = append(list, gathered{ev.Seq, b})
	}
	for _, id := range ids {
		found := false
		for _, e := range list {
			found = found || e.ID == strings.Trim(id, "[]")
		}
		if !found {
			return nil, usagef("there is no evidence %s: `ponder evidence show` lists what there is", clip(oneLine(id), 20))
		}
	}
	return list, nil
}

// An evidenceObject is evidence as JSON.
type evidenceObject struct {
	ID    string     `json:"id"`
	Seq   ponder.Seq `json:"seq"`
	Quote string     `json:"quote"`
	ponder.Evidence
	State footing `json:"state"`
	Says  string  `json:"state_says"`
}

// evidenceText returns evidence as it is shown.
func evidenceText(e ponder.Evidence, state footing) string {
	var b strings.Builder
	title := oneLine(e.Title)
	if title == "" {
		title = oneLine(e.Source)
	}
	fmt.Fprintf(&b, "[%s] %s\n", e.ID, clip(title, 90))
	fmt.Fprintf(&b, "    “%s”\n", clip(oneLine(e.Content), 600))
	place := e.Source
	if e.URL != "" {
		place = e.URL
	}
	facts := []string{oneLine(place)}
	if e.Section != "" {
		facts = append(facts, oneLine(e.Section))
	}
	if e.Page > 0 {
		facts = append(facts, fmt.Sprintf("page %d", e.Page))
	}
	facts = append(facts, fmt.Sprintf("bytes %d to %d of its text", e.Start, e.End))
	fmt.Fprintf(&b, "    %s\n", strings.Join(facts, ", "))
	facts = nil
	if e.Author != "" {
		facts = append(facts, "by "+oneLine(e.Author))
	}
	for _, date := range []struct {
		what string
		at   time.Time
	}{{whatDate(e), e.Published}, {"fetched", e.Fetched}} {
		if !date.at.IsZero() {
			facts = append(facts, date.what+" "+date.at.Local().Format(time.DateOnly))
		}
	}
	if e.Found.Tool != "" || e.Tool != "" {
		how := "found with " + oneLine(e.Found.Tool)
		if e.Found.Tool == "" {
			how = "found with " + oneLine(e.Tool)
		}
		if e.Found.Provider != "" {
			how += " (" + oneLine(e.Found.Provider) + ")"
		}
		if e.Found.Query != "" {
			how += fmt.Sprintf(" for %q", clip(oneLine(e.Found.Query), 60))
		}
		facts = append(facts, how)
	}
	facts = append(facts, fmt.Sprintf("score %.2f", e.Score))
	fmt.Fprintf(&b, "    %s\n", strings.Join(facts, ", "))
	for _, s := range e.Quality {
		fmt.Fprintf(&b, "    %-14s %.2f  %s\n", oneLine(s.Name), s.Value, clip(oneLine(s.Says), 120))
	}
	if e.Voices > 1 {
		fmt.Fprintf(&b, "    copies of it were found %d times and count once\n", e.Voices)
	}
	if e.Untrusted {
		b.WriteString("    strangers wrote it\n")
	}
	fmt.Fprintf(&b, "    %s\n", state.says())
	return textkit.Clean(b.String())
}

// whatDate says what the date of evidence is. That of a file is mostly when it was written to.
func whatDate(e ponder.Evidence) string {
	if e.URL == "" && !strings.Contains(e.Source, "://") {
		return "changed"
	}
	return "published"
}
