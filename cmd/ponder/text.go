package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"ponder/internal/textkit"
)

// clip shortens text to n letters.
func clip(text string, n int) string { return textkit.Truncate(text, n) }

// printf prints a result. What foreign text in it would do to a terminal, it
// does not.
func (a *cli) printf(format string, args ...any) {
	text := textkit.Clean(fmt.Sprintf(format, args...))
	if width := a.cells(); width > 0 {
		text = wrap(text, min(width, readable))
	}
	fmt.Fprint(a.out, text)
}

// paper returns the file that results are printed to, if it is one.
func (a *cli) paper() (*os.File, bool) {
	out := a.out
	if r, ok := out.(*results); ok {
		out = r.out
	}
	f, ok := out.(*os.File)
	return f, ok
}

// onTerminal reports whether somebody sees results as they are printed.
func (a *cli) onTerminal() bool {
	f, ok := a.paper()
	return ok && term.IsTerminal(int(f.Fd()))
}

// Results are what a command prints. They remember why some could not be printed. They
// are safe for concurrent use.
type results struct {
	out io.Writer

	mu  sync.Mutex
	err error
}

func (r *results) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.out.Write(b)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// lost returns why results could not be printed, or nil.
func (r *results) lost() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return failure{failed, fmt.Errorf("print: %w", r.err)}
}

// readable is the width of lines beyond which eyes get lost, in cells.
const readable = 110

// object prints a value as one line of JSON.
func (a *cli) object(v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	if err == nil {
		_, err = a.out.Write(textkit.Escape(line.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// result prints a value as JSON if the user wants that, and else text.
func (a *cli) result(v any, text string) error {
	if a.flags.json {
		return a.object(v)
	}
	a.printf("%s", text)
	return nil
}
