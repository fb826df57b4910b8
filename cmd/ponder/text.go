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

func truncate(text string, n int) string { return textkit.Truncate(text, n) }

// printf prints a result without control sequences of foreign text.
func (a *cli) printf(format string, args ...any) {
	text := textkit.Clean(fmt.Sprintf(format, args...))
	if width := a.terminalWidth(); width > 0 {
		text = wrapLines(text, min(width, maxLineWidth))
	}
	fmt.Fprint(a.out, text)
}

func (a *cli) outputFile() (*os.File, bool) {
	out := a.out
	if r, ok := out.(*outputWriter); ok {
		out = r.out
	}
	f, ok := out.(*os.File)
	return f, ok
}

// isTerminal reports whether results appear on a terminal.
func (a *cli) isTerminal() bool {
	f, ok := a.outputFile()
	return ok && term.IsTerminal(int(f.Fd()))
}

// outputWriter is an output that remembers its first error. It is safe for concurrent use.
type outputWriter struct {
	out io.Writer

	mu  sync.Mutex
	err error
}

func (r *outputWriter) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := r.out.Write(b)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// writeError returns the error of failed output, or nil.
func (r *outputWriter) writeError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		return nil
	}
	return failure{exitFailed, fmt.Errorf("print: %w", r.err)}
}

// maxLineWidth is the maximal comfortable width of a line, in cells.
const maxLineWidth = 110

func (a *cli) printJSON(v any) error {
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

// printResult prints v with --json, else text.
func (a *cli) printResult(v any, text string) error {
	if a.flags.json {
		return a.printJSON(v)
	}
	a.printf("%s", text)
	return nil
}

// cancelableInput returns standard input whose reads also end with ctx. Later input is lost.
func (a *cli) cancelableInput(ctx context.Context) io.Reader {
	return &contextReader{ctx: ctx, in: a.in}
}

// A contextReader is a reader for one goroutine at a time.
type contextReader struct {
	ctx context.Context
	in  io.Reader
	buf []byte // of the pending read, which owns it
}

// Read returns the cause of ctx after its end.
func (r *contextReader) Read(b []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	if len(r.buf) < len(b) {
		r.buf = make([]byte, len(b))
	}
	type readDocument struct {
		n   int
		err error
	}
	done := make(chan readDocument, 1)
	go func() {
		n, err := r.in.Read(r.buf[:len(b)])
		done <- readDocument{n, err}
	}()
	select {
	case v := <-done:
		return copy(b, r.buf[:v.n]), v.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}

// terminalWidth returns the width of the terminal of results, or 0 without one.
func (a *cli) terminalWidth() int {
	f, ok := a.outputFile()
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func (a *cli) printTable(rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
	}
	fmt.Fprint(a.out, layout.Columns(rows, a.terminalWidth()))
}

// resultWidth returns the maximal width of a result.
func (a *cli) resultWidth() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, maxLineWidth)
	}
	if n := a.terminalWidth(); n > 0 {
		return min(n, maxLineWidth)
	}
	return 100
}

// wrapLines breaks lines beyond width cells, except commands.
func wrapLines(text string, width int) string {
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
		a.printNote("%s", none)
		return nil
	}
	rows := [][]string{head}
	for _, it := range list {
		if !a.flags.json {
			rows = append(rows, row(it))
		} else if err := a.printJSON(it); err != nil {
			return err
		}
	}
	if !a.flags.json {
		a.printTable(rows)
	}
	return nil
}
