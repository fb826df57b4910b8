package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/tui"
	"ponder/knowledge/document"
	"ponder/llm"
	"ponder/mode/session"
)

// report prints the answer of a session, and below it how it came about.
func (a *cli) report(v session.View) {
	if a.flags.json {
		return
	}
	if stderr, ok := a.log.out.(*os.File); ok && !a.flags.quiet && tui.CanShow(stderr) {
		fmt.Fprintln(a.log) // what was shown before ends here
	}
	a.printf("%s\n", strings.TrimSpace(answerOf(v)))
	if !a.flags.quiet {
		a.printf("\n%s", a.account(v))
	}
}

// answerOf returns the answer, or the best there is.
func answerOf(v session.View) string {
	if v.Session.Final != "" {
		return v.Session.Final
	}
	if last := lastSynthesis(v); last != nil {
		return last.Text
	}
	return "There is no answer yet."
}

func lastSynthesis(v session.View) *session.Synthesis {
	if n := len(v.Syntheses); n > 0 {
		return &v.Syntheses[n-1]
	}
	return nil
}

// The most that an account lists of each thing; the export has all of it.
const (
	maxOpen    = 5
	maxSources = 12
	maxRead    = 5
	maxQuote   = 300 // letters
)

// account says how sure an answer is, what it rests on, and what it cost.
func (a *cli) account(v session.View) string {
	var b strings.Builder
	s := v.Session
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-14s %s\n", name, text)
		}
	}
	list := func(name string, items []string, most int) {
		if len(items) == 0 {
			return
		}
		b.WriteString(name + "\n")
		for _, it := range items[:min(most, len(items))] {
			b.WriteString("  - " + it + "\n")
		}
		if n := len(items) - most; n > 0 {
			fmt.Fprintf(&b, "  and %d more\n", n)
		}
	}
	row("Confidence", certainty(s))
	if last := lastSynthesis(v); last != nil {
		list("Key insights", lines(last.Insights), len(last.Insights))
	}
	list("Open questions", open(v), maxOpen)
	list("Sources", sources(v, true), maxSources)
	list("Also read", sources(v, false), maxRead)
	row("Thought", thought(s))
	row("Cost", cost(s))
	row("Stopped", s.StopReason)
	if s.Resolution != nil {
		row("Outcome", outcomeText(s.Resolution.Outcome))
	}
	b.WriteString("Everything\n  " + a.command("session export", ponder.ThreadID(s.ID)) + " -o report.html\n")
	return b.String()
}

// certainty says how sure a session is, and where that is heading.
func certainty(s session.Session) string {
	if s.Claimed == nil {
		return ""
	}
	text := s.Certainty.String()
	if s.Trend != "" {
		text += ", " + oneLine(s.Trend)
	}
	if _, before, ok := strings.Cut(confidence(s.Confidence), " ("); ok {
		text += "; " + strings.TrimSuffix(before, ")")
	}
	return text
}

// confidence writes the last value, and how it came to that.
func confidence(values []float64) string {
	n := len(values)
	if n == 0 {
		return ""
	}
	text := fmt.Sprintf("%.2f", values[n-1])
	var before []string
	for _, c := range values[max(0, n-6) : n-1] {
		before = append(before, fmt.Sprintf("%.2f", c))
	}
	if len(before) > 0 {
		text += " (before: " + strings.Join(before, ", ") + ")"
	}
	return text
}

func lines(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = oneLine(t)
	}
	return out
}

