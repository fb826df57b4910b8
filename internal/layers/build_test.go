package layers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModule keeps out of go.mod the directives that other modules do not follow: with them,
// go install and programs that import ponder would build something else than this module's
// own tests, or nothing.
func TestModule(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(b)) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word != "" && line[0] != '\t' {
			got = append(got, word)
		}
	}
	for _, word := range got {
		if !slices.Contains([]string{"module", "go", "require", ")"}, word) {
			t.Errorf("go.mod has the directive %q", word)
		}
	}
	if !slices.Contains(got, "require") {
		t.Errorf("no requirements found in go.mod: %q", got)
	}
}
