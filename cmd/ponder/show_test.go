package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ponder"
	"ponder/internal/app"
	"ponder/mode/session"
)

func TestEventLines(t *testing.T) {
	var log strings.Builder
	w := &sessionScreen{cli: &cli{App: &app.App{}, log: &logSink{out: &log}}, SessionView: app.SessionView{View: session.NewView()}}
	s := w.newUI(true, nil)
	focus := func(text string) ponder.Body { return ponder.Progress{Stage: "focus", Content: text} }
	for _, b := range []ponder.Body{
		focus("One?"), focus("Two?"), ponder.SystemNote{Content: "the model fails"}, focus("One?"), focus("Two?"),
		ponder.Thought{Kind: "insight", Content: "So.", Confidence: 0.5}, focus("One?"),
	} {
		s.showEvent(ponder.Event{Body: b}, w.View)
	}
	want := `0:00 focus: One?
0:00 focus: Two?
0:00 note: the model fails
0:00 insight 0.50: So.
0:00 focus: One?
`
	if log.String() != want {
		t.Errorf("got\n%s\nwant\n%s", log.String(), want)
	}
}

// A long synthesis takes several short rows.
func TestWrapProgress(t *testing.T) {
	got := wrapProgress("0:09 synthesis 0.62: "+strings.Repeat("many words ", 40), 80)
	rows := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(rows) < 6 {
		t.Errorf("%d rows: %q", len(rows), got)
	}
	for i, row := range rows {
		if len(row) > 80 || i > 0 && !strings.HasPrefix(row, "     many") && !strings.HasPrefix(row, "     words") {
			t.Errorf("row %d of %d cells: %q", i, len(row), row)
		}
	}
	if got := wrapProgress("0:01 insight: So.", 80); got != "0:01 insight: So.\n" {
		t.Errorf("a short line: %q", got)
	}
}

func TestReflectionEndText(t *testing.T) {
	for _, tt := range []struct {
		body ponder.Body
		want string
	}{
		{ponder.InnerMonologue{Content: "So."}, "the reflection is done; /thoughts shows it, and later answers use it"},
		{ponder.Progress{Content: "no  money"}, "the reflection failed: no money; /deep asks again"},
		{ponder.RunFinished{Status: ponder.Failed, Reason: "down"}, "the reflection failed: down; /deep asks again"},
	} {
		if got := reflectionEndText(ponder.Event{Body: tt.body}); got != tt.want {
			t.Errorf("%T: %q", tt.body, got)
		}
	}
}

// Each command with --model or --preset completes it.
func TestCompleteFlags(t *testing.T) {
	root := newRoot(&cli{App: &app.App{}, log: &logSink{}})
	found := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, name := range []string{"model", "preset"} {
			if cmd.Flags().Lookup(name) == nil {
				continue
			}
			found++
			if _, ok := cmd.GetFlagCompletionFunc(name); !ok {
				t.Errorf("%s --%s does not complete", cmd.CommandPath(), name)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if found < 5 {
		t.Errorf("%d flags", found)
	}
	words, _ := completePresets(nil, nil, "")
	if got := strings.Join(words, " "); got != "quick\t5:00 moderate\t30:00 deep\t2:00:00" {
		t.Errorf("presets: %q", got)
	}
}
