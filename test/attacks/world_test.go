//go:build linux

package attacks

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// localToken is the token of the user local, who also runs commands.
const localToken = "token-of-the-local-user"

// A world is the outside and the processes of a test.
type world struct {
	t     *testing.T // of the processes
	cases []*scenario
	byID  map[string]*scenario

	mu      sync.Mutex
	arrived map[string][]arrival // by id

	main    *home
	started map[string]*home // by kind of configuration, or by id for own ones
	starts  sync.Mutex

	modelURL, searchURL, deskURL, shadyURL, hookURL string
}

// A home is a user's machine: a configuration, a database and a server.
type home struct {
	dir    string
	env    []string
	config []byte
	url    string
	end    func()
}

func (w *world) everyCase() []*scenario { return w.cases }

// newWorld starts the outside and the server of most scenarios.
func newWorld(t *testing.T, cases []*scenario) *world {
	t.Helper()
	w := &world{t: t, cases: cases, byID: make(map[string]*scenario), arrived: make(map[string][]arrival), started: make(map[string]*home)}
	for _, s := range cases {
		w.byID[s.id] = s
		w.listenFor(t, s)
	}
	serve := func(h http.Handler) string {
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		return server.URL
	}
	w.modelURL, w.searchURL = serve(newModel(w)), serve(w.searchEngine())
	w.deskURL, w.shadyURL, w.hookURL = serve(w.deskServer()), serve(w.shadyServer()), serve(w.hookHandler())
	w.main = w.startHome(t, "")
	return w
}

// homeOf returns the home of a scenario. Subconscious scenarios have one each, because only the
// local user has sensors.
func (w *world) homeOf(t *testing.T, s *scenario) *home {
	t.Helper()
	name, more := "", ""
	switch {
	case s.Via == "mail":
		name, more = s.id, "[mind.sensors.mail.work]\nmaildir = \"mail\"\n[mind.sensors.system]\noff = true\n"
	case s.surface == "condensed":
		name, more = "small", "[chat]\nwindow = 6000\n"
	default:
		return w.main
	}
	w.starts.Lock()
	defer w.starts.Unlock()
	if w.started[name] == nil {
		w.started[name] = w.startHome(w.t, more)
	}
	return w.started[name]
}

// configuration returns the configuration file of a home.
func (w *world) configuration(dir, more string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[web]\nallow = [\"127.0.0.0/8\"]\n")
	for _, name := range []string{"fast", "slow", "cheap", "frontier"} {
		fmt.Fprintf(&b, "[models.price.%q]\ninput = 0.0\noutput = 0.0\n", "openai/"+name)
	}
	owners := []string{`"local"`}
	for _, s := range w.cases {
		if slices.Contains(owners, fmt.Sprintf("%q", s.owner)) {
			continue
		}
		owners = append(owners, fmt.Sprintf("%q", s.owner))
		sum := sha256.Sum256([]byte(s.token))
		fmt.Fprintf(&b, "[serve.tokens.%s]\nhash = \"sha256:%s\"\n", s.owner, hex.EncodeToString(sum[:]))
	}
	quoted := func(names []string) string { return `"` + strings.Join(names, `", "`) + `"` }
	fmt.Fprintf(&b, "[mcp.servers.desk]\nurl = %q\nreads = [%s]\nowners = [%s]\n", w.deskURL, quoted(readingTools), strings.Join(owners, ", "))
	fmt.Fprintf(&b, "[mcp.servers.shady]\nurl = %q\nread_only = true\nowners = [\"shady\"]\n", w.shadyURL)
	fmt.Fprintf(&b, "[mind]\nquiet = \"off\"\nnight = \"off\"\n[mind.notify.webhook.phone]\nurl = %q\nsecret_env = \"HOOK_SECRET\"\n", w.hookURL)
	return b.String() + strings.ReplaceAll(more, `"mail"`, fmt.Sprintf("%q", filepath.Join(dir, "mail")))
}

