package clients

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// allDir has the clients that run only if PONDER_CLIENTS is all: libraries and programs of hundreds
// of megabytes, and the newest versions of clients whose pinned ones run in TestClients.
const allDir = ".all"

// An environment is an own installation, because the requirements of some libraries exclude each
// other. Packages are NAME@VERSION for npm and NAME==VERSION for pip; their own requirements are
// not pinned. Without a version, only the newest one runs; @>= allows preliminary ones.
type environment struct {
	name     string
	script   string
	packages []string
}

var environments = []environment{
	{name: "a2a", script: "a2a.test.mjs", packages: []string{"@a2a-js/sdk"}},
	{name: "acp", script: "acp.test.mjs", packages: []string{"@agentclientprotocol/sdk"}},
	{name: "agui", script: "agui.test.mjs", packages: []string{"@ag-ui/client", "@ag-ui/core"}},
	{name: "inspector", script: "inspector.test.mjs", packages: []string{"@modelcontextprotocol/inspector"}},
	{name: "conformance", script: "conformance.test.mjs", packages: []string{"@modelcontextprotocol/conformance@>=0.2.0-alpha.12"}},
	{name: "go", script: "openai_test.go", packages: []string{"github.com/openai/openai-go/v3"}},

	{name: "langchain-js", script: "langchain.mjs", packages: []string{"@langchain/core@1.4.0", "@langchain/openai@1.6.0", "@langchain/anthropic@1.5.11", "@langchain/ollama@1.3.0", "zod@4"}},
	{name: "langchain", script: "libraries.py", packages: []string{"langchain-anthropic==1.7.10", "langchain-openai==1.7.4"}},
	{name: "litellm", script: "libraries.py", packages: []string{"litellm==1.110.2"}},
	{name: "llm", script: "libraries.py", packages: []string{"llm==0.36"}},
	{name: "llama-index", script: "libraries.py", packages: []string{"llama-index-llms-openai-like==0.8.1"}},
	{name: "pydantic-ai", script: "libraries.py", packages: []string{"pydantic-ai-slim[openai,anthropic]==2.68.0"}},
	{name: "openai-agents", script: "libraries.py", packages: []string{"openai-agents==0.24.0"}},
	{name: "instructor", script: "libraries.py", packages: []string{"instructor==1.17.0"}},
	{name: "protocols", script: "protocols.py", packages: []string{"a2a-sdk==1.3.0", "agent-client-protocol==0.12.1", "ag-ui-protocol==1.0.0", "httpx"}},

	{name: "claude-code", script: "programs.mjs", packages: []string{"@anthropic-ai/claude-code@2.1.332"}},
	{name: "codex", script: "programs.mjs", packages: []string{"@openai/codex@0.171.0"}},
	{name: "opencode", script: "programs.mjs", packages: []string{"opencode-ai@1.18.33"}},
	{name: "aider", script: "programs.mjs", packages: []string{"aider-chat==0.86.2"}},
}

// TestAll runs the clients of environments, pinned and newest. A failure of a newest version is
// no error.
func TestAll(t *testing.T) {
	t.Parallel()
	if os.Getenv("PONDER_CLIENTS") != "all" {
		t.Skip("runs if PONDER_CLIENTS is all")
	}
	js := node(t)
	if js == nil {
		t.Skip("what runs it is not installed")
	}
	server := start(t, "secret-of-all-clients")
	for _, versions := range []string{"pinned", "newest"} {
		for _, e := range environments {
			packages := e.versions(versions)
			if packages == nil {
				continue
			}
			t.Run(versions+"/"+e.name, func(t *testing.T) {
				dir := filepath.Join(allDir, versions, e.name)
				if err := e.install(dir, packages); err != nil {
					tallies.line("%s %s: not installed: %v", versions, e.name, err)
					t.Skip(err)
				}
				run := e.command(t, dir, js)
				out, err := server.execute(t, dir, "", run...)
				n := tallies.add(versions, e.name, out, err)
				result := "passed"
				if err != nil {
					result = "failed"
				}
				tallies.line("%s %s: %s, %d checks, %s", versions, e.name, result, n, strings.Join(e.installedVersions(dir), ", "))
				switch {
				case err == nil && n == 0:
					t.Errorf("it does not say how many checks it has made:\n%s", tail([]byte(out)))
				case err != nil && versions == "pinned":
					t.Errorf("%v\n%s\nthe server said:\n%s", err, out, server.errorOutput())
				case err != nil:
					t.Logf("%v\n%s\nthe server said:\n%s", err, out, server.errorOutput())
				}
			})
		}
	}
}

// versions returns the packages to install, or nil if none of them is pinned here.
func (e environment) versions(of string) []string {
	if of == "pinned" {
		if !slices.ContainsFunc(e.packages, isPinned) {
			return nil
		}
		return e.packages
	}
	var list []string
	for _, p := range e.packages {
		if isPinned(p) {
			p = packageName(p)
		}
		list = append(list, p)
	}
	return list
}

