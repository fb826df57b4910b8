package tui

import (
	"cmp"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
)

// A Control is something that a key does.
type Control struct {
	Key    string // as it is typed: "p"
	Name   string // "pause"
	About  string // in the help: a line
	Ask    string // a question that must be answered with y before; empty: none
	Prompt string // a line is typed before, behind this: "steer> "; empty: none
	Rank   int    // where there is no room for all, those of the lowest stay
}

// A Press is a control that was used. Interrupt is the Key of ctrl+c, which is no
// control, and always works.
type Press struct {
	Key  string
	Line string // what was typed
}

// Interrupt is the key of a [Press] that means ctrl+c.
const Interrupt = "ctrl+c"

// A Hint helps with a line while it is typed.
type Hint struct {
	Text     string // what may come, or what is wrong
	Complete string // the line that tab makes of it; empty: as it is
}

// A Desk says what keys mean. Its functions must be pure; they may be nil.
type Desk struct {
	Controls []Control
	Check    func(line string) error // refuses a line
	Hint     func(line string) Hint
}

// A desk is a [Desk] in use.
type desk struct {
	Desk
	names map[string]string // see [Frame]
	now   *Control          // whose question is asked, or whose line is typed
	line  editor
	wrong string // what was wrong with the line
	wide  bool
	help  bool
}

func newDesk(d Desk, s Style) desk { return desk{Desk: d, line: newEditor("", true, s)} }

// The keys that a desk itself knows.
const (
	wideKey = "q"
	helpKey = "?"
)

// press takes a key, and returns the press that it makes, if it does.
func (d *desk) press(msg tea.Msg) *Press {
	switch {
	case d.now == nil:
		return d.command(msg)
	case d.now.Prompt != "":
		return d.typed(msg)
	}
	return d.asked(msg)
}

// command takes a key while nothing is asked for. Pasted text is no command.
func (d *desk) command(msg tea.Msg) *Press {
	switch nameOf(msg) {
	case Interrupt:
		return &Press{Key: Interrupt}
	case "esc":
		d.help, d.wide = false, false
		return nil
	}
	key, _ := msg.(tea.KeyPressMsg)
	switch name := strings.ToLower(key.Text); name {
	case wideKey:
		d.wide, d.help = !d.wide, false
	case helpKey:
		d.help = !d.help
	default:
		for i, c := range d.Controls {
			if c.Key == name {
				return d.choose(&d.Controls[i])
			}
		}
	}
	return nil
}

// choose uses a control, or asks for what it needs.
func (d *desk) choose(c *Control) *Press {
	if c.Ask == "" && c.Prompt == "" {
		return &Press{Key: c.Key}
	}
	d.now, d.wrong, d.help = c, "", false
	d.line.clear()
	return nil
}

// asked takes the answer to a question: any letter but y means no.
func (d *desk) asked(msg tea.Msg) *Press {
	c := d.now
	key, _ := msg.(tea.KeyPressMsg)
	switch name := nameOf(msg); {
	case name == Interrupt:
		d.now = nil
		return &Press{Key: Interrupt}
	case strings.EqualFold(key.Text, "y"):
		d.now = nil
		return &Press{Key: c.Key}
	case key.Text != "" || name == "esc" || name == "enter":
		d.now = nil
	}
	return nil
}

// typed takes a key of a line. Ctrl-C leaves the line, as it does in a shell.
func (d *desk) typed(msg tea.Msg) *Press {
	switch name := nameOf(msg); name {
	case "esc", Interrupt:
		d.now = nil
	case "ctrl+d":
		if d.line.String() == "" {
			d.now = nil
		}
	case "enter":
		return d.enter()
	case "tab":
		if full := d.hint().Complete; full != "" {
			d.line.set(full)
			d.wrong = ""
		}
	default:
		d.wrong = ""
		if !d.line.vertical(msg) {
			d.line.press(msg)
		}
	}
	return nil
}

// enter takes the line, if it is right.
func (d *desk) enter() *Press {
	line := strings.TrimSpace(d.line.String())
	if line != "" && d.Check != nil {
		if err := d.Check(line); err != nil {
			d.wrong = err.Error()
			return nil
		}
	}
	press := &Press{Key: d.now.Key, Line: d.line.take()}
	if d.now = nil; line == "" {
		return nil
	}
	return press
}

func (d *desk) hint() Hint {
	if d.Hint == nil {
		return Hint{}
	}
	return d.Hint(d.line.String())
}

// lineRows is how many rows of a line are shown.
const lineRows = 3

// foot returns what a desk shows at the bottom of a block, and the place of the cursor, with
// the number of rows below it.
func (d *desk) foot(width int, s Style) (Foot, spot) {
	f := Foot{Wide: d.wide || d.help}
	if d.help {
		f.Help = d.helpRows(width, s)
	}
	switch {
	case d.now == nil:
		f.Keys = d.keys(width, s)
	case d.now.Prompt != "":
		hint := s.paint(faint(), s.clip(s.line(d.hint().Text), width))
		if d.wrong != "" {
			hint = s.paint(lookOf(Alarm), s.clip(s.line(d.wrong), width))
		}
		prompt := d.now.Prompt
		if lipgloss.Width(prompt) > width/2 {
			prompt = "> "
		}
		hang := lipgloss.Width(prompt)
		rows, at := d.line.rows(width-hang, lineRows)
		rows[0] = s.paint(bold(), prompt) + rows[0]
		f.Rows = append([]string{hint}, strings.Split(strings.Join(rows, "\n"+strings.Repeat(" ", hang)), "\n")...)
		return f, spot{len(rows) - 1 - at.row, hang + at.column}
	default:
		f.Rows = []string{s.paint(bold(), s.clip(d.now.Ask, width-5)+"  y n")}
	}
	return f, spot{0, -1}
}

// keys returns what the keys do, as far as there is room.
func (d *desk) keys(width int, s Style) string {
	all := append(d.Controls[:len(d.Controls):len(d.Controls)],
		Control{Key: wideKey, Name: "questions", Rank: 5}, Control{Key: helpKey, Name: "help", Rank: 2})
	for rank := 9; rank >= 0; rank-- {
		var keys []string
		for _, c := range all {
			if c.Rank <= rank {
				keys = append(keys, s.paint(bold(), c.Key)+" "+s.paint(faint(), cmp.Or(d.names[c.Key], c.Name)))
			}
		}
		if row := strings.Join(keys, "  "); lipgloss.Width(row) <= width {
			return row
		}
	}
	return ""
}

// helpRows says what every key does.
func (d *desk) helpRows(width int, s Style) (rows []string) {
	g := s.glyphs()
	add := func(key, about string) {
		rows = append(rows, "  "+s.paint(bold(), pad(key, 8))+s.clip(about, width-10))
	}
	for _, c := range d.Controls {
		add(c.Key, c.About)
	}
	add(wideKey, "show all questions, or few of them")
	add("ctrl+z", "stop for now, as other programs do")
	add(helpKey+" esc", "leave this")
	rows = append(rows, "  "+strings.Join([]string{
		g.states[Active] + " thought about", g.states[Waiting] + " open", g.states[Done] + " explored", g.states[Dropped] + " dropped",
	}, "   "))
	return rows
}
