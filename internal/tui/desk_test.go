package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
)

func typeKeys(d *keyPanel, in string) (out []Press) {
	for _, msg := range decodeKeys(in) {
		if p := d.handleMsg(msg); p != nil {
			out = append(out, *p)
		}
	}
	return out
}

func testDesk() *keyPanel {
	d := newKeyPanel(testBindings(), plain)
	d.Commands = []LineCommand{{"add QUESTION", "think about this too"}, {"drop q3", "leave it out"}}
	d.Check = func(line string) error {
		if strings.HasPrefix(line, "x") {
			return errors.New("unknown command: x\x1b[2J")
		}
		return nil
	}
	d.Hint = func(line string) Hint {
		if line == "dr" {
			return Hint{"drop q3", "drop "}
		}
		return Hint{Text: "add, drop"}
	}
	return &d
}

func TestDesk(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []Press
	}{
		{"a key", "p", []Press{{Key: "p"}}},
		{"upper case", "P", []Press{{Key: "p"}}},
		{"a key without a meaning", "xyz", nil},
		{"a paste is no key", "\x1b[200~pda\x1b[201~", nil},
		{"confirmed", "ay", []Press{{Key: "a"}}},
		{"not confirmed", "anp", []Press{{Key: "p"}}},
		{"escape is no", "a\x1b", nil},
		{"an arrow is no answer", "a\x1b[15~y", []Press{{Key: "a"}}},
		{"a paste is no answer", "a\x1b[200~y\x1b[201~n", nil},
		{"interrupt while asked", "a\x03y", []Press{{Key: Interrupt}}},
		{"interrupt", "\x03", []Press{{Key: Interrupt}}},
		{"a line", "sadd What?\r", []Press{{Key: "s", Line: "add What?"}}},
		{"an empty line", "s  \rp", []Press{{Key: "p"}}},
		{"escape leaves the line", "sdrop q3\x1b", nil},
		{"ctrl+c leaves the line, not the program", "sdrop q3\x03p", []Press{{Key: "p"}}},
		{"edited before it is sent", "sxadd\x01\x1b[3~\r", []Press{{Key: "s", Line: "add"}}},
		{"keys after a wrong line begin another", "sx\radd\r", []Press{{Key: "s", Line: "add"}}},
		{"up brings a wrong line back", "sxadd\r\x1b[A\x01\x1b[3~\r", []Press{{Key: "s", Line: "add"}}},
		{"enter after a wrong line leaves", "sx\r\rp", []Press{{Key: "p"}}},
		{"a question mark at the start lists commands", "s?add\r", []Press{{Key: "s", Line: "add"}}},
		{"a question mark in a line", "swho?\r", []Press{{Key: "s", Line: "who?"}}},
		{"tab", "sdr\tq3\r", []Press{{Key: "s", Line: "drop q3"}}},
		{"edited", "sadd one two\x17\x17three\x1b[D\x1b[D\x7f!\r", []Press{{Key: "s", Line: "add th!ee"}}},
		{"erased", "sadd one\x15drop\r", []Press{{Key: "s", Line: "drop"}}},
		{"pasted, with a line break", "s\x1b[200~add a\r\nb\x1b[201~\r", []Press{{Key: "s", Line: "add a  b"}}},
		{"the line before", "sone\rstwo\rs\x1b[A\x1b[A!\r", []Press{{Key: "s", Line: "one"}, {Key: "s", Line: "two"}, {Key: "s", Line: "one!"}}},
		{"back down", "sone\rs\x1b[A\x1b[Btwo\r", []Press{{Key: "s", Line: "one"}, {Key: "s", Line: "two"}}},
		{"wide letters", "sadd 穀倉\x7f?\r", []Press{{Key: "s", Line: "add 穀?"}}},
		{"a letter of two runes", "se\u0301x\x1b[D\x7f\r", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := typeKeys(testDesk(), tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFoot(t *testing.T) {
	for _, tt := range []struct {
		name, in   string
		width      int
		rows       []string
		column     int
		wide, help bool
	}{
		{name: "keys", width: 79, column: -1},
		{name: "all", in: "q", width: 79, column: -1, wide: true},
		{name: "few again", in: "qq", width: 79, column: -1},
		{name: "help", in: "?", width: 79, column: -1, wide: true, help: true},
		{name: "help left", in: "?\x1b", width: 79, column: -1},
		{name: "asked", in: "a", width: 79, rows: []string{"Answer now, from what there is?  y n"}, column: -1},
		{name: "asked where it is narrow", in: "a", width: 25, rows: []string{"Answer now, from wh…  y n"}, column: -1},
		{name: "empty line", in: "s", width: 79, rows: []string{"add, drop", "steer> "}, column: 7},
		{name: "line", in: "sadd 穀倉", width: 79, rows: []string{"add, drop", "steer> add 穀倉"}, column: 15},
		{name: "cursor in it", in: "sadd 穀倉\x1b[D", width: 79, rows: []string{"add, drop", "steer> add 穀倉"}, column: 13},
		{name: "long line", in: "s" + strings.Repeat("0123456789", 5), width: 30, rows: []string{"add, drop", "steer> 01234567890123456789012", "       34567890123456789012345", "       6789"}, column: 11},
		{name: "beginning of a long line", in: "s" + strings.Repeat("0123456789", 5) + "\x01", width: 30, rows: []string{"add, drop", "steer> 01234567890123456789012", "       34567890123456789012345", "       6789"}, column: 7},
		{name: "wrong", in: "sx\r", width: 79, rows: []string{"unknown command: x; up edits the line, ? lists commands", "steer> "}, column: 7},
		{name: "wrong where it is narrow", in: "sx\r", width: 30, rows: []string{"unknown command: x; up edits", "the line, ? lists commands", "steer> "}, column: 7},
		{name: "a key after it", in: "sx\ra", width: 79, rows: []string{"add, drop", "steer> a"}, column: 8},
		{name: "commands", in: "s?", width: 79, rows: []string{"steer> "}, column: 7, wide: true, help: true},
		{name: "a line below the commands", in: "s?a", width: 79, rows: []string{"add, drop", "steer> a"}, column: 8, wide: true, help: true},
		{name: "commands closed", in: "s??", width: 79, rows: []string{"add, drop", "steer> "}, column: 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := testDesk()
			d.renderFoot(tt.width, plain)
			typeKeys(d, tt.in)
			foot, at := d.renderFoot(tt.width, plain)
			if d := cmp.Diff(tt.rows, foot.Rows); d != "" {
				t.Error(d)
			}
			if at.column != tt.column || foot.Wide != tt.wide || (len(foot.Help) > 0) != tt.help || (foot.Keys == "") != (tt.rows != nil) {
				t.Errorf("column %d, %+v", at.column, foot)
			}
			for _, row := range foot.Rows {
				if w := lipgloss.Width(row); w > tt.width {
					t.Errorf("%d cells: %q", w, row)
				}
			}
		})
	}
}

func TestKeysRow(t *testing.T) {
	for width, want := range map[int]string{
		100: "p pause  s steer  a answer now  d detach  q questions  ? help",
		55:  "p pause  s steer  a answer now  d detach  ? help",
		40:  "p pause  s steer  a answer now  ? help",
		30:  "p pause  a answer now  ? help",
		20:  "p pause",
		5:   "",
	} {
		if got := (&keyPanel{KeyBindings: testBindings()}).keyRow(width, plain); got != want {
			t.Errorf("%d: %q, want %q", width, got, want)
		}
	}
	d := &keyPanel{KeyBindings: testBindings(), names: map[string]string{"p": "resume"}}
	if got := d.keyRow(31, plain); got != "p resume  a answer now  ? help" {
		t.Errorf("of one that is paused: %q", got)
	}
}

// The help and the list of the line have each command.
func TestCommandRows(t *testing.T) {
	d := testDesk()
	typeKeys(d, "?")
	foot, _ := d.renderFoot(79, plain)
	if got := strings.Join(foot.Help, "\n"); !strings.Contains(got, "\n          add QUESTION · drop q3\n") {
		t.Errorf("the help lists no commands:\n%s", got)
	}
	typeKeys(d, "s?")
	d.handleMsg(tea.KeyPressMsg{Code: tea.KeyEscape})
	if foot, at := d.renderFoot(79, plain); len(foot.Help) > 0 || at.column != 7 {
		t.Errorf("escape leaves the list and the line: column %d, %q", at.column, foot.Help)
	}
	typeKeys(d, "?")
	foot, _ = d.renderFoot(30, plain)
	want := []string{"  add QUESTION  think about t…", "  drop q3       leave it out", "  ? esc         close this list"}
	if d := cmp.Diff(want, foot.Help); d != "" {
		t.Error(d)
	}
}

func FuzzEditor(f *testing.F) {
	f.Add("add 穀倉 e\u0301👩‍👩‍👧🇩🇪", "abcdefgh", 12)
	f.Fuzz(func(t *testing.T, typed, moves string, width int) {
		for _, single := range []bool{true, false} {
			e := newEditor("> ", single, plain)
			w, n := max(8, width%80), 1+len(moves)%4
			e.handleMsg(cleanMsg(tea.PasteMsg{Content: typed[:min(len(typed), 500)]}))
			keys := []rune{tea.KeyLeft, tea.KeyRight, tea.KeyHome, tea.KeyEnd, tea.KeyBackspace, tea.KeyDelete, tea.KeyUp, tea.KeyDown}
			for _, m := range []byte(moves[:min(len(moves), 50)]) {
				key := tea.KeyPressMsg{Code: keys[m%8]}
				if m%16 > 12 {
					key = tea.KeyPressMsg{Code: 'w', Mod: tea.ModCtrl}
				}
				if !e.moveVertical(key) {
					e.handleMsg(key)
				}
				rows, at := e.visibleRows(w, n)
				if len(rows) > n || at.row >= len(rows) || at.column >= w {
					t.Fatalf("the cursor is at %v of %d cells in %d rows: %q", at, w, n, rows)
				}
				for _, row := range rows {
					if lipgloss.Width(row) > w || hasControl(row) {
						t.Fatalf("%d cells of %d: %q", lipgloss.Width(row), w, row)
					}
				}
			}
			if single && strings.Contains(e.String(), "\n") {
				t.Errorf("a line break in %q", e.String())
			}
		}
	})
}
