package main

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ponder/internal/racetest"
	"ponder/llm/llmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ponder": main, "mcp-notes": serveNotes})
}

// TestScripts runs testdata/script/*.txt. It adds to testscript's commands:
//
//	exits CODE COMMAND    runs it and checks the exit code
//	refused CODE COMMAND  checks also that it prints one line, on standard error
//	sim JSON              changes the simulated server at $SIM: see llmtest.SimConfig
//	forget                resets the count of requests
//	asked N               waits for N requests, or with ! fails after N
//	talks FILE            sends the lines of FILE to ponder mcp, and writes the file answers
//
// and those of serveCommands and figureCommands.
func TestScripts(t *testing.T) {
	p := scriptParams("testdata/script")
	files, err := filepath.Glob(filepath.Join(p.Dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", p.Dir, err)
	}
	p.Dir = ""
	for i := 0; i < len(files); i += racetest.Stride(20) {
		p.Files = append(p.Files, files[i])
	}
	testscript.Run(t, p)
}

// scriptParams returns the parameters of a folder of scripts. Each has its home and only the
// simulated model.
func scriptParams(dir string) testscript.Params {
	cmds := serveCommands()
	maps.Copy(cmds, figureCommands())
	maps.Copy(cmds, map[string]func(*testscript.TestScript, bool, []string){
		"exits": cmdExits, "refused": cmdRefused, "sim": cmdSim, "forget": cmdForget, "asked": cmdAsked, "talks": cmdTalks, "receive": cmdReceive,
	})
	return testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			s := newSimServer()
			env.Defer(s.server.Close)
			env.Values[simKey{}] = s
			env.Values[collectorKey{}] = &traceCollector{}
			for name, value := range map[string]string{
				"HOME": env.WorkDir, "SIM": s.server.URL, "OLLAMA_HOST": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.1", "TZ": "UTC",
			} {
				env.Setenv(name, value)
			}
			return nil
		},
		Cmds:                cmds,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	}
}

type simKey struct{}

type simServer struct {
	sim    *llmtest.Sim
	server *httptest.Server

	mu      sync.Mutex
	changed *sync.Cond
	asked   int
}

func newSimServer() *simServer {
	s := &simServer{}
	s.changed = sync.NewCond(&s.mu)
	s.sim = llmtest.NewSim(s.countRequests(llmtest.SimConfig{Models: []string{"llama3.1"}, Chunks: 4,
		FirstToken: llmtest.Delay{Mean: 20 * time.Millisecond}}))
	s.server = httptest.NewServer(s.sim)
	return s
}

func (s *simServer) countRequests(c llmtest.SimConfig) llmtest.SimConfig {
	c.Asked = func(llmtest.Record) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked++
		s.changed.Broadcast()
	}
	return c
}

func cmdSim(ts *testscript.TestScript, _ bool, args []string) {
	var c llmtest.SimConfig
	ts.Check(json.Unmarshal([]byte(strings.Join(args, " ")), &c))
	s := ts.Value(simKey{}).(*simServer)
	s.sim.Configure(s.countRequests(c))
}

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	s := ts.Value(simKey{}).(*simServer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if neg && s.asked >= n {
		ts.Fatalf("%d requests", s.asked)
	}
	for !neg && s.asked < n {
		s.changed.Wait()
	}
}

func cmdForget(ts *testscript.TestScript, _ bool, _ []string) {
	s := ts.Value(simKey{}).(*simServer)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = 0
}

func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// maxLine is the maximal length of an error line, in bytes.
const maxLine = 400

func cmdRefused(ts *testscript.TestScript, _ bool, args []string) {
	cmdExits(ts, false, args)
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("standard output: %q", out)
	}
	line := ts.ReadFile("stderr")
	if !strings.HasPrefix(line, "ponder: ") || strings.Count(line, "\n") != 1 || len(line) > maxLine {
		ts.Fatalf("want one line with the problem, got %q", line)
	}
	if strings.Contains(line, "goroutine") || strings.Contains(line, "sk-secret") {
		ts.Fatalf("not a message for users: %q", line)
	}
}
