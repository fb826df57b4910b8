package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/internal/textkit"
	"ponder/internal/tui"
)

func (w *sessionScreen) researchReport(r report.Research) {
	if w.flags.json {
		return
	}
	if stderr, ok := w.log.out.(*os.File); ok && !w.flags.quiet && tui.CanShow(stderr) {
		fmt.Fprintln(w.log)
	}
	if r.Answer == "" {
		w.printf("No answer yet.\n")
		return
	}
	w.printf("%s\n", textkit.Clean(r.Text()))
	if w.flags.quiet {
		return
	}
	rows := [][2]string{{"Summary", r.Summary()}, {"Took", w.researchSummary()}, {"Cost", report.CostText(w.View.Session)}, {"Stopped", r.Reason}}
	w.printf("\n")
	for _, row := range rows {
		if row[1] != "" {
			w.printf("%-10s %s\n", row[0], oneLine(row[1]))
		}
	}
	w.printf("Report\n  %s -o report.html\n", w.formatCommand("session export", w.Id))
}

func (w *sessionScreen) researchSummary() string {
	v := w.Research.View
	return strings.Join([]string{
		textkit.Clock(textkit.Seconds(v.Research.Elapsed)), textkit.Count(v.Research.Rounds, "round", "rounds"), textkit.Count(len(v.Queries), "search", "searches"),
		textkit.Count(len(v.Evidence), "passage", "passages") + " found",
	}, ", ")
}

func (w *sessionScreen) researchShow(info ponder.Info, course bool) error {
	v := w.Research.View
	if w.flags.json {
		return w.printJSON(report.NewResearchDetail(info, v, app.IsInterrupted(info)))
	}
	w.printf("%s\n%s, %s, %s, started %s\n\n", oneLine(v.Research.Question), info.ID, info.Kind, w.statusText(info), textkit.Ago(info.Created, time.Now()))
	if course {
		for _, m := range w.Research.Report().Timeline {
			w.printf("%s\n", tui.RenderItem(tui.Item{At: textkit.Seconds(m.At), Kind: oneLine(m.Kind), Text: oneLine(m.Text)}, 100, tui.Style{Plain: true}))
		}
		w.printf("\n")
	}
	if w.hasProposal() {
		return w.showProposal()
	}
	w.researchReport(w.Research.Report())
	if !w.flags.quiet {
		w.printf("%s%s", report.Questions(w.View), w.nextSteps(info, w.View.Session, w.resumeCommand()))
	}
	return nil
}