// open returns the questions that are left, the most urgent first.
func open(v session.View) (list []string) {
	if last := lastSynthesis(v); last != nil {
		list = lines(last.Remaining)
	}
	questions := slices.Clone(v.Questions)
	slices.SortStableFunc(questions, func(a, b session.Question) int { return b.Priority - a.Priority })
	for _, q := range questions {
		if text := oneLine(q.Text); !q.Explored && q.State != session.Dropped && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// sources returns the sources that the answer cites, each with its place and its quotation;
// or those that were only cited before it, with their places.
func sources(v session.View, answer bool) (list []string) {
	for i := range v.Sources {
		s := &v.Sources[i]
		if v.Cites(s.ID) != answer || !answer && !s.Cited {
			continue
		}
		text := fmt.Sprintf("[%s] %s, bytes %d to %d of its text", s.ID, nearPath(s.Source), s.Start, s.End)
		if id, ok := s.Earlier(); ok {
			text = fmt.Sprintf("[%s] earlier session %s: %s", s.ID, id, oneLine(s.Title))
		}
		if answer {
			text += fmt.Sprintf("\n      %q", clip(oneLine(s.Quote), maxQuote))
		}
		list = append(list, text)
	}
	return list
}

// nearPath returns a path as it is seen from the current folder, if it is below it.
func nearPath(source string) string {
	source = document.Legible(source)
	if here, err := filepath.Abs("."); err == nil && filepath.IsAbs(source) {
		if rel, err := filepath.Rel(here, source); err == nil && filepath.IsLocal(rel) {
			return oneLine(rel)
		}
	}
	return oneLine(source)
}

func thought(s session.Session) string {
	p := s.Progress
	return strings.Join([]string{
		tui.Clock(textkit.Seconds(p.Elapsed)), textkit.Count(p.Thoughts, "thought", "thoughts"), textkit.Count(p.Questions, "question", "questions"),
		textkit.Count(p.Syntheses, "synthesis", "syntheses"),
	}, ", ")
}

func cost(s session.Session) string {
	if s.Usage.Calls == 0 {
		return "nothing: no model was asked"
	}
	text := strings.Join(spent(s.Usage), ", ")
	if s.Model != "" {
		text += " (" + oneLine(s.Model) + ")"
	}
	return text
}

// showReport prints what a session or a research has come to.
func (w *viewing) showReport() {
	if r := w.AsReport(); r != nil {
		w.researchReport(*r)
		return
	}
	w.report(w.View)
}

// outcome returns the exit code of a command that showed a session to its end or
// to a rest, as an error, having said what there is to say.
func (w *viewing) outcome() error {
	s := w.View.Session
	switch s.Status {
	case ponder.Completed:
		w.showReport()
		switch {
		case w.View.BrokeOff != "" && !w.isWithoutModel():
			return brokeOff(w.View.BrokeOff)
		case w.View.CutShort:
			return failure{code: incomplete}
		case w.isWithoutModel():
			return w.withoutModel()
		}
		return nil
	case ponder.Paused:
		if s.StopReason != "" {
			return failure{incomplete, fmt.Errorf("paused: %s; then: %s", s.StopReason, w.goOn())}
		}
		w.note("paused; to go on: %s", w.goOn())
		return failure{code: incomplete}
	case ponder.Cancelled:
		return failure{incomplete, fmt.Errorf("session %s was cancelled: %s", w.Id, w.command("session show", w.Id))}
	case ponder.Failed:
		return w.failed()
	}
	return failure{incomplete, fmt.Errorf("the session came to rest before its end; to go on: %s", w.goOn())}
}

// brokeOff says of an answer that it is not all there, and how that came.
func brokeOff(how string) error { return failure{incomplete, errors.New("the answer " + how)} }

// isWithoutModel reports whether the answer was put together without the model, though that
// was asked.
func (w *viewing) isWithoutModel() bool {
	if w.View.Session.Usage.Calls == 0 {
		return false
	}
	if w.Looked != nil {
		return w.Looked.View.Research.Unaided
	}
	last := lastSynthesis(w.View)
	return last != nil && last.Final && last.Unaided
}

// withoutIt is what is said of the status then.
const withoutIt = " without the model"

// statusOf returns the status of the session in words.
func (w *viewing) statusOf(info ponder.Info) string {
	if info.Status == ponder.Completed && w.isWithoutModel() {
		return statusOf(info) + withoutIt
	}
	return statusOf(info)
}

// withoutModel says so: the answer is not the one that was asked for.
func (w *viewing) withoutModel() error {
	code := incomplete
	if app.NeedsUser(w.class) && !(w.refused && w.class == llm.Payment) { // it was, but for the budget
		code = notReady
	}
	return failure{code, fmt.Errorf("the model did not write this answer: %s", w.View.Session.StopReason)}
}

func (w *viewing) failed() error {
	code := failed
	switch {
	case w.refused && w.class == llm.Payment && w.asked:
		return failure{incomplete, fmt.Errorf("%s, and no answer of the calls before was of use: give it more, or another model", w.View.Session.StopReason)}
	case w.refused && w.class == llm.Payment:
		return failure{incomplete, fmt.Errorf("%s: it does not allow a single call: give it more", w.View.Session.StopReason)}
	}
	if app.NeedsUser(w.class) {
		code = notReady
	}
	why := w.View.Session.StopReason + otherModel(w.class)
	if w.View.Session.Status == ponder.Failed {
		why = "the session failed: " + why
	}
	return failure{code, errors.New(why)}
}
