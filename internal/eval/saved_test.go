package eval

import (
	"os"
	"path/filepath"
	"testing"

	"ponder/internal/config"
)

func TestSavedReports(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Source{File: file, Env: func(name string) string { return map[string]string{"HOME": dir, "XDG_STATE_HOME": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := SavedReports(cfg); err != nil || len(list) > 0 {
		t.Fatalf("%v %v", list, err)
	}
	right := 0.5
	for _, name := range []string{"/a/first.jsonl", "second.jsonl", "../x/first.jsonl"} {
		p := &Plan{File: name, Judge: "test/judge"}
		if err := p.Save(cfg, Report{Questions: 2, Variants: []Variant{{Name: "plain", Right: &right}}, Comparisons: []Comparison{{Variant: "think", Interval: Interval{-0.1, 0.3}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ponder", "evaluations", "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := SavedReports(cfg)
	if err != nil || len(list) != 2 || list[0].Name != "first" || list[1].Name != "second" || *list[0].Report.Variants[0].Right != right || list[0].Report.Comparisons[0].Interval.High != 0.3 || list[0].Judge != "test/judge" {
		t.Errorf("%+v %v", list, err)
	}
}
