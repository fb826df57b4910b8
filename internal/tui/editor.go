package tui

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"ponder/internal/textkit"
)

// An editor is a line that is being typed. Its methods return the line after a
// change, and leave the one before as it was.
type editor struct {
	letters []string // as people count them, each perhaps of several runes
	at      int      // the cursor stands before this one
	most    int      // letters that it may have; zero: maxTyped
}

// room returns how many letters the line may have.
func (e editor) room() int {
	if e.most > 0 {
		return e.most
	}
	return maxTyped
}

// maxTyped is how many letters a line may have.
const maxTyped = 2000

// lettersOf splits a text. What would steer a terminal is left out, and a line
// break is a space.
func lettersOf(text string) (list []string) {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, textkit.Clean(text))
	for text != "" {
		letter, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		if letter == "" {
			break
		}
		list, text = append(list, letter), text[len(letter):]
	}
	return list
}

// lineOf returns a line with the cursor at its end.
func lineOf(text string) editor {
	letters := lettersOf(text)
	letters = letters[:min(len(letters), maxTyped)]
	return editor{letters: letters, at: len(letters)}
}

// String returns what was typed.
func (e editor) String() string { return strings.Join(e.letters, "") }

// insert puts text before the cursor, as far as there is room. A mark joins the
// letter before it.
func (e editor) insert(text string) editor {
	from := max(0, e.at-1) // a mark joins the letter before it, and no other
	head := slices.Concat(e.letters[:from], lettersOf(strings.Join(e.letters[from:e.at], "")+text))
	tail := e.letters[e.at:]
	head = head[:min(len(head), max(e.room()-len(tail), e.at))]
	return editor{slices.Concat(head, tail), len(head), e.most}
}

// cut takes out the letters from i to the cursor or from the cursor to i.
func (e editor) cut(i int) editor {
	from, to := min(i, e.at), max(i, e.at)
	from, to = max(from, 0), min(to, len(e.letters))
	return editor{slices.Concat(e.letters[:from], e.letters[to:]), from, e.most}
}

// move puts the cursor somewhere.
func (e editor) move(i int) editor {
	e.at = min(max(i, 0), len(e.letters))
	return e
}

// word returns where the word before the cursor begins.
func (e editor) word() int {
	i := e.at
	for i > 0 && e.letters[i-1] == " " {
		i--
	}
	for i > 0 && e.letters[i-1] != " " {
		i--
	}
	return i
}

// press changes the line as a key says, and reports whether it did: whether the
// key is one of an editor.
func (e editor) press(k key) (editor, bool) {
	switch k.name {
	case "":
		return e.insert(k.text), k.text != ""
	case "backspace":
		return e.cut(e.at - 1), true
	case "delete":
		return e.cut(e.at + 1), true
	case "ctrl+u":
		return e.cut(0), true
	case "ctrl+k":
		return e.cut(len(e.letters)), true
	case "ctrl+w":
		return e.cut(e.word()), true
	case "left", "ctrl+b":
		return e.move(e.at - 1), true
	case "right", "ctrl+f":
		return e.move(e.at + 1), true
	case "home", "ctrl+a":
		return e.move(0), true
	case "end", "ctrl+e":
		return e.move(len(e.letters)), true
	}
	return e, false
}

// window returns the part of the line around the cursor that fits into a width of
// cells, and the column of the cursor in it. Both are less than width.
func (e editor) window(width int) (text string, column int) {
	width = max(width, 3)
	from := e.at
	for from > 0 {
		w := lipgloss.Width(e.letters[from-1])
		if column+w >= width {
			break
		}
		from, column = from-1, column+w
	}
	used := column
	to := e.at
	for to < len(e.letters) {
		w := lipgloss.Width(e.letters[to])
		if used+w >= width {
			break
		}
		to, used = to+1, used+w
	}
	return strings.Join(e.letters[from:to], ""), column
}
