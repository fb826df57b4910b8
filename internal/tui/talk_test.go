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

func TestDraft(t *testing.T) {
	for _, tt := range []struct{ name, keys, want string }{
		{"a line", "hello\r", "hello"},
		{"two lines", "hello\\\rworld\r", "hello\nworld"},
		{"two lines by alt", "hello\x1b\rworld\r", "hello\nworld"},
		{"a backslash in it", `a\b` + "\r", `a\b`},
		{"pasted", "a \x1b[200~one\ntwo\n\nthree\x1b[201~ b\r", "a one\ntwo\n\nthree b"},
		{"pasted before", "ab\x1b[D\x1b[200~1\n2\x1b[201~\r", "a1\n2b"},
		{"lines joined by backspace", "ab\\\rcd\x01\x7f\x7f\r", "acd"},
		{"lines joined by delete", "ab\\\rcd\x1b[A\x05\x1b[3~\r", "abcd"},
		{"up, and changed", "ab\\\rcd\x1b[Ax\r", "abx\ncd"},
		{"cleared", "ab\\\rcd\x03ef\r", "ef"},
		{"the one before", "one\rtwo\r\x1b[A\x1b[A\r", "one|two|one"},
		{"what was being typed", "one\rtw\x1b[A\x1b[Bo\r", "one|two"},
		{"several lines of before", "a\\\rb\rc\r\x1b[A\x1b[A\r", "a\nb|c|a\nb"},
		{"nothing", "\r \r\x03\x04", "^c|^d"},
		{"steering", "a\u202eb\r", "ab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			talk := newChatView(ChatViewOptions{Style: plain}, true)
			talk.editor.visibleRows(40, 5)
			var got []string
			for _, msg := range decodeKeys(tt.keys) {
				if press := talk.handleMsgLocked(msg); press != nil {
					got = append(got, map[string]string{Enter: press.Line, Interrupt: "^c", Leave: "^d"}[press.Key])
				}
			}
			if d := cmp.Diff(tt.want, strings.Join(got, "|")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDraftRows(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		back, n    int // keys to the left, rows
		want       string
		row, col   int
	}{
		{"empty", "", 0, 5, ">", 0, 2},
		{"short", "ab", 1, 5, "> ab", 0, 3},
		{"full", "abcdefgh", 0, 5, "> abcdefgh\n", 1, 2},
		{"wrapped", "abcdefghij", 1, 5, "> abcdefgh\n  ij", 1, 3},
		{"lines", "ab\ncdefghijk", 2, 5, "> ab\n  cdefghij\n  k", 1, 9},
		{"too many", "a\nb\nc\nd", 0, 2, "  c\n  d", 1, 3},
		{"wide letters", "穀倉穀倉穀", 0, 5, "> 穀倉穀倉\n  穀", 1, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newEditor("> ", false, plain)
			e.visibleRows(10, tt.n)
			e.handleMsg(tea.PasteMsg{Content: tt.text})
			for range tt.back {
				e.handleMsg(tea.KeyPressMsg{Code: tea.KeyLeft})
			}
			rows, at := e.visibleRows(10, tt.n)
			if diff := cmp.Diff(tt.want, strings.Join(rows, "\n")); diff != "" || at != (cursorPos{tt.row, tt.col}) {
				t.Errorf("the cursor is at %v, want %v: %s", at, cursorPos{tt.row, tt.col}, diff)
			}
		})
	}
}

func openTestChat(t *testing.T, width, height int, entered func(Press)) (*ChatView, *screen) {
	s := newScreen(t, width, height)
	talk := newChatView(ChatViewOptions{Style: plain, Hint: func(string) Hint { return Hint{"/deep [topic]", "/deep "} }}, true)
	talk.program = s.newTestProgram(talk, entered)
	talk.program.startLoops(func() {})
	return talk, s
}

func TestTalk(t *testing.T) {
	for _, width := range []int{40, 60, 90} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			talk, s := openTestChat(t, width, 12, func(p Press) { got = append(got, p.Line) })
			talk.program.sendKeys("Why is the sky blue?\\\rAnd the sea?\r/de\t")
			talk.Show(Typed, got[0])
			talk.SetStatus("answering", nil)
			text := "# The sky\n\n- It is the **air**, which scatters what is blue of the light of the sun more than what is red.\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\nSo it is."
			for _, r := range text {
				talk.Show(Piece, string(r))
				time.Sleep(3 * time.Millisecond)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			checkGolden(t, fmt.Sprintf("talk-%d", width), s.visibleText())
			talk.Show(Ended, "")
			talk.SetStatus("", nil)
			talk.Show(Remark, "thinking about it in the background")
			time.Sleep(time.Second)
			synctest.Wait()
			checkGolden(t, fmt.Sprintf("talk-%d-ended", width), strings.Join(s.allLines(), "\n"))
			talk.Close()
			if all := strings.Join(s.allLines(), "\n"); !s.cursor || strings.Contains(all, "/deep") || strings.Count(all, "So it is.") != 1 {
				t.Errorf("the cursor is shown: %v, and the terminal has\n%s", s.cursor, all)
			}
		})
	}
}

// TestTalkResized resizes the terminal while text grows and input is typed. Each line appears
// once.
func TestTalkResized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		talk, s := openTestChat(t, 60, 20, nil)
		for i := range 60 {
			talk.Show(Piece, fmt.Sprintf("Line %d. \n", i))
			talk.program.sendKeys("a long message that is typed ")
			if i%7 == 0 {
				s.resize(40+i, 12+i%9)
				talk.program.tea.Send(tea.WindowSizeMsg{Width: 40 + i, Height: 12 + i%9})
			}
			time.Sleep(50 * time.Millisecond)
		}
		talk.Close()
		all := strings.Join(s.allLines(), "\n")
		for i := range 60 {
			if n := strings.Count(all, fmt.Sprintf("Line %d.", i)); n != 1 {
				t.Errorf("line %d is there %d times:\n%s", i, n, all)
			}
		}
	})
}
