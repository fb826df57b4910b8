package main

import (
	"time"

	"ponder/internal/report"

	"ponder/internal/app"

	"ponder/internal/textkit"

	"ponder"
	"ponder/internal/tui"
)

func (w *viewing) researchShow(info ponder.Info, course bool) error {
	v := w.Looked.View
	if w.flags.json {
		return w.object(report.ResearchDetailOf(info, v, app.IsInterrupted(info)))
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
		w.printf("%s%s", report.Questions(w.View), w.next(info, w.View.Session, w.goOn()))
	}
	return nil
}
