package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/mode/research"
	"ponder/mode/session"
)

// A looked is a research that is being shown, beside the session that it looks like.
type looked struct {
	view  research.View
	since *research.Report // that it was to bring up to date
	file  string           // that its report was to be written to
}

// researched returns the research that an event starts, or nil if it starts none.
func researched(ev ponder.Event) *looked {
	b, ok := ev.Body.(ponder.RunStarted)
	if !ok || b.Mode != research.Name {
		return nil
	}
	var o researchStart
	_ = json.Unmarshal(b.Options, &o) // the run fails if they are wrong
	return &looked{view: research.NewView(), since: o.Since, file: oneLine(o.Report)}
}

// foldResearch returns the research of a thread.
func foldResearch(ctx context.Context, log ponder.Log, id ponder.ThreadID) (research.View, *research.Report, error) {
	l := &looked{view: research.NewView()}
	for ev, err := range log.Events(ctx, id, 0) {
		if err != nil {
			return l.view, nil, fmt.Errorf("read %s: %w", id, err)
		}
		l.apply(ev)
	}
	return l.view, l.since, nil
}

// apply takes in the next event.
func (l *looked) apply(ev ponder.Event) {
	run := l.view.Research.Run
	if l.view = l.view.Apply(ev); l.view.Research.Run != run {
		if begun := researched(ev); begun != nil {
			l.since, l.file = begun.since, begun.file
		}
	}
}

// report returns what is reported of it.
func (l *looked) report() report.Research { return report.ResearchOf(l.view, l.since) }

// asSession returns a research as the commands and the live view see sessions.
func asSession(v research.View) session.View {
	r := v.Research
	out := session.NewView()
	out.CutShort = r.CutShort != "" && r.CutShort != "time"
	out.BrokeOff = v.BrokeOff
	out.Pinned, out.Banned, out.Notes = v.Pinned, v.Banned, v.Notes
	s := &out.Session
	s.ID, s.Run, s.Question, s.Status, s.Model = r.ID, r.Run, r.Question, r.Status, r.Model
	s.Created, s.Started, s.Paused, s.Completed = moment(r.Started), moment(r.Started), moment(r.Paused), moment(r.Completed)
	s.Final, s.StopReason, s.Error = r.Answer, r.StopReason, r.Error
	s.Minutes, s.Budget, s.Usage = r.Budget.Seconds/60, r.Budget, r.Usage
	s.Metadata = session.Metadata{Docs: r.Setup.Docs, Memory: r.Setup.Memory, Web: r.Setup.Web, WithoutModel: r.Setup.Unaided || r.Unaided}
	s.Progress = session.Progress{Questions: len(v.Questions), Percentage: r.Percentage, Elapsed: r.Elapsed, Focus: focusOf(v)}
	for _, q := range v.Questions {
		as := questionOf(q)
		switch as.State {
		case session.Explored:
			s.Progress.Explored++
		case session.Dropped:
			s.Progress.Dropped++
		}
		out.Questions = append(out.Questions, as)
	}
	for _, e := range v.Evidence {
		out.Sources = append(out.Sources, session.Source{ID: e.ID, Source: e.Source, Title: e.Title, Start: e.Start, End: e.End, Cited: e.Cited})
	}
	return out
}

func questionOf(q research.Question) session.Question {
	out := session.Question{
		ID: q.ID, Parent: q.Parent, Text: q.Text, Priority: q.Priority, Why: q.Why, By: q.By, Explored: q.Explored, Insights: q.Insights, State: session.Open,
	}
	switch {
	case q.Dropped:
		out.State = session.Dropped
	case q.Explored:
		out.State = session.Explored
	}
	return out
}

// moment returns a time, or nil if there is none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// focusOf says what research is doing.
func focusOf(v research.View) string {
	if v.Research.Status != ponder.Thinking {
		return ""
	}
	for _, q := range slices.Backward(v.Queries) {
		if !q.Done {
			return oneLine(q.Tool + ": " + q.Text)
		}
	}
	for _, m := range slices.Backward(v.Timeline) {
		if m.Message != "" && m.Error == "" {
			return oneLine(m.Message)
		}
	}
	return ""
}

// research returns what is known of a viewing that is of research, or nil.
func (w *viewing) asReport() *report.Research {
	if w.looked == nil {
		return nil
	}
	r := w.looked.report()
	return &r
}

// sightForAgain returns what a research that has begun looks into.
func sightForAgain(v research.View) app.Sources {
	s := v.Research.Setup
	return app.Sources{Docs: s.Docs, Memory: s.Memory, Web: s.Web, OtherTools: s.Others, Patience: app.OncePatience, Research: true, Persona: v.Research.Persona.Name}
}

// soFar says how far it has come, in a word or two.
func (w *viewing) soFar() string {
	if w.looked != nil {
		return counted(len(w.looked.view.Evidence), "passage", "passages")
	}
	return counted(w.view.Session.Progress.Thoughts, "thought", "thoughts")
}