// startHome makes a home and starts its server.
func (w *world) startHome(t *testing.T, more string) *home {
	t.Helper()
	h := &home{dir: t.TempDir()}
	file := filepath.Join(h.dir, "config.toml")
	h.config = []byte(w.configuration(h.dir, more))
	if err := os.WriteFile(file, h.config, 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = []string{
		"PATH=" + os.Getenv("PATH"), "PONDER_CONFIG=" + file, "PONDER_DB=" + filepath.Join(h.dir, "ponder.db"), "PONDER_TOKEN=" + localToken, "NO_COLOR=1",
		"OPENAI_BASE_URL=" + w.modelURL + "/v1", "OPENAI_API_KEY=any", "HOOK_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "SEARXNG_URL=" + w.searchURL,
	}
	for _, name := range []string{"FAST", "SLOW", "CHEAP", "FRONTIER"} {
		h.env = append(h.env, "PONDER_MODEL_"+name+"=openai/"+strings.ToLower(name))
	}
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"} {
		h.env = append(h.env, name+"="+h.dir)
	}
	h.serve(t)
	return h
}

// serve starts the server and reads its address.
func (h *home) serve(t *testing.T) {
	t.Helper()
	cmd := h.command(context.Background(), t, "serve", "--json", "--listen", "127.0.0.1:0")
	log, err := os.Create(filepath.Join(h.dir, "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	h.end = func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait() // it was stopped
			late.Stop()
			log.Close()
		})
	}
	t.Cleanup(h.end)
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	var greeting struct{ Address string }
	if err == nil {
		err = json.Unmarshal([]byte(line), &greeting)
	}
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("ponder serve: %v\n%s", err, tail(text))
	}
	h.url = greeting.Address
	go io.Copy(io.Discard, in)
}

func tail(text []byte) []byte {
	const most = 3000
	return bytes.TrimSpace(text[max(0, len(text)-most):])
}

// stop stops all servers, so that no work is left.
func (w *world) stop() {
	for _, h := range w.homes() {
		h.end()
	}
}

func (w *world) homes() []*home {
	list := []*home{w.main}
	for _, h := range w.started {
		list = append(list, h)
	}
	return list
}

// configChanged reports whether a configuration file is not as it was.
func (w *world) configChanged(t *testing.T) bool {
	t.Helper()
	return slices.ContainsFunc(w.homes(), func(h *home) bool {
		text, err := os.ReadFile(filepath.Join(h.dir, "config.toml"))
		if err != nil {
			t.Fatal(err)
		}
		return !bytes.Equal(text, h.config)
	})
}

// ponderBinary builds the program once.
var ponderBinary = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("PONDER_BIN"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "ponder"))
	}
	dir, err := os.MkdirTemp("", "ponder-attacks")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-o", dir, "./cmd/ponder")
	build.Dir, build.Stderr = filepath.Join("..", ".."), os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return filepath.Join(dir, "ponder"), build.Run()
})

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // scenarios mostly wait
		panic(err)
	}
	code := m.Run()
	if bin, err := ponderBinary(); err == nil && os.Getenv("PONDER_BIN") == "" {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// command returns the program with arguments.
func (h *home) command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := ponderBinary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = h.env, h.dir, 10*time.Second
	return cmd
}

// runCommand runs the program and returns its output. Any exit code may be right.
func (h *home) runCommand(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	cmd := h.command(ctx, t, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	if ctx.Err() != nil || cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == 2 {
		t.Fatalf("ponder %s: %s", strings.Join(args, " "), tail(stderr.Bytes()))
	}
	return string(out)
}

// request sends a request and returns the body of the answer, which must have one of the statuses.
func (h *home) request(t *testing.T, token, method, path string, body any, statuses ...int) []byte {
	t.Helper()
	status, answer := h.send(t, token, method, path, body)
	if len(statuses) > 0 && !slices.Contains(statuses, status) {
		t.Fatalf("%s %s: %d %s", method, path, status, tail(answer))
	}
	return answer
}

// send sends a request and returns the status and the body of the answer.
func (h *home) send(t *testing.T, token, method, path string, body any) (int, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	var in io.Reader
	if body != nil {
		js, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(js)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return res.StatusCode, answer
}

// decode sends a request and decodes its answer.
func (h *home) decode(t *testing.T, token, method, path string, body, to any) {
	t.Helper()
	answer := h.request(t, token, method, path, body, http.StatusOK, http.StatusCreated, http.StatusAccepted)
	if err := json.Unmarshal(answer, to); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, tail(answer))
	}
}
