//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ponder"
)

// The environment of a child process of these tests: its action and its database.
const (
	actionEnv   = "PONDER_CRASH_TEST"
	databaseEnv = "PONDER_CRASH_TEST_DB"
)

const (
	culprit   = ponder.ThreadID("thr_CULPRIT")
	bystander = ponder.ThreadID("thr_BYSTANDER")
)

func TestMain(m *testing.M) {
	if action := os.Getenv(actionEnv); action != "" {
		runChild(action, NewLog(os.Getenv(databaseEnv)))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// depth makes recurse a function with an effect.
var depth int

// recurse needs more stack than any process has.
func recurse(n int) int {
	if depth = n; n < 0 {
		return 0
	}
	return recurse(n+1) + 1
}

// runChild works on two threads. The action is the end of the process, by the culprit.
func runChild(action string, log Log) {
	if err := log.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
	started, end := make(chan struct{}), make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() {
		_ = log.Guard(func(context.Context, ponder.ThreadID) error { close(started); <-end; return nil })(context.Background(), bystander)
	})
	<-started
	_ = log.Guard(func(context.Context, ponder.ThreadID) error {
		var inner sync.WaitGroup
		inner.Go(func() { // a goroutine of a library, which no caller can recover
			switch action {
			case "panic":
				var list []int
				_ = list[len(os.Args)*0+3]
			case "overflow":
				debug.SetMaxStack(16 << 20) // to be fast
				depth = recurse(0)
			case "map":
				m := map[int]int{}
				for range 8 {
					inner.Go(func() {
						for i := range 1 << 30 {
							m[i%100]++
						}
					})
				}
			case "kill":
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			case "abort":
				_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
			case "quit":
				_ = syscall.Kill(os.Getpid(), syscall.SIGQUIT)
			}
		})
		inner.Wait()
		if action == "kill" || action == "abort" || action == "quit" {
			select {}
		}
		return nil
	})(context.Background(), culprit)
	if action == "outside" {
		panic("outside of all threads")
	}
	close(end)
	others.Wait()
	Stop()
}

func crashProcess(t *testing.T, action, database string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "GODEBUG=", "GOTRACEBACK=single", actionEnv+"="+action, databaseEnv+"="+database)
	out, err := cmd.CombinedOutput()
	if (err == nil) != (action == "end") {
		t.Fatalf("%s: %v\n%s", action, err, out)
	}
}

func TestCrashes(t *testing.T) {
	for action, c := range map[string]struct {
		thread ponder.ThreadID
		reason string // "": no crash
	}{
		"panic":    {culprit, "panic: runtime error: index out of range [3] with length 0"},
		"overflow": {culprit, "fatal error: stack overflow in ponder/internal/crash.recurse"},
		"map":      {culprit, "fatal error in ponder/internal/crash.runChild"},
		"outside":  {"", "panic: outside of all threads"},
		"kill":     {},
		"abort":    {},
		"quit":     {},
		"end":      {},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			database := filepath.Join(t.TempDir(), "ponder.db")
			crashProcess(t, action, database)
			log := NewLog(database)
			list := log.Reports()
			if c.reason == "" {
				if len(list) > 0 {
					t.Errorf("reports %+v, want none", list)
				}
				return
			}
			if len(list) != 1 || list[0].Thread != c.thread || !strings.HasPrefix(list[0].Reason, c.reason) || list[0].At.IsZero() {
				t.Fatalf("reports %+v", list)
			}
			if again := log.Reports(); len(again) != 1 || again[0] != list[0] {
				t.Errorf("the second time %+v", again)
			}
		})
	}
}

func countWork(log Log, thread ponder.ThreadID) (calls int, err error) {
	err = log.Guard(func(context.Context, ponder.ThreadID) error { calls++; return nil })(context.Background(), thread)
	return calls, err
}

