package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/term"

	"ponder"
	"ponder/internal/textkit"
)

// clip shortens text to n letters.
func clip(text string, n int) string { return textkit.Truncate(text, n) }

// number writes 12,345.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted writes "1 thought", "2 thoughts".
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// usd writes an amount that so many tokens have cost; what is not known is not zero, and
// where no call had an answer, nothing is not free.
func usd(amount float64, tokens, calls, unpriced int) string {
	switch {
	case calls > 0 && unpriced >= calls:
		return "cost unknown"
	case unpriced > 0:
		return dollars(amount) + " and " + counted(unpriced, "call", "calls") + " of unknown price"
	case amount == 0 && tokens == 0:
		return "nothing"
	case amount == 0:
		return "free"
	}
	return dollars(amount)
}

func dollars(amount float64) string { return ponder.Money(math.Round(amount * 1e6)).String() }

// ago writes how long ago a time was.
func ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return counted(int(d/time.Minute), "minute", "minutes") + " ago"
	case d < 48*time.Hour:
		return counted(int(d/time.Hour), "hour", "hours") + " ago"
	case d < 60*24*time.Hour:
		return counted(int(d/(24*time.Hour)), "day", "days") + " ago"
	}
	return t.Local().Format(time.DateOnly)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return counted(int(n), "byte", "bytes")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

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
