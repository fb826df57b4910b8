package tui

import (
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

// renderGrowing returns a text as a talk shows it when written by letter.
func renderGrowing(text string, width int, s Style) string {
	talk := newChatView(ChatViewOptions{Style: s}, false)
	talk.program = (&screen{}).newTestProgram(talk, nil)
	for _, r := range text {
		talk.Show(Piece, string(r))
		talk.renderBlock(Size{width + 1, 24})
	}
	talk.Show(Ended, "")
	rows := talk.takePrinted(Size{width + 1, 24})
	return strings.TrimSuffix(strings.Join(rows, "\n"), "\n")
}

func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a paragraph", "One two three four five six seven.", "One two three four five\nsix seven."},
		{"paragraphs", "\n\nOne.\n\n\nTwo.", "One.\n\nTwo."},
		{"a heading", "## The **sea** ##", "The sea"},
		{"a list", "- one two three four five six\n  * three\n10. four", "• one two three four\n  five six\n  • three\n10. four"},
		{"a quotation", "> so it is said here and there", "│ so it is said here and\n│ there"},
		{"code", "```go\nif a {\n\tb()\n}\n```\n\nDone.", "    if a {\n        b()\n    }\n\nDone."},
		{"code that is long", "~~~\n0123456789012345678901234567\n~~~", "    01234567890123456789\n    01234567"},
		{"code that does not end", "```\n# no heading\n| a | b |", "    # no heading\n    | a | b |"},
		{"a table", "| A | Long name |\n|---|:---|\n| 1 | `x` and **y** |\n\nDone.", "A  Long name\n────────────\n1  x and y\n\nDone."},
		{"a table that is wide", "| A | B |\n|---|---|\n| 1 | one two three four five |", "A  B\n────────────────────────\n1  one two three four\n   five"},
		{"a table behind a paragraph", "So:\n\n| A |\n|---|\n| 1 |", "So:\n\nA\n─\n1"},
		{"no table", "| a | b |\nDone.", "| a | b |\nDone."},
		{"a rule", "---", "────────────────────────"},
		{"marks", "*a* **b** ***c*** __d__ `e*f*` snake_case_name 2*3*4 \\*g\\* a * b", "a b c d e*f*\nsnake_case_name 2*3*4\n*g* a * b"},
		{"nested marks", "**a *b* c** x", "a b c x"},
		{"marks that do not end", "**a and `b", "**a and `b"},
		{"links", "[sea](https://s.ea) [https://s.ea](https://s.ea)", "sea (https://s.ea)\nhttps://s.ea"},
		{"HTML", "<div>\na <b>b</b>\n</div>\n\n<!-- c -->", "<div>\na <b>b</b>\n</div>\n\n<!-- c -->"},
		{"references", "See [1] and [a][b].\n\n[1]: https://s.ea\n[b]: https://o.ean", "See [1] and [a][b].\n\n[1]: https://s.ea\n[b]: https://o.ean"},
		{"tasks", "- [ ] a\n- [x] ~~b~~", "• [ ] a\n• [x] ~~b~~"},
		{"a loose list", "1. a\n\n   b\n\n2. c\n\nd", "1. a\n\n   b\n\n2. c\n\nd"},
		{"a list in a list", "- a\n  1. b\n     c\n- d", "• a\n  1. b\n     c\n• d"},
		{"code in a list", "- a\n  ```\n  b\n\n  c\n  ```\n- d", "• a\n      b\n\n      c\n• d"},
		{"a picture", "![s](https://s.ea/a.png)", "[image: s]\n(https://s.ea/a.png)"},
		{"lines", "a\nb  \nc", "a\nb\nc"},
		{"escapes", "a\x1b[31mb\x07c\u202ed", "abcd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, ansi.Strip(renderGrowing(tt.text, 24, Style{}))); d != "" {
				t.Error(d)
			}
			whole := strings.Join(markdownRows(tt.text, 24, Style{}), "\n")
			if d := cmp.Diff(tt.want, ansi.Strip(whole)); d != "" {
				t.Errorf("as a whole: %s", d)
			}
		})
	}
}

// Without colours, the text stays as written.
func TestMarkdownPlain(t *testing.T) {
	text := "# A\n- **b** `c`\n```go\nd\n```\n| a | b |\n|---|---|\n> e"
	if d := cmp.Diff(text, renderGrowing(text, 40, Style{Plain: true})); d != "" {
		t.Error(d)
	}
}

func TestMarkdownColours(t *testing.T) {
	if got, want := strings.Join(markdownRows("**a b** c", 3, Style{}), "\n"), "\x1b[1ma b\x1b[m\nc"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n| b | c |\n|--|--|\n| `d` | **e** |\n```\nx\n", 30)
	f.Add("> > > * [a](b) ![c](d) \\* ***", 21)
	f.Fuzz(func(t *testing.T, text string, width int) {
		if width < minWidth || width > 200 || len(text) > 5000 {
			return
		}
		for _, s := range []Style{{}, {Plain: true}, {ASCII: true}} {
			for row := range strings.SplitSeq(renderGrowing(text, width, s), "\n") {
				if w := lipgloss.Width(row); w > width {
					t.Errorf("%d cells of %d: %q", w, width, row)
				}
				if bare := ansi.Strip(row); strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r == 0x7f }) {
					t.Errorf("%q has a control character, of %q", bare, text)
				}
			}
			_ = markdownRows(text, width, s)
		}
	})
}
