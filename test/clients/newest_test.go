package clients

import (
	"context"
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

// An installation is the newest versions for the scripts of a kind.
type installation struct {
	name     string
	clients  []newestClient
	patience time.Duration
	commands [][]string // the last one gets the packages
}

func installations() []installation {
	pip := []string{filepath.Join(".venv", "bin", "python"), "-m", "pip", "install", "-q", "-U", "--retries", "1", "--disable-pip-version-check"}
	venv := []string{"python3", "-m", "venv", ".venv"}
	node := []string{"npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--no-save", "--fetch-retries=1", "--prefix", "."}
	isPython := func(c newestClient) bool { return filepath.Ext(c.script) == ".py" }
	list := []installation{
		{"node", slices.DeleteFunc(slices.Clone(newestClients), isPython), patience, [][]string{node}},
		{"python", slices.DeleteFunc(slices.Clone(newestClients), func(c newestClient) bool { return !isPython(c) }), patience, [][]string{venv, pip}},
	}
	return list
}

// TestNewest runs the scripts whose packages have newer versions than the pinned ones. It reports
// failures, but it does not fail.
func TestNewest(t *testing.T) {
	js, py := node(t), python(t) // for the runtimes
	if js == nil || py == nil {
		t.Skip("the pinned clients are not installed")
	}
	bin, err := filepath.Abs(filepath.Join(newestDir, ".venv", "bin", "python"))
	if err == nil {
		err = copyScripts()
	}
	if err != nil {
		t.Fatal(err)
	}
	server := start(t, "secret-of-the-newest-clients")
	for _, i := range installations() {
		if err := i.install(); err != nil {
			tallies.note("%s not installed, so only the pinned ones count: %v", i.name, err)
			continue
		}
		for _, c := range i.clients {
			if c.versions(newestDir) == c.versions(".") {
				tallies.addEqual(c.script)
				continue
			}
			t.Run(c.script, func(t *testing.T) {
				t.Parallel()
				run := append(slices.Clone(js), c.script)
				if filepath.Ext(c.script) == ".py" {
					run = []string{bin, c.script}
				}
				out, err := server.execute(t, newestDir, "", run...)
				n, versions := tallies.add("newest", c.script, out, err), c.versions(newestDir)
				t.Logf("%d checks, %s", n, versions)
				if err != nil {
					tallies.note("%s fails with %s", c.script, versions)
					t.Logf("%v\n%s\nthe server said:\n%s", err, tail([]byte(out)), server.errorOutput())
				}
			})
		}
	}
}

// copyScripts copies the scripts to the newest versions.
func copyScripts() error {
	if err := os.MkdirAll(newestDir, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{"*.mjs", "*.py"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(filepath.Join(newestDir, name), text, 0o600)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// install installs the newest versions, at most once a day.
func (i installation) install() error {
	var packages []string
	for _, c := range i.clients {
		packages = append(packages, c.packages...)
	}
	slices.Sort(packages)
	packages = slices.Compact(packages)
	state := time.Now().UTC().Format(time.DateOnly) + " " + strings.Join(packages, " ")
	note := filepath.Join(newestDir, ".installed-"+i.name)
	if was, err := os.ReadFile(note); err == nil && string(was) == state {
		return nil
	}
	for n, args := range i.commands {
		if n == len(i.commands)-1 {
			args = append(slices.Clone(args), packages...)
		}
		if err := command(args...).inFolder(newestDir).do(i.patience); err != nil {
			return err
		}
	}
	return os.WriteFile(note, []byte(state), 0o600)
}

// do runs the command.
func (c cmd) do(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	run := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	run.Dir, run.WaitDelay = c.dir, time.Second
	if bin, err := filepath.Abs(filepath.Join("node_modules", "node", "bin")); err == nil { // npm chooses versions for its runtime
		run.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if out, err := run.CombinedOutput(); err != nil {
		return errors.New(strings.Join(c.args[:2], " ") + ": " + err.Error() + ": " + lastLine(out))
	}
	return nil
}

func lastLine(out []byte) string {
	list := strings.Split(strings.TrimSpace(string(out)), "\n")
	return list[len(list)-1]
}

// versions returns the packages of the script with their versions installed in dir.
func (c newestClient) versions(dir string) string {
	var list []string
	for _, name := range c.packages {
		name, _, _ = strings.Cut(name, "@npm:")
		name, _, _ = strings.Cut(name, "[")
		if filepath.Ext(c.script) == ".py" {
			found, err := filepath.Glob(filepath.Join(dir, ".venv", "lib", "*", "site-packages", strings.ReplaceAll(name, "-", "_")+"-*.dist-info"))
			if err == nil && len(found) > 0 {
				name = strings.TrimSuffix(filepath.Base(found[0]), ".dist-info")
			}
		} else if js, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json")); err == nil {
			var p struct{ Version string }
			if json.Unmarshal(js, &p) == nil {
				name += " " + p.Version
			}
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}
