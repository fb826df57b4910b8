package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"ponder/internal/app"
)

// An interrupt ends every read of standard input.
func TestInputEndsWithTheCommand(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("OLLAMA_HOST", "http://127.0.0.1:1")
	for _, command := range []string{"think -", "ask -", "research -", "remember -", "thread import -"} {
		t.Run(command, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			in, other := io.Pipe()
			defer other.Close()
			first := io.MultiReader(strings.NewReader("Why"), readFunc(func(b []byte) (int, error) {
				cancel(errInterrupted)
				return in.Read(b)
			}))
			args := append([]string{"--db", filepath.Join(t.TempDir(), "ponder.db")}, strings.Fields(command)...)
			var out, errs bytes.Buffer
			if code := run(ctx, args, first, &out, &errs); code != exitInterrupted || out.Len() > 0 {
				t.Errorf("exit code %d, want %d; output %q, errors %q", code, exitInterrupted, &out, &errs)
			}
		})
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

func TestInput(t *testing.T) {
	long := strings.Repeat("Why is the sky blue? ", 10_000)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		pipe, other := io.Pipe()
		defer other.Close()
		in := (&cli{App: &app.App{}, in: io.MultiReader(strings.NewReader(long), pipe)}).cancelableInput(ctx)
		if err := iotest.TestReader((&cli{App: &app.App{}, in: iotest.HalfReader(strings.NewReader(long))}).cancelableInput(ctx), []byte(long)); err != nil {
			t.Error(err)
		}
		go func() {
			synctest.Wait()
			cancel(errInterrupted)
		}()
		got, err := io.ReadAll(in)
		if string(got) != long || !errors.Is(err, errInterrupted) {
			t.Errorf("%d bytes, %v; want %d, %v", len(got), err, len(long), errInterrupted)
		}
		if n, err := in.Read(make([]byte, 1)); n != 0 || !errors.Is(err, errInterrupted) {
			t.Errorf("after the end: %d bytes, %v", n, err)
		}
	})
}
