package main

import (
	"fmt"
	"strings"
	"time"

	"ponder"
	"ponder/internal/tui"
	"ponder/mode/session"
)

// frameOf returns how a session stands. This and itemOf are all that the live view
// is told of sessions.
func frameOf(v session.View, state string) tui.Frame {
	s := v.Session
	f := tui.Frame{Title: s.Question, State: state, Share: s.Progress.Percentage / 100, Foci: fociOf(s.Progress), Spent: spending(s)}
	f.Budget, f.Left = nearest(s)
	if f.Budget == "" {
		f.Share = -1
	}
	f.Counts = []string{counted(s.Progress.Thoughts, "thought", "thoughts")}
	if n := s.Progress.Questions; n > 0 {
		f.Counts = append(f.Counts, fmt.Sprintf("%d of %s explored", s.Progress.Explored, counted(n, "question", "questions")))
	}
	if n := s.Progress.Syntheses; n > 0 {
		f.Counts = append(f.Counts, counted(n, "synthesis", "syntheses"))
	}
	if n := len(v.Sources); n > 0 {
		f.Counts = append(f.Counts, counted(n, "passage", "passages")+" found")
	}
	f.Chart = chartOf(s)
	f.Tree = tui.Tree{Label: "questions", Branches: branchesOf(v.Questions)}
	return f
}

// fociOf returns what is being thought about.
func fociOf(p session.Progress) (foci []string) {
	for _, f := range p.Foci {
		foci = append(foci, strings.TrimSpace(f.Question+" "+f.Text))
	}
	if foci == nil && p.Focus != "" {
		foci = []string{p.Focus}
	}
	return foci
}

// chartOf returns the confidence over the syntheses, what it is worth, and where
// it goes.
func chartOf(s session.Session) tui.Chart {
	c := tui.Chart{Label: "confidence", Values: s.Confidence, Note: s.Certainty.String()}
	if s.Trend != "" {
		c.Note += ", " + s.Trend
	}
	return c
}

// branchesOf returns questions as they are drawn.
func branchesOf(questions []session.Question) []tui.Branch {
	list := make([]tui.Branch, len(questions))
	for i, q := range questions {
		b := tui.Branch{ID: q.ID, Parent: q.Parent, Mark: fmt.Sprintf("p%d", q.Priority), Text: q.Text, Weight: float64(q.Priority)}
		switch q.State {
		case session.Exploring:
			b.State = tui.Active
		case session.Explored:
			b.State, b.Weight = tui.Done, float64(i) // of what is done, the newest
		case session.Dropped:
			b.State, b.Weight = tui.Dropped, float64(i)
		}
		list[i] = b
	}
	return list
}

// spending says what calls have cost, and of which limits.
func spending(s session.Session) []string {
	u, b := s.Usage, s.Budget
	if u.Calls == 0 {
		return nil
	}
	list := spent(u)
	if b.Calls > 0 {
		list[0] = strings.Replace(list[0], number(u.Calls), number(u.Calls)+" of "+number(b.Calls), 1)
	}
	if b.Tokens > 0 {
		list[1] = fmt.Sprintf("%s of %s", number(u.Total), counted(b.Tokens, "token", "tokens"))
	}
	if b.USD > 0 {
		list[2] += " of " + dollars(b.USD)
	}
	return list
}

// spent says what calls have cost.
func spent(u session.Usage) []string {
	calls := counted(u.Calls, "call", "calls")
	if u.Failed > 0 {
		calls += fmt.Sprintf(" (%d failed)", u.Failed)
	}
	return []string{calls, counted(u.Total, "token", "tokens"), usd(u.USD, u.Calls, u.Unpriced)}
}

// nearest says how far the budget has come that is nearest to its end, and how
// much of it is left.
func nearest(s session.Session) (words, left string) {
	most := -1.0
	add := func(used, limit float64, text, rest string) {
		if limit > 0 && used/limit > most {
			words, left, most = text, rest+" left", used/limit
		}
	}
	p, u, b := s.Progress, s.Usage, s.Budget
	add(p.Elapsed, b.Seconds, tui.Clock(seconds(p.Elapsed))+" of "+tui.Clock(seconds(b.Seconds)+time.Second/2), tui.Clock(seconds(b.Seconds)-seconds(p.Elapsed).Truncate(time.Second)+time.Second/2))
	add(float64(u.Calls), float64(b.Calls), fmt.Sprintf("%s of %s", number(u.Calls), counted(b.Calls, "call", "calls")), number(max(0, b.Calls-u.Calls)))
	add(float64(u.Total), float64(b.Tokens), fmt.Sprintf("%s of %s", number(u.Total), counted(b.Tokens, "token", "tokens")), number(max(0, b.Tokens-u.Total)))
	add(u.USD, b.USD, dollars(u.USD)+" of "+dollars(b.USD), dollars(max(0, b.USD-u.USD)))
	return words, left
}

// stateNow says in a word what the session does.
func (w *viewing) stateNow() string {
	status, p, b := w.view.Session.Status, w.now().Session.Progress, w.view.Session.Budget
	switch {
	case w.state == pausing && status == ponder.Paused && !w.busy:
		return string(status)
	case w.state != "" && !status.Ended() && (status != ponder.Paused || w.state == pausing):
		return w.state
	case status == ponder.Thinking && (w.view.CutShort || b.Seconds > 0 && p.Elapsed > b.Seconds):
		return concluding
	}
	return string(status)
}

// What a session does beside its statuses.
const (
	pausing    = "pausing"
	concluding = "concluding"
	starting   = "starting"
)
