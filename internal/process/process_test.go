package process

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	t.Setenv("PONDER_PROCESS_TEST", "yes")
	var out bytes.Buffer
	s := Spec{Command: []string{"sh", "-c", `printf '%s ' "$PONDER_PROCESS_TEST"; cat`}, Env: []string{"PONDER_PROCESS_TEST"}, Stdin: bytes.NewReader([]byte("in")), Stdout: &out}
	if err := Run(t.Context(), time.Minute, s); err != nil || out.String() != "yes in" {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
	for name, c := range map[string]struct {
		script string
		limit  time.Duration
		want   error
	}{
		"too long":    {"sleep 1000", 50 * time.Millisecond, ErrTimeout},
		"left behind": {"sleep 1000 & true", time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Run(t.Context(), c.limit, Spec{Command: []string{"sh", "-c", c.script}}); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	var exit *exec.ExitError
	if err := Run(t.Context(), time.Minute, Spec{Command: []string{"sh", "-c", "exit 3"}}); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("status: %v", err)
	}
	if err := Run(t.Context(), time.Minute, Spec{Command: []string{"/no/such/program", "secret"}}); !errors.Is(err, ErrMissing) {
		t.Errorf("no program: %v", err)
	}
	stopped, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	if err := Run(stopped, time.Minute, Spec{Command: []string{"sleep", "1000"}}); err == nil || err.Error() == ErrTimeout.Error() {
		t.Errorf("stopped: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("PONDER_PROCESS_SECRET", "x")
	if slices.Contains(Environment("PONDER_NONE"), "PONDER_PROCESS_SECRET=x") {
		t.Error("a variable was handed on that is not named")
	}
}
