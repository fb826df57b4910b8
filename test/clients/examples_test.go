package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The test runs the pages of ../examples: each fenced block of js or python, and of sh if it
// starts with curl, unless the line before is "<!-- not run: WHY -->". It replaces address by a
// server without a token. The package openai is the newest installed one.
const address = "http://127.0.0.1:8744"

var fence = regexp.MustCompile("(?ms)^(?:<!-- not run: ([^\n]+) -->\n)?```(\\w+)\n(.*?)^```$")

func TestExamples(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	server := start(t, "")
	run := map[string][]string{"sh": {"sh", "-eu", "-s"}, "js": node(t), "python": python(t)}
	if js := run["js"]; js != nil {
		run["js"] = []string{js[0], "--input-type=module", "-"}
	}
	ran := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, found := range fence.FindAllStringSubmatch(string(text), -1) {
			why, kind, code := found[1], found[2], found[3]
			args, known := run[kind]
			if !known || why != "" || kind == "sh" && !strings.HasPrefix(code, "curl ") {
				continue
			}
			ran++
			t.Run(fmt.Sprintf("%s-%d", filepath.Base(page), i+1), func(t *testing.T) {
				if args == nil {
					t.Skip("what runs it is not installed")
				}
				code = strings.ReplaceAll(code, address, server.url)
				code = strings.NewReplacer("from 'openai'", "from 'openai7'", "from 'ai'", "from 'ai7'").Replace(code)
				if out := server.run(t, ".", code, args...); strings.TrimSpace(out) == "" {
					t.Error("it prints nothing")
				}
			})
		}
	}
	t.Logf("%d examples", ran)
}
