// Package report writes a thinking session down for people who were not there:
// the answer first, how sure it is and how it was reached, what is still open, and
// all that it rests on.
//
// [Markdown] and [HTML] say the same. Both are made of a document (report.go:
// what is said, in which order; words.go: its sentences; chart.go: confidence over
// time; cite.go: its sources, by number). Texts of models are read as Markdown
// (prose.go) into a small tree of their own, and only that is written, by
// markup.go and respell.go, into the templates page.html and page.tmpl: so nothing in a text can break the structure of a
// report, run, load anything or lead anywhere but to the web. Everything else that
// is foreign is plain text.
//
// A report of research ([Research]) is made of a form of its own, which is its JSON:
// research.go has it, research_view.go makes it of a view, research_words.go says it,
// and research.html, research.tmpl and research_text.go write it. In its
// Markdown and HTML it carries itself (research_block.go), so that [ReadResearch] and
// Filed.Recheck (research_check.go) can check it when all else is gone.
//
// The page is one file that needs no script and nothing from elsewhere, and says
// so in its content security policy; page.css is how it looks.
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

// A document is what a report says. Strings in it are foreign or may have
// foreign parts; those that end in MD are Markdown.
type document struct {
	View    session.View
	numbers *numbering

	Title    string
	Question string // whole, if the title is only its beginning
	Lead     string // how it went and how sure it is
	Remark   string // what a reader should know before the answer
	NoAnswer string // why there is no answer
	AnswerMD string
	Account  string // how it was reached

	Chart       *chart
	InsightsMD  []string
	Open        []openQuestion
	Tree        []session.Node
	Sources     []source // that the answer cites
	AlsoRead    []source // that were only cited on the way there; numbered on
	Uncited     int      // sources that were found and are not cited
	Syntheses   []session.Synthesis
	Corrections []session.Correction
	Steering    []steered
	Stream      []stretch
	Costs       []costRow
	Notes       []string
	Colophon    string
}

// An openQuestion is something that is still open.
type openQuestion struct {
	TextMD   string
	Priority int    // 0 if it is none of the questions of the session
	Mark     string // "asked by the user"
}

// A source is a passage that is cited.
type source struct {
	session.Source
	N       int
	Where   string // the path, the address or the earlier session
	URL     string // to follow, or empty
	Place   string // in it, or empty
	Earlier bool
	Mark    string // "pinned by the user"
}

// steered is what a user did to a session.
type steered struct {
	At            float64
	Wish, Outcome string
	Refused       bool
}

// A sourceList is a part of the sources under a title.
type sourceList struct {
	ID, Title string
	Sources   []source
	Uncited   int // said behind the last list
}

// SourceLists returns the sources that are cited, those of the answer first.
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

// IsAnswer reports whether the ith synthesis is the answer, which stands above.
func (d *document) IsAnswer(i int) bool {
	return i == len(d.Syntheses)-1 && d.Syntheses[i].Final
}

// Marks says what is special about an open question.
func (o openQuestion) Marks() (marks []string) {
	if o.Priority > 0 {
		marks = append(marks, fmt.Sprintf("priority %d", o.Priority))
	}
	return append(marks, present(o.Mark)...)
}

// A stretch is what was thought about one thing without a break.
type stretch struct {
	FocusMD  string
	Thoughts []session.Thought
}

// The most letters of a question that are its title.
const maxTitle = 160

func newDocument(v session.View) *document {
	s := v.Session
	d := &document{
		View: v, Lead: lead(v), Remark: remark(v), Chart: newChart(v), Tree: slices.Collect(v.Tree()),
		Syntheses: v.Syntheses, Corrections: v.Corrections, Costs: costs(s.Usage), Notes: v.Notes, Colophon: colophon(s),
	}
	d.Title = textkit.TruncateWords(textkit.OneLine(s.Question), maxTitle)
	if d.Title != strings.TrimSpace(s.Question) {
		d.Question = s.Question
	}
	d.Title = cmp.Or(d.Title, "A session without a question")
	d.answer()
	for _, w := range v.Steering {
		wish, outcome := steerLine(w)
		d.Steering = append(d.Steering, steered{w.Offset, wish, outcome, w.Refused})
	}
	if last := LastSynthesis(v); last != nil {
		d.InsightsMD = last.Insights
	}
	d.Open = openQuestions(v)
	d.number()
	d.Stream = stretches(v.Thoughts)
	d.Account = account(v, len(d.Sources)+len(d.AlsoRead))
	return d
}

func (d *document) answer() {
	s := d.View.Session
	last := LastSynthesis(d.View)
	switch {
	case s.Final != "":
		d.AnswerMD = s.Final
	case s.Error != "":
		d.NoAnswer = "There is none: " + s.Error
	case last != nil:
		d.NoAnswer, d.AnswerMD = "There is none yet. The understanding so far:", last.Text
	default:
		d.NoAnswer = "There is none yet."
	}
}

// LastSynthesis returns the newest synthesis, or nil.
func LastSynthesis(v session.View) *session.Synthesis {
	if n := len(v.Syntheses); n > 0 {
		return &v.Syntheses[n-1]
	}
	return nil
}

// openQuestions returns what the last synthesis says is open, and the questions
// that were not explored, the most urgent first.
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

// number gives the sources their numbers.
func (d *document) number() {
	d.numbers = number(d.View.Sources, append([]string{d.AnswerMD}, d.InsightsMD...)...)
	if last := LastSynthesis(d.View); last != nil {
		d.numbers.cited(last.Remaining...)
		for _, id := range last.Cites {
			d.numbers.add(id)
		}
	}
	own := len(d.numbers.order)
	for _, n := range d.Tree {
		d.numbers.cited(n.Insights)
	}
	d.numbers.rest(d.View.Sources)
	byID := make(map[string]session.Source, len(d.View.Sources))
	for _, s := range d.View.Sources {
		byID[s.ID] = s
	}
	for i, id := range d.numbers.order {
		d.Sources = append(d.Sources, d.source(i+1, byID[id]))
	}
	d.Sources, d.AlsoRead = d.Sources[:own:own], d.Sources[own:]
	d.Uncited = len(byID) - len(d.numbers.order)
}

func (d *document) source(n int, s session.Source) source {
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
		out.Mark = "banned by the user later on"
	}
	return out
}

// stretches cuts the stream of thought where the focus changes.
func stretches(thoughts []session.Thought) (list []stretch) {
	for i, t := range thoughts {
		if i == 0 || t.Focus != thoughts[i-1].Focus {
			list = append(list, stretch{FocusMD: t.Focus})
		}
		last := &list[len(list)-1]
		last.Thoughts = append(last.Thoughts, t)
	}
	return list
}

// day writes a time for people everywhere.
func day(t *time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

// ended says how a status is spoken of.
var ended = map[ponder.Status]string{
	ponder.Created: "Not started yet", ponder.Thinking: "Still thinking", ponder.Paused: "Paused", ponder.Completed: "Completed",
	ponder.Failed: "Failed", ponder.Cancelled: "Cancelled",
}
