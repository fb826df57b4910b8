// Package clocks sets the clock of a real process back and forth while its sessions run.
//
// The clock of the machine stays as it is: a time namespace changes only the clocks that never
// jump. The go command compiles the program with a time.Now that adds an offset from a file. So
// the wall clock of the whole process jumps, and its monotonic clock does not. This compiles
// everything once more, so that only scripts/nightly runs the test.
package clocks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/llm/llmtest"
	"ponder/store/sqlite"
)

var (
	clocksFlag  = flag.Bool("clocks", false, "compile the program with a clock that jumps, and test it")
	programFlag = flag.String("program", "", "such a program; compiled if empty")
)

const clockEnv = "PONDER_TEST_CLOCK" // the file with the offset in seconds

// offsetSource is added to package time. The runtime calls time.Now where no system call is
// allowed, so a goroutine reads the file.
const offsetSource = `package time

import (
	"sync/atomic"
	"syscall"
)

var clockOffset atomic.Int64 // seconds

func init() {
	if name, ok := syscall.Getenv("PONDER_TEST_CLOCK"); ok {
		go followOffset(name)
	}
}

// followOffset reads the number of seconds in a file, twenty times a second.
func followOffset(name string) {
	for ; ; Sleep(50 * Millisecond) {
		fd, err := open(name)
		if err != nil {
			continue
		}
		var buf [20]byte
		n, _ := read(fd, buf[:])
		closefd(fd)
		value, sign := int64(0), int64(1)
		for _, c := range buf[:max(n, 0)] {
			switch {
			case c == '-':
				sign = -1
			case '0' <= c && c <= '9':
				value = 10*value + int64(c-'0')
			}
		}
		clockOffset.Store(sign * value)
	}
}
`

// buildProgram compiles the program with a clock that jumps.
func buildProgram(t *testing.T) string {
	t.Helper()
	if *programFlag != "" {
		return *programFlag
	}
	dir := t.TempDir()
	goroot, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(goroot)), "src", "time")
	source, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const old = "	sec, nsec, mono := runtimeNow()\n	if mono == 0 {"
	if n := bytes.Count(source, []byte(old)); n != 1 {
		t.Fatalf("time.Now of %s has changed", runtime.Version())
	}
	changed := bytes.Replace(source, []byte(old), []byte("	sec, nsec, mono := runtimeNow()\n	sec += clockOffset.Load()\n	if mono == 0 {"), 1)
	overlay := map[string]map[string]string{"Replace": {}}
	for name, content := range map[string][]byte{"time.go": changed, "offset.go": []byte(offsetSource)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		overlay["Replace"][filepath.Join(folder, name)] = file
	}
	js, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "ponder")
	if err := os.WriteFile(list, js, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-trimpath", "-ldflags=-s -w", "-o", program, "ponder/cmd/ponder").CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, out)
	}
	return program
}

// A machine is a home folder with a clock.
type machine struct {
	dir, program, clock string
	env                 []string
}

func newMachine(t *testing.T, program string) *machine {
	t.Helper()
	m := &machine{dir: t.TempDir(), program: program}
	m.clock = filepath.Join(m.dir, "clock")
	m.setClock(t, 0)
	sim := llmtest.NewSim(llmtest.SimConfig{Seed: 1, Models: []string{"llama3.1"}, FirstToken: llmtest.Delay{Mean: 2 * time.Second}, Chunks: 4})
	m.env = []string{
		"PATH=" + os.Getenv("PATH"), "PONDER_DB=" + filepath.Join(m.dir, "ponder.db"), "NO_COLOR=1", clockEnv + "=" + m.clock,
		"OLLAMA_HOST=" + llmtest.Serve(t, sim), "PONDER_MODEL=ollama/llama3.1",
	}
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"} {
		m.env = append(m.env, name+"="+m.dir)
	}
	return m
}

// setClock sets the offset of the clock of all processes of the machine.
func (m *machine) setClock(t *testing.T, offset time.Duration) {
	t.Helper()
	next := m.clock + ".next"
	err := os.WriteFile(next, []byte(fmt.Sprint(int64(offset.Seconds()))), 0o600)
	if err == nil {
		err = os.Rename(next, m.clock)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.program, args...)
	cmd.Env, cmd.Dir = m.env, m.dir
	return cmd
}

// serve starts a server and waits until it listens.
func (m *machine) serve(t *testing.T) {
	t.Helper()
	cmd := m.command(t.Context(), "serve", "--json", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	in := bufio.NewReader(out)
	if line, err := in.ReadString('\n'); err != nil {
		t.Fatalf("serve: %v: %s", err, line)
	}
	go io.Copy(io.Discard, in)
}

// TestClockJumps runs sessions in a server and in processes of their own, while the clock jumps by
// hours. Each session ends with an answer in its time, and each call has one result.
func TestClockJumps(t *testing.T) {
	if !*clocksFlag {
		t.Log("only with -clocks: it compiles the whole program")
		return
	}
	program := buildProgram(t)
	for _, serves := range []bool{true, false} {
		t.Run(fmt.Sprint("serve ", serves), func(t *testing.T) {
			m := newMachine(t, program)
			if serves {
				m.serve(t)
			}
			var sessions sync.WaitGroup
			for i := range 3 {
				sessions.Go(func() {
					began := time.Now()
					out, err := m.command(t.Context(), "think", fmt.Sprint("How deep is sea ", i, "?"), "--for", "40s").CombinedOutput()
					if took := time.Since(began); err != nil || took > 2*time.Minute {
						t.Errorf("session %d after %v: %v\n%s", i, took, err, out)
					}
				})
			}
			done := make(chan struct{})
			go func() {
				sessions.Wait()
				close(done)
			}()
			jumps := []time.Duration{5 * time.Hour, -4 * time.Hour, 0, -9 * time.Hour, 20 * time.Hour}
			for tick := time.NewTicker(6 * time.Second); len(jumps) > 0; jumps = jumps[1:] {
				select {
				case <-done:
					t.Errorf("the sessions ended before %d jumps", len(jumps))
					return
				case <-tick.C:
					m.setClock(t, jumps[0])
				}
			}
			<-done
			m.checkThreads(t)
		})
	}
}

// checkThreads checks that all runs have completed, and that each call has one result.
func (m *machine) checkThreads(t *testing.T) {
	t.Helper()
	s, err := sqlite.OpenReadOnly(t.Context(), filepath.Join(m.dir, "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.List(t.Context(), ponder.Filter{Kind: ponder.KindSession})
	if err != nil || len(list) != 3 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	for _, info := range list {
		if info.Status != ponder.Completed || info.Held {
			t.Errorf("%s is %s, held %v", info.ID, info.Status, info.Held)
		}
		calls, repeated := make(map[string]int), 0
		for ev, err := range s.Events(t.Context(), info.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			switch b := ev.Body.(type) {
			case ponder.CallStarted:
				calls[ev.Cause]++
			case ponder.CallFinished:
				if calls[ev.Cause]--; b.Dropped {
					repeated++
				}
			case ponder.RunFinished:
				if limit := 70 * time.Second; ev.Elapsed > limit || b.Status != ponder.Completed {
					t.Errorf("%s: %s after %v of thinking: %s", info.ID, b.Status, ev.Elapsed, b.Reason)
				}
			}
		}
		for cause, n := range calls {
			if n != 0 {
				t.Errorf("%s: call %s has %d results too few", info.ID, cause, n)
			}
		}
		t.Logf("%s: %d events, %d calls, %d dropped", info.ID, info.Head, len(calls), repeated)
	}
}
