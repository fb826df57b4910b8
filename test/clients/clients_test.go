// Package clients tests a real `ponder serve`, with ponder-sim as its models, with unmodified
// clients of other projects in pinned versions.
//
// A script is NAME.test.mjs for Node or NAME.test.py for Python. It reads PONDER_URL and
// PONDER_TOKEN, prints notes as "note: ..." and finally "checks: N", and exits with an error if a
// check fails. package-lock.json and requirements.txt pin the versions; the directory go is its
// own module. The pages in ../examples run too.
//
//	go test -count=1 -v ./test/clients           all, with the number of checks
//	go test -count=1 ./test/clients -run /openai
//
// Clients that cannot be installed are skipped, except in CI, where that is an error. PONDER_BIN
// may name a directory with ponder and ponder-sim; otherwise the tests build them.
//
// Where a client has a newer version than the pinned one, that runs the main scripts too: see
// newest_test.go. A failure there is no error of the tests, because it can come from a release of
// today; the end of the output has the counts of both. Libraries, programs and some other newest
// versions take minutes and gigabytes, so they run with PONDER_CLIENTS=all: see all_test.go.
package clients

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// patience limits a script or an installation, with a margin for busy machines.
const patience = 5 * time.Minute

// A tool runs the scripts of a language.
type tool struct {
	pattern string // of script names
	get     func(*testing.T) []string
}

var tools = []tool{{"*.test.mjs", node}, {"*.test.py", python}}

func TestClients(t *testing.T) {
	t.Parallel()
	server := start(t, "secret-of-the-clients")
	var checks atomic.Int64
	t.Cleanup(func() { t.Logf("%d checks in all", checks.Load()) })
	for _, tool := range tools {
		files, err := filepath.Glob(tool.pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", tool.pattern, err)
		}
		run := tool.get(t)
		for _, file := range files {
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				if run == nil {
					t.Skip("what runs it is not installed")
				}
				checks.Add(server.checks(t, ".", append(run, file)...))
			})
		}
	}
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		bin := filepath.Join(t.TempDir(), "go.test")
		needs(t, command("go", "test", "-c", "-vet=off", "-o", bin, ".").inFolder("go"), "the client for Go")
		checks.Add(server.checks(t, "go", bin, "-test.v"))
	})
}

// checks runs a script and returns its number of checks.
func (s *testServer) checks(t *testing.T, dir string, args ...string) int64 {
	t.Helper()
	out, err := s.execute(t, dir, "", args...)
	n := tallies.add("pinned", path.Base(t.Name()), out, err)
	if err != nil {
		t.Fatalf("%s: %v\n%s\nthe server said:\n%s", strings.Join(args, " "), err, out, s.errorOutput())
	}
	if n == 0 {
		t.Fatalf("it does not say how many checks it has made:\n%s", out)
	}
	t.Logf("%d checks", n)
	for _, line := range regexp.MustCompile(`(?m)^note: (.*)$`).FindAllStringSubmatch(out, -1) {
		t.Log(line[1])
	}
	return n
}

func (s *testServer) run(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	out, err := s.execute(t, dir, stdin, args...)
	if err != nil {
		t.Fatalf("%s: %v\n%s\nthe server said:\n%s", strings.Join(args, " "), err, out, s.errorOutput())
	}
	return out
}

func (s *testServer) execute(t *testing.T, dir, stdin string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = dir, strings.NewReader(stdin), time.Second
	cmd.Env = append(os.Environ(), "PONDER_URL="+s.url, "PONDER_TOKEN="+s.token, "FORCE_COLOR=0", "NO_COLOR=1")
	cmd.Env = append(cmd.Env, s.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

type cmd struct {
	dir  string
	args []string
}

func command(args ...string) cmd { return cmd{args: args} }

func (c cmd) inFolder(dir string) cmd {
	c.dir = dir
	return c
}

// needs runs an installation and skips the test if it fails.
func needs(t *testing.T, c cmd, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.WaitDelay = c.dir, time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(t, "%s cannot be installed (%s: %v): is there a network, and has scripts/need been run?\n%s", what, strings.Join(c.args, " "), err, tail(out))
	}
}

// missing skips the test, or fails it in CI.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func tail(out []byte) []byte {
	const most = 1000
	return bytes.TrimSpace(out[max(0, len(out)-most):])
}
