package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

func decodeKeys(in string) (msgs []tea.Msg) {
	events := make(chan uv.Event, 10_000)
	_ = uv.NewTerminalReader(strings.NewReader(in), "xterm").StreamEvents(context.Background(), events)
	close(events)
	for ev := range events {
		switch ev := ev.(type) {
		case uv.KeyPressEvent:
			msgs = append(msgs, cleanMsg(tea.KeyPressMsg(ev)))
		case uv.PasteEvent:
			msgs = append(msgs, cleanMsg(tea.PasteMsg(ev)))
		}
	}
	return msgs
}

func (p *program) sendKeys(in string) {
	for _, msg := range decodeKeys(in) {
		p.tea.Send(msg)
	}
}

func TestKeys(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"letters", "aé穀", "aé穀"},
		{"text that steers", "a\u202eb", "ab"},
		{"controls", "\x03|\x1c|\x15|\x17|\r|\n|\t|\x7f", "<ctrl+c>|<ctrl+c>|<ctrl+u>|<ctrl+w>|<enter>|<enter>|<tab>|<backspace>"},
		{"arrows", "\x1b[A\x1b[B\x1bOC\x1b[D\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~", "<up><down><right><left><home><end><home><end><delete>"},
		{"of no use", "\x1b[<0;3;4M\x1b]11;rgb:0/0/0\x07\x1bP1$r\x1b\\a", "a"},
		{"escape", "\x1b", "<esc>"},
		{"a new line", "\x1b\r", "<alt+enter>"},
		{"paste", "\x1b[200~drop\rq3\x1b[31m\ta\x1b[201~b", "[drop\nq3 a]b"},
		{"paste that is huge", "\x1b[200~" + strings.Repeat("x", 2*maxPaste) + "\x1b[201~", "[" + strings.Repeat("x", maxPaste) + "]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			for _, msg := range decodeKeys(tt.in) {
				switch msg := msg.(type) {
				case tea.PasteMsg:
					b.WriteString("[" + msg.Content + "]")
				case tea.KeyPressMsg:
					if b.WriteString(msg.Text); msg.Text == "" {
						b.WriteString("<" + keyName(msg) + ">")
					}
				}
			}
			if got := b.String(); got != tt.want {
				t.Errorf("%.200q, want %.200q", got, tt.want)
			}
		})
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("s\x1b[200~add \xe7\xa9\x80\x1b[201~\x1b[D\x17\r"))
	f.Add([]byte("sadd What?\rsx\x1b[A\tq?aypd\x03"))
	f.Fuzz(func(t *testing.T, in []byte) {
		desk := newKeyPanel(testBindings(), plain)
		for _, msg := range decodeKeys(string(in[:min(len(in), 200)])) {
			if press := desk.handleMsg(msg); press != nil && hasControl(press.Line) {
				t.Errorf("a control character in %q", press.Line)
			}
			for _, width := range []int{20, 61} {
				foot, at := desk.renderFoot(width, plain)
				for _, row := range foot.Rows {
					if hasControl(row) {
						t.Errorf("a control character in %q", row)
					}
				}
				if at.column >= width {
					t.Errorf("the cursor is in column %d of %d", at.column, width)
				}
			}
		}
	})
}

func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}
