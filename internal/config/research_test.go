package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResearchSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	text := "[research]\nmaxRounds = 2\nmaxItemsPerSource = 40\nmaxParallelQueries = 1\nforceWebSearch = true\nenableCaching = false\n" +
		"minConfidenceThreshold = 0.25\nsynthesisStrategy = \"never\"\nfor = \"90s\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(Source{File: file, Env: func(name string) string { return map[string]string{"HOME": "/home/x"}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := Research{2, 40, 1, true, &no, 0.25, "never", Duration(90e9)}
	if d := cmp.Diff(want, c.Research); d != "" {
		t.Error(d)
	}
}

func TestSetResearch(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"research.maxRounds", "7", "maxRounds = 7"},
		{"research.maxRounds", "0", "not a whole number from 1 to 20"},
		{"research.maxItemsPerSource", "41", "not a whole number from 1 to 40"},
		{"research.minConfidenceThreshold", "1", "minConfidenceThreshold = 1.0"},
		{"research.minConfidenceThreshold", "NaN", "not a number from 0 to 1"},
		{"research.synthesisStrategy", "maybe", "use one of auto, force, never"},
		{"research.enableCaching", "off", "enableCaching = false"},
	} {
		k, ok := findKey(tt.name)
		if !ok {
			t.Fatalf("there is no setting %s", tt.name)
		}
		literal, err := k.literal(tt.value)
		got := strings.TrimPrefix(tt.name, "research.") + " = " + literal
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.name, tt.value, got, tt.want)
		}
	}
}
