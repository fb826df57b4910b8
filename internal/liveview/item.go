package liveview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/steering"
	"ponder/internal/textkit"
	"ponder/internal/transcript"
	"ponder/internal/tui"
)

// ConfidenceMark returns a confidence with two decimals, or "" for an assumed one.
func ConfidenceMark(confidence float64, assumed bool) string {
	if assumed {
		return ""
	}
	return fmt.Sprintf("%.2f", confidence)
}

// NewItem returns the item of an event, and whether the view shows it. Of a session, r is nil.
func NewItem(ev ponder.Event, v app.View, r *app.ResearchFold) (tui.Item, bool) {
	if r != nil {
		if it, ok := researchItem(ev, r.View); ok {
			return it, true
		}
		if _, found := ev.Body.(ponder.Evidence); found {
			return tui.Item{}, false
		}
	}
	return sessionItem(ev, v)
}

func sessionItem(ev ponder.Event, v app.View) (tui.Item, bool) {
	it := tui.Item{At: textkit.Seconds(v.Session.Progress.Elapsed), Tone: tui.Quiet}
	if b, ok := ev.Body.(ponder.CallFinished); ok {
		return waitItem(it, b, ev.Time, v.Session)
	}
	if ev.Internal {
		return it, false
	}
	switch b := ev.Body.(type) {
	case ponder.Thought:
		it.Kind, it.Mark, it.Text, it.Tone = b.Kind, ConfidenceMark(b.Confidence, b.Assumed), b.Content, tui.ThoughtTone(b.Kind)
		if len(b.Against) > 0 {
			it.Text, it.Tone = it.Text+" (contradicts "+strings.Join(b.Against, ", ")+")", tui.Alarm
		}
	case ponder.SubQuestion:
		it.Kind, it.Mark, it.Text, it.Tone = "question", fmt.Sprintf("p%d", b.Priority), strings.TrimSpace(b.ID+" "+b.Content), tui.Bright
	case ponder.Synthesis:
		if b.Final {
			return it, false
		}
		it.Kind, it.Mark, it.Text, it.Tone = "synthesis", ConfidenceMark(b.Confidence, b.Assumed), b.Content, tui.Strong
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
	case ponder.ApprovalRequested:
		it.Kind, it.Text, it.Tone = "asks", "may I "+transcript.CallText(b)+"?", tui.Alarm
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

// DelayText describes the retry of a call that failed at a time, if the delay is long.
func DelayText(b ponder.CallFinished, at time.Time) string {
	if wait := b.RetryAt.Sub(at); !b.RetryAt.IsZero() && wait >= minShownDelay {
		return fmt.Sprintf("%s; retrying in %s", b.Error, wait.Round(time.Second))
	}
	return ""
}

func waitItem(it tui.Item, b ponder.CallFinished, at time.Time, s app.Session) (tui.Item, bool) {
	if it.Kind, it.Text = "note", DelayText(b, at); it.Text == "" {
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

// researchItem shows an event that only research has.
func researchItem(ev ponder.Event, v app.ResearchView) (tui.Item, bool) {
	it := tui.Item{At: textkit.Seconds(v.Research.Elapsed), Tone: tui.Quiet}
	if ev.Internal {
		return it, false
	}
	switch b := ev.Body.(type) {
	case ponder.Plan:
		it.Kind, it.Tone = "plan", tui.Bright
		it.Text = strings.Join(planQueries(b), " · ")
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
		it.Text = cmp.Or(b.Title, b.URL, b.Source) + ": " + textkit.Truncate(textkit.OneLine(b.Content), maxShownQuote)
		if slices.ContainsFunc(b.Quality, func(s ponder.Signal) bool { return s.Name == "addressed" }) {
			it.Text = cmp.Or(b.URL, b.Source) + ": left out, for its words are meant for programs"
		}
		return it, true
	case ponder.Progress:
		if b.Stage == ponder.StageSteered {
			return it, false
		}
		it.Kind, it.Text = cmp.Or(b.Stage, "note"), cmp.Or(b.Content, b.Label)
		return it, it.Text != ""
	}
	return it, false
}

// maxShownQuote is the maximal length of a quote in the live view, in runes.
const maxShownQuote = 160

func planQueries(b ponder.Plan) (list []string) {
	for _, q := range [][]string{b.Web, b.Memory, b.Queries} {
		for _, text := range q {
			list = append(list, textkit.OneLine(text))
		}
	}
	if len(list) == 0 && b.Content != "" {
		list = []string{textkit.OneLine(b.Content)}
	}
	return list
}

func lastQuery(v app.ResearchView, tool string) string {
	n := len(v.Queries)
	if n == 0 || v.Queries[n-1].Tool != textkit.OneLine(tool) {
		return ""
	}
	return strings.TrimSpace(v.Queries[n-1].Tool + " " + v.Queries[n-1].Text)
}
