package layers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestModule rejects go.mod directives that apply only to the main module. With them, go install and
// importing programs would build something untested.
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

// TestNotice compares the modules in NOTICE with those in the program. scripts/licences also compares their
// licences, and collects the texts for a release.
func TestNotice(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	noted := make(map[string]bool)
	_, list, _ := strings.Cut(string(text), "\nGo modules")
	for line := range strings.Lines(list) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			noted[name] = true
		}
	}
	inProgram := make(map[string]bool)
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./cmd/ponder")
		list.Dir, list.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system)
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%v: %v", list, err)
		}
		for _, name := range strings.Fields(string(out)) {
			inProgram[name] = true
		}
	}
	for name := range inProgram {
		if !noted[name] {
			t.Errorf("NOTICE lacks %s: see scripts/licences", name)
		}
	}
	for name := range noted {
		if !inProgram[name] {
			t.Errorf("NOTICE has %s, which the program does not contain", name)
		}
	}
}

// TestExamples compiles the examples in a separate module, like programs of users.
func TestExamples(t *testing.T) {
	programs, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	ours, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", []byte("module example.org/outside\n\ngo 1.26.0\n"))
	write("go.work", fmt.Appendf(nil, "go 1.26.0\n\nuse (\n\t.\n\t%q\n)\n", ours))
	for _, program := range programs {
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(filepath.Base(filepath.Dir(program)), "main.go"), text)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "bin")+"/", "./...")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK="+filepath.Join(dir, "go.work"), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	if built, err := os.ReadDir(filepath.Join(dir, "bin")); err != nil || len(built) != len(programs) {
		t.Errorf("built %v of %q: %v", built, programs, err)
	}
}

// TestDependencies checks that docs/dependencies.md has a reason for each module that go.mod requires
// directly.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := 0
	for line := range strings.Lines(string(mod)) {
		path, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || line[0] != '\t' || strings.Contains(version, "// indirect") {
			continue
		}
		if direct++; !strings.Contains(string(doc), "`"+path+"`") {
			t.Errorf("docs/dependencies.md does not name %s", path)
		}
	}
	if direct < 30 {
		t.Errorf("found %d direct requirements", direct)
	}
}
