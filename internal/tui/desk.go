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

// A Desk defines the keys. Its functions must be pure; they may be nil.
type Desk struct {
	Controls []Control
	Check    func(line string) error
	Hint     func(line string) Hint
}

type desk struct {
	Desk
	names map[string]string // see [Frame]
	now   *Control
	line  editor
	wrong string // the last refused input
	wide  bool
	help  bool
}

func newDesk(d Desk, s Style) desk { return desk{Desk: d, line: newEditor("", true, s)} }

const (
	wideKey = "q"
	helpKey = "?"
)

func (d *desk) press(msg tea.Msg) *Press {
	switch {
	case d.now == nil:
		return d.command(msg)
	case d.now.Prompt != "":
		return d.typed(msg)
	}
	return d.asked(msg)
}

// command handles a key outside of input. It ignores pasted text.
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

func (d *desk) choose(c *Control) *Press {
	if c.Ask == "" && c.Prompt == "" {
		return &Press{Key: c.Key}
	}
	d.now, d.wrong, d.help = c, "", false
	d.line.clear()
	return nil
}

// asked handles the answer to a question: any letter but y means no.
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

// typed handles a key of a line. Ctrl-C leaves the line, as in a shell.
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

const lineRows = 3

// foot returns the bottom of a block, and the place of the cursor.
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
