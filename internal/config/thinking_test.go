package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/redact"
	"ponder/internal/retention"
	"ponder/llm"
)

func TestThinking(t *testing.T) {
	src := writeConfigs(t, "enable_thinking = 'auto'\n[thinking]\nretention = '30d'\nredact = ['a,b', 'c{1,2}', 'emails']\ntemplates = ['code-analysis', 'mine']\nper_turn = 3\n", "", nil)
	c, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	want := Thinking{Retention: "30d", Redact: Patterns{`a\x2cb`, "c{1,2}", "emails"}, Templates: []string{"code-analysis", "mine"}, PerTurn: 3}
	if d := cmp.Diff(want, c.Thinking); d != "" {
		t.Error(d)
	}
	if rule, err := c.Thinking.Rule(); err != nil || rule != (retention.Rule{Days: 30}) {
		t.Errorf("rule %v, %v", rule, err)
	}
	r, err := redact.New(redact.Options{Patterns: c.Thinking.Redact})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Text("x a,b y ccc ann@example.com"); got != "x [redacted: pattern] y [redacted: pattern][redacted: pattern] [redacted: e-mail]" {
		t.Errorf("redacted to %q", got)
	}
	if len(c.Warnings) > 0 {
		t.Error(c.Warnings)
	}
}

func TestThinkingIsOff(t *testing.T) {
	c, err := Load(writeConfigs(t, "", "", nil))
	if err != nil || c.ShouldThink("any/model", llm.Prices{}) {
		t.Errorf("the tool is offered by default: %v", err)
	}
}

func TestSetThinking(t *testing.T) {
	tests := []struct{ key, value, after, shown string }{
		{"enable_thinking", "", "enable_thinking = true\n", "true"},
		{"enable_thinking", "Auto", "enable_thinking = \"auto\"\n", "auto"},
		{"enable_thinking", "no", "enable_thinking = false\n", "false"},
		{"thinking.retention", "discard", "[thinking]\nretention = \"discard\"\n", "discard"},
		{"thinking.redact", `EMP-\d{1,6}, emails,(?i)project (a|b)`, "[thinking]\nredact = [\"EMP-\\\\d{1,6}\", \"emails\", \"(?i)project (a|b)\"]\n", `EMP-\d{1,6}, emails, (?i)project (a|b)`},
		{"thinking.templates", "code-analysis,hr-data", "[thinking]\ntemplates = [\"code-analysis\", \"hr-data\"]\n", "code-analysis, hr-data"},
		{"thinking.per_turn", "5", "[thinking]\nper_turn = 5\n", "5"},
	}
	for _, tt := range tests {
		t.Run(tt.key+" "+tt.value, func(t *testing.T) {
			src := writeConfigs(t, "", "", nil)
			shown, err := Set(src, tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			file, _ := src.userFile(src.Env)
			got, _ := readConfigFile(file)
			if d := cmp.Diff([]string{tt.after, tt.shown}, []string{got, shown}); d != "" {
				t.Error(d)
			}
			if c, err := Load(src); err != nil || c.Value(tt.key) != tt.shown {
				t.Errorf("read again: %q, %v", c.Value(tt.key), err)
			}
		})
	}
}

func TestThinkingRefuses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"enable_thinking = 'sure'\n", `:1: enable_thinking: "sure" is unknown; use true, false or auto`},
		{"enable_thinking = 2\n", `:1: enable_thinking: "2" is unknown; use true, false or auto`},
		{"[thinking]\nretention = 'a while'\n", `:2: thinking.retention: "a while" is invalid; use keep, discard, or days such as 30d`},
		{"[thinking]\nredact = ['ok', '(']\n", `:2: thinking.redact: pattern "(": missing closing )`},
		{"[thinking]\nredact = 'x*'\n", `:2: thinking.redact: pattern "x*": matches the empty text`},
		{"[thinking]\ntemplates = ['../x']\n", `:2: thinking.templates: a template name has lower-case letters`},
		{"[thinking]\nper_turn = -1\n", `:2: thinking.per_turn: "-1" is not a whole number`},
	} {
		if _, err := Load(writeConfigs(t, tt.text, "", nil)); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want %q", tt.text, err, tt.want)
		}
	}
	if _, err := Set(writeConfigs(t, "", "", nil), "thinking.redact", "("); err == nil {
		t.Error("a pattern that is none is written")
	}
}

