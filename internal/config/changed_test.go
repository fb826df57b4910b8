package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHasChanged(t *testing.T) {
	dir := t.TempDir()
	file, project := filepath.Join(dir, "config.toml"), filepath.Join(dir, projectFile)
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "log_level = \"info\"\n")
	c, err := Load(Source{File: file, Dir: dir, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name   string
		change func()
		want   bool
	}{
		{"nothing", func() {}, false},
		{"the user's file", func() { write(file, "log_level = \"error\"\n") }, true},
		{"nothing more", func() {}, false},
		{"a new file of the project", func() { write(project, "[budgets]\ncalls = 3\n") }, true},
		{"its removal", func() { os.Remove(project) }, true},
		{"nothing at the end", func() {}, false},
	}
	for _, s := range steps {
		if s.change(); c.HasChanged() != s.want {
			t.Errorf("%s: want %v", s.name, s.want)
		}
	}
}
