package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"ponder"
	"ponder/internal/config"
	"ponder/internal/textkit"
	"ponder/llm"
)

// The exit codes.
const (
	done        = 0
	failed      = 1
	wrongUsage  = 2
	incomplete  = 3 // a budget is spent, or the session is paused
	notReady    = 4 // not configured, or not allowed in
	interrupted = 130
)

// A failure is an error with an exit code. Without an error, there is nothing
// more to say.
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

func usagef(format string, args ...any) error {
	return failure{wrongUsage, fmt.Errorf(format, args...)}
}

func notReadyf(format string, args ...any) error {
	return failure{notReady, fmt.Errorf(format, args...)}
}

// explain returns the exit code of an error and the line that a user is told.
func explain(err error, a *cli) (code int, line string) {
	code = codeOf(err)
	if code == interrupted {
		return code, ""
	}
	return code, plainly(err) + a.advice(err)
}

// advice returns what to do about an error of the database or of the disk, behind a colon,
// or "".
func (a *cli) advice(err error) string {
	switch {
	case errors.Is(err, ponder.ErrFull), errors.Is(err, syscall.ENOSPC):
		return ": free some space and try again"
	case errors.Is(err, ponder.ErrReadOnly):
		return ": make it writable, or name another with --db"
	case errors.Is(err, ponder.ErrDamaged):
		return ": restore a backup of it, or name another with --db"
	case errors.Is(err, ponder.ErrLost):
		return ": put it back, or name another with --db"
	case errors.Is(err, ponder.ErrNewer):
		return ": update ponder"
	case errors.Is(err, fs.ErrPermission) && a.dbFile() != "" && strings.Contains(err.Error(), a.dbFile()):
		return ": name another database with --db"
	case errors.Is(err, fs.ErrPermission) && errors.Is(err, config.ErrWrite):
		return ": make it writable, or name another with --config"
	}
	return ""
}

// plainly returns an error as one line. What was said on the way of it twice, or of several
// errors by each, it says once.
func plainly(err error) string {
	var said []string
	for line := range strings.Lines(err.Error()) {
		line = strings.Join(slices.Compact(strings.Split(strings.TrimSpace(line), ": ")), ": ")
		if line != "" && !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	return oneLine(strings.Join(said, " "))
}

func codeOf(err error) int {
	var f failure
	var refused *llm.Error
	switch {
	case errors.As(err, &f):
		return f.code
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return interrupted
	case errors.Is(err, config.ErrNoKey):
		return notReady
	case errors.Is(err, config.ErrUnknownProvider), errors.Is(err, config.ErrUnknownKey), errors.Is(err, config.ErrWrong), errors.Is(err, ponder.ErrNoThread):
		return wrongUsage
	case errors.As(err, &refused) && notReadyFor(refused.Class):
		return notReady
	}
	return failed
}

// notReadyFor reports whether a failure of a model is for the user to mend.
func notReadyFor(c llm.Class) bool {
	return c == llm.Auth || c == llm.Payment || c == llm.NotFound || c == llm.Unreachable
}

// otherModel is what to do about a failure where its message does not say so.
func otherModel(c llm.Class) string {
	if c == llm.BadRequest {
		return ": try another model"
	}
	return ""
}

// oneLine returns text as one line that a terminal shows and does not obey.
func oneLine(text string) string { return textkit.OneLine(text) }
