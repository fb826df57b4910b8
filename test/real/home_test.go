package real

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A home is a user with an own configuration and database.
type home struct {
	dir string
	env []string
}

// newHome returns a user whose models are those of the servers. Extra is further configuration.
func newHome(t *testing.T, model, embedder *server, extra string) *home {
	t.Helper()
	h := &home{dir: newFolder(t)}
	config := "[models]\n"
	for _, role := range []string{"fast", "slow", "cheap", "frontier"} {
		config += fmt.Sprintf("%s = %q\n", role, "real/"+model.model)
	}
	if embedder != nil {
		config += fmt.Sprintf("embed = %q\n[providers.embedder]\ntype = \"openai\"\nbase_url = %q\n", "embedder/"+embedder.model, embedder.url)
	}
	config += fmt.Sprintf("[models.price.%q]\ninput = 0\noutput = 0\n", "real/"+model.model)
	config += fmt.Sprintf("[providers.real]\ntype = \"openai\"\nbase_url = %q\n", model.url)
	if model.key != "" {
		config += "api_key_env = \"REAL_API_KEY\"\n"
	}
	file := filepath.Join(h.dir, "config.toml")
	if err := os.WriteFile(file, []byte(config+extra), 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = []string{"PATH=" + os.Getenv("PATH"), "PONDER_CONFIG=" + file, "PONDER_DB=" + filepath.Join(h.dir, "ponder.db"), "REAL_API_KEY=" + model.key, "NO_COLOR=1"}
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR"} {
		h.env = append(h.env, name+"="+h.dir)
	}
	if model.state != "" {
		h.env = append(h.env, "XDG_STATE_HOME="+model.state) // the last one holds
	}
	return h
}

// newFolder returns a folder that the end of the test removes. A file may appear while it is
// removed, such as the log of a database that another process of the user just closed.
func newFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ponder-real-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		const tries = 5
		for range tries {
			if err = os.RemoveAll(dir); err == nil {
				return
			}
			left, _ := filepath.Glob(filepath.Join(dir, "*"))
			t.Logf("files that appeared during the removal: %q", left)
		}
		t.Errorf("remove the folder of the test: %v", err)
	})
	return dir
}

// An output is the result of a command.
type output struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

// hangTime ends a command that has no limit of its own.
const hangTime = 20 * time.Minute

// command returns the program with arguments. It stops when ctx ends.
func (h *home) command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := ponderBinary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it prints where it hangs
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

func (h *home) ponder(t *testing.T, stdin string, args ...string) output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangTime)
	defer cancel()
	cmd := h.command(ctx, t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	began := time.Now()
	err := cmd.Run()
	out := output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), time.Since(began)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("ponder %s: %v\n%s", strings.Join(args, " "), cmp.Or(ctx.Err(), err), tail(stderr.Bytes()))
	}
	return out
}

// An event is an event of a thread, with the fields of all types that the tests read.
type event struct {
	Seq     int    `json:"seq"`
	Type    string `json:"type"`
	Run     string `json:"run_id"`
	Cause   string `json:"cause"`
	Role    string `json:"role"`
	Content string `json:"content"`
	Reason  string `json:"reason"`
	Model   string `json:"model"`
	Usage   struct {
		Input     int `json:"input"`
		CacheRead int `json:"cache_read"`
		Output    int `json:"output"`
	} `json:"usage"`
	Data struct {
		Evidence     string   `json:"evidence_id"`
		Source       string   `json:"source"`
		Title        string   `json:"title"`
		Kind         string   `json:"thought_type"`
		Cites        []string `json:"cites"`
		Insights     []string `json:"key_insights"`
		Remaining    []string `json:"remaining_questions"`
		Final        bool     `json:"final"`
		WithoutModel bool     `json:"without_model"`
		Status       string   `json:"status"`
		Mode         string   `json:"mode"`
		Stage        string   `json:"stage"`
		Finish       string   `json:"finish"`
		Error        string   `json:"error"`
		Class        string   `json:"error_class"`
		Dropped      bool     `json:"dropped"`
		Unsent       bool     `json:"unsent"`
		Refused      bool     `json:"refused"`
		NextModel    string   `json:"next_model"`
		RetryAt      string   `json:"retry_at"`
		Quotes       []struct {
			Evidence string `json:"evidence_id"`
			Start    int    `json:"start"`
			End      int    `json:"end"`
		} `json:"quotes"`
	} `json:"data"`
}

// key returns the key of the action that wrote the event, without the mark of a repeat, and
// whether it repeats an unreadable answer.
func (e event) key() (key string, again bool) {
	key, _, _ = strings.Cut(e.Cause, "#")
	key, _, _ = strings.Cut(key, "/")
	if key, again = strings.CutSuffix(key, "~2"); again {
		return key, true
	}
	// Roles of the subconscious count their attempts.
	if m := countedKey.FindStringSubmatch(key); m != nil {
		return m[1], m[2] != "1"
	}
	return key, false
}

var countedKey = regexp.MustCompile(`^(look)-(\d)$`)

// events returns the events of a thread with the internal ones, oldest first.
func (h *home) events(t *testing.T, id string) (list []event) {
	t.Helper()
	out := h.ponder(t, "", "thread", "export", id, "--internal")
	if out.code != 0 {
		t.Fatalf("thread export %s: %s", id, out.stderr)
	}
	_, lines, _ := strings.Cut(out.stdout, "\n") // after the header
	for line := range strings.Lines(lines) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("event of %s: %v: %s", id, err, line)
		}
		list = append(list, e)
	}
	return list
}
