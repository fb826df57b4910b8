// Package liveview converts sessions and research, and their events, to the frames and items of
// the terminal view.
package liveview

import (
	"fmt"
	"strings"
	"time"

	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

// NewFrame returns the frame of a state in words. Of a session, r is nil. The view gets the state only
// from NewFrame and NewItem.
func NewFrame(v app.View, r *app.ResearchFold, state string) tui.Frame {
	s := v.Session
	f := tui.Frame{Title: s.Question, State: state, Share: s.Progress.Percentage / 100, Foci: activeFoci(s.Progress)}
	f.Budget, f.Left = NearestLimit(s)
	f.Spent = usageParts(s)
	if f.Budget == "" {
		f.Share = -1
	}
	f.Counts = []string{textkit.Count(s.Progress.Thoughts, "thought", "thoughts")}
	if n := s.Progress.Questions; n > 0 {
		f.Counts = append(f.Counts, fmt.Sprintf("%d of %s explored", s.Progress.Explored, textkit.Count(n, "question", "questions")))
	}
	if n := s.Progress.Syntheses; n > 0 {
		f.Counts = append(f.Counts, textkit.Count(n, "synthesis", "syntheses"))
	}
	if n := len(v.Sources); n > 0 {
		f.Counts = append(f.Counts, textkit.Count(n, "passage", "passages")+" found")
	}
	f.Chart = confidenceChart(s)
	f.Tree = tui.Tree{Label: "questions", Branches: questionBranches(v.Questions)}
	if r != nil {
		f = addResearch(f, r.View)
	}
	return f
}

func activeFoci(p app.Progress) (foci []string) {
	for _, f := range p.Foci {
		foci = append(foci, strings.TrimSpace(f.Question+" "+f.Text))
	}
	if foci == nil && p.Focus != "" {
		foci = []string{p.Focus}
	}
	return foci
}

func confidenceChart(s app.Session) tui.Chart {
	c := tui.Chart{Label: "confidence", Values: s.Confidence, Note: s.Certainty.String()}
	if s.Trend != "" {
		c.Note += ", " + s.Trend
	}
	return c
}

func questionBranches(questions []app.Question) []tui.Branch {
	list := make([]tui.Branch, len(questions))
	for i, q := range questions {
		b := tui.Branch{ID: q.ID, Parent: q.Parent, Mark: fmt.Sprintf("p%d", q.Priority), Text: q.Text, Weight: float64(q.Priority)}
		switch q.State {
		case app.Exploring:
			b.State = tui.Active
		case app.Explored:
			b.State, b.Weight = tui.Done, float64(i) // the newest first
		case app.Dropped:
			b.State, b.Weight = tui.Dropped, float64(i)
		}
		list[i] = b
	}
	return list
}

// usageParts lists usage and limits, except the nearest limit, which the bar shows.
func usageParts(s app.Session) (list []string) {
	u, next, ways := s.Usage, nearestLimit(s), limitUsages(s)
	plain := []string{
		textkit.Clock(textkit.Seconds(s.Progress.Elapsed)), textkit.Count(u.Calls, "call", "calls"), textkit.Count(u.Total, "token", "tokens"), report.USD(u.USD, u.Total, u.Calls, u.Unpriced),
	}
	for i, w := range ways {
		switch {
		case i == next || i > 0 && u.Calls == 0:
		case w.limit > 0:
			list = append(list, w.usedText)
		default:
			list = append(list, plain[i])
		}
	}
	if u.Failed > 0 {
		list = append(list, fmt.Sprintf("%d failed", u.Failed))
	}
	return list
}

type limitUsage struct {
	used, limit        float64 // zero: no limit
	usedText, leftText string
}

func limitUsages(s app.Session) []limitUsage {
	p, u, b := s.Progress, s.Usage, s.Budget
	whole := textkit.Seconds(b.Seconds) + time.Second/2
	rest := whole - textkit.Seconds(p.Elapsed).Truncate(time.Second)
	return []limitUsage{
		{p.Elapsed, b.Seconds, textkit.Clock(textkit.Seconds(p.Elapsed)) + " of " + textkit.Clock(whole), textkit.Clock(rest) + " left"},
		{float64(u.Calls), float64(b.Calls), textkit.Number(u.Calls) + " of " + textkit.Count(b.Calls, "call", "calls"), textkit.Number(max(0, b.Calls-u.Calls)) + " left"},
		{float64(u.Total), float64(b.Tokens), formatThousands(u.Total) + " of " + formatThousands(b.Tokens) + " tokens", formatThousands(max(0, b.Tokens-u.Total)) + " left"},
		{u.USD, b.USD, report.Dollars(u.USD) + " of " + report.Dollars(b.USD), report.Dollars(max(0, b.USD-u.USD)) + " left"},
	}
}

func formatThousands(n int) string {
	if n < 10_000 {
		return textkit.Number(n)
	}
	return textkit.Number(n/1000) + "k"
}

// nearestLimit returns the way nearest to its limit, or -1 without limits.
func nearestLimit(s app.Session) int {
	best, maxUsed := -1, -1.0
	for i, w := range limitUsages(s) {
		if w.limit > 0 && w.used/w.limit > maxUsed {
			best, maxUsed = i, w.used/w.limit
		}
	}
	return best
}

// NearestLimit describes the use of the limit that the session reaches first, and the rest of it.
func NearestLimit(s app.Session) (used, left string) {
	if i := nearestLimit(s); i >= 0 {
		w := limitUsages(s)[i]
		return w.usedText, w.leftText
	}
	return "", ""
}

func addResearch(f tui.Frame, v app.ResearchView) tui.Frame {
	f.Foci, f.Counts = nil, nil
	for _, q := range v.Queries {
		if !q.Done && len(f.Foci) < maxFoci {
			f.Foci = append(f.Foci, textkit.OneLine(q.Tool+" "+q.Text))
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

// maxFoci is the maximal number of searches shown at a time.
const maxFoci = 6
