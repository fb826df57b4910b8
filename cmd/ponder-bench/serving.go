package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ponder/client"
	"ponder/internal/fileio"
	"ponder/llm/llmtest"
)

// A serveProcess is a real `ponder serve` process with its own database and the simulated model server.
type serveProcess struct {
	*client.Client
	base  string // http://address
	token string // with all scopes; empty if none is needed
	dir   string // of all its files
	sim   string // URL of the model server
	pid   int

	simPID int // of the model server
	stop   func()
}

type setting struct {
	token string // PONDER_TOKEN
	file  string // user configuration
}

func startServe(ctx context.Context, c llmtest.SimConfig) (*serveProcess, error) {
	return startServeSetting(ctx, c, setting{})
}

// startServeSetting builds and starts the program with a configuration.
func startServeSetting(ctx context.Context, c llmtest.SimConfig, set setting) (s *serveProcess, err error) {
	dir, err := os.MkdirTemp("", "ponder-bench")
	if err != nil {
		return nil, err
	}
	undo := []func(){func() { os.RemoveAll(dir) }}
	stop := func() {
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	program := filepath.Join(dir, "program")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/ponder")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build ponder: %w", err)
	}
	sim, err := startChild(ctx, "-sim", c)
	if err != nil {
		return nil, err
	}
	undo = append(undo, sim.stop)
	if err := set.writeConfig(dir); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, "serve", "--json", "--listen", "127.0.0.1:0", "--db", filepath.Join(dir, "bench.db"))
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = []string{
		"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_CACHE_HOME=" + dir, "XDG_STATE_HOME=" + dir, "XDG_RUNTIME_DIR=" + dir, "TMPDIR=" + dir,
		"OPENAI_BASE_URL=" + sim.base + "/v1", "OPENAI_API_KEY=any", "PONDER_MODEL_FAST=openai/fast", "PONDER_MODEL_SLOW=openai/slow", "PONDER_MODEL_CHEAP=openai/cheap",
		"PONDER_TOKEN=" + set.token,
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start ponder serve: %w", err)
	}
	undo = append(undo, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // the results are complete
	})
	var at struct {
		Address string `json:"address"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &at)
	}
	if err != nil {
		return nil, fmt.Errorf("start ponder serve: %w", err)
	}
	return &serveProcess{client.New(at.Address, set.token), at.Address, set.token, dir, sim.base, cmd.Process.Pid, sim.pid, stop}, nil
}

// writeConfig writes the configuration into the server's directory.
func (s setting) writeConfig(dir string) error {
	if s.file == "" {
		return nil
	}
	if err := fileio.MakeStateDir(filepath.Join(dir, "ponder")); err != nil {
		return err
	}
	return fileio.WriteState(filepath.Join(dir, "ponder", "config.toml"), []byte(s.file))
}

// residentMemory returns the resident memory of the process in MiB.
func (s *serveProcess) residentMemory() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.pid))
	if err != nil {
		return 0
	}
	var all, rss float64
	if _, err := fmt.Sscan(string(text), &all, &rss); err != nil {
		return 0
	}
	return rss * float64(os.Getpagesize()) / (1 << 20)
}

func (s *serveProcess) cpuTime() time.Duration { return processCPU(s.pid) }

// processCPU returns the CPU time of a process from its CPU clock, because /proc counts in hundredths
// of a second.
func processCPU(pid int) time.Duration {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	if unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
