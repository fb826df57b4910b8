// Package report writes a session or a research for readers who did not follow it. A
// report has the answer, its confidence, how it was reached, open questions, and all
// sources.
//
// [Markdown] and [HTML] write the same document: report.go orders its content, words.go
// has its sentences, chart.go the confidence over time, cite.go the numbered sources.
// prose.go parses Markdown of models into a small tree. cite.go and respell.go write only
// that tree into the templates page.html and page.tmpl. So no text can break the structure
// of a report, run code, load anything or link elsewhere than the web. Other foreign text
// stays plain.
//
// A [Research] is the JSON form of a report of research, and the source of its other
// forms. research.go builds it, and research_words.go has its sentences. research.html,
// research.tmpl and research_text.go write it. Its Markdown and HTML embed the JSON
// (research_block.go), so that [ReadResearch] and [ReportFile.Recheck] (research_check.go) need
// nothing else.
//
// A page is one file without scripts and external resources, enforced by its content
// security policy; page.css styles it.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// A document is the content of a report. Its strings may have foreign text; names ending in MD
// mark Markdown.
type document struct {
	View    session.View
	numbers *citationNumbers

	Title    string
	Question string // complete, if the title is shortened
	Lead     string // outcome and confidence
	Remark   string
	NoAnswer string
	AnswerMD string
	Account  string

	Chart       *chart
	InsightsMD  []string
	Open        []openQuestion
	Tree        []session.Node
	Sources     []source // of the answer
	AlsoRead    []source // cited only before it; numbers continue
	Uncited     int      // number of found, uncited sources
	Syntheses   []session.Synthesis
	Corrections []session.Correction
	Steering    []steerEntry
	Stream      []focusThoughts
	Costs       []costRow
	Notes       []string
	Colophon    string
}

type openQuestion struct {
	TextMD   string
	Priority int    // 0 if it is not a question of the session
	Mark     string // "asked by the user"
}

// A source is a cited passage.
type source struct {
	session.Source
	N       int
	Where   string // path, address or earlier session
	URL     string // link; may be empty
	Place   string
	Earlier bool
	Mark    string
}

type steerEntry struct {
	At               float64
	Request, Outcome string
	Refused          bool
}

type sourceList struct {
	ID, Title string
	Sources   []source
	Uncited   int
}

func (d *document) SourceLists() (lists []sourceList) {
	for _, l := range []sourceList{{"sources", "Sources", d.Sources, 0}, {"also-read", "Also read", d.AlsoRead, 0}} {
		if len(l.Sources) > 0 {
			lists = append(lists, l)
		}
	}
	if n := len(lists); n > 0 {
		lists[n-1].Uncited = d.Uncited
	}
	return lists
}

// IsAnswer reports whether synthesis i is the answer, which is shown above.
func (d *document) IsAnswer(i int) bool {
	return i == len(d.Syntheses)-1 && d.Syntheses[i].Final
}

func (o openQuestion) Marks() (marks []string) {
	if o.Priority > 0 {
		marks = append(marks, fmt.Sprintf("priority %d", o.Priority))
	}
	return append(marks, dropEmpty(o.Mark)...)
}

type focusThoughts struct {
	FocusMD  string
	Thoughts []session.Thought
}

const maxTitle = 160

func newDocument(v session.View) *document {
	s := v.Session
	d := &document{
		View: v, Lead: leadText(v), Remark: remarkText(v), Chart: newChart(v), Tree: slices.Collect(v.Tree()),
		Syntheses: v.Syntheses, Corrections: v.Corrections, Costs: costRows(s.Usage), Notes: v.Notes, Colophon: colophonText(s),
	}
	d.Title = textkit.TruncateWords(textkit.OneLine(s.Question), maxTitle)
	if d.Title != strings.TrimSpace(s.Question) {
		d.Question = s.Question
	}
	d.Title = cmp.Or(d.Title, "A session without a question")
	d.setAnswer()
	for _, w := range v.Steering {
		request, outcome := steerLine(w)
		d.Steering = append(d.Steering, steerEntry{w.Offset, request, outcome, w.Refused})
	}
	if last := LastSynthesis(v); last != nil {
		d.InsightsMD = last.Insights
	}
	d.Open = openQuestions(v)
	d.assignNumbers()
	d.Stream = splitByFocus(v.Thoughts)
	d.Account = accountText(v, len(d.Sources)+len(d.AlsoRead))
	return d
}

