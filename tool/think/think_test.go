package think

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/redact"
)

func TestTool(t *testing.T) {
	tool := New(Options{})
	if tool.Name != "think" || tool.Doc != "A tool for the model to reason through complex problems. This is an internal tool that doesn't produce visible output to the user." {
		t.Errorf("%s: %q", tool.Name, tool.Doc)
	}
	for _, tt := range []struct{ name, in, want, err string }{
		{"a thought", `{"thought":"hm"}`, "Noted.", ""},
		{"a long one", `{"thought":"` + strings.Repeat("x", 1<<20) + `"}`, "Noted.", ""},
		{"an empty one", `{"thought":" \n"}`, "", ""},
		{"none", `{}`, "", "think: the arguments need a thought, as text"},
		{"of another type", `{"thought":7}`, "", "input of think: thought must be of type string, not number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tool.Do(t.Context(), json.RawMessage(tt.in))
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Errorf("%q, %v; want %q, %q", got, err, tt.want, tt.err)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	r, err := redact.New(redact.Options{Patterns: []string{"Titan"}})
	if err != nil {
		t.Fatal(err)
	}
	in := json.RawMessage(`{"thought":"Titan: password=hunter2"}`)
	for _, tt := range []struct {
		tool ponder.Tool
		want string
	}{
		{New(Options{}), `{"thought":"Titan: password=[redacted: password]"}`},
		{New(Options{Redact: r}), `{"thought":"[redacted: pattern]: password=[redacted: password]"}`},
	} {
		if got := string(tt.tool.Redact(in)); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestLog(t *testing.T) {
	for _, tt := range []struct {
		name  string
		level slog.Level
		ev    ponder.Event
		want  string
	}{
		{"a thought", slog.LevelDebug, ponder.Event{ID: "evt_1", Thread: "thr_1", Body: ponder.Thought{Kind: Name, Content: "hm"}}, `level=DEBUG msg="model thought" thread=thr_1 event=evt_1 thought=hm`},
		{"not for debugging", slog.LevelInfo, ponder.Event{Body: ponder.Thought{Kind: Name, Content: "hm"}}, ""},
		{"of a session", slog.LevelDebug, ponder.Event{Body: ponder.Thought{Kind: "insight", Content: "hm"}}, ""},
		{"something else", slog.LevelDebug, ponder.Event{Body: ponder.UserMessage{Content: "hm"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			drop := func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}
			Log(t.Context(), slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: tt.level, ReplaceAttr: drop})), tt.ev)
			if got := strings.TrimSpace(out.String()); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func writeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTemplates(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"cooking.md": "## Cooking\n\nTaste.\n", "hr-data.md": "## Ours\n", "notes.txt": "no template", "Bad Name.md": "x", "empty.md": " \n",
		"large.md": strings.Repeat("x", MaxTemplate+1), "binary.md": "\xff\xfe",
	})
	if err := os.Mkdir(filepath.Join(dir, "folder.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"code-analysis", "cooking", "financial-reasoning", "hr-data", "security-assessment"}, all.Names()); d != "" {
		t.Error(d)
	}
	got, err := all.Rules("cooking", "hr-data", "cooking")
	if want := strings.TrimSpace(rules) + "\n\n## Cooking\n\nTaste.\n\n## Ours"; err != nil || got != want {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
	for name, want := range map[string]string{
		"nothing": `template "nothing" does not exist; use one of code-analysis, cooking, financial-reasoning, hr-data, security-assessment`,
		"large":   "large.md: more than 16384 bytes", "binary": "binary.md: not text in UTF-8", "empty": "empty.md: it is empty", "folder": "folder.md: a folder, not a file",
		"Bad Name": "its name may have small letters, digits and hyphens", "../x": `template "../x" does not exist`, "notes": `template "notes" does not exist`,
	} {
		if _, err := all.Rules(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if _, err := Open(filepath.Join(dir, "not", "there")); err != nil {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(dir, "cooking.md")); err == nil {
		t.Error("a file is opened as a folder")
	}
}

func TestRules(t *testing.T) {
	got, err := Rules("code-analysis", "hr-data", "financial-reasoning", "security-assessment")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"never sees it", "several steps that depend on each other", "several constraints", "what several tools returned", "plan a series of actions", "cause of an error",
		"trade-offs", "Do not use it for what is straightforward", "looking up a fact", "summaries", "what exactly is to be worked out", "Go in steps", "more than one side",
		"before a decision or the next tool", "## Thinking about code", "## Thinking about data on people", "## Thinking about money", "## Thinking about security",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the rules do not say %q", want)
		}
	}
	if plain, err := Rules(); err != nil || len(plain) > 2000 {
		t.Errorf("the rules have %d bytes, %v; they are read with every turn", len(plain), err)
	}
}

func TestLimits(t *testing.T) {
	files := map[string]string{}
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		files[name+".md"] = strings.Repeat("x", MaxTemplate)
	}
	all, err := Open(writeFolder(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Rules(names...); err == nil || !strings.Contains(err.Error(), "a, b, c have more than 49152 bytes together") {
		t.Errorf("error %v", err)
	}
}

// Rules returns the rules with built-in templates.
func Rules(names ...string) (string, error) {
	t, err := Open("")
	if err != nil {
		return "", err
	}
	return t.Rules(names...)
}
