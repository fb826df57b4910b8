package tui

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

type Control struct {
	Key    string // "p"
	Name   string
	About  string // one line for the help
	Ask    string // a question to confirm with y; may be empty
	Prompt string // asks for a line with this prompt ("steer> "); may be empty
	Rank   int    // the lowest stay when room is short
}

// A Press is a used control. The Key [Interrupt] (ctrl+c) is no control and always works.
type Press struct {
	Key  string
	Line string
}

const Interrupt = "ctrl+c"

type Hint struct {
	Text     string // the expected input, or the error
	Complete string // the line after tab; empty: unchanged
}

// A LineCommand is a command of a typed line.
type LineCommand struct {
	Usage string // "rank q3 9"
	About string
}

// A KeyBindings defines the keys. Its functions must be pure; they may be nil.
type KeyBindings struct {
	Controls []Control
	Commands []LineCommand // of the control with a prompt; "?" on an empty line lists them
	Check    func(line string) error
	Hint     func(line string) Hint
}

type keyPanel struct {
	KeyBindings
	names     map[string]string // see [Frame]
	active    *Control
	line      editor
	lineError string // why the last line was refused, until the next key
	wide      bool
	help      bool
	commands  bool // the list of commands is open
	from      int  // the first visible row of the list or help
}

func newKeyPanel(d KeyBindings, s Style) keyPanel {
	return keyPanel{KeyBindings: d, line: newEditor("", true, s)}
}

const (
	wideKey = "q"
	helpKey = "?"
)

func (d *keyPanel) handleMsg(msg tea.Msg) *Press {
	switch {
	case d.active == nil:
		return d.handleControl(msg)
	case d.active.Prompt != "":
		return d.handleLineKey(msg)
	}
	return d.handleConfirm(msg)
}

// scrollSteps are the rows by which keys move a list. The view limits the position.
var scrollSteps = map[string]int{"up": -1, "down": 1, "pgup": -8, "pgdown": 8, "home": -1 << 20, "end": 1 << 20}

// handleControl handles a key outside of input. It ignores pasted text.
func (d *keyPanel) handleControl(msg tea.Msg) *Press {
	switch keyName(msg) {
	case Interrupt:
		return &Press{Key: Interrupt}
	case "esc":
		d.help, d.wide = false, false
		return nil
	case "up", "down", "pgup", "pgdown", "home", "end":
		if d.wide || d.help {
			d.from = max(0, d.from+scrollSteps[keyName(msg)])
		}
		return nil
	}
	key, _ := msg.(tea.KeyPressMsg)
	switch name := strings.ToLower(key.Text); name {
	case wideKey:
		d.wide, d.help, d.from = !d.wide, false, 0
	case helpKey:
		d.help, d.from = !d.help, 0
	default:
		for i, c := range d.Controls {
			if c.Key == name {
				return d.selectControl(&d.Controls[i])
			}
		}
	}
	return nil
}

func (d *keyPanel) selectControl(c *Control) *Press {
	if c.Ask == "" && c.Prompt == "" {
		return &Press{Key: c.Key}
	}
	d.active, d.lineError, d.help, d.commands = c, "", false, false
	d.line.clear()
	return nil
}

// handleConfirm handles the answer to a question: any letter but y means no.
func (d *keyPanel) handleConfirm(msg tea.Msg) *Press {
	c := d.active
	key, _ := msg.(tea.KeyPressMsg)
	switch name := keyName(msg); {
	case name == Interrupt:
		d.active = nil
		return &Press{Key: Interrupt}
	case strings.EqualFold(key.Text, "y"):
		d.active = nil
		return &Press{Key: c.Key}
	case key.Text != "" || name == "esc" || name == "enter":
		d.active = nil
	}
	return nil
}

// handleLineKey handles a key of a line. Ctrl-C leaves the line, as in a shell.
func (d *keyPanel) handleLineKey(msg tea.Msg) *Press {
	key, _ := msg.(tea.KeyPressMsg)
	if key.Text == helpKey && d.line.String() == "" && len(d.Commands) > 0 {
		d.commands, d.lineError = !d.commands, ""
		return nil
	}
	switch name := keyName(msg); name {
	case "esc", Interrupt:
		if d.commands && name == "esc" {
			d.commands = false
			return nil
		}
		d.active = nil
	case "ctrl+d":
		if d.line.String() == "" {
			d.active = nil
		}
	case "enter":
		return d.submitLine()
	case "tab":
		if full := d.currentHint().Complete; full != "" {
			d.line.setText(full)
			d.lineError = ""
		}
	default:
		d.lineError = ""
		if !d.line.moveVertical(msg) {
			d.line.handleMsg(msg)
		}
	}
	return nil
}

// submitLine returns the typed line. It clears a refused line, which the history keeps.
func (d *keyPanel) submitLine() *Press {
	line := d.line.takeText()
	if line != "" && d.Check != nil {
		if err := d.Check(line); err != nil {
			d.lineError = err.Error()
			return nil
		}
	}
	press := &Press{Key: d.active.Key, Line: line}
	if d.active = nil; line == "" {
		return nil
	}
	return press
}

