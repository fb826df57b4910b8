package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"ponder/internal/textkit"
	"ponder/internal/textkit/layout"
)

func clip(text string, n int) string { return textkit.Truncate(text, n) }

// printf prints a result without control sequences of foreign text.
func (a *cli) printf(format string, args ...any) {
	text := textkit.Clean(fmt.Sprintf(format, args...))
	if width := a.cells(); width > 0 {
		text = wrap(text, min(width, readable))
	}
	fmt.Fprint(a.out, text)
}

func (a *cli) paper() (*os.File, bool) {
	out := a.out
	if r, ok := out.(*results); ok {
		out = r.out
	}
	f, ok := out.(*os.File)
	return f, ok
}

// onTerminal reports whether results appear on a terminal.
func (a *cli) onTerminal() bool {
	f, ok := a.paper()
	return ok && term.IsTerminal(int(f.Fd()))
}

// results is an output that remembers its first error. It is safe for concurrent use.
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

// lost returns the error of failed output, or nil.
func (r *results) lost() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return failure{failed, fmt.Errorf("print: %w", r.err)}
}

// readable is the maximal comfortable width of a line, in cells.
const readable = 110

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

// result prints v with --json, else text.
func (a *cli) result(v any, text string) error {
	if a.flags.json {
		return a.object(v)
	}
	a.printf("%s", text)
	return nil
}

// stdin returns standard input whose reads also end with ctx. Later input is lost.
func (a *cli) stdin(ctx context.Context) io.Reader { return &input{ctx: ctx, in: a.in} }

// An input is a reader for one goroutine at a time.
type input struct {
	ctx context.Context
	in  io.Reader
	buf []byte // of the pending read, which owns it
}

// Read returns the cause of ctx after its end.
func (r *input) Read(b []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	if len(r.buf) < len(b) {
		r.buf = make([]byte, len(b))
	}
	type read struct {
		n   int
		err error
	}
	done := make(chan read, 1)
	go func() {
		n, err := r.in.Read(r.buf[:len(b)])
		done <- read{n, err}
	}()
	select {
	case v := <-done:
		return copy(b, r.buf[:v.n]), v.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}

// cells returns the width of the terminal of results, or 0 without one.
func (a *cli) cells() int {
	f, ok := a.paper()
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func (a *cli) table(rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
	}
	fmt.Fprint(a.out, layout.Columns(rows, a.cells()))
}

// width returns the maximal width of a result.
func (a *cli) width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, readable)
	}
	if n := a.cells(); n > 0 {
		return min(n, readable)
	}
	return 100
}

// wrap breaks lines beyond width cells, except commands.
func wrap(text string, width int) string {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		if !strings.HasPrefix(strings.TrimLeft(row, " "), "ponder ") {
			rows[i] = layout.Wrap(row, width)
		}
	}
	return strings.Join(rows, "\n")
}

func printList[T any](a *cli, list []T, none string, head []string, row func(T) []string) error {
	if len(list) == 0 {
		a.note("%s", none)
		return nil
	}
	rows := [][]string{head}
	for _, it := range list {
		if !a.flags.json {
			rows = append(rows, row(it))
		} else if err := a.object(it); err != nil {
			return err
		}
	}
	if !a.flags.json {
		a.table(rows)
	}
	return nil
}
