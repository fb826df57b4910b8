package main

import (
	"fmt"
	"strings"
	"time"

	"ponder/internal/report"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

// newFrame returns the state of a session. The live view gets sessions from newFrame and eventItem
// only.
func newFrame(v app.View, state string) tui.Frame {
	s := v.Session
	f := tui.Frame{Title: s.Question, State: state, Share: s.Progress.Percentage / 100, Foci: activeFoci(s.Progress)}
	f.Budget, f.Left = nearestLimitText(s)
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
	if s.Status == ponder.Paused {
		f.Names = map[string]string{pauseKey: "resume"}
	}
	f.Chart = confidenceChart(s)
	f.Tree = tui.Tree{Label: "questions", Branches: questionBranches(v.Questions)}
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

func nearestLimitText(s app.Session) (words, left string) {
	if i := nearestLimit(s); i >= 0 {
		w := limitUsages(s)[i]
		return w.usedText, w.leftText
	}
	return "", ""
}

func (w *sessionScreen) currentState() string {
	status, p, b := w.View.Session.Status, w.CurrentView().Session.Progress, w.View.Session.Budget
	switch {
	case w.state == pausing && status == ponder.Paused && !w.busy:
		return string(status)
	case w.state != "" && !status.Ended() && (status != ponder.Paused || w.state == pausing):
		return w.state
	case status == ponder.Thinking && (w.View.CutShort || b.Seconds > 0 && p.Elapsed > b.Seconds):
		return concluding
	}
	return string(status)
}

const (
	pausing    = "pausing"
	concluding = "concluding"
	starting   = "starting"
)

func confidenceMark(confidence float64, assumed bool) string {
	if assumed {
		return ""
	}
	return fmt.Sprintf("%.2f", confidence)
}

func eventItem(ev ponder.Event, v app.View) (tui.Item, bool) {
	it := tui.Item{At: textkit.Seconds(v.Session.Progress.Elapsed), Tone: tui.Quiet}
	if b, ok := ev.Body.(ponder.CallFinished); ok {
		return waitItem(it, b, ev.Time, v.Session)
	}
	if ev.Internal {
		return it, false
	}
	switch b := ev.Body.(type) {
	case ponder.Thought:
		it.Kind, it.Mark, it.Text, it.Tone = b.Kind, confidenceMark(b.Confidence, b.Assumed), b.Content, tui.ThoughtTone(b.Kind)
		if len(b.Against) > 0 {
			it.Text, it.Tone = it.Text+" (contradicts "+strings.Join(b.Against, ", ")+")", tui.Alarm
		}
	case ponder.SubQuestion:
		it.Kind, it.Mark, it.Text, it.Tone = "question", fmt.Sprintf("p%d", b.Priority), strings.TrimSpace(b.ID+" "+b.Content), tui.Bright
	case ponder.Synthesis:
		if b.Final {
			return it, false
		}
		it.Kind, it.Mark, it.Text, it.Tone = "synthesis", confidenceMark(b.Confidence, b.Assumed), b.Content, tui.Strong
	case ponder.SystemNote:
		it.Kind, it.Text = "note", b.Content
	case ponder.Evidence:
		id, ok := app.Source{Source: b.Source}.Earlier()
		it.Kind, it.Mark, it.Text = "earlier", b.ID, fmt.Sprintf("%s concluded on: %s", id, b.Title)
		return it, ok
	case ponder.BudgetSpent:
		it.Kind, it.Text = "concluding", concludingText(b, it.At)
	case ponder.Progress:
		return progressItem(it, b)
	case ponder.Steer:
		it.Kind, it.Text = "steer", steering.Words(ev)
		return it, !steering.IsSilent(b) && !followsSentence(ev, v)
	case ponder.RunPaused:
		it.Kind, it.Text = "paused", b.Reason
	case ponder.RunResumed:
		it.Kind, it.Text = "resumed", b.Reason
	default:
		return it, false
	}
	return it, true
}

// followsSentence reports whether a command belongs to a sentence, whose meaning is shown already.
func followsSentence(ev ponder.Event, v app.View) bool {
	n := len(v.Steering)
	return n > 0 && v.Steering[n-1].ID == ev.ID && v.Steering[n-1].Sentence != ""
}

// concludingText describes the limit that a session reached after a time. A session starts its answer
// early enough to end soon after its time limit.
func concludingText(b ponder.BudgetSpent, at time.Duration) string {
	limit := b.Limit.Time
	left := (limit - at).Round(time.Second)
	if b.What != "time" || limit <= 0 || left < time.Second {
		return b.String()
	}
	return fmt.Sprintf("the last %v of %v are for the answer", left, limit.Round(time.Second))
}

// minShownDelay is the delay of a retry from which on the view shows it.
const minShownDelay = 3 * time.Second

// delayText describes the retry of a call that failed at a time, if the delay is long.
func delayText(b ponder.CallFinished, at time.Time) string {
	if wait := b.RetryAt.Sub(at); !b.RetryAt.IsZero() && wait >= minShownDelay {
		return fmt.Sprintf("%s; retrying in %s", b.Error, wait.Round(time.Second))
	}
	return ""
}

func waitItem(it tui.Item, b ponder.CallFinished, at time.Time, s app.Session) (tui.Item, bool) {
	if it.Kind, it.Text = "note", delayText(b, at); it.Text == "" {
		return it, false
	}
	if left := textkit.Seconds(s.Budget.Seconds - s.Progress.Elapsed); left >= time.Second && left <= b.RetryAt.Sub(at) {
		it.Text += fmt.Sprintf(", but the time limit ends in %s", left.Round(time.Second))
	}
	return it, true
}

func progressItem(it tui.Item, b ponder.Progress) (tui.Item, bool) {
	it.Text = b.Content
	switch b.Stage {
	case "focus":
		it.Kind = "focus"
	case "merged":
		it.Kind = "again"
	case "resting":
		it.Kind = "note"
	case ponder.StageSteered:
		it.Kind, it.Tone = "steered", tui.Strong
		if b.Refused {
			it.Kind, it.Tone = "refused", tui.Alarm
		}
		if n := len(b.Cancelled); n > 0 {
			it.Text += "; " + textkit.Count(n, "call", "calls") + " in flight cancelled"
		}
	default:
		return it, false
	}
	return it, true
}
