package main

import (
	"fmt"
	"strings"
	"time"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/tui"
	"ponder/mode/session"
)

// givenSure writes a confidence, if anybody gave it.
func givenSure(confidence float64, assumed bool) string {
	if assumed {
		return ""
	}
	return fmt.Sprintf("%.2f", confidence)
}

// itemOf returns how an event is shown, if it is.
func itemOf(ev ponder.Event, v session.View) (tui.Item, bool) {
	it := tui.Item{At: textkit.Seconds(v.Session.Progress.Elapsed), Tone: tui.Quiet}
	if b, ok := ev.Body.(ponder.CallFinished); ok {
		return waitItem(it, b, ev.Time, v.Session)
	}
	if ev.Internal {
		return it, false
	}
	switch b := ev.Body.(type) {
	case ponder.Thought:
		it.Kind, it.Mark, it.Text, it.Tone = b.Kind, givenSure(b.Confidence, b.Assumed), b.Content, tui.Normal
		if len(b.Against) > 0 {
			it.Text, it.Tone = it.Text+" (contradicts "+strings.Join(b.Against, ", ")+")", tui.Alarm
		}
	case ponder.SubQuestion:
		it.Kind, it.Mark, it.Text, it.Tone = "question", fmt.Sprintf("p%d", b.Priority), strings.TrimSpace(b.ID+" "+b.Content), tui.Bright
	case ponder.Synthesis:
		if b.Final {
			return it, false // it is the answer, and comes by itself
		}
		it.Kind, it.Mark, it.Text, it.Tone = "synthesis", givenSure(b.Confidence, b.Assumed), b.Content, tui.Strong
	case ponder.SystemNote:
		it.Kind, it.Text = "note", b.Content
	case ponder.Evidence:
		id, ok := session.Source{Source: b.Source}.Earlier()
		it.Kind, it.Mark, it.Text = "earlier", b.ID, fmt.Sprintf("%s concluded on: %s", id, b.Title)
		return it, ok
	case ponder.BudgetSpent:
		it.Kind, it.Text = "concluding", b.What+" spent"
	case ponder.Progress:
		return progressItem(it, b)
	case ponder.Steer:
		it.Kind, it.Text = "wish", steerWords(ev)
	case ponder.RunPaused:
		it.Kind, it.Text = "paused", b.Reason
	case ponder.RunResumed:
		it.Kind, it.Text = "resumed", b.Reason
	default:
		return it, false
	}
	return it, true
}

// longWait is how long is waited for a model that failed until that is said.
const longWait = 3 * time.Second

// delayOf says that a call which failed at a time is made again, and when, if that is long.
func delayOf(b ponder.CallFinished, at time.Time) string {
	if wait := b.RetryAt.Sub(at); !b.RetryAt.IsZero() && wait >= longWait {
		return fmt.Sprintf("%s; asking again in %s", b.Error, wait.Round(time.Second))
	}
	return ""
}

// waitItem returns how it is shown that a call of a session is made again, if it is.
func waitItem(it tui.Item, b ponder.CallFinished, at time.Time, s session.Session) (tui.Item, bool) {
	if it.Kind, it.Text = "note", delayOf(b, at); it.Text == "" {
		return it, false
	}
	if left := textkit.Seconds(s.Budget.Seconds - s.Progress.Elapsed); left >= time.Second && left <= b.RetryAt.Sub(at) {
		it.Text += fmt.Sprintf(", but the time is up in %s", left.Round(time.Second))
	}
	return it, true
}

// progressItem returns how it is shown what is going on.
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
