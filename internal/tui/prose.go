package tui

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
)

// A Prose shows Markdown line by line, as it is being written. It is a value: each
// method returns the prose after a line, and leaves the one before as it was. The
// zero Prose is at the beginning of a text.
//
// Where there are no colours, the text is shown as it was written, and wrapped: what
// marks it says more than nothing.
type Prose struct {
	fence string   // that ends the code; empty outside of code
	table []string // rows that wait for the last of them, which says how wide columns are
	begun bool     // there was a line that is not blank
	blank bool     // the last line was blank
}

// Line returns what is shown of a whole line, in rows of at most width cells.
func (p Prose) Line(line string, width int, s Style) (Prose, []string) {
	line = strings.TrimRight(strings.ReplaceAll(s.text(line), "\t", "    "), " \n")
	if p.fence != "" {
		return p.code(line, width, s)
	}
	if isRow(line) {
		p.table, p.begun, p.blank = append(p.table[:len(p.table):len(p.table)], line), true, false
		return p, nil
	}
	rows := p.drawn(width, s)
	p.table = nil
	if line == "" {
		if p.begun && !p.blank {
			rows = append(rows, "")
		}
		p.blank = true
		return p, rows
	}
	p.begun, p.blank = true, false
	if f := fenceOf(line); f != "" {
		p.fence = f
		if s.Plain {
			rows = append(rows, s.clip(line, width))
		}
		return p, rows
	}
	return p, append(rows, paragraph(line, width, s)...)
}

// Rest returns what is shown at the end of a text that was not shown before.
func (p Prose) Rest(width int, s Style) []string { return p.drawn(width, s) }

// Peek returns how a line is shown that is not whole yet, with what waits for it.
func (p Prose) Peek(line string, width int, s Style) []string {
	after, rows := p.Line(line, width, s)
	return append(rows, after.Rest(width, s)...)
}

// code takes a line of code.
func (p Prose) code(line string, width int, s Style) (Prose, []string) {
	p.begun, p.blank = true, false
	if strings.HasPrefix(strings.TrimSpace(line), p.fence) && strings.Trim(line, " `~") == "" {
		p.fence = ""
		if s.Plain {
			return p, []string{s.clip(line, width)}
		}
		return p, nil
	}
	indent := "    "
	if s.Plain {
		indent = ""
	}
	rows := folded(line, width-len(indent))
	for i := range rows {
		rows[i] = indent + bright().on(rows[i], s)
	}
	return p, rows
}

// folded breaks a line wherever it is full.
func folded(line string, width int) (rows []string) {
	width = max(width, 1)
	row, used := "", 0
	for _, letter := range lettersOf(line) {
		w := lipgloss.Width(letter)
		if used+w > width {
			rows, row, used = append(rows, row), "", 0
		}
		row, used = row+letter, used+w
	}
	return append(rows, row)
}

// fenceOf returns what ends the code that a line begins, or "".
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, mark))
		if n >= 3 && (mark == "~" || !strings.Contains(line[n:], "`")) {
			return strings.Repeat(mark, n)
		}
	}
	return ""
}

var (
	heading = regexp.MustCompile(`^ {0,3}(#{1,6}) +(.*?)(?: +#+)?$`)
	rule    = regexp.MustCompile(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
	bullet  = regexp.MustCompile(`^( *)([-*+]|\d{1,9}[.)]) +(.*)$`)
	quoted  = regexp.MustCompile(`^ {0,3}> ?(.*)$`)
)

// mostIndent is how deep lists are shown.
const mostIndent = 12

// paragraph returns the rows of a line that is no code and in no table.
func paragraph(line string, width int, s Style) []string {
	if m := quoted.FindStringSubmatch(line); m != nil && strings.Count(line, ">") < 20 {
		bar := "│ "
		if s.ASCII || s.Plain {
			bar = "> "
		}
		return prefixed(bar, bar, paragraph(m[1], width-2, s), s)
	}
	if m := bullet.FindStringSubmatch(line); m != nil && !rule.MatchString(line) {
		mark := m[2]
		if len(mark) == 1 && !s.ASCII && !s.Plain {
			mark = "•"
		}
		indent := strings.Repeat(" ", min(len(m[1]), mostIndent, width/3))
		first := indent + mark + " "
		hang := strings.Repeat(" ", lipgloss.Width(first))
		return prefixed(first, hang, wrapped(inline(m[3], s), width-len(hang)), s)
	}
	if s.Plain {
		return wrapped(line, width)
	}
	if rule.MatchString(line) {
		return []string{faint().on(strings.Repeat(s.glyphs().rule, min(width, 40)), s)}
	}
	if m := heading.FindStringSubmatch(line); m != nil {
		rows := wrapped(plainly(m[2]), width)
		for i := range rows {
			rows[i] = ink{bold: true, color: lipgloss.Green}.on(rows[i], s)
		}
		return rows
	}
	return wrapped(inline(strings.TrimLeft(line, " "), s), width)
}

// prefixed puts something before rows.
func prefixed(first, next string, rows []string, s Style) []string {
	if len(rows) == 0 {
		rows = []string{""}
	}
	for i := range rows {
		rows[i] = faint().on(next, s) + rows[i]
		if i == 0 {
			rows[i] = faint().on(first, s) + rows[i][len(faint().on(next, s)):]
		}
	}
	return rows
}

// wrapped breaks a line that may have colours between words.
func wrapped(line string, width int) []string {
	width = max(width, 1)
	if lipgloss.Width(line) <= width {
		return []string{line}
	}
	rows := strings.Split(lipgloss.Wrap(line, width, ""), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return rows
}