// isPinned reports whether a package has a version, other than a least one.
func isPinned(p string) bool { return p != packageName(p) && !strings.Contains(p, "@>=") }

// packageName returns a package without its version.
func packageName(p string) string {
	name, _, _ := strings.Cut(p, "==")
	if at := strings.LastIndex(name, "@"); at > 0 {
		name = name[:at]
	}
	return name
}

// isPython reports whether pip installs the packages.
func (e environment) isPython() bool { return filepath.Ext(e.script) == ".py" || e.name == "aider" }

func (e environment) isGo() bool { return filepath.Ext(e.script) == ".go" }

// install copies the scripts and installs the packages, at most once a day.
func (e environment) install(dir string, packages []string) error {
	if err := e.copyScripts(dir); err != nil {
		return err
	}
	state := time.Now().UTC().Format(time.DateOnly) + " " + strings.Join(packages, " ")
	note := filepath.Join(dir, ".installed")
	if was, err := os.ReadFile(note); err == nil && string(was) == state {
		return nil
	}
	var commands [][]string
	switch {
	case e.isGo():
		for _, p := range packages {
			commands = append(commands, []string{"go", "get", p + "@latest"})
		}
		commands = append(commands, []string{"go", "mod", "tidy"})
	case e.isPython():
		uv, err := installUV()
		if err != nil {
			return err
		}
		commands = [][]string{{uv, "venv", "-q", "--allow-existing", ".venv"}, append([]string{uv, "pip", "install", "-q", "-U", "--python", ".venv"}, packages...)}
	default: // programs come as packages for each system, so that no script needs to run
		npm := []string{"npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--no-save", "--fetch-retries=1", "--prefix", "."}
		commands = [][]string{append(npm, packages...)}
	}
	for _, args := range commands {
		if err := command(args...).inFolder(dir).do(4 * patience); err != nil {
			return err
		}
	}
	return os.WriteFile(note, []byte(state), 0o600)
}

// installUV returns uv, which links the files that environments share, and resolves requirements
// in seconds.
func installUV() (string, error) {
	dir, err := filepath.Abs(filepath.Join(allDir, "uv"))
	if err != nil {
		return "", err
	}
	uv := filepath.Join(dir, "bin", "uv")
	if _, err := os.Stat(uv); err == nil {
		return uv, nil
	}
	for _, args := range [][]string{{"python3", "-m", "venv", dir}, {filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "uv"}} {
		if err := command(args...).do(patience); err != nil {
			return "", err
		}
	}
	return uv, nil
}

func (e environment) copyScripts(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files := []string{"check.mjs", "checks.py", e.script}
	if e.isGo() {
		files = []string{filepath.Join("go", e.script), filepath.Join("go", "go.mod"), filepath.Join("go", "go.sum")}
	}
	for _, name := range files {
		to := filepath.Join(dir, filepath.Base(name))
		if _, err := os.Stat(to); err == nil && e.isGo() && filepath.Ext(name) != ".go" {
			continue // go get has changed it
		}
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(to, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// command returns the command that runs the script in dir.
func (e environment) command(t *testing.T, dir string, js []string) []string {
	t.Helper()
	switch {
	case e.isGo():
		bin := filepath.Join(t.TempDir(), "go.test")
		if err := command("go", "test", "-c", "-vet=off", "-o", bin, ".").inFolder(dir).do(patience); err != nil {
			t.Fatal(err)
		}
		return []string{bin, "-test.v"}
	case filepath.Ext(e.script) == ".py":
		return []string{filepath.Join(".venv", "bin", "python"), e.script}
	case e.script == "programs.mjs":
		return []string{js[0], js[1], "--test-name-pattern=^" + e.name + "$", e.script}
	}
	return append(slices.Clone(js), e.script)
}

// installedVersions returns the packages with their installed versions.
func (e environment) installedVersions(dir string) []string {
	var list []string
	for _, p := range e.packages {
		name, _, _ := strings.Cut(packageName(p), "[")
		list = append(list, name+" "+e.installedVersion(dir, name))
	}
	return list
}

func (e environment) installedVersion(dir, name string) string {
	switch {
	case e.isGo():
		text, _ := os.ReadFile(filepath.Join(dir, "go.mod"))
		_, after, _ := strings.Cut(string(text), name+" ")
		version, _, _ := strings.Cut(after, "\n")
		return version
	case e.isPython():
		pattern := strings.ReplaceAll(name, "-", "_") + "-*.dist-info"
		found, _ := filepath.Glob(filepath.Join(dir, ".venv", "lib", "*", "site-packages", pattern))
		if len(found) == 0 {
			return "?"
		}
		_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(found[0]), ".dist-info"), "-")
		return version
	}
	var p struct{ Version string }
	js, err := os.ReadFile(filepath.Join(dir, "node_modules", filepath.FromSlash(name), "package.json"))
	if errors.Is(err, fs.ErrNotExist) || json.Unmarshal(js, &p) != nil {
		return "?"
	}
	return p.Version
}
