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

// stdin returns standard input, of which a read ends with the context too: nobody is
// waited for whom the user no longer waits for. What comes after that is lost.
func (a *cli) stdin(ctx context.Context) io.Reader { return &input{ctx: ctx, in: a.in} }

// An input is a reader that is read from by one goroutine at a time.
type input struct {
	ctx context.Context
	in  io.Reader
	buf []byte // of the read that goes on; nobody else has it
}

// Read returns the cause of the context's end once it has ended.
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

// cells returns how many cells a line of the terminal has that results are printed to, or
// 0 if they go elsewhere.
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

// table prints rows in columns.
func (a *cli) table(rows [][]string) {
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
	}
	fmt.Fprint(a.out, layout.Columns(rows, a.cells()))
}

// width returns how wide a result may be.
func (a *cli) width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, readable)
	}
	if n := a.cells(); n > 0 {
		return min(n, readable)
	}
	return 100
}

// wrap breaks lines that have more than width cells, save commands, which are copied.
func wrap(text string, width int) string {
	rows := strings.Split(text, "\n")
	for i, row := range rows {
		if !strings.HasPrefix(strings.TrimLeft(row, " "), "ponder ") {
			rows[i] = layout.Wrap(row, width)
		}
	}
	return strings.Join(rows, "\n")
}

// printList prints a list, one a line as JSON or as a table; without one, it notes none.
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
