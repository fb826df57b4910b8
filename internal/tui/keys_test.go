package tui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func text(s string) key { return key{text: s} }

func TestDecoder(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []key
	}{
		{"letters", "aé穀", []key{text("a"), text("é"), text("穀")}},
		{"controls", "\x03\x1c\x15\x17\r\n\t\x7f\x08\x00", []key{
			{name: "ctrl+c"}, {name: "ctrl+c"}, {name: "ctrl+u"}, {name: "ctrl+w"}, {name: "enter"}, {name: "enter"}, {name: "tab"},
			{name: "backspace"}, {name: "backspace"},
		}},
		{"arrows", "\x1b[A\x1b[B\x1bOC\x1b[1;5D\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~", []key{
			{name: "up"}, {name: "down"}, {name: "right"}, {name: "left"}, {name: "home"}, {name: "end"}, {name: "home"}, {name: "end"}, {name: "delete"},
		}},
		{"of no use", "\x1b[15~\x1b[<0;3;4M\x1bx\x1b]11;rgb:0/0/0\x07\x1bP1$r\x1b\\a\xff\xfe", []key{text("a")}},
		{"escape and then a letter that is slow", "\x1b", []key{{name: "esc"}}},
		{"two escapes", "\x1b\x1b", []key{{name: "esc"}, {name: "esc"}}},
		{"paste", "\x1b[200~drop\rq3\x1b[31m\ta\x1b[201~b", []key{{text: "drop\nq3 a", pasted: true}, text("b")}},
		{"paste that does not end", "\x1b[200~abc", []key{{text: "abc", pasted: true}}},
		{"paste that is huge", "\x1b[200~" + strings.Repeat("x", 3*maxPaste) + "\x1b[201~", []key{{text: strings.Repeat("x", maxPaste), pasted: true}}},
		{"sequence that does not end", "\x1b]" + strings.Repeat("x", 500), []key(nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d decoder
			got := append(d.feed([]byte(tt.in)), d.flush()...)
			if tt.name == "sequence that does not end" {
				if len(d.left) > maxSequence {
					t.Errorf("%d bytes are kept", len(d.left))
				}
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(key{})); diff != "" {
				t.Error(diff)
			}
			var bytewise decoder
			got = nil
			for i := range len(tt.in) {
				got = append(got, bytewise.feed([]byte(tt.in[i:i+1]))...)
			}
			got = append(got, bytewise.flush()...)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(key{})); diff != "" {
				t.Errorf("byte by byte: %s", diff)
			}
		})
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("s\x1b[200~add \xe7\xa9\x80\x1b[201~\x1b[D\x17\r"), 3)
	f.Add([]byte("sadd What?\rsx\x1b[A\tq?aypd\x03"), 1)
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		var d decoder
		desk := desk{Desk: controls()}
		step, in = max(1, step%7), in[:min(len(in), 200)]
		for len(in) > 0 {
			n := min(step, len(in))
			keys := d.feed(in[:n])
			if in = in[n:]; len(in)%5 == 0 {
				keys = append(keys, d.flush()...)
			}
			for _, k := range keys {
				var press *Press
				if desk, press = desk.press(k); press != nil && strings.ContainsFunc(press.Line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("a control character in %q", press.Line)
				}
			}
			for _, width := range []int{20, 61} {
				foot, column := desk.foot(width, plain)
				for _, row := range foot.Rows {
					if strings.ContainsFunc(row, func(r rune) bool { return r < ' ' || r == 0x7f }) {
						t.Errorf("a control character in %q", row)
					}
				}
				if column >= width {
					t.Errorf("the cursor is in column %d of %d", column, width)
				}
			}
			if e := desk.line; e.at < 0 || e.at > len(e.letters) || len(e.letters) > maxTyped {
				t.Errorf("the cursor is at %d of %d", e.at, len(e.letters))
			}
		}
	})
}
