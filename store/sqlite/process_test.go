package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/store/sqlite"
)

// childEnv names the task of a process that a test started.
const childEnv = "PONDER_SQLITE_TEST"

// TestMain also is the main function of the processes that tests start.
func TestMain(m *testing.M) {
	children := map[string]func(ctx context.Context, s *sqlite.Store) error{
		"write":   writeForever,
		"follow":  writeAndFollow,
		"persist": writeDespiteErrors,
		"open":    func(context.Context, *sqlite.Store) error { return nil },
	}
	do := children[os.Getenv(childEnv)]
	if do == nil {
		os.Exit(m.Run())
	}
	if err := runChild(os.Args[1], do); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runChild(file string, do func(context.Context, *sqlite.Store) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := sqlite.Open(ctx, file)
	if err != nil {
		return err
	}
	defer s.Close()
	return do(ctx, s)
}

// startChild starts a process that performs a task on a database.
func startChild(t *testing.T, what, file string) (cmd *exec.Cmd, stdout io.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self, file)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	stdout, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdout
}

const (
	procThreads = 6
	procAppends = 60
)

func procThread(i int) ponder.ThreadID { return ponder.ThreadID(fmt.Sprint("thr_", i)) }

// writeForever appends, and prints each acknowledged thread and seq.
func writeForever(ctx context.Context, s *sqlite.Store) error {
	var wg sync.WaitGroup
	for i := range procThreads {
		wg.Go(func() {
			for {
				added, err := s.Append(ctx, procThread(i), 0, userMessage("a"), userMessage("b"))
				if err != nil {
					return
				}
				fmt.Printf("%d %d\n", i, added[1].Seq)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// writeDespiteErrors appends texts to all threads, and prints the acknowledged ones.
func writeDespiteErrors(ctx context.Context, s *sqlite.Store) error {
	var wg sync.WaitGroup
	for i := range procThreads {
		wg.Go(func() {
			for ctx.Err() == nil && !errors.Is(s.Create(ctx, ponder.Thread{ID: procThread(i)}), ponder.ErrTaken) {
			}
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%d.%d", i, n)
				if _, err := s.Append(ctx, procThread(i), 0, userMessage(key+strings.Repeat(" x", n*n%700))); err == nil {
					fmt.Println(key)
				}
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// TestKill kills a writing process. Its acknowledged events stay.
func TestKill(t *testing.T) {
	for round := range 3 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ponder.db")
			s := openStore(t, file)
			for i := range procThreads {
				appendMessages(t, s, procThread(i))
			}
			cmd, stdout := startChild(t, "write", file)
			var acked [procThreads]int
			lines := bufio.NewScanner(stdout)
			for n := 0; lines.Scan(); n++ {
				var i, seq int
				if _, err := fmt.Sscanf(lines.Text(), "%d %d", &i, &seq); err != nil {
					t.Fatalf("line %q: %v", lines.Text(), err)
				}
				acked[i] = max(acked[i], seq)
				if n == 300+50*round {
					cmd.Process.Kill() // the loop reads the rest of its output
				}
			}
			cmd.Wait()
			for i, want := range acked {
				got := len(threadTexts(t, s, procThread(i)))
				if got < want || got%2 != 0 {
					t.Errorf("thread %d has %d events, and %d were acknowledged", i, got, want)
				}
				appendMessages(t, s, procThread(i), "after it")
			}
		})
	}
}

// writeAndFollow appends to all threads, and follows them until it has the events of two
// processes without a gap.
func writeAndFollow(ctx context.Context, s *sqlite.Store) error {
	errs := make(chan error, 2*procThreads)
	for i := range procThreads {
		go func() { errs <- followAll(ctx, s, procThread(i), 2*2*procAppends) }()
		go func() {
			var err error
			for n := 0; n < procAppends && err == nil; n++ {
				_, err = s.Append(ctx, procThread(i), 0, userMessage("a"), userMessage("b"))
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func followAll(ctx context.Context, s ponder.Store, id ponder.ThreadID, n int) error {
	heads, stop := s.Watch(id)
	defer stop()
	for seen := ponder.Seq(0); int(seen) < n; {
		for ev, err := range s.Events(ctx, id, seen) {
			if err != nil {
				return err
			}
			if ev.Seq != seen+1 {
				return fmt.Errorf("event %d of %s came after %d", ev.Seq, id, seen)
			}
			seen = ev.Seq
		}
		if int(seen) == n {
			return nil
		}
		select {
		case <-heads:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w after event %d of %d", id, ctx.Err(), seen, n)
		}
	}
	return nil
}

// TestTwoProcesses has two processes write and follow the same threads.
func TestTwoProcesses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	s := openStore(t, file)
	for i := range procThreads {
		appendMessages(t, s, procThread(i))
	}
	cmd, _ := startChild(t, "follow", file)
	if err := writeAndFollow(t.Context(), s); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("other process: %v", err)
	}
}

// TestOpenAtOnce has several processes create the same database.
func TestOpenAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "ponder.db")
	var cmds []*exec.Cmd
	for range 5 {
		cmd, _ := startChild(t, "open", file)
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	appendMessages(t, openStore(t, file), "thr_1", "hello")
}
