package tui

import (
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ponder/internal/textkit"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

func fullFrame() Frame {
	return Frame{
		Title: "Why did the eastern granaries fail in 1316 while the western ones lasted, and what follows for storage today?",
		State: "thinking", Share: 0.412, Budget: "2:03 of 5:00", Left: "2:57 left",
		Foci:    []string{"q3 Which granaries were raised from the ground, and since when?", "q4 Who paid for the stones?"},
		Writing: "312 letters",
		Counts:  []string{"12 thoughts", "3 of 9 explored", "5 syntheses"},
		Spent:   []string{"9 of 40 calls", "14,210 tokens", "$0.0213"},
		Chart:   Chart{Label: "confidence", Values: []float64{0.2, 0.41, 0.55, 0.5, 0.62}, Note: "0.62 (uncalibrated), converging"},
		Tree: Tree{Label: "questions", Branches: []Branch{
			{ID: "q1", Mark: "p9", Text: "What differs between the regions?", State: Done, Weight: 9},
			{ID: "q2", Mark: "p5", Text: "Was it the rain?", State: Dropped, Weight: 5},
			{ID: "q3", Parent: "q1", Mark: "p8", Text: "Which granaries were raised from the ground, and since when?", State: Active, Weight: 8},
			{ID: "q4", Parent: "q3", Mark: "p7", Text: "Who paid for the stones?", State: Active, Weight: 7},
			{ID: "q5", Parent: "q3", Mark: "p4", Text: "Are staddle stones known from earlier centuries, and from where?", Weight: 4},
			{ID: "q6", Mark: "p6", Text: "What became of the rats?", Weight: 6},
			{ID: "q7", Parent: "q5", Mark: "p3", Text: "Who wrote of them?", Weight: 3},
			{ID: "q8", Mark: "p3", Text: "Is the tithe roll of 1317 whole?", State: Done, Weight: 3},
			{ID: "q9", Mark: "p2", Text: "What would a modern silo have done?", Weight: 2},
		}},
	}
}

func testBindings() KeyBindings {
	return KeyBindings{Controls: []Control{
		{Key: "p", Name: "pause", About: "pause, and go on"},
		{Key: "s", Name: "steer", About: "say what to think about", Prompt: "steer> ", Rank: 3},
		{Key: "a", Name: "answer now", About: "conclude from what there is", Ask: "Answer now, from what there is?", Rank: 1},
		{Key: "d", Name: "detach", About: "leave it to think in the background", Rank: 4},
	}}
}

var plain = Style{Plain: true}

func TestRender(t *testing.T) {
	few := Frame{State: "waiting", Share: -1}
	over := fullFrame()
	over.Share, over.Writing, over.Foci, over.Tree, over.Chart = 1.7, "", nil, Tree{}, Chart{}
	hostile := fullFrame()
	hostile.Foci = []string{"\x1b[2J\x1b]0;owned\x07 gone \u202egnp.exe"}
	hostile.Tree.Branches[5].Text, hostile.Tree.Branches[5].ID = "\x1b[31m\nred", "q6\r"
	odd := fullFrame()
	odd.Share, odd.Title = math.NaN(), "なぜ東の穀倉は一三一六年に崩れ、西の穀倉は持ちこたえたのか。そして今日の貯蔵に何が言えるか。理由を述べよ"
	odd.Foci = []string{"q1 " + odd.Title}
	circle := fullFrame()
	circle.Tree.Branches[0].Parent, circle.Tree.Branches[2].Parent = "q3", "q3"
	for _, tt := range []struct {
		name          string
		frame         Frame
		width, height int
		desk          keyPanel
		style         Style
	}{
		{"full-80x24", fullFrame(), 80, 24, keyPanel{}, plain},
		{"full-40x24", fullFrame(), 40, 24, keyPanel{}, plain},
		{"full-200x50", fullFrame(), 200, 50, keyPanel{}, plain},
		{"full-60x15", fullFrame(), 60, 15, keyPanel{}, plain},
		{"full-80x10", fullFrame(), 80, 10, keyPanel{}, plain},
		{"ascii", fullFrame(), 80, 30, keyPanel{}, Style{Plain: true, ASCII: true}},
		{"wide-80x24", fullFrame(), 80, 24, keyPanel{wide: true}, plain},
		{"help-80x24", fullFrame(), 80, 24, keyPanel{help: true}, plain},
		{"help-40x15", fullFrame(), 40, 15, keyPanel{help: true}, plain},
		{"three-lines", fullFrame(), 80, 3, keyPanel{}, plain},
		{"tiny", fullFrame(), 3, 0, keyPanel{}, plain},
		{"few", few, 80, 24, keyPanel{}, plain},
		{"over", over, 80, 24, keyPanel{}, plain},
		{"hostile", hostile, 80, 40, keyPanel{}, plain},
		{"wide-letters", odd, 80, 24, keyPanel{}, plain},
		{"circle", circle, 80, 40, keyPanel{}, plain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.desk.KeyBindings = testBindings()
			foot, _ := tt.desk.renderFoot(Size{tt.width, tt.height}.innerWidth(), tt.style)
			rows, _ := Render(tt.frame, foot, Size{tt.width, tt.height}, tt.style)
			got := strings.Join(rows, "\n")
			for _, row := range rows {
				if w := lipgloss.Width(row); w >= max(tt.width, minWidth+1) {
					t.Errorf("line of %d cells: %q", w, row)
				}
			}
			if n, rowLimit := len(rows), max(tt.height-2, 1); n > rowLimit {
				t.Errorf("%d lines, want at most %d", n, rowLimit)
			}
			if strings.ContainsAny(got, "\x1b\r") {
				t.Errorf("escape in a plain frame: %q", got)
			}
			if i := strings.IndexFunc(got, func(r rune) bool { return r > 127 }); tt.style.ASCII && i >= 0 {
				t.Errorf("not ASCII: %q", got[i:])
			}
			checkGolden(t, tt.name, got+"\n")
		})
	}
}

