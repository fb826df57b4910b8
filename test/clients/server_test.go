package clients

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

type testServer struct {
	url, token string
	log        string   // file; empty without an own log
	env        []string // environment of scripts besides the address
}

// errorOutput returns the end of the server's error output.
func (s *testServer) errorOutput() []byte {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return nil
	}
	return tail(text)
}

// programs returns the directory of the programs and builds them once.
var programs = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("PONDER_BIN"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.MkdirTemp("", "ponder-clients")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", dir, "./cmd/ponder", "./cmd/ponder-sim")
	build.Dir, build.Stderr = filepath.Join("..", ".."), os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return dir, build.Run()
})

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // clients mostly wait
		panic(err)
	}
	code := m.Run()
	fmt.Print(&tallies)
	if dir, err := programs(); err == nil && os.Getenv("PONDER_BIN") == "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// start starts a server with a simulated one for its models. Without a token, all local callers
// are allowed.
func start(t *testing.T, token string) *testServer {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := filepath.Abs(filepath.Join("testdata", "answers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	sim := launch(t, dir, nil, filepath.Join(bin, "ponder-sim"), "--script", answers, "--token-delay", "10ms")
	at := regexp.MustCompile(`http://\S+`).FindString(sim)
	if at == "" {
		t.Fatalf("ponder-sim says %q", sim)
	}
	models := []string{"OPENAI_BASE_URL=" + at + "/v1", "OPENAI_API_KEY=any"}
	for _, name := range []string{"FAST", "SLOW", "CHEAP", "EMBED"} {
		models = append(models, "PONDER_MODEL_"+name+"=openai/"+strings.ToLower(name))
	}
	env := append(slices.Clone(models), "PONDER_TOKEN="+token)
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"} {
		env = append(env, name+"="+dir)
	}
	writeConfig(t, filepath.Join(dir, "ponder"))
	line := launch(t, dir, env, filepath.Join(bin, "ponder"), "serve", "--json", "--listen", "127.0.0.1:0", "--db", filepath.Join(dir, "clients.db"))
	var greeting struct{ Address string }
	if err := json.Unmarshal([]byte(line), &greeting); err != nil {
		t.Fatalf("ponder serve says %q: %v", line, err)
	}
	models = append(models, "PONDER_COMMAND="+filepath.Join(bin, "ponder")) // for clients that start their own server
	return &testServer{url: greeting.Address, token: token, log: filepath.Join(dir, "ponder.log"), env: models}
}

// writeConfig writes a configuration that allows webhooks to this machine, where the clients receive
// them.
func writeConfig(t *testing.T, folder string) {
	t.Helper()
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "config.toml"), []byte("[serve]\nallow = [\"127.0.0.1\"]\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// launch starts a program for the duration of the test and returns its first output line. Its
// error output is in NAME.log.
func launch(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, filepath.Base(name)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...) //nolint:noctx // killed below
	cmd.Dir, cmd.Env, cmd.Stderr = dir, env, log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it was killed
		late.Stop()
		log.Close()
	})
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("%s: %v\n%s", name, err, tail(text))
	}
	go io.Copy(io.Discard, in)
	return line
}
