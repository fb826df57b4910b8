// Package page tests the web page of a real `ponder serve` in Chromium, with ponder-sim as its models.
//
// A script is NAME.test.mjs for the test runner of Node.js. It starts its own servers and browser: see
// world.mjs. No request may leave the machine: the browser gets a proxy that notes each attempt.
//
//	go test -count=1 -v ./test/page                    the tests of make test
//	node test/page/pictures.mjs                        the pictures of docs/page.md
//
// Without Chromium or npm the tests are skipped, except in CI, where that is an error. PONDER_BIN may
// name a directory with ponder and ponder-sim; otherwise the tests build them.
package page

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// patience limits a script, with a margin for busy machines.
const patience = 10 * time.Minute

func TestPage(t *testing.T) {
	t.Parallel()
	chromium := findChromium(t)
	installModules(t)
	bin := buildPrograms(t)
	scripts, err := filepath.Glob("*.test.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, script := range scripts {
		t.Run(script, func(t *testing.T) {
			env := []string{"PONDER_BIN=" + bin, "PONDER_CHROMIUM=" + chromium}
			run := func() ([]byte, error) {
				return execute(t, env, "node", "--test", "--test-force-exit", "--test-reporter=spec", script)
			}
			out, err := run()
			if err != nil { // a busy machine may stop the browser for longer than a script waits
				t.Logf("first attempt: %v\n%s", err, out)
				if out, err = run(); err != nil {
					t.Fatalf("second attempt: %v\n%s", err, out)
				}
			}
			t.Logf("%s", out)
		})
	}
}

func findChromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("PONDER_CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "there is no Chromium: install it, or name it in PONDER_CHROMIUM")
	return ""
}

// installModules installs the modules of package-lock.json, unless they are there.
func installModules(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		missing(t, "there is no npm: install Node.js 20 or newer")
	}
	want, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join("node_modules", ".installed")
	if have, err := os.ReadFile(stamp); err == nil && bytes.Equal(have, want) {
		return
	}
	if out, err := execute(t, nil, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"); err != nil {
		missing(t, "the modules cannot be installed: is there a network? %v\n%s", err, out)
	}
	if err := os.WriteFile(stamp, want, 0o600); err != nil {
		t.Fatal(err)
	}
}

// buildPrograms returns the directory of the programs.
func buildPrograms(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("PONDER_BIN")
	if dir == "" {
		dir = t.TempDir()
		if out, err := execute(t, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-o", dir, "../../cmd/ponder", "../../cmd/ponder-sim"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func execute(t *testing.T, env []string, args ...string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env, cmd.WaitDelay = append(os.Environ(), env...), 10*time.Second
	return cmd.CombinedOutput()
}

// missing skips the test, or fails it in CI.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
