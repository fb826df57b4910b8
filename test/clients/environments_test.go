package clients

import (
	"os"
	"testing"
)

func TestPackageName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"@ai-sdk/openai":                 "@ai-sdk/openai",
		"@openai/codex@0.171.0":          "@openai/codex",
		"opencode-ai@1.18.33":            "opencode-ai",
		"llm==0.36":                      "llm",
		"pydantic-ai-slim[openai]==2.68": "pydantic-ai-slim[openai]",
		"github.com/openai/openai-go/v3": "github.com/openai/openai-go/v3",
	} {
		if got := packageName(in); got != want {
			t.Errorf("packageName(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestEnvironments checks the table of the clients that the test does not always run.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, e := range environments {
		if seen[e.name] {
			t.Errorf("%s is there twice", e.name)
		}
		seen[e.name] = true
		script := e.script
		if e.isGo() {
			script = "go/" + script
		}
		if _, err := os.Stat(script); err != nil {
			t.Error(err)
		}
		for _, p := range e.versions("newest") {
			if isPinned(p) {
				t.Errorf("the newest version of %s is a pinned one", p)
			}
		}
	}
}
