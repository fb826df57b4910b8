// Package guard turns panics of parsers into errors of their input. Every parser of
// untrusted input runs in it: documents, mail, calendars, feeds and pages.
//
// It cannot recover panics of goroutines that a library starts, fatal errors of the runtime,
// or the exhaustion of a stack. Callers therefore limit the nesting of input first. See
// docs/design/crashes.md.
package guard

import (
	"fmt"
	"iter"
	"log/slog"
	"runtime/debug"

	"ponder/internal/textkit"
)

// A PanicError reports that a parser panicked.
type PanicError struct {
	Value any
	Stack []byte
}

const maxValue = 200 // bytes of a value in an error

func (e *PanicError) Error() string {
	return "the parser failed: " + textkit.Truncate(textkit.OneLine(fmt.Sprint(e.Value)), maxValue)
}

func newPanicError(value any) *PanicError {
	e := &PanicError{Value: value, Stack: debug.Stack()}
	slog.Error("a parser panicked", "panic", e.Error(), "stack", string(e.Stack))
	return e
}

// Call calls a parser. A panic becomes a [PanicError].
func Call[T any](parse func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			var none T
			result, err = none, newPanicError(p)
		}
	}()
	return parse()
}

// Seq guards a parser that yields several results. A panic of the parser becomes its last
// error. Panics of the loop body pass.
func Seq[T any](parse iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		inBody, stopped := false, false
		defer func() {
			if inBody {
				return
			}
			if p := recover(); p != nil {
				err := newPanicError(p)
				if !stopped {
					var none T
					yield(none, err)
				}
			}
		}()
		parse(func(result T, err error) bool {
			inBody = true
			stopped = !yield(result, err)
			inBody = false
			return !stopped
		})
	}
}
