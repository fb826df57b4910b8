package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ponder/internal/app"
	"ponder/internal/racetest"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

const root = "../.."

type block struct {
	file string
	line int
	info []string // words after the fence
	text string
}

// TestDocumentedCommandsRun runs the README's blocks marked "sh runs", and "sh runs sim"
// against the simulated server. Sessions think for at most one second.
func TestDocumentedCommandsRun(t *testing.T) {
	racetest.Skip(t, "the scripts run the same commands")
	dir := t.TempDir()
	for _, b := range codeBlocks(t, "README.md") {
		if len(b.info) < 2 || b.info[0] != "sh" || b.info[1] != "runs" {
			continue
		}
		text := strings.ReplaceAll(b.text, "go run ./cmd/ponder ", "ponder ")
		text = regexp.MustCompile(`--for \S+`).ReplaceAllString(text, "--for 1s")
		text = strings.ReplaceAll(text, "http://127.0.0.1:8800", "$SIM")
		script := "exec sh -eux block.sh\n-- block.sh --\n" + text
		if len(b.info) > 2 && b.info[2] == "sim" {
			script = "env OLLAMA_HOST=$SIM\n" + script
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("line-%d.txt", b.line)), []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	docs, err := filepath.Abs(filepath.Join(root, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	params := scriptParams(dir)
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		if err := os.Symlink(docs, filepath.Join(env.WorkDir, "docs")); err != nil {
			return err
		}
		return setup(env)
	}
	testscript.Run(t, params)
}

// TestDocumentedCommandsExist checks the commands and flags in blocks and text of documents.
func TestDocumentedCommandsExist(t *testing.T) {
	inText := regexp.MustCompile("`(ponder [a-z][^`\n]*)`")
	seen := 0
	for _, file := range listDocuments(t) {
		var lines []string
		for _, b := range codeBlocks(t, file) {
			if len(b.info) > 0 && b.info[0] == "sh" {
				lines = append(lines, strings.Split(b.text, "\n")...)
			}
		}
		for _, m := range inText.FindAllStringSubmatch(readDocument(t, file), -1) {
			lines = append(lines, m[1])
		}
		for _, line := range lines {
			line = strings.Replace(line, "go run ./cmd/ponder ", "ponder ", 1)
			if words := strings.Fields(line); len(words) > 1 && words[0] == "ponder" {
				seen++
				if err := checkCommandExists(words[1:]); err != nil {
					t.Errorf("%s: %s: %v", file, line, err)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("found only %d commands", seen)
	}
}

func checkCommandExists(words []string) error {
	cmd, rest, err := newRoot(&cli{App: &app.App{}}).Find(words)
	if err != nil {
		return err
	}
	if cmd.HasSubCommands() && !takesArgs(cmd) && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("no command %q", rest[0])
	}
	for _, word := range rest {
		if err := hasFlag(cmd, word); err != nil {
			return err
		}
	}
	return nil
}

func hasFlag(cmd *cobra.Command, word string) error {
	if name, ok := strings.CutPrefix(word, "--"); ok && cmd.Flag(name) == nil {
		return fmt.Errorf("no flag %s", word)
	}
	return nil
}

// TestLinks checks links to files and headings.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, file := range listDocuments(t) {
		for _, m := range link.FindAllStringSubmatch(readDocument(t, file), -1) {
			path, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: no file %s", file, m[1])
			} else if heading != "" && !hasHeading(readDocument(t, target), heading) {
				t.Errorf("%s: %s has no heading %s", file, target, heading)
			}
		}
	}
}

func hasHeading(text, anchor string) bool {
	other := regexp.MustCompile(`[^\p{L}\p{N} -]`)
	for line := range strings.Lines(text) {
		title := strings.TrimLeft(line, "#")
		name := other.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if title != line && strings.ReplaceAll(name, " ", "-") == anchor {
			return true
		}
	}
	return false
}

func listDocuments(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "cmd/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			rel, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, rel)
		}
	}
	if len(files) < 10 {
		t.Fatalf("found only %v", files)
	}
	return files
}

func readDocument(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func codeBlocks(t *testing.T, file string) (all []block) {
	t.Helper()
	const fence = "```"
	open := false
	n := 0
	for line := range strings.Lines(readDocument(t, file)) {
		n++
		switch {
		case strings.HasPrefix(line, fence) && !open:
			all = append(all, block{file: file, line: n, info: strings.Fields(line[len(fence):])})
			open = true
		case strings.HasPrefix(line, fence):
			open = false
		case open:
			all[len(all)-1].text += line
		}
	}
	if open {
		t.Fatalf("%s:%d: block without an end", file, all[len(all)-1].line)
	}
	return all
}
