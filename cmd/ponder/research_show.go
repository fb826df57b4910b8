package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"ponder/internal/app"

	"ponder"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/internal/tui"
	"ponder/mode/research"
	"ponder/mode/session"
)

// itemOf returns how an event is shown, if it is.
func (w *viewing) itemOf(ev ponder.Event, v session.View) (tui.Item, bool) {
	if w.Looked != nil {
		if it, ok := researchItem(ev, w.Looked.View); ok {
			return it, true
		}
		if _, found := ev.Body.(ponder.Evidence); found {
			return tui.Item{}, false
		}
	}
	return itemOf(ev, v)
}

// researchItem returns how an event of research is shown that others do not have.
func researchItem(ev ponder.Event, v research.View) (tui.Item, bool) {
	it := tui.Item{At: textkit.Seconds(v.Research.Elapsed), Tone: tui.Quiet}
	if ev.Internal {
		return it, false
	}
	switch b := ev.Body.(type) {
	case ponder.Plan:
		it.Kind, it.Tone = "plan", tui.Bright
		it.Text = strings.Join(queriesOf(b), " · ")
		return it, it.Text != ""
	case ponder.ToolCall:
		it.Kind = "search"
		it.Text = lastQuery(v, b.Name)
		return it, it.Text != ""
	case ponder.ToolResult:
		it.Kind, it.Tone, it.Text = "failed", tui.Alarm, b.Name+": "+strings.TrimPrefix(b.Error, b.Name+": ")
		return it, b.Error != "" && !b.Dropped && b.RetryAt.IsZero()
	case ponder.Evidence:
		it.Kind, it.Mark, it.Tone = "evidence", b.ID, tui.Normal
		it.Text = cmp.Or(b.Title, b.URL, b.Source) + ": " + clip(oneLine(b.Content), maxShownQuote)
		if slices.ContainsFunc(b.Quality, func(s ponder.Signal) bool { return s.Name == "addressed" }) {
			it.Text = cmp.Or(b.URL, b.Source) + ": left out, for its words are meant for programs"
		}
		return it, true
	case ponder.Progress:
		if b.Stage == ponder.StageSteered {
			return it, false // shown as those of sessions are
		}
		it.Kind, it.Text = cmp.Or(b.Stage, "note"), cmp.Or(b.Content, b.Label)
		return it, it.Text != ""
	}
	return it, false
}

// maxShownQuote is how much of a quote is shown as it comes, in letters.
const maxShownQuote = 160

func queriesOf(b ponder.Plan) (list []string) {
	for _, q := range [][]string{b.Web, b.Memory, b.Queries} {
		for _, text := range q {
			list = append(list, oneLine(text))
		}
	}
	if len(list) == 0 && b.Content != "" {
		list = []string{oneLine(b.Content)}
	}
	return list
}

// lastQuery returns the newest query of a tool, in words.
func lastQuery(v research.View, tool string) string {
	n := len(v.Queries)
	if n == 0 || v.Queries[n-1].Tool != oneLine(tool) {
		return ""
	}
	return strings.TrimSpace(v.Queries[n-1].Tool + " " + v.Queries[n-1].Text)
}

// researchFrame returns how research stands: a frame of a session, with what is being
// looked for in it.
func researchFrame(f tui.Frame, v research.View) tui.Frame {
	f.Foci, f.Counts = nil, nil
	for _, q := range v.Queries {
		if !q.Done && len(f.Foci) < maxFoci {
			f.Foci = append(f.Foci, oneLine(q.Tool+" "+q.Text))
		}
	}
	if focus := app.FocusOf(v); f.Foci == nil && focus != "" {
		f.Foci = []string{focus}
	}
	if v.Research.Rounds > 0 {
		f.Counts = append(f.Counts, fmt.Sprintf("round %d of %d", v.Research.Rounds, max(v.Research.Setup.MaxRounds, v.Research.Rounds)))
	}
	f.Counts = append(f.Counts, textkit.Count(len(v.Queries), "search", "searches"), textkit.Count(len(v.Evidence), "passage", "passages"))
	if n := v.References.Unique; n > 0 {
		f.Counts = append(f.Counts, textkit.Count(n, "source", "sources"))
	}
	f.Chart = tui.Chart{}
	return f
}

// maxFoci is how many searches that go on are shown at a time.
const maxFoci = 6

// researchReport prints the answer of a research with what it cites, and below it how it
// came about.
func (w *viewing) researchReport(r report.Research) {
	if w.flags.json {
		return
	}
	if stderr, ok := w.log.out.(*os.File); ok && !w.flags.quiet && tui.CanShow(stderr) {
		fmt.Fprintln(w.log) // what was shown before ends here
	}
	if r.Answer == "" {
		w.printf("There is no answer yet.\n")
		return
	}
	w.printf("%s\n", textkit.Clean(r.Text()))
	if w.flags.quiet {
		return
	}
	rows := [][2]string{{"Summary", r.Summary()}, {"Took", w.took()}, {"Cost", report.CostText(w.View.Session)}, {"Stopped", r.Reason}}
	w.printf("\n")
	for _, row := range rows {
		if row[1] != "" {
			w.printf("%-10s %s\n", row[0], oneLine(row[1]))
		}
	}
	w.printf("Report\n  %s -o report.html\n", w.command("session export", w.Id))
}

// took says how long a research took, and how it looked.
func (w *viewing) took() string {
	v := w.Looked.View
	return strings.Join([]string{
		textkit.Clock(textkit.Seconds(v.Research.Elapsed)), textkit.Count(v.Research.Rounds, "round", "rounds"), textkit.Count(len(v.Queries), "search", "searches"),
		textkit.Count(len(v.Evidence), "passage", "passages") + " found",
	}, ", ")
}
