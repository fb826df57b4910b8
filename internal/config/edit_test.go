package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

func TestSet(t *testing.T) {
	tests := []struct{ name, before, key, value, after, shown string }{
		{"into nothing", "", "models.fast", "ollama/llama3.1", "[models]\nfast = \"ollama/llama3.1\"\n", "ollama/llama3.1"},
		{"bare is true", "", "enable_thinking", "", "enable_thinking = true\n", "true"},
		{"in place, with its comment", "# top\n[models] # m\nfast = \"a/b\"   # why\nslow='c/d'\n", "models.fast", "x/y",
			"# top\n[models] # m\nfast = \"x/y\"   # why\nslow='c/d'\n", "x/y"},
		{"behind its sisters", "[models]\nfast = 'a/b'\n\n# prices\n[budgets]\ncalls = 3\n", "models.slow", "a/b,c/d",
			"[models]\nfast = 'a/b'\nslow = [\"a/b\", \"c/d\"]\n\n# prices\n[budgets]\ncalls = 3\n", "a/b, c/d"},
		{"at the top, above a table's comment", "# a\n\n# b\n[models]\n", "enable_thinking", "off", "# a\n\nenable_thinking = false\n# b\n[models]\n", "false"},
		{"a new table", "enable_thinking = true", "budgets.for", "90m", "enable_thinking = true\n\n[budgets]\nfor = \"1h30m\"\n", "1h30m"},
		{"over several lines", "[models]\nslow = [ # two\n 'a/b',\n 'c/d' ]\nfast = 'e/f'\n", "models.slow", "x/y", "[models]\nslow = \"x/y\"\nfast = 'e/f'\n", "x/y"},
		{"price of a name with dots", "", "models.price.openai/gpt-5.2.input", "2", "[models.price.\"openai/gpt-5.2\"]\ninput = 2.0\n", "2"},
		{"written with dots", "models.fast = 'a/b'\n", "models.slow", "c/d", "models.fast = 'a/b'\nmodels.slow = \"c/d\"\n", "c/d"},
		{"windows line ends", "[budgets]\r\ncalls = 3 # few\r\ntokens = 4\r\n", "budgets.calls", "5", "[budgets]\r\ncalls = 5 # few\r\ntokens = 4\r\n", "5"},
		{"behind a byte order mark", "\ufeffenable_thinking = false\n", "enable_thinking", "true", "enable_thinking = true\n", "true"},
		{"text with quotes", "", "prompts.session", "Say \"no\".\nOften.", "[prompts]\nsession = \"Say \\\"no\\\".\\nOften.\"\n", "Say \"no\".\nOften."},
		{"instead of what is wrong", "[models]\nslow = 'nonsense'\n", "models.slow", "a/b", "[models]\nslow = \"a/b\"\n", "a/b"},
		{"instead of another type", "[models]\nslow = 3\n", "models.slow", "a/b", "[models]\nslow = \"a/b\"\n", "a/b"},
		{"instead of the first that is wrong", "[models]\nfast = 'one'\nslow = 'two'\n", "models.fast", "a/b", "[models]\nfast = \"a/b\"\nslow = 'two'\n", "a/b"},
		{"beside what is wrong", "[models]\nslow = 'nonsense'\n", "models.fast", "a/b", "[models]\nslow = 'nonsense'\nfast = \"a/b\"\n", "a/b"},
		{"a header in a string", "[prompts]\nx = '''\n[models]\nfast = 1\n'''\n", "models.fast", "a/b", "[prompts]\nx = '''\n[models]\nfast = 1\n'''\n\n[models]\nfast = \"a/b\"\n", "a/b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := writeConfigs(t, tt.before, "", nil)
			file, _ := src.userFile(src.Env)
			shown, err := Set(src, tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(file)
			if d := cmp.Diff(tt.after, string(got)); d != "" {
				t.Error(d)
			}
			if shown != tt.shown {
				t.Errorf("shown %q, want %q", shown, tt.shown)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	tests := []struct{ name, before, key, value, want string }{
		{"unknown", "", "models.fats", "a/b", `no such setting: "models.fats"`},
		{"bad value", "", "models.fast", "llama", "models.fast: \"llama\" is not a model name"},
		{"inline table", "models = { fast = 'a/b' }\n", "models.slow", "c/d", "edit "},
		{"broken file", "[models\n", "models.slow", "c/d", "config.toml:2: expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := writeConfigs(t, tt.before, "", nil)
			file, _ := src.userFile(src.Env)
			_, err := Set(src, tt.key, tt.value)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tt.want)
			}
			if got, _ := os.ReadFile(file); string(got) != tt.before {
				t.Errorf("file changed to %q", got)
			}
		})
	}
}

func TestSetKeepsModeAndLink(t *testing.T) {
	src := writeConfigs(t, "db = 'a'\n", "", nil)
	file, _ := src.userFile(src.Env)
	real := filepath.Join(t.TempDir(), "dotfile")
	if err := os.Rename(file, real); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, file); err != nil {
		t.Fatal(err)
	}
	if _, err := Set(src, "db", "b"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(file)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, _ := os.Stat(real); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, want 0640", info.Mode())
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(real), ".config-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestUnset(t *testing.T) {
	src := writeConfigs(t, "# a\n[models]\nfast = 'a/b' # gone\nslow = 'c/d'\n", "", nil)
	if _, err := Unset(src, "models.fast"); err != nil {
		t.Fatal(err)
	}
	file, _ := src.userFile(src.Env)
	got, _ := os.ReadFile(file)
	if d := cmp.Diff("# a\n[models]\nslow = 'c/d'\n", string(got)); d != "" {
		t.Error(d)
	}
}

// FuzzEdit checks that Set is refused, or sets the key and changes nothing else.
func FuzzEdit(f *testing.F) {
	f.Add("[models]\nfast = 'a/b'\n", "models.slow")
	f.Add("a = '''\n[x]'''\n[[t]]\nb=[1,\n#]\n2]", "budgets.calls")
	f.Add("models.\"price\".'x/y'.input = 1.0", "models.price.x/y.output")
	f.Fuzz(func(t *testing.T, text, name string) {
		k, ok := findKey(name)
		if !ok {
			scanEntries(text)
			return
		}
		var before, after map[string]any
		if _, err := toml.Decode(text, &before); err != nil {
			scanEntries(text)
			return
		}
		for _, value := range []string{"a/b", "7", "1h", "true", "info", "openai", "https://x"} {
			literal, err := k.literal(value)
			if err != nil {
				continue
			}
			now := setLine(text, splitName(name), literal)
			if _, err := toml.Decode(now, &after); err != nil {
				return // change refuses it
			}
			deleteKey(before, splitName(name))
			deleteKey(after, splitName(name))
			if d := cmp.Diff(before, after); d != "" && !strings.Contains(d, "{}") {
				t.Fatalf("set %s to %s in %q gives %q: %s", name, value, text, now, d)
			}
			return
		}
	})
}

func deleteKey(tree map[string]any, key []string) {
	if len(key) == 1 {
		delete(tree, key[0])
		return
	}
	if sub, ok := tree[key[0]].(map[string]any); ok {
		deleteKey(sub, key[1:])
		if len(sub) == 0 {
			delete(tree, key[0])
		}
	}
}
