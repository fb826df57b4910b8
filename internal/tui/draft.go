package tui

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// A draft is a message that is being typed, of one or several lines. Its methods
// return the draft after a change, and leave the one before as it was.
type draft struct {
	above []string // lines that stand before the one with the cursor
	line  editor
	below []string // lines that stand after it
}

// maxDraft is how many letters a line of a draft may have, and maxDraftLines how many
// lines there may be.
const (
	maxDraft      = 64 << 10
	maxDraftLines = 5000
)

// draftOf returns a draft with the cursor at its end.
func draftOf(text string) draft {
	return draft{line: editor{most: maxDraft}}.insert(text)
}

// String returns what was typed.
func (d draft) String() string {
	lines := append(append(d.above[:len(d.above):len(d.above)], d.line.String()), d.below...)
	return strings.Join(lines, "\n")
}

func (d draft) empty() bool { return len(d.above)+len(d.line.letters)+len(d.below) == 0 }

// insert puts text before the cursor. Where it has lines, the draft has them.
func (d draft) insert(text string) draft {
	first, rest, more := strings.Cut(text, "\n")
	d.line = d.line.insert(first)
	for more && len(d.above)+len(d.below) < maxDraftLines {
		d = d.split()
		first, rest, more = strings.Cut(rest, "\n")
		d.line = d.line.insert(first)
	}
	return d
}

// split breaks the line at the cursor.
func (d draft) split() draft {
	head, tail := d.line.letters[:d.line.at], d.line.letters[d.line.at:]
	d.above = append(d.above[:len(d.above):len(d.above)], strings.Join(head, ""))
	d.line = editor{letters: tail, most: d.line.most}
	return d
}

// up moves the cursor to the line above, and down to the one below. They report
// whether there is one.
func (d draft) up() (draft, bool) {
	n := len(d.above)
	if n == 0 {
		return d, false
	}
	at := d.line.at
	d.below = append([]string{d.line.String()}, d.below...)
	d.line = lineIn(d.above[n-1]).move(at)
	d.above = d.above[:n-1]
	return d, true
}

func (d draft) down() (draft, bool) {
	if len(d.below) == 0 {
		return d, false
	}
	at := d.line.at
	d.above = append(d.above[:len(d.above):len(d.above)], d.line.String())
	d.line = lineIn(d.below[0]).move(at)
	d.below = d.below[1:]
	return d, true
}

func lineIn(text string) editor { return editor{most: maxDraft}.insert(text) }

// press changes the draft as a key says, and reports whether it did.
func (d draft) press(k key) (draft, bool) {
	switch {
	case k.name == "alt+enter":
		return d.split(), true
	case k.name == "" && strings.Contains(k.text, "\n"):
		return d.insert(k.text), true
	case k.name == "backspace" && d.line.at == 0:
		if len(d.above) == 0 {
			return d, true
		}
		tail := d.line.String()
		d, _ = d.up()
		d.below = d.below[1:]
		d.line = d.line.move(len(d.line.letters))
		at := d.line.at
		d.line = d.line.insert(tail).move(at)
		return d, true
	case k.name == "delete" && d.line.at == len(d.line.letters) && len(d.below) > 0:
		at := d.line.at
		d.line = d.line.insert(d.below[0]).move(at)
		d.below = d.below[1:]
		return d, true
	}
	line, ok := d.line.press(k)
	d.line = line
	return d, ok
}

// enter ends the line: if it ends in a backslash, another one begins.
func (d draft) enter() (after draft, done bool) {
	n := len(d.line.letters)
	if d.line.at == n && n > 0 && d.line.letters[n-1] == `\` {
		d.line = d.line.cut(n - 1)
		return d.split(), false
	}
	return d, true
}

// rows returns the draft as rows of at most width cells behind a prompt, at most n of
// them, around the cursor, and where that is.
func (d draft) rows(prompt string, width, n int, s Style) (rows []string, at spot) {
	hang := strings.Repeat(" ", lipgloss.Width(prompt))
	room := max(2, width-len(hang))
	add := func(text string) {
		first := hang
		if len(rows) == 0 {
			first = bold().on(prompt, s)
		}
		rows = append(rows, first+text)
	}
	for _, line := range d.above[max(0, len(d.above)-n):] {
		for _, row := range folded(line, room) {
			add(row)
		}
	}
	lines, row, column := d.line.folds(room)
	at = spot{len(rows) + row, len(hang) + column}
	for _, text := range lines {
		add(text)
	}
	for _, line := range d.below[:min(len(d.below), n)] {
		for _, text := range folded(line, room) {
			add(text)
		}
	}
	from := min(max(0, at.row-n+1), max(0, len(rows)-n))
	rows = rows[from:min(len(rows), from+n)]
	return rows, spot{at.row - from, at.column}
}

// folds returns the line as rows of at most width cells, and where the cursor is,
// which may stand behind the last letter of a full row: then a row follows.
func (e editor) folds(width int) (rows []string, row, column int) {
	text, used := "", 0
	for i, letter := range append(e.letters[:len(e.letters):len(e.letters)], "") {
		w := lipgloss.Width(letter)
		if used+w > width || letter == "" && used == width {
			rows, text, used = append(rows, text), "", 0
		}
		if i == e.at {
			row, column = len(rows), used
		}
		text, used = text+letter, used+w
	}
	return append(rows, text), row, column
}
