package tui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"
)

func openTestView(t *testing.T, width, height int, pressed func(Press)) (*View, *screen) {
	s := newScreen(t, width, height)
	v := newView(Options{Style: plain, KeyBindings: testDesk().KeyBindings})
	v.program = s.newTestProgram(v, pressed)
	v.program.startLoops(func() {})
	return v, s
}

func TestView(t *testing.T) {
	for _, size := range []Size{{40, 24}, {80, 24}, {200, 50}} {
		synctest.Test(t, func(t *testing.T) {
			v, s := openTestView(t, size.Width, size.Height, nil)
			v.Show(fullFrame())
			for i := range 30 {
				v.Print(Item{At: time.Duration(i) * time.Second, Kind: "insight", Mark: "0.50", Text: fmt.Sprintf("Thought %d.", i)})
				time.Sleep(70 * time.Millisecond)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			checkGolden(t, fmt.Sprintf("screen-%dx%d", size.Width, size.Height), s.visibleText())
			v.Close()
			if got := strings.Count(strings.Join(s.allLines(), "\n"), "Thought "); got != 30 || !s.cursor {
				t.Errorf("%d items are there, the cursor is shown: %v", got, s.cursor)
			}
			for _, row := range s.allLines() {
				if strings.Contains(row, "p pause") || strings.Contains(row, "focus") {
					t.Errorf("the block is still there: %q", row)
				}
			}
		})
	}
}

// A resized view equals one opened at the new size.
func TestViewResized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, s := openTestView(t, 120, 40, nil)
		v.Show(fullFrame())
		var want []string
		for i, size := range []Size{{120, 40}, {80, 40}, {45, 40}, {100, 12}, {60, 15}, {80, 24}} {
			s.resize(size.Width, size.Height)
			v.program.tea.Send(tea.WindowSizeMsg{Width: size.Width, Height: size.Height})
			time.Sleep(time.Second)
			v.Print(Item{At: -1, Kind: "note", Text: fmt.Sprintf("Item %d.", i)})
			want = append(want, fmt.Sprintf("Item %d.", i))
			time.Sleep(time.Second)
			synctest.Wait()
			if shown := s.visibleText(); strings.Count(shown, "p pause") != 1 || !strings.Contains(shown, "thinking") {
				t.Errorf("%v:\n%s", size, shown)
			}
		}
		v.Close()
		var got []string
		for _, row := range s.allLines() {
			if i := strings.Index(row, "Item"); i >= 0 {
				got = append(got, row[i:])
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

func TestViewPaintsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, s := openTestView(t, 80, 24, nil)
		defer v.Close()
		for i := range 1000 {
			f := fullFrame()
			f.Writing = fmt.Sprint(i, " letters")
			v.Show(f)
			v.Print(Item{Text: "x"})
			time.Sleep(10 * time.Millisecond)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.writes > 105 || s.writes < 90 {
			t.Errorf("painted %d times in ten seconds", s.writes)
		}
	})
}

func TestViewTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pressed []Press
		v, s := openTestView(t, 60, 15, func(p Press) { pressed = append(pressed, p) })
		v.Show(fullFrame())
		v.program.sendKeys("sadd Who paid?")
		time.Sleep(typingInterval + paintInterval)
		synctest.Wait()
		checkGolden(t, "typed", s.visibleText())
		v.program.sendKeys("\rp\x1b[200~d\x1b[201~")
		v.Close()
		if d := cmp.Diff([]Press{{"s", "add Who paid?"}, {"p", ""}}, pressed); d != "" {
			t.Error(d)
		}
	})
}

// The list of questions scrolls and has whole texts.
func TestViewScrolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, s := openTestView(t, 80, 24, nil)
		defer v.Close()
		f := fullFrame()
		long := "Which of the many eastern granaries of the abbey had neither stones nor thatch, and which of them were the first to fail?"
		for i := range 30 {
			f.Tree.Branches = append(f.Tree.Branches, Branch{ID: fmt.Sprint("q", 10+i), Mark: "p1", Text: long})
		}
		v.Show(f)
		see := func(keys string, want ...string) {
			t.Helper()
			v.program.sendKeys(keys)
			time.Sleep(time.Second)
			synctest.Wait()
			for _, text := range want {
				if shown := s.visibleText(); !strings.Contains(shown, text) {
					t.Errorf("after %q there is no %q:\n%s", keys, text, shown)
				}
			}
		}
		see("q", "q1 p9", "rows 1 to ")
		see("\x1b[B", "rows 2 to ")
		see("\x1b[A\x1b[A", "rows 1 to ")
		see("\x1b[F", "q2 p5  Was it the rain?")
		see("\x1b[A", "were the first to fail?")
		see("\x1b[H", "rows 1 to ")
	})
}

// A blocked terminal does not block callers.
func TestViewStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, s := openTestView(t, 80, 24, nil)
		stuck := make(chan struct{})
		s.mu.Lock()
		s.stuck = stuck
		s.mu.Unlock()
		began := time.Now()
		for i := range 3 * maxItems {
			v.Show(fullFrame())
			v.Print(Item{Text: fmt.Sprint("item ", i, ".")})
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("waited for %v", took)
		}
		v.Close()
		if took := time.Since(began); took > 2*closeTime {
			t.Errorf("closing took %v", took)
		}
		s.mu.Lock()
		s.stuck = nil
		s.mu.Unlock()
		close(stuck)
		<-v.program.ended
		all := strings.Join(s.allLines(), "\n")
		if !strings.Contains(all, "lines are left out") || !strings.Contains(all, fmt.Sprint("item ", 3*maxItems-1, ".")) {
			t.Error("what was left out is not said, or the newest is")
		}
	})
}

func TestUTF8(t *testing.T) {
	for _, tt := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false}, {"", "", "C.UTF-8", true}, {"", "", "de_DE.utf8", true}, {"C", "", "de_DE.UTF-8", false},
		{"", "en_US.UTF-8", "C", true}, {"", "", "de_DE.ISO-8859-1", false}, {"POSIX", "en_US.UTF-8", "", false},
	} {
		env := map[string]string{"LC_ALL": tt.all, "LC_CTYPE": tt.ctype, "LANG": tt.lang}
		if got := UTF8(func(name string) string { return env[name] }); got != tt.want {
			t.Errorf("%v: %v", env, got)
		}
	}
}
