package modelwindow

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ponder/llm"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "windows.json")
	f := NewFile(path)
	expect := func(model, base string, want llm.Limits, found bool) {
		t.Helper()
		l, at, ok := NewFile(path).Load(model, base)
		if l != want || ok != found || ok && time.Since(at) > time.Minute {
			t.Errorf("%s at %s: %+v of %v, %t, want %+v, %t", model, base, l, at, ok, want, found)
		}
	}
	expect("p/m", "http://a", llm.Limits{}, false)
	if err := f.Save("p/m", "http://a", llm.Limits{Context: 4096, Output: 100}); err != nil {
		t.Fatal(err)
	}
	if err := f.Save("p/m", "http://b", llm.Limits{Context: 2048, Prompt: 9}); err != nil {
		t.Fatal(err)
	}
	expect("p/m", "http://a", llm.Limits{Context: 4096, Output: 100}, true)
	expect("p/m", "http://b", llm.Limits{Context: 2048}, true)
	expect("p/n", "http://a", llm.Limits{}, false)

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := strings.ReplaceAll(string(data), time.Now().UTC().Format("2006-01-02"), "2020-01-02")
	for _, content := range []string{old, "", "[]", `{"p/m http://a":{"context":"x"}}`, `{"p/m http://a":{"context":-1,"at":"` + time.Now().UTC().Format(time.RFC3339) + `"}}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		expect("p/m", "http://a", llm.Limits{}, false)
	}
	for i := range maxEntries + 5 {
		if err := f.Save("p/m"+strconv.Itoa(i), "", llm.Limits{Context: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.read()); n > maxEntries {
		t.Errorf("%d entries, want at most %d", n, maxEntries)
	}
	expect("p/m"+strconv.Itoa(maxEntries+4), "", llm.Limits{Context: 1}, true)
	if err := NewFile(filepath.Join(path, "below", "a", "file")).Save("p/m", "", llm.Limits{}); err == nil {
		t.Error("saved below a file")
	}
}