func (d *document) setAnswer() {
	s := d.View.Session
	last := LastSynthesis(d.View)
	switch {
	case s.Final != "":
		d.AnswerMD = s.Final
	case s.Error != "":
		d.NoAnswer = "No answer: " + s.Error
	case last != nil:
		d.NoAnswer, d.AnswerMD = "No answer yet. The newest synthesis:", last.Text
	default:
		d.NoAnswer = "No answer yet."
	}
}

// LastSynthesis returns the newest synthesis, or nil.
func LastSynthesis(v session.View) *session.Synthesis {
	if n := len(v.Syntheses); n > 0 {
		return &v.Syntheses[n-1]
	}
	return nil
}

// openQuestions returns the open points of the last synthesis and the unexplored questions, the
// most urgent first.
func openQuestions(v session.View) (list []openQuestion) {
	if last := LastSynthesis(v); last != nil {
		for _, text := range last.Remaining {
			list = append(list, openQuestion{TextMD: text})
		}
	}
	said := len(list)
	for _, q := range v.Questions {
		if q.State == session.Explored || q.State == session.Dropped {
			continue
		}
		o := openQuestion{TextMD: q.Text, Priority: q.Priority}
		if q.By != "" {
			o.Mark = "asked by the " + q.By
		}
		same := func(x openQuestion) bool {
			return strings.EqualFold(textkit.OneLine(x.TextMD), textkit.OneLine(q.Text))
		}
		if i := slices.IndexFunc(list[:said], same); i >= 0 {
			list[i].Priority, list[i].Mark = o.Priority, o.Mark
			continue
		}
		list = append(list, o)
	}
	slices.SortStableFunc(list[said:], func(a, b openQuestion) int { return b.Priority - a.Priority })
	return list
}

func (d *document) assignNumbers() {
	d.numbers = numberSources(d.View.Sources, append([]string{d.AnswerMD}, d.InsightsMD...)...)
	if last := LastSynthesis(d.View); last != nil {
		d.numbers.addCited(last.Remaining...)
		for _, id := range last.Cites {
			d.numbers.addSource(id)
		}
	}
	own := len(d.numbers.order)
	for _, n := range d.Tree {
		d.numbers.addCited(n.Insights)
	}
	d.numbers.addRemaining(d.View.Sources)
	byID := make(map[string]session.Source, len(d.View.Sources))
	for _, s := range d.View.Sources {
		byID[s.ID] = s
	}
	for i, id := range d.numbers.order {
		d.Sources = append(d.Sources, d.newSource(i+1, byID[id]))
	}
	d.Sources, d.AlsoRead = d.Sources[:own:own], d.Sources[own:]
	d.Uncited = len(byID) - len(d.numbers.order)
}

func (d *document) newSource(n int, s session.Source) source {
	out := source{Source: s, N: n, Where: s.Source}
	if s.End > s.Start {
		out.Place = fmt.Sprintf("bytes %d to %d of its text", s.Start, s.End)
	}
	if id, ok := s.Earlier(); ok {
		out.Earlier, out.Where, out.Place = true, "earlier session "+string(id), ""
	}
	if to, ok := safeURL(s.Source); ok {
		out.URL = to
	}
	if s.Title == s.Source {
		out.Title = ""
	}
	is := func(name string) bool { return name == s.ID || name == s.Source }
	switch {
	case slices.ContainsFunc(d.View.Pinned, is):
		out.Mark = "pinned by the user"
	case slices.ContainsFunc(d.View.Banned, is):
		out.Mark = "banned by the user later"
	}
	return out
}

// splitByFocus splits thoughts where the focus changes.
func splitByFocus(thoughts []session.Thought) (list []focusThoughts) {
	for i, t := range thoughts {
		if i == 0 || t.Focus != thoughts[i-1].Focus {
			list = append(list, focusThoughts{FocusMD: t.Focus})
		}
		last := &list[len(list)-1]
		last.Thoughts = append(last.Thoughts, t)
	}
	return list
}

// formatDay formats a time in UTC.
func formatDay(t *time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

var statusTexts = map[ponder.Status]string{
	ponder.Created: "Not started yet", ponder.Thinking: "Still thinking", ponder.Paused: "Paused", ponder.Completed: "Completed",
	ponder.Failed: "Failed", ponder.Cancelled: "Cancelled",
}