// TestProjectMayNotSetThinking checks that a folder cannot keep thoughts or secrets in them.
func TestProjectMayNotSetThinking(t *testing.T) {
	c, err := Load(writeConfigs(t, "[thinking]\nretention='discard'\nredact=['x']\n", "enable_thinking = true\n[thinking]\nretention='keep'\nredact=[]\ntemplates=['evil']\n", nil))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Thinking{Retention: "discard", Redact: Patterns{"x"}}, c.Thinking); d != "" || c.EnableThinking != "" {
		t.Errorf("a folder has set enable_thinking %s, thinking %s", c.EnableThinking, d)
	}
	if len(c.Warnings) != 2 || !strings.Contains(c.Warnings[1], "./ponder.toml:2: ignored thinking") {
		t.Errorf("warnings %q", c.Warnings)
	}
}

func TestReasons(t *testing.T) {
	prices := llm.BuiltInPrices()
	for model, want := range map[string]bool{
		"anthropic/claude-haiku-4-5": false, "anthropic/claude-opus-4-6": false, "openrouter/anthropic/claude-sonnet-4.5": false,
		"anthropic/claude-haiku-5-5": true, "anthropic/claude-fable-5-1": true, "anthropic/claude-9": true, "anthropic/claude-3-7-sonnet-20250219": false,
		"openai/gpt-4.1": false, "openai/gpt-4o-mini": false, "openai/o3": true, "openai/o4-mini": true, "openai/gpt-5": true, "openai/gpt-5-mini": true,
		"openai/gpt-5.2": false, "openai/gpt-5.5": true, "openai/gpt-6-luna": true, "openai/gpt-5-chat-latest": false,
		"groq/openai/gpt-oss-20b": true, "groq/llama-3.3-70b-versatile": false, "ollama/llama3.1:8b": false, "ollama/deepseek-r1:7b": true, "ollama/qwen3:4b": true,
		"gemini/gemini-2.5-flash": true, "gemini/gemini-2.5-flash-lite": false, "gemini/gemini-3.8-flash": true, "gemini/gemini-2.0-flash": false,
		"xai/grok-4.20-0309-reasoning": true, "xai/grok-4.20-0309-non-reasoning": false, "mistral/mistral-large-2512": false, "mistral/magistral-medium": true,
		"lab/my-thinking-model": true, "lab/nobody-knows": false, "deepseek/deepseek-v4-pro": true, "x": false, "": false,
	} {
		if got := ReasonsByDefault(model, prices); got != want {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
		for _, s := range []struct {
			is   Switch
			want bool
		}{{"", false}, {"false", false}, {"true", true}, {Auto, !want}} {
			if got := (&Config{EnableThinking: s.is}).ShouldThink(model, prices); got != s.want {
				t.Errorf("%s with %s: %v, want %v", model, s.is, got, s.want)
			}
		}
	}
}

// FuzzParts checks that split patterns join to the original.
func FuzzParts(f *testing.F) {
	for _, s := range []string{"a,b", `\d{1,3},x`, `\Q,\E,`, "([,", `\`, ",,", ")],"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := strings.Join(splitPatterns(text), ","); got != text {
			t.Errorf("%q became %q", text, got)
		}
		var p Patterns
		if err := p.UnmarshalTOML(text); err != nil {
			return
		}
		if again := fmt.Sprint(splitPatterns(p[0])); again != "["+p[0]+"]" {
			t.Errorf("%q became %q, which is %s", text, p[0], again)
		}
	})
}
