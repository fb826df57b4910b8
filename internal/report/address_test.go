package report

import (
	"regexp"
	"strings"
	"testing"

	"ponder"
	"ponder/mode/session"
)

var anchors = regexp.MustCompile(`<(?:a|img)[^>]*>`)

// Links of an answer lead only to addresses of its sources and of the question.
func TestReportAddresses(t *testing.T) {
	const answer = "[a](https://known.example/x) [b](https://evil.example/?d=SECRET) ![c](https://evil.example/c) <https://evil.example/d> https://evil.example/e " +
		"![f](https://known.example/x) [g](https://asked.example/)\n\n[h]\n\n[h]: https://evil.example/h\n"
	d := &eventRecorder{}
	d.appendAt("0s", ponder.RunStarted{Mode: session.Name, Input: "What is on https://asked.example/?"})
	d.appendAt("1s", ponder.Evidence{ID: "e1", Source: "https://known.example/x", URL: "https://known.example/x", Title: "x", Content: "x"}, ponder.Synthesis{Content: answer, Final: true})
	d.appendAt("2s", ponder.RunFinished{Status: ponder.Completed, Answer: answer})
	page, err := HTML(d.sessionView())
	if err != nil {
		t.Fatal(err)
	}
	r := Research{Question: "What is on https://asked.example/?", Answer: answer, Evidence: []Evidence{{ID: "e1", URL: "https://known.example/x", Source: "https://known.example/x"}}}
	research, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	shown, _, _ := strings.Cut(string(research), "<script")
	for name, page := range map[string]string{"session": string(page), "research": shown} {
		if strings.Contains(page, `="https://evil`) || strings.Count(page, `href="https://known.example/x"`) < 2 || !strings.Contains(page, `href="https://asked.example/"`) {
			t.Errorf("%s: %q", name, anchors.FindAllString(page, -1))
		}
		if !strings.Contains(page, "<code>https://evil.example/?d=SECRET</code>") {
			t.Errorf("%s hides the address", name)
		}
	}
	if md := Markdown(d.sessionView()); strings.Contains(md, "(https://evil") || strings.Contains(md, "(<https://evil") || strings.Contains(md, "![") || !strings.Contains(md, "`https://evil.example/e`") {
		t.Error(md)
	}
}
