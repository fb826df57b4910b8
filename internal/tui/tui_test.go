package tui

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
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

func full() Frame {
	return Frame{
		Title: "Why did the eastern granaries fail in 1316 while the western ones lasted, and what follows for storage today?",
		State: "thinking", Share: 0.412, Budget: "time 2:03 of 5:00",
		Focus:   "Which granaries were raised from the ground, and since when?",
		Writing: strings.Repeat("and then it rained ", 400) + "until the floor gave way",
		Counts:  []string{"12 thoughts", "3 of 7 questions explored", "1 synthesis", "confidence 0.62"},
		Spent:   []string{"9 calls", "14,210 tokens", "$0.0213"}, Hint: "ctrl+c pauses · a answers now", Plain: true,
	}
}

func TestRender(t *testing.T) {
	few := Frame{State: "waiting", Share: -1, Plain: true}
	over := full()
	over.Share, over.Writing, over.Focus = 1.7, "", ""
	hostile := full()
	hostile.Focus = "\x1b[2J\x1b]0;owned\x07 gone \u202egnp.exe"
	odd := full()
	odd.Share, odd.Title = math.NaN(), "なぜ東の穀倉は一三一六年に崩れ、西の穀倉は持ちこたえたのか。そして今日の貯蔵に何が言えるか。理由を述べよ"
	for _, tt := range []struct {
		name          string
		frame         Frame
		width, height int
	}{
		{"full-80", full(), 80, 24}, {"full-40", full(), 40, 24}, {"full-200", full(), 200, 24}, {"four-lines", full(), 80, 4},
		{"one-line", full(), 80, 1}, {"tiny", full(), 3, 0}, {"few", few, 80, 24}, {"over", over, 80, 24}, {"hostile", hostile, 80, 24}, {"wide-letters", odd, 80, 24},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Render(tt.frame, tt.width, tt.height)
			for row := range strings.SplitSeq(got, "\n") {
				if w := lipgloss.Width(row); w > max(tt.width, least) {
					t.Errorf("line of %d cells: %q", w, row)
				}
			}
			if n := strings.Count(got, "\n") + 1; n > max(tt.height, 1) {
				t.Errorf("%d lines, want at most %d", n, tt.height)
			}
			if strings.Contains(got, "\x1b") {
				t.Errorf("escape in a plain frame: %q", got)
			}
			golden(t, tt.name, got+"\n")
		})
	}
}

func TestRenderInColour(t *testing.T) {
	f := full()
	plain := Render(f, 80, 24)
	f.Plain = false
	coloured := Render(f, 80, 24)
	if plain == coloured || !strings.Contains(coloured, "\x1b[") {
		t.Errorf("no colour: %q", coloured)
	}
	for i, row := range strings.Split(coloured, "\n") {
		if w, want := lipgloss.Width(row), lipgloss.Width(strings.Split(plain, "\n")[i]); w != want {
			t.Errorf("line %d has %d cells in colour and %d without", i, w, want)
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
			it.Plain = true
			got := RenderItem(it, width)
			for row := range strings.SplitSeq(got, "\n") {
				if w := lipgloss.Width(row); w > width {
					t.Errorf("line of %d cells: %q", w, row)
				}
			}
			b.WriteString(got + "\n")
		}
		golden(t, fmt.Sprintf("items-%d", width), b.String())
	}
}

func TestWrap(t *testing.T) {
	in := "A paragraph that is longer than forty cells, by far.\n\n  - a bullet that is longer than forty cells\n" +
		strings.Repeat("x", 50) + "\n\tshort\n" + strings.Repeat(" ", 38) + "indented far beyond reason"
	golden(t, "wrap", Wrap(in, 40)+"\n")
	if got := Wrap(in, 400); got != in {
		t.Errorf("wide enough, and yet changed: %q", got)
	}
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", -time.Second: "0:00", 59*time.Second + 999*time.Millisecond: "0:59", 10 * time.Minute: "10:00", 25*time.Hour + time.Second: "25:00:01",
	} {
		if got := Clock(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mred\x9b0m \xff\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Clean(text); strings.ContainsAny(got, "\x1b\u009b\x07\u202e\r") {
			t.Errorf("%q", got)
		}
		Render(Frame{Title: text, Focus: text, Writing: text, Plain: true}, 33, 9)
		RenderItem(Item{Kind: text, Mark: text, Text: text}, 33)
	})
}

func TestPainter(t *testing.T) {
	s := newScreen(30, 6)
	p := painter{out: s}
	p.paint(nil, []string{"", "frame one", "second row"}, 30)
	p.paint([]string{"item 1"}, []string{"", "frame two", "second row"}, 30)
	p.paint([]string{"item 2", "item 3"}, []string{"", "f"}, 30)
	for i := range 9 {
		p.paint([]string{fmt.Sprintf("item %d", i+4)}, []string{"", strings.Repeat("x", 29), "f"}, 30)
	}
	s.resize(20) // the long row of the frame takes two lines now
	p.paint([]string{"item 13"}, []string{"", "narrow"}, 20)
	p.paint(nil, []string{""}, 20)
	var want []string
	for i := range 13 {
		want = append(want, fmt.Sprintf("item %d", i+1))
	}
	if d := cmp.Diff(want, s.text()); d != "" {
		t.Error(d)
	}
	before := s.writes
	p.paint(nil, []string{""}, 20)
	if s.writes != before {
		t.Error("nothing has changed and yet it was painted")
	}
}

func TestKeyName(t *testing.T) {
	for in, want := range map[string]string{"\x03": "ctrl+c", "A": "a", "\x1b[A": "", "": "", "\r": "", "é": ""} {
		if got := keyName([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
