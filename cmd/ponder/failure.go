package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"ponder"
	"ponder/internal/app"
	"ponder/internal/config"
	"ponder/internal/eval"
	"ponder/internal/mindlog"
	"ponder/internal/textkit"
	"ponder/llm"
)

const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitIncomplete  = 3 // a budget is spent, or the session is paused
	exitNotReady    = 4 // not configured, or access denied
	exitInterrupted = 130
)

// A failure is an error with an exit code. Without an error it prints nothing.
type failure struct {
	code int
	err  error
}

func (f failure) Error() string {
	if f.err == nil {
		return ""
	}
	return f.err.Error()
}

func (f failure) Unwrap() error { return f.err }

func usagef(format string, args ...any) error { return app.Invalidf("", format, args...) }

func conflictf(format string, args ...any) error {
	return failure{exitUsage, app.Errorf(app.Conflict, "", format, args...)}
}

func notReadyf(format string, args ...any) error { return app.NotReadyf(format, args...) }

// exitCodes maps application errors to exit codes; others exit with failed.
var exitCodes = map[app.Code]int{
	app.Invalid: exitUsage, app.NotFound: exitUsage, app.NotReady: exitNotReady, app.Incomplete: exitIncomplete, app.Canceled: exitInterrupted,
}

// flagPrefixes maps a field to the prefix of an error about its flag.
var flagPrefixes = map[string]string{
	"docs": "--docs ", "knowledge": "--knowledge ", "model_id": "--model: ", "max_cost_usd": "--cost: ", "at": "--at: ", "kind": "--kind: ", "db": "--db: ",
	"note": "--note: ", "since": "--since: ", "variant": "--variant: ", "rubric": "--rubric ", "judge": "--judge: ",
}

// explainError returns the exit code of an error and the line for the user.
func explainError(err error, a *cli) (code int, line string) {
	code = exitCodeOf(err)
	if code == exitInterrupted {
		return code, ""
	}
	return code, a.errorLine(err)
}

func (a *cli) errorLine(err error) string {
	if line := a.missingDatabase(err); line != "" {
		return line
	}
	return flagPrefix(err) + flattenError(err) + a.remedyFor(err)
}

// missingDatabase returns the line for an error of a read command whose --db names no file, or "".
func (a *cli) missingDatabase(err error) string {
	file := a.Options.DB
	if file == "" || a.IsTemporary() || !slices.ContainsFunc([]error{app.ErrNothingYet, app.ErrNothingKnown, mindlog.ErrNone}, func(none error) bool { return errors.Is(err, none) }) {
		return ""
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return fmt.Sprintf("--db %s: no such database: check the path, or omit --db for the default database", oneLine(file))
}

var errorRemedies = []struct {
	of   error
	says string
}{
	{ponder.ErrFull, ": free some space and try again"},
	{syscall.ENOSPC, ": free some space and try again"},
	{ponder.ErrReadOnly, ": make it writable, or name another with --db"},
	{ponder.ErrDamaged, ": restore a backup, or name another with --db"},
	{ponder.ErrLost, ": put it back, or name another with --db"},
	{ponder.ErrNewer, ": update ponder"},
	{app.ErrNoModel, "; use --docs to quote documents, or run `ponder doctor` to set up a model"},
	{app.ErrUnpriced, ", or run `ponder model refresh`"},
	{app.ErrUnreadable, ": `ponder doctor --docs` shows the reason for each file"},
	{app.ErrNoPersona, ": `ponder persona list` shows them"},
	{app.ErrLongQuestion, ": move the details into a file and use --docs"},
	{app.ErrNoQuestion, ", such as \"Why is the sky blue?\""},
	{app.ErrPrivateHost, "; if you trust it, allow its host: ponder settings web.allow HOST"},
	{app.ErrOtherThread, ": remove it with `ponder thread remove`, or import with --new"},
	{app.ErrNoModelToTest, "; `ponder doctor` explains how to set up a model"},
	{app.ErrNoRoleModel, ": `ponder model list` shows the reason"},
	{app.ErrSameThread, ": import one, or both with --new"},
	{eval.ErrUnscored, ", or name a --judge"},
	{mindlog.ErrNone, ": run `ponder mind tick` once, or `ponder mind run` permanently"},
	{app.ErrNothingYet, ": start with `ponder think QUESTION`"},
	{app.ErrNoResearch, ": start with `ponder research QUESTION`"},
	{app.ErrNothingKnown, ": start with `ponder remember FOLDER`"},
	{app.ErrNoSearch, ": `ponder settings web.folder PATH`"},
	{app.ErrPrices, ": run `ponder model refresh` to fetch them again"},
	{app.ErrNoVectors, "; `ponder doctor` explains how to set up a model"},
}

var fieldRemedies = map[string]string{"session_id": ": `ponder session list` shows them", "thread_id": ": `ponder thread list` shows them",
	"evidence_id": ": `ponder evidence show` lists them", "entry_id": ": `ponder mind show` lists them", "schedule_id": ": `ponder research schedule list` shows them"}

// flagPrefix returns the flag prefix of an error about a field, or "".
func flagPrefix(err error) string {
	var known *app.Error
	if errors.As(err, &known) && known.Code == app.Invalid {
		return flagPrefixes[known.Field]
	}
	return ""
}

// remedyFor returns ": " and a remedy, or "".
func (a *cli) remedyFor(err error) string {
	for _, one := range errorRemedies {
		if errors.Is(err, one.of) {
			return one.says
		}
	}
	var known *app.Error
	if errors.As(err, &known) && known.Code == app.NotFound && fieldRemedies[known.Field] != "" {
		return fieldRemedies[known.Field]
	}
	switch {
	case errors.Is(err, fs.ErrPermission) && a.DBFile() != "" && strings.Contains(err.Error(), a.DBFile()):
		return ": name another database with --db"
	case errors.Is(err, fs.ErrPermission) && errors.Is(err, config.ErrWrite):
		return ": make it writable, or name another with --config"
	}
	return ""
}

// flattenError returns an error as one line without repeated parts.
func flattenError(err error) string {
	var said []string
	for line := range strings.Lines(err.Error()) {
		line = strings.Join(slices.Compact(strings.Split(strings.TrimSpace(line), ": ")), ": ")
		if line != "" && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return oneLine(strings.Join(said, " "))
}

func exitCodeOf(err error) int {
	var f failure
	switch {
	case errors.As(err, &f):
		return f.code
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	}
	return cmp.Or(exitCodes[app.CodeOf(err)], exitFailed)
}

func otherModelAdvice(c llm.Class) string {
	if c == llm.BadRequest {
		return ": try another model"
	}
	return ""
}

func oneLine(text string) string { return textkit.OneLine(text) }