func TestRenderInColour(t *testing.T) {
	for _, size := range []Size{{80, 24}, {200, 60}, {45, 15}} {
		d := &keyPanel{KeyBindings: testBindings()}
		foot, _ := d.renderFoot(size.innerWidth(), plain)
		without, _ := Render(fullFrame(), foot, size, plain)
		foot, _ = d.renderFoot(size.innerWidth(), Style{})
		with, _ := Render(fullFrame(), foot, size, Style{})
		if len(with) != len(without) || !strings.Contains(strings.Join(with, ""), "\x1b[") {
			t.Fatalf("%v: no colour: %q", size, with)
		}
		for i, row := range with {
			if got := ansi.Strip(row); got != without[i] {
				t.Errorf("%v: line %d is %q in colour and %q without", size, i, got, without[i])
			}
		}
	}
}

func TestRenderItem(t *testing.T) {
	items := []Item{
		{At: 7 * time.Second, Kind: "exploration", Mark: "0.55", Text: "The western granaries stood on staddle stones, which keep both damp and rats away from grain, and the eastern ones did not."},
		{At: time.Hour + 2*time.Minute + 3*time.Second, Kind: "question", Mark: "p9", Text: "Who paid?", Tone: Bright},
		{At: 5 * time.Minute, Kind: "synthesis", Mark: "0.65", Text: "Damp, not rain.\n\n- staddle stones\n- thatch\twith clay", Tone: Strong},
		{At: -1, Kind: "note", Text: "\x1b]52;c;ZXZpbA==\x07harmless", Tone: Quiet},
		{At: time.Second, Kind: "a kind too long", Mark: "0.12345", Text: ""},
	}
	for _, width := range []int{80, 45} {
		var b strings.Builder
		for _, it := range items {
			got := RenderItem(it, width, plain)
			for row := range strings.SplitSeq(got, "\n") {
				if w := lipgloss.Width(row); w > width {
					t.Errorf("line of %d cells: %q", w, row)
				}
			}
			b.WriteString(got + "\n")
		}
		checkGolden(t, fmt.Sprintf("items-%d", width), b.String())
	}
}