func (d *keyPanel) currentHint() Hint {
	if d.Hint == nil {
		return Hint{}
	}
	return d.Hint(d.line.String())
}

const lineRows = 3

// renderFoot returns the bottom of a block, and the place of the cursor.
func (d *keyPanel) renderFoot(width int, s Style) (Footer, cursorPos) {
	commands := d.commands && d.active != nil
	f := Footer{Wide: d.wide || d.help || commands, List: d.wide && !d.help && !commands, From: d.from}
	switch {
	case commands:
		f.Help = d.commandRows(width, s)
	case d.help:
		f.Help = d.helpRows(width, s)
	}
	switch {
	case d.active == nil:
		f.Keys = d.keyRow(width, s)
	case d.active.Prompt != "":
		hint := hintRows(d.currentHint().Text, faintStyle(), width, s)
		if d.lineError != "" {
			hint = hintRows(d.lineError+lineErrorAdvice(len(d.Commands) > 0), toneStyle(Alarm), width, s)
		}
		if commands && d.line.String() == "" && d.lineError == "" {
			hint = nil // the list says more
		}
		prompt := d.active.Prompt
		if lipgloss.Width(prompt) > width/2 {
			prompt = "> "
		}
		hang := lipgloss.Width(prompt)
		rows, at := d.line.visibleRows(width-hang, lineRows)
		rows[0] = s.paint(boldStyle(), prompt) + rows[0]
		f.Rows = append(hint, strings.Split(strings.Join(rows, "\n"+strings.Repeat(" ", hang)), "\n")...)
		return f, cursorPos{len(rows) - 1 - at.row, hang + at.column}
	default:
		f.Rows = []string{s.paint(boldStyle(), s.truncateCells(d.active.Ask, width-5)+"  y n")}
	}
	return f, cursorPos{0, -1}
}

func lineErrorAdvice(commands bool) string {
	if commands {
		return "; up edits the line, ? lists commands"
	}
	return "; up edits the line"
}

// maxHintRows is the maximal number of rows of a hint or an error.
const maxHintRows = 3

// hintRows wraps a hint. It shortens the last row of a hint that is too long.
func hintRows(text string, look lipgloss.Style, width int, s Style) []string {
	rows := wrapRows(s.safeLine(text), width)
	if len(rows) > maxHintRows {
		rest := strings.Join(rows[maxHintRows-1:], " ")
		rows = append(rows[:maxHintRows-1:maxHintRows-1], s.truncateCells(rest, width))
	}
	for i, row := range rows {
		rows[i] = s.paint(look, row)
	}
	return rows
}

// usageRows lists the usages of commands in rows of at most width cells.
func (d *keyPanel) usageRows(width int, s Style) (rows []string) {
	for _, c := range d.Commands {
		if n := len(rows) - 1; n >= 0 && lipgloss.Width(rows[n]+s.glyphSet().dot+c.Usage) <= width {
			rows[n] += s.glyphSet().dot + c.Usage
		} else {
			rows = append(rows, c.Usage)
		}
	}
	return rows
}

// commandRows lists the commands of a line, each with its description.
func (d *keyPanel) commandRows(width int, s Style) (rows []string) {
	column := 0
	for _, c := range d.Commands {
		column = max(column, lipgloss.Width(c.Usage)+2)
	}
	for _, c := range d.Commands {
		row := s.paint(boldStyle(), padRight(c.Usage, column)) + c.About
		rows = append(rows, "  "+s.truncateCells(row, width-2))
	}
	return append(rows, "  "+s.paint(boldStyle(), padRight("? esc", column))+"close this list")
}

func (d *keyPanel) keyRow(width int, s Style) string {
	all := append(d.Controls[:len(d.Controls):len(d.Controls)],
		Control{Key: wideKey, Name: "questions", Rank: 5}, Control{Key: helpKey, Name: "help", Rank: 2})
	for rank := 9; rank >= 0; rank-- {
		var keys []string
		for _, c := range all {
			if c.Rank <= rank {
				keys = append(keys, s.paint(boldStyle(), c.Key)+" "+s.paint(faintStyle(), cmp.Or(d.names[c.Key], c.Name)))
			}
		}
		if row := strings.Join(keys, "  "); lipgloss.Width(row) <= width {
			return row
		}
	}
	return ""
}

func (d *keyPanel) helpRows(width int, s Style) (rows []string) {
	g := s.glyphSet()
	add := func(key, about string) {
		rows = append(rows, "  "+s.paint(boldStyle(), padRight(key, 8))+s.truncateCells(about, width-10))
	}
	for _, c := range d.Controls {
		add(c.Key, c.About)
		if c.Prompt != "" {
			for _, row := range d.usageRows(width-10, s) {
				add("", row)
			}
		}
	}
	add(wideKey, "show all questions, or few of them")
	add("ctrl+z", "stop for now, as other programs do")
	add(helpKey+" esc", "leave this")
	rows = append(rows, "  "+strings.Join([]string{
		g.states[Active] + " thought about", g.states[Waiting] + " open", g.states[Done] + " explored", g.states[Dropped] + " dropped",
	}, "   "))
	return rows
}