func TestQuarantine(t *testing.T) {
	database := filepath.Join(t.TempDir(), "ponder.db")
	log := NewLog(database)
	for range MaxCrashes {
		crashProcess(t, "kill", database)
	}
	if calls, err := countWork(log, culprit); calls != 1 || err != nil {
		t.Errorf("after kills: %d calls, %v", calls, err)
	}
	for range MaxCrashes - 1 {
		crashProcess(t, "panic", database)
	}
	if n := len(log.Quarantined()); n != 0 {
		t.Errorf("%d are quarantined after %d crashes", n, MaxCrashes-1)
	}
	if calls, err := countWork(log, culprit); calls != 1 || err != nil { // which forgets them
		t.Errorf("before the last crash: %d calls, %v", calls, err)
	}
	for range MaxCrashes {
		crashProcess(t, "panic", database)
	}
	calls, err := countWork(log, culprit)
	if calls != 0 || !errors.Is(err, ponder.ErrQuarantined) || !strings.Contains(err.Error(), "thr_CULPRIT crashed Ponder 3 times in a row (panic: runtime error") ||
		!strings.Contains(err.Error(), "ponder thread release thr_CULPRIT") {
		t.Errorf("quarantined: %d calls, %v", calls, err)
	}
	if list := log.Quarantined(); len(list) != 1 || list[0].Thread != culprit {
		t.Errorf("quarantined are %+v", list)
	}
	if calls, err := countWork(log, bystander); calls != 1 || err != nil {
		t.Errorf("the other thread: %d calls, %v", calls, err)
	}
	if !log.Release(culprit) || log.Release(culprit) {
		t.Error("Release does not report whether it released")
	}
	if calls, err := countWork(log, culprit); calls != 1 || err != nil {
		t.Errorf("released: %d calls, %v", calls, err)
	}
	if _, err := os.Stat(database + folderSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestRunning checks that no process takes the output of one that still runs.
func TestRunning(t *testing.T) {
	log := NewLog(filepath.Join(t.TempDir(), "ponder.db"))
	f, err := log.createOutput()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("panic: half a tra"); err != nil {
		t.Fatal(err)
	}
	if list := log.Reports(); len(list) != 0 {
		t.Errorf("reports %+v of a running process", list)
	}
	f.Close()
	if list := log.Reports(); len(list) != 1 || list[0].Thread != "" || list[0].Reason != "panic: half a tra" {
		t.Errorf("reports %+v of a dead process", list)
	}
}

func TestWithoutDatabase(t *testing.T) {
	if calls, err := countWork(Log{}, culprit); calls != 1 || err != nil || (Log{}).Reports() != nil {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestBlame(t *testing.T) {
	for name, c := range map[string]struct {
		trace  string
		thread ponder.ThreadID
		crash  bool
	}{
		"empty":          {"", "", false},
		"newline":        {"\n", "", false},
		"memory":         {"\n\ngoroutine 5 [running labels:{\"thread\": \"thr_A\"}]:\nruntime.throw(0)\n\tx.go:1\nruntime.mallocgc(0)\n", "", true},
		"mentioned":      {"panic: goroutine 1 [running labels:{\"thread\": \"thr_B\"}]:\n\ngoroutine 5 [running labels:{\"thread\": \"thr_A\"}]:\nmain.f()\n", "thr_A", true},
		"another waits":  {"panic: x\n\ngoroutine 5 [running]:\nmain.f()\n\ngoroutine 7 [select labels:{\"thread\": \"thr_A\"}]:\n", "", true},
		"several labels": {"panic: x\n\ngoroutine 5 gp=0xc000 m=3 [running labels:{\"a\": \"b\", \"thread\": \"thr_A\"}]:\n", "thr_A", true},
		"odd id":         {"panic: x\n\ngoroutine 5 [running labels:{\"thread\": \"../a\\\"\\u1234\"}]:\n", "../a\"\u1234", true},
	} {
		t.Run(name, func(t *testing.T) {
			if thread, crash := blame(c.trace); thread != c.thread || crash != c.crash {
				t.Errorf("got %q, %t, want %q, %t", thread, crash, c.thread, c.crash)
			}
		})
	}
}

func FuzzBlame(f *testing.F) {
	f.Add("panic: x\n\ngoroutine 5 [running labels:{\"thread\": \"thr_A\"}]:\n")
	f.Fuzz(func(t *testing.T, trace string) {
		blame(trace)
		if r := reasonOf(trace); strings.ContainsAny(r, "\n\r\x1b") || len([]rune(r)) > max(maxReason, len(stackOverflow)) {
			t.Errorf("reason %q", r)
		}
	})
}
