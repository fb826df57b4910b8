package tui

import (
	"cmp"
	"strings"

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

// A desk is a [Desk] in use: a state, and what a key changes in it.
type desk struct {
	Desk
	names  map[string]string // see [Frame]
	now    *Control          // whose question is asked, or whose line is typed
	line   editor
	wrong  string // what was wrong with the line
	lines  []string
	recall int // which of lines is being typed anew; len(lines) if none
	wide   bool
	help   bool
}

// The keys that a desk itself knows.
const (
	wideKey = "q"
	helpKey = "?"
)

// maxLines is how many lines are remembered.
const maxLines = 50

// press returns the desk after a key, and the press that it makes, if it does.
func (d desk) press(k key) (desk, *Press) {
	switch {
	case d.now == nil:
		return d.command(k)
	case d.now.Prompt != "":
		return d.typed(k)
	}
	return d.asked(k)
}

// command takes a key while nothing is asked for. What was pasted is no command.
func (d desk) command(k key) (desk, *Press) {
	switch {
	case k.name == Interrupt:
		return d, &Press{Key: Interrupt}
	case k.name == "esc":
		d.help, d.wide = false, false
		return d, nil
	case k.pasted || k.text == "":
		return d, nil
	}
	switch name := strings.ToLower(k.text); name {
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
	return d, nil
}

// choose uses a control, or asks what it needs to know.
func (d desk) choose(c *Control) (desk, *Press) {
	if c.Ask == "" && c.Prompt == "" {
		return d, &Press{Key: c.Key}
	}
	d.now, d.line, d.wrong, d.recall, d.help = c, editor{}, "", len(d.lines), false
	return d, nil
}

// asked takes the answer to a question.
func (d desk) asked(k key) (desk, *Press) {
	c := d.now
	switch {
	case k.name == Interrupt:
		d.now = nil
		return d, &Press{Key: Interrupt}
	case strings.EqualFold(k.text, "y") && !k.pasted:
		d.now = nil
		return d, &Press{Key: c.Key}
	case k.pasted || k == key{}:
		return d, nil
	}
	d.now = nil
	return d, nil
}

// typed takes a key of a line. Ctrl-C leaves the line, as it does in a shell.
func (d desk) typed(k key) (desk, *Press) {
	switch k.name {
	case "esc", Interrupt:
		d.now = nil
		return d, nil
	case "ctrl+d":
		if len(d.line.letters) == 0 {
			d.now = nil
		}
		return d, nil
	case "enter":
		return d.enter()
	case "tab":
		if full := d.hint().Complete; full != "" {
			d.line, d.wrong = lineOf(full), ""
		}
		return d, nil
	case "up":
		return d.again(d.recall - 1), nil
	case "down":
		return d.again(d.recall + 1), nil
	}
	if line, ok := d.line.press(k); ok {
		d.line, d.wrong = line, ""
	}
	return d, nil
}

// enter takes the line, if it is right.
func (d desk) enter() (desk, *Press) {
	line := strings.TrimSpace(d.line.String())
	if line == "" {
		d.now = nil
		return d, nil
	}
	if d.Check != nil {
		if err := d.Check(line); err != nil {
			d.wrong = err.Error()
			return d, nil
		}
	}
	lines := append(d.lines[:len(d.lines):len(d.lines)], line)
	press := &Press{Key: d.now.Key, Line: line}
	d.lines, d.now = lines[max(0, len(lines)-maxLines):], nil
	return d, press
}

// again puts a line of before in the place of this one.
func (d desk) again(i int) desk {
	if i < 0 || i > len(d.lines) {
		return d
	}
	d.recall, d.line, d.wrong = i, editor{}, ""
	if i < len(d.lines) {
		d.line = lineOf(d.lines[i])
	}
	return d
}

func (d desk) hint() Hint {
	if d.Hint == nil {
		return Hint{}
	}
	return d.Hint(d.line.String())
}

// foot returns what a desk shows at the bottom of a block, and the column of the
// cursor in its last line, or -1 if there is none.
func (d desk) foot(width int, s Style) (Foot, int) {
	f := Foot{Wide: d.wide || d.help}
	if d.help {
		f.Help = d.helpRows(width, s)
	}
	switch {
	case d.now == nil:
		f.Keys = d.keys(width, s)
	case d.now.Prompt != "":
		hint := ink{faint: true}.on(s.clip(s.line(d.hint().Text), width), s)
		if d.wrong != "" {
			hint = inkOf(Alarm).on(s.clip(s.line(d.wrong), width), s)
		}
		prompt := d.now.Prompt
		if lipgloss.Width(prompt) > width/2 {
			prompt = "> "
		}
		text, column := d.line.window(width - lipgloss.Width(prompt))
		f.Rows = []string{hint, bold().on(prompt, s) + text}
		return f, lipgloss.Width(prompt) + column
	default:
		text := d.now.Ask + "  y n"
		if lipgloss.Width(text) > width {
			text = s.clip(d.now.Ask, width-5) + "  y n"
		}
		f.Rows = []string{bold().on(text, s)}
	}
	return f, -1
}

// keys returns what the keys do, as far as there is room.
func (d desk) keys(width int, s Style) string {
	all := append(d.Controls[:len(d.Controls):len(d.Controls)],
		Control{Key: wideKey, Name: "questions", Rank: 5}, Control{Key: helpKey, Name: "help", Rank: 2})
	for rank := 9; rank >= 0; rank-- {
		plain, inked := "", ""
		for _, c := range all {
			if c.Rank > rank {
				continue
			}
			c.Name = cmp.Or(d.names[c.Key], c.Name)
			if plain != "" {
				plain, inked = plain+"  ", inked+"  "
			}
			plain += c.Key + " " + c.Name
			inked += bold().on(c.Key, s) + " " + faint().on(c.Name, s)
		}
		if lipgloss.Width(plain) <= width {
			return inked
		}
	}
	return ""
}

// helpRows says what every key does.
func (d desk) helpRows(width int, s Style) (rows []string) {
	g := s.glyphs()
	add := func(key, about string) {
		rows = append(rows, "  "+bold().on(pad(key, 8), s)+s.clip(about, width-10))
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
