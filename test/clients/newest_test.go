package clients

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newestDir has the newest versions, and copies of the scripts. Installing them again waits a day.
const newestDir = ".newest"

// A newestClient is a script with the packages whose newest versions it uses. npm installs
// NAME@npm:PACKAGE under the name that the script imports.
type newestClient struct {
	script   string
	packages []string
}

var newestClients = []newestClient{
	{"anthropic.test.mjs", []string{"@anthropic-ai/sdk"}},
	{"openai.test.mjs", []string{"openai6@npm:openai@6", "openai7@npm:openai"}},
	{"ollama.test.mjs", []string{"ollama"}},
	{"aisdk.test.mjs", []string{"ai5@npm:ai@5", "ai6@npm:ai@6", "ai7@npm:ai"}},
	{"providers.test.mjs", []string{"ai7@npm:ai", "@ai-sdk/anthropic", "@ai-sdk/mistral", "@ai-sdk/openai", "@ai-sdk/openai-compatible"}},
	{"mcp.test.mjs", []string{"@modelcontextprotocol/client", "@modelcontextprotocol/sdk"}},
	{"anthropic.test.py", []string{"anthropic"}},
	{"openai.test.py", []string{"openai"}},
	{"ollama.test.py", []string{"ollama"}},
}

// libraries are the programs for Python that use the SDKs. They are large, so they run only if
// PONDER_CLIENTS is all.
var libraries = newestClient{"libraries.py", []string{
	"langchain-anthropic", "langchain-openai", "litellm", "llm", "llama-index-llms-openai-like", "pydantic-ai-slim[openai,anthropic]", "openai-agents", "instructor",
}}

// TestNewest runs the scripts with the newest versions. It reports failures, but it does not fail.
func TestNewest(t *testing.T) {
	t.Parallel()
	js, py := node(t), python(t) // for the runtimes
	if js == nil || py == nil {
		t.Skip("the pinned clients are not installed")
	}
	clients := newestClients
	if os.Getenv("PONDER_CLIENTS") == "all" {
		clients = append(slices.Clone(clients), libraries)
	}
	if err := installNewest(clients); err != nil {
		tallies.note("not installed, so only the pinned ones count: %v", err)
		return
	}
	bin, err := filepath.Abs(filepath.Join(newestDir, ".venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, "secret-of-the-newest-clients")
	for _, c := range clients {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			run := append(slices.Clone(js), c.script)
			if filepath.Ext(c.script) == ".py" {
				run = []string{bin, c.script}
			}
			out, err := server.execute(t, newestDir, "", run...)
			n, versions := tallies.add("newest", out, err), newestVersions(c)
			t.Logf("%d checks, %s", n, versions)
			if err != nil {
				tallies.note("%s fails with %s", c.script, versions)
				t.Logf("%v\n%s\nthe server said:\n%s", err, tail([]byte(out)), server.errorOutput())
			}
		})
	}
}

// installNewest installs the newest versions, at most once a day, and copies the scripts.
func installNewest(clients []newestClient) error {
	var npm, pip []string
	for _, c := range clients {
		if filepath.Ext(c.script) == ".py" {
			pip = append(pip, c.packages...)
		} else {
			npm = append(npm, c.packages...)
		}
	}
	if err := os.MkdirAll(newestDir, 0o755); err != nil {
		return err
	}
	scripts, err := filepath.Glob("*.mjs")
	if err != nil {
		return err
	}
	more, err := filepath.Glob("*.py")
	if err != nil {
		return err
	}
	for _, name := range append(scripts, more...) {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(newestDir, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	state := time.Now().UTC().Format(time.DateOnly) + " " + strings.Join(append(npm, pip...), " ")
	note := filepath.Join(newestDir, ".installed")
	if was, err := os.ReadFile(note); err == nil && string(was) == state {
		return nil
	}
	slices.Sort(npm)
	for _, c := range []cmd{
		command(append([]string{"npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--no-save", "--fetch-retries=1", "--prefix", "."}, slices.Compact(npm)...)...),
		command("python3", "-m", "venv", ".venv"),
		command(append([]string{filepath.Join(".venv", "bin", "python"), "-m", "pip", "install", "-q", "-U", "--retries", "1", "--disable-pip-version-check"}, pip...)...),
	} {
		if err := c.inFolder(newestDir).do(); err != nil {
			return err
		}
	}
	return os.WriteFile(note, []byte(state), 0o600)
}

// do runs the command, at most patience.
func (c cmd) do() error {
	run := exec.Command(c.args[0], c.args[1:]...) //nolint:noctx // killed below
	run.Dir = c.dir
	late := time.AfterFunc(patience, func() {
		if run.Process != nil {
			_ = run.Process.Kill()
		}
	})
	defer late.Stop()
	if out, err := run.CombinedOutput(); err != nil {
		return errors.New(strings.Join(c.args[:2], " ") + ": " + err.Error() + ": " + lastLine(out))
	}
	return nil
}

func lastLine(out []byte) string {
	list := strings.Split(strings.TrimSpace(string(out)), "\n")
	return list[len(list)-1]
}

// newestVersions returns the packages of a script with their installed versions.
func newestVersions(c newestClient) string {
	var list []string
	for _, name := range c.packages {
		name, _, _ = strings.Cut(name, "@npm:")
		name, _, _ = strings.Cut(name, "[")
		if filepath.Ext(c.script) == ".py" {
			found, err := filepath.Glob(filepath.Join(newestDir, ".venv", "lib", "*", "site-packages", strings.ReplaceAll(name, "-", "_")+"-*.dist-info"))
			if err == nil && len(found) > 0 {
				name = strings.TrimSuffix(filepath.Base(found[0]), ".dist-info")
			}
		} else if js, err := os.ReadFile(filepath.Join(newestDir, "node_modules", filepath.FromSlash(name), "package.json")); err == nil {
			var p struct{ Version string }
			if json.Unmarshal(js, &p) == nil {
				name += " " + p.Version
			}
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}
