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

func (a *cli) printAnswer(v app.View) {
	if a.flags.json {
		return
	}
	if stderr, ok := a.log.out.(*os.File); ok && !a.flags.quiet && tui.CanShow(stderr) {
		fmt.Fprintln(a.log)
	}
	a.printf("%s\n", strings.TrimSpace(report.Answer(v)))
	if !a.flags.quiet {
		a.printf("\n%s", report.Account(v, nearPath, a.formatCommand("session export", v.Session.ID)))
	}
}

// nearPath returns a path relative to the current folder if it is below.
func nearPath(source string) string {
	source = document.QuotePath(source)
	if here, err := filepath.Abs("."); err == nil && filepath.IsAbs(source) {
		if rel, err := filepath.Rel(here, source); err == nil && filepath.IsLocal(rel) {
			return oneLine(rel)
		}
	}
	return oneLine(source)
}

func (w *sessionScreen) showReport() {
	if r := w.AsReport(); r != nil {
		w.researchReport(*r)
		return
	}
	w.printAnswer(w.View)
}

// printOutcome prints the result of a session that ended or paused, and returns the exit code as an
// error.
func (w *sessionScreen) printOutcome() error {
	s := w.View.Session
	switch s.Status {
	case ponder.Completed:
		w.showReport()
		switch {
		case w.View.BrokeOff != "" && !w.isWithoutModel():
			return truncatedError(w.View.BrokeOff)
		case w.View.CutShort, w.View.Refused:
			return failure{code: exitIncomplete}
		case w.isWithoutModel():
			return w.noModelError()
		}
		return nil
	case ponder.Paused:
		if w.hasProposal() {
			return w.planOutcome()
		}
		if s.StopReason != "" {
			return failure{exitIncomplete, fmt.Errorf("paused: %s; then: %s", s.StopReason, w.resumeCommand())}
		}
		w.printNote("paused; to continue: %s", w.resumeCommand())
		return failure{code: exitIncomplete}
	case ponder.Cancelled:
		return failure{exitIncomplete, fmt.Errorf("session %s was cancelled; to show it: %s", w.Id, w.formatCommand("session show", w.Id))}
	case ponder.Failed:
		return w.failureError()
	}
	return failure{exitIncomplete, fmt.Errorf("the session stopped before its end; to continue: %s", w.resumeCommand())}
}

func truncatedError(how string) error {
	return failure{exitIncomplete, errors.New("the answer " + how)}
}

// isWithoutModel reports whether the answer lacks the requested model.
func (w *sessionScreen) isWithoutModel() bool {
	if w.View.Session.Usage.Calls == 0 {
		return false
	}
	if w.Research != nil {
		return w.Research.View.Research.WithoutModel
	}
	last := report.LastSynthesis(w.View)
	return last != nil && last.Final && last.WithoutModel
}

func (w *sessionScreen) statusText(info ponder.Info) string {
	if info.Status == ponder.Completed && w.isWithoutModel() {
		return app.StatusText(info) + app.WithoutModel
	}
	return app.StatusText(info)
}

// noModelError returns the failure of an answer without the requested model.
func (w *sessionScreen) noModelError() error {
	code := exitIncomplete
	if app.NeedsUser(w.failureClass) && !(w.budgetRefused && w.failureClass == llm.Payment) { // the user can fix the model, unless only the budget refused it
		code = exitNotReady
	}
	return failure{code, fmt.Errorf("the requested model did not write this answer: %s", w.View.Session.StopReason)}
}

func (w *sessionScreen) failureError() error {
	code := exitFailed
	switch {
	case w.budgetRefused && w.failureClass == llm.Payment && w.callMade:
		return failure{exitIncomplete, fmt.Errorf("%s, and the earlier calls gave no usable answer: increase the budget or use another model", w.View.Session.StopReason)}
	case w.budgetRefused && w.failureClass == llm.Payment:
		return failure{exitIncomplete, fmt.Errorf("%s: it does not cover a single call: increase the budget", w.View.Session.StopReason)}
	}
	if app.NeedsUser(w.failureClass) {
		code = exitNotReady
	}
	why := w.View.Session.StopReason + otherModelAdvice(w.failureClass)
	if w.View.Session.Status == ponder.Failed {
		why = "the session failed: " + why
	}
	return failure{code, errors.New(why)}
}
