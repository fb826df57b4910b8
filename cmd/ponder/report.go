package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/report"
	"ponder/internal/tui"
	"ponder/knowledge/document"
	"ponder/llm"
)

func (a *cli) report(v app.View) {
	if a.flags.json {
		return
	}
	if stderr, ok := a.log.out.(*os.File); ok && !a.flags.quiet && tui.CanShow(stderr) {
		fmt.Fprintln(a.log)
	}
	a.printf("%s\n", strings.TrimSpace(report.Answer(v)))
	if !a.flags.quiet {
		a.printf("\n%s", report.Account(v, nearPath, a.command("session export", v.Session.ID)))
	}
}

// nearPath returns a path relative to the current folder if it is below.
func nearPath(source string) string {
	source = document.Legible(source)
	if here, err := filepath.Abs("."); err == nil && filepath.IsAbs(source) {
		if rel, err := filepath.Rel(here, source); err == nil && filepath.IsLocal(rel) {
			return oneLine(rel)
		}
	}
	return oneLine(source)
}

func (w *viewing) showReport() {
	if r := w.AsReport(); r != nil {
		w.researchReport(*r)
		return
	}
	w.report(w.View)
}

// outcome prints the result of a session that ended or paused, and returns the exit code as an
// error.
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

func brokeOff(how string) error { return failure{incomplete, errors.New("the answer " + how)} }

// isWithoutModel reports whether the answer lacks the requested model.
func (w *viewing) isWithoutModel() bool {
	if w.View.Session.Usage.Calls == 0 {
		return false
	}
	if w.Looked != nil {
		return w.Looked.View.Research.Unaided
	}
	last := report.LastSynthesis(w.View)
	return last != nil && last.Final && last.Unaided
}

func (w *viewing) statusOf(info ponder.Info) string {
	if info.Status == ponder.Completed && w.isWithoutModel() {
		return app.StatusText(info) + app.WithoutModel
	}
	return app.StatusText(info)
}

// withoutModel returns the failure of an answer without the requested model.
func (w *viewing) withoutModel() error {
	code := incomplete
	if app.NeedsUser(w.class) && !(w.refused && w.class == llm.Payment) { // the user can fix the model, unless only the budget refused it
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