func TestWrap(t *testing.T) {
	in := "A paragraph that is longer than forty cells, by far.\n\n  - a bullet that is longer than forty cells\n" +
		strings.Repeat("x", 50) + "\n\tshort\n" + strings.Repeat(" ", 38) + "indented far beyond reason"
	checkGolden(t, "wrap", Wrap(in, 40)+"\n")
	if got := Wrap(in, 400); got != in {
		t.Errorf("wide enough, and yet changed: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x9b0m \xff\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		if got := textkit.Clean(text); strings.ContainsAny(got, "\x1b\u009b\x07\u202e\r") {
			t.Errorf("%q", got)
		}
		frame := Frame{Title: text, Foci: []string{text, text}, Writing: text, Chart: Chart{text, []float64{0, 1}, text}, Counts: []string{text}}
		frame.Tree.Branches = []Branch{{ID: text, Text: text}, {ID: "2", Parent: text, Mark: text, State: State(len(text))}, {ID: "3"}}
		for _, s := range []Style{plain, {Plain: true, ASCII: true}} {
			rows, _ := Render(frame, Footer{}, Size{61, 30}, s)
			for _, row := range rows {
				if w := lipgloss.Width(row); w > 60 || strings.ContainsAny(row, "\n\x1b") {
					t.Errorf("%d cells: %q", w, row)
				}
			}
			for row := range strings.SplitSeq(RenderItem(Item{Kind: text, Mark: text, Text: text}, 33, s), "\n") {
				if w := lipgloss.Width(row); w > 33 {
					t.Errorf("%d cells: %q", w, row)
				}
			}
		}
	})
}

// contrasts returns the contrast of a colour with white and with black.
func contrasts(c color.Color) (white, black float64) {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		x := float64(v) / 0xffff
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	l := 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
	return 1.05 / (l + 0.05), (l + 0.05) / 0.05
}

// On a terminal with 16 colours, the four kinds of thought differ and are readable on white and
// on black. The colours are xterm's.
func TestSixteenColours(t *testing.T) {
	palette := map[string]color.RGBA{
		"31": {205, 0, 0, 255}, "32": {0, 205, 0, 255}, "33": {205, 205, 0, 255}, "34": {0, 0, 238, 255}, "35": {205, 0, 205, 255}, "36": {0, 205, 205, 255}, "37": {229, 229, 229, 255},
		"91": {255, 0, 0, 255}, "92": {0, 255, 0, 255}, "93": {255, 255, 0, 255}, "94": {92, 92, 255, 255}, "95": {255, 0, 255, 255}, "96": {0, 255, 255, 255}, "97": {255, 255, 255, 255},
	}
	seen := make(map[string]string)
	for _, kind := range []string{"exploration", "critique", "connection", "insight"} {
		row := reduceColours(RenderItem(Item{Kind: kind, Text: "So.", Tone: ThoughtTone(kind)}, 80, Style{}), colourProfile([]string{"TERM=xterm"}))
		m := regexp.MustCompile(`\x1b\[(\d+)m` + kind).FindStringSubmatch(row)
		if m == nil {
			t.Fatalf("%s has no colour: %q", kind, row)
		}
		if other, ok := seen[m[1]]; ok {
			t.Errorf("%s looks like %s", kind, other)
		}
		seen[m[1]] = kind
		c, ok := palette[m[1]]
		if white, black := contrasts(c); !ok || white < 3.5 || black < 3.5 {
			t.Errorf("%s has colour %s: a contrast of %.1f on white, %.1f on black", kind, m[1], white, black)
		}
	}
}

// The kinds of thought have distinct colours. Each colour is readable on white and on black.
func TestColours(t *testing.T) {
	seen := make(map[color.Color]string)
	for _, kind := range []string{"exploration", "critique", "connection", "insight", "other"} {
		c := toneStyle(ThoughtTone(kind)).GetForeground()
		if other, ok := seen[c]; ok {
			t.Errorf("%s looks like %s", kind, other)
		}
		seen[c] = kind
	}
	for _, tone := range []Tone{Normal, Bright, Strong, Alarm, Exploration, Critique, Connection, Insight} {
		if white, black := contrasts(toneStyle(tone).GetForeground()); white < 3.8 || black < 3.8 {
			t.Errorf("tone %d: a contrast of %.1f on white, %.1f on black", tone, white, black)
		}
		it := Item{Kind: "insight", Text: "So.", Tone: tone}
		if got := RenderItem(it, 80, plain); strings.Contains(got, "\x1b") {
			t.Errorf("colour without colours: %q", got)
		}
	}
}

func TestColourProfile(t *testing.T) {
	for env, want := range map[string]colorprofile.Profile{
		"TERM=xterm": colorprofile.ANSI, "TERM=xterm-256color": colorprofile.ANSI256, "COLORTERM=truecolor": colorprofile.ANSI256,
	} {
		if got := colourProfile([]string{env}); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}
