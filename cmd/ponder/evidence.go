package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/limitio"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/store/sqlite"
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
	list, err := a.CheckEvidence(ctx, name, ids...)
	if err != nil {
		return err
	}
	broken := 0
	for _, e := range list {
		if e.State.Broken() {
			broken++
		}
		if a.flags.json {
			if err := a.object(e); err != nil {
				return err
			}
			continue
		}
		a.printf("%s\n", evidenceText(e.Evidence, e.Says))
	}
	switch {
	case len(list) == 0:
		a.note("no evidence was gathered there")
	case broken > 0:
		return failure{incomplete, fmt.Errorf("%s of %d cannot be found any more as quoted", textkit.Count(broken, "quote", "quotes"), len(list))}
	}
	return nil
}

// evidenceText returns evidence as it is shown.
func evidenceText(e ponder.Evidence, status string) string {
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
	fmt.Fprintf(&b, "    %s\n", status)
	return textkit.Clean(b.String())
}

// whatDate says what the date of evidence is. That of a file is mostly when it was written to.
func whatDate(e ponder.Evidence) string {
	if e.URL == "" && !strings.Contains(e.Source, "://") {
		return "changed"
	}
	return "published"
}

func (a *cli) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify REPORT",
		Short: "Check a report of research again, without network and model",
		Long: `Check a report of research again: whether each quote still stands in the original that was
kept, whether each claim still stands as it was said to, worked out anew from the quotes,
and whether the text is still the one that was written. REPORT is a file that
"ponder research -o" or "ponder session export" wrote, as Markdown, HTML or JSON, or the id
of a research. Neither the network nor a model is asked; the database is needed for the
pages that were kept, not for the thread.

Exit codes: 0 all stands, 1 something does not, or could not be
checked, for its original is not here, 2 it is no report,
or has no answer.`,
		Example: "ponder verify report.md\nponder verify last --json",
		GroupID: groupLook,
		Args:    take(1, 1, "a report: a file, or the id of a research"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.verify(cmd.Context(), args[0])
		},
	}
}

func (a *cli) verify(ctx context.Context, name string) error {
	store, err := a.OpenReadOnly(ctx)
	switch {
	case errors.Is(err, app.ErrNothingYet):
		store = nil // a report can be checked in itself
	case err != nil:
		return err
	default:
		defer store.Close()
	}
	f, err := a.filed(ctx, store, name)
	if err != nil {
		return err
	}
	v := verification{a.VerifyReport(ctx, store, f)}
	if a.flags.json {
		if err := a.object(v.Verification); err != nil {
			return err
		}
	} else {
		a.printf("%s", textkit.Clean(v.text()))
	}
	if !v.Stands {
		return failure{code: failed}
	}
	return nil
}

// filed returns the report that a user means.
func (a *cli) filed(ctx context.Context, store *sqlite.Store, name string) (*report.Filed, error) {
	raw, err := readReport(name)
	switch {
	case err == nil:
		f, err := report.ReadResearch(raw)
		if err != nil {
			return nil, usagef("%s: %w", clip(oneLine(name), 80), err)
		}
		if f.Answer == "" && !f.Altered {
			return nil, usagef("%s: the report has no answer, so there is nothing to check", clip(oneLine(name), 80))
		}
		return f, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%s cannot be read: %w", clip(oneLine(name), 80), err)
	case strings.ContainsAny(name, "./\\") || store == nil:
		return nil, usagef("%s: there is no such file", clip(oneLine(name), 80))
	}
	info, err := a.FindThread(ctx, store, name, ponder.KindResearch)
	if err != nil {
		return nil, err
	}
	v, since, err := app.FoldResearch(ctx, store, info.ID)
	if err != nil {
		return nil, err
	}
	if v.Research.Answer == "" {
		return nil, usagef("research %s has no answer yet: ponder session show %s", info.ID, info.ID)
	}
	r := report.ResearchOf(v, since)
	return &report.Filed{Research: r, Form: "thread", Shown: r.Answer}, nil
}

// readReport reads a file that may be a report.
func readReport(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder")
	case info.Size() > report.MaxResearch:
		return nil, errors.New("it is larger than any report")
	}
	return limitio.ReadAll(file, report.MaxResearch)
}

// A verification is printed as text.
type verification struct{ app.Verification }

// text returns what is printed.
func (v verification) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", clip(oneLine(v.Question), 200))
	states := make(map[app.QuoteStatus]int)
	for _, q := range v.Quotes {
		states[q.State]++
	}
	var parts []string
	for _, s := range []app.QuoteStatus{app.QuoteExact, app.QuoteFound, app.QuoteReordered, app.QuoteInSearch, app.QuoteOnlyInSearch, app.QuoteChanged, app.SourceGone, app.SourceNotKept, app.QuoteOfThread, app.QuoteOfUser} {
		if n := states[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, map[app.QuoteStatus]string{
				app.QuoteExact: "word for word in the original", app.QuoteFound: "in the original", app.QuoteChanged: "NOT in the original any more",
				app.QuoteReordered: "in the original in parts, in another order", app.QuoteInSearch: "as the search had it, of pages not kept",
				app.QuoteOnlyInSearch: "as the search had it, but NOT so in the page that was kept",
				app.SourceGone:        "whose original is gone", app.SourceNotKept: "of which no original was kept", app.QuoteOfThread: "of earlier work", app.QuoteOfUser: "of the user",
			}[s]))
		}
	}
	b.WriteString(textkit.Count(len(v.Quotes), "quote", "quotes"))
	if len(parts) > 0 {
		b.WriteString(": " + strings.Join(parts, "; "))
	}
	same, judged := 0, 0
	for _, c := range v.Claims {
		switch {
		case !c.Differs:
			same++
		case c.Judged:
			judged++
		}
	}
	fmt.Fprintf(&b, "\n%s", textkit.Count(len(v.Claims), "claim", "claims"))
	if len(v.Claims) > 0 {
		fmt.Fprintf(&b, ": %d as it was said", same-len(v.Unsure))
	}
	if n := len(v.Unsure); n > 0 {
		fmt.Fprintf(&b, ", %d not checked", n)
	}
	if judged > 0 {
		fmt.Fprintf(&b, ", %d decided by a model, which is not asked again", judged)
	}
	b.WriteString("\n")
	for _, p := range v.Problems() {
		fmt.Fprintf(&b, "  ✗ %s\n", p)
	}
	for _, q := range v.Quotes {
		if q.Cited && q.State == app.SourceGone {
			fmt.Fprintf(&b, "  ? quote %s of %s: %s\n", oneLine(q.ID), clip(oneLine(q.Source), 100), q.Says)
		}
	}
	b.WriteString(v.verdict() + "\n")
	return b.String()
}

// verdict says in a line what came of it.
func (v verification) verdict() string {
	switch {
	case v.Stands && len(v.Claims) == 0:
		return "It is as it was written, and makes no claim."
	case v.Stands && v.Borne == 0:
		return "It is as it was written, and no quote bears any of it out."
	case v.Stands:
		return "All of it stands."
	}
	text := "Not all of it stands."
	if len(v.Problems()) == 0 {
		text = "Nothing was found to be wrong."
	}
	if n := len(v.Lost); n > 0 {
		text += fmt.Sprintf(" Not checked: %s, whose original is not here", textkit.Count(n, "quote", "quotes"))
		if k := len(v.Unsure); k > 0 {
			text += ", and " + textkit.Count(k, "claim", "claims") + " from them"
		}
		text += "."
	}
	return text
}
