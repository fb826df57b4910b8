//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ponder"
	"ponder/sensor"
	"ponder/sensor/sensortest"
)

var start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// A testScript is a shell script that a sensor runs every 5 minutes.
type testScript struct {
	t      *testing.T
	path   string
	o      Options
	s      sensor.Sensor
	now    time.Time
	cursor json.RawMessage
}

func newScript(t *testing.T, o Options, text string) *testScript {
	s := &testScript{t: t, path: filepath.Join(t.TempDir(), "script"), now: start}
	o.Command = []string{"sh", s.path}
	s.o, s.s = o, New(o)
	s.write(text)
	return s
}

func (s *testScript) write(text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *testScript) lookNext() []ponder.Observation {
	s.t.Helper()
	s.now = s.now.Add(5 * time.Minute)
	seen, next, err := s.s.Look(s.t.Context(), s.now, s.cursor)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(seen) == 0 && s.cursor != nil && string(next) != string(s.cursor) {
		s.t.Error("nothing is seen, and the cursor is another")
	}
	s.cursor = next
	return seen
}

func (s *testScript) expectChange(state, content string) {
	s.t.Helper()
	seen := s.lookNext()
	if state == "" {
		if len(seen) > 0 {
			s.t.Errorf("seen %+v, want nothing", seen)
		}
		return
	}
	if len(seen) != 1 || !strings.HasPrefix(seen[0].State, state) || !strings.Contains(seen[0].Content, content) || !seen[0].Untrusted {
		s.t.Errorf("seen %+v, want %s %s", seen, state, content)
	}
}

func TestChanges(t *testing.T) {
	s := newScript(t, Options{}, "echo one; echo two")
	s.expectChange("", "")
	s.expectChange("", "")
	s.write("echo one; echo three; echo four")
	s.expectChange("changed ", "What sh prints changed: three / four")
	s.write("echo one")
	s.expectChange("changed ", "2 lines are gone")
	s.write("echo good; echo bad: no disk >&2; exit 3")
	s.expectChange("failed 1", "failed (status 3). bad: no disk")
	s.expectChange("", "")
	s.write("echo one")
	s.expectChange("", "")
	s.expectChange("ok 2", "works again")
	s.expectChange("", "")
	s.write("exit 3")
	s.expectChange("failed 3", "status 3")
}

func TestFirstRunFails(t *testing.T) {
	s := newScript(t, Options{}, "echo not there; exit 1")
	s.expectChange("failed 1", "not there")
	s.expectChange("", "")
}

// TestFlapping checks that frequent changes are rarely reported.
func TestFlapping(t *testing.T) {
	s := newScript(t, Options{}, "")
	told := 0
	for i := range 100 {
		s.write(fmt.Sprintf("echo %d", i))
		told += len(s.lookNext())
	}
	if told < 4 || told > 10 {
		t.Errorf("told %d times of 100 changes in 8 hours", told)
	}
}

func TestEvery(t *testing.T) {
	s := newScript(t, Options{Every: time.Hour}, "echo one")
	s.expectChange("", "")
	s.write("echo two")
	for range 11 {
		s.expectChange("", "")
	}
	s.expectChange("changed", "two")
}

// TestTime checks that a slow command is killed with its children.
func TestTime(t *testing.T) {
	s := newScript(t, Options{Limit: 300 * time.Millisecond}, "sleep 1000 & echo $! > \"$0.pid\"; wait")
	s.expectChange("failed 1", "not done after 300ms")
	waitDead(t, s.readPID())
}

// TestRemainingChildren checks that remaining children are killed.
func TestRemainingChildren(t *testing.T) {
	s := newScript(t, Options{}, "sleep 1000 > /dev/null 2>&1 & echo $! > \"$0.pid\"")
	s.expectChange("", "")
	waitDead(t, s.readPID())
}

func (s *testScript) readPID() int {
	text, err := os.ReadFile(s.path + ".pid")
	if err != nil {
		s.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// waitDead waits until a killed process has ended.
func waitDead(t *testing.T, pid int) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !isDead(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// isDead reports whether a process has ended or is a zombie.
func isDead(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestMuchOutput(t *testing.T) {
	s := newScript(t, Options{}, "echo")
	s.expectChange("", "")
	s.write("i=0; while [ $i -lt 3000 ]; do echo line $i of very many, and of some length; i=$((i+1)); done")
	s.expectChange("changed", "line 0 of")
	if len(s.cursor) > 16<<10 {
		t.Errorf("the cursor has %d bytes", len(s.cursor))
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("API_KEY", "geheim")
	t.Setenv("GIVEN", "given")
	s := newScript(t, Options{Env: []string{"GIVEN"}}, "")
	s.expectChange("", "")
	s.write(`echo "key [$API_KEY] $GIVEN"`)
	s.expectChange("changed", "key [] given")
}

func TestHostileOutput(t *testing.T) {
	s := newScript(t, Options{}, "")
	s.expectChange("", "")
	s.write(`printf 'a\033[31mred\033]0;owned\007\342\200\256b\377\n'; printf '%2000s' x`)
	for _, o := range s.lookNext() {
		if strings.ContainsAny(o.Content, "\x1b\u202e\x07") || len(o.Content) > sensor.MaxText {
			t.Errorf("%+v", o)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, o := range []Options{{}, {Command: []string{"/no/such/program", "geheim"}}, {Command: []string{"sh"}, Dir: "/no/such/folder"}} {
		if _, _, err := New(o).Look(t.Context(), start, nil); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%+v: error %v", o, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := New(Options{Command: []string{"sh", "-c", "sleep 100"}}).Look(ctx, start, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestConforms(t *testing.T) {
	s := newScript(t, Options{}, "echo one")
	sensortest.Run(t, func() sensor.Sensor { return New(s.o) },
		sensortest.Step{Name: "first", Reports: []string{}},
		sensortest.Step{Name: "quiet", Pass: time.Hour, Reports: []string{}},
		sensortest.Step{Name: "changed", Pass: time.Hour, Do: func() { s.write("echo two") }},
		sensortest.Step{Name: "failed", Pass: time.Hour, Do: func() { s.write("exit 2") }, Reports: []string{"failed 1 command sh"}},
		sensortest.Step{Name: "well", Pass: time.Hour, Do: func() { s.write("echo two") }, Reports: []string{"ok 2 command sh"}},
	)
}
