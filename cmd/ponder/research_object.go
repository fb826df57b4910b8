package main

import (
	"time"

	"ponder/internal/app"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/tui"
	"ponder/mode/research"
)

// A researchObject is a research as programs are shown it in lists.
type researchObject struct {
	research.Research
	Kind        ponder.Kind `json:"kind"`
	Title       string      `json:"title"`
	Interrupted bool        `json:"interrupted,omitempty"` // its process ended without a word
}

func researchObjectOf(info ponder.Info, v research.View) researchObject {
	o := researchObject{Research: v.Research, Kind: info.Kind, Title: info.Title}
	if o.ID == "" { // nothing has been started on the thread
		o.ID, o.Question, o.Status = info.ID, info.Title, info.Status
	}
	if app.IsInterrupted(info) {
		o.Status, o.Interrupted = ponder.Paused, true
	}
	return o
}

// researchShow shows what a research has come to, and with course, how.
func (w *viewing) researchShow(info ponder.Info, course bool) error {
	v := w.Looked.View
	if w.flags.json {
		o := researchObjectOf(info, v)
		v.Research = o.Research
		return w.object(struct {
			research.View
			Kind        ponder.Kind `json:"kind"`
			Title       string      `json:"title"`
			Interrupted bool        `json:"interrupted,omitempty"`
		}{v, o.Kind, o.Title, o.Interrupted})
	}
	w.printf("%s\n%s, %s, %s, started %s\n\n", oneLine(v.Research.Question), info.ID, info.Kind, w.statusOf(info), textkit.Ago(info.Created, time.Now()))
	if course {
		for _, m := range w.Looked.Report().Timeline {
			w.printf("%s\n", tui.RenderItem(tui.Item{At: textkit.Seconds(m.At), Kind: oneLine(m.Kind), Text: oneLine(m.Text)}, 100, tui.Style{Plain: true}))
		}
		w.printf("\n")
	}
	w.researchReport(w.Looked.Report())
	if !w.flags.quiet {
		w.printf("%s%s", questions(w.View), w.next(info, w.View.Session, w.goOn()))
	}
	return nil
}
