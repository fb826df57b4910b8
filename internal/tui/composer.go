package tui

import (
	"strings"
)

// A composer is what is being typed in a [Talk]: a state, and what a key changes in it.
type composer struct {
	draft  draft
	lines  []string // that were typed before
	recall int      // which of lines is being typed anew; len(lines) if none
	kept   draft    // what was being typed before the first of them was
}

// press returns the composer after a key, and the press that it makes, if it does.
func (d composer) press(k key, hint func(string) Hint) (composer, *Press) {
	switch k.name {
	case Interrupt:
		if d.draft.empty() {
			return d, &Press{Key: Interrupt}
		}
		d.draft, d.recall = draftOf(""), len(d.lines)
		return d, nil
	case Leave:
		if d.draft.empty() {
			return d, &Press{Key: Leave}
		}
		k.name = "delete"
	case "enter":
		return d.enter()
	case "tab":
		if hint != nil && len(d.draft.above)+len(d.draft.below) == 0 {
			if full := hint(d.draft.String()).Complete; full != "" {
				d.draft = draftOf(full)
			}
		}
		return d, nil
	case "up", "ctrl+p":
		if next, ok := d.draft.up(); ok {
			d.draft = next
			return d, nil
		}
		return d.again(d.recall - 1), nil
	case "down", "ctrl+n":
		if next, ok := d.draft.down(); ok {
			d.draft = next
			return d, nil
		}
		return d.again(d.recall + 1), nil
	}
	d.draft, _ = d.draft.press(k)
	return d, nil
}

// enter takes what was typed.
func (d composer) enter() (composer, *Press) {
	next, done := d.draft.enter()
	if !done {
		d.draft = next
		return d, nil
	}
	text := strings.TrimSpace(d.draft.String())
	d.draft = draftOf("")
	if text == "" {
		d.recall = len(d.lines)
		return d, nil
	}
	if n := len(d.lines); n == 0 || d.lines[n-1] != text {
		d.lines = append(d.lines[:n:n], text)
		d.lines = d.lines[max(0, len(d.lines)-maxLines):]
	}
	d.recall = len(d.lines)
	return d, &Press{Key: Enter, Line: text}
}

// again puts a text of before in the place of this one, or at the end, what was being
// typed.
func (d composer) again(i int) composer {
	if i < 0 || i > len(d.lines) || i == d.recall {
		return d
	}
	if d.recall == len(d.lines) {
		d.kept = d.draft
	}
	d.recall = i
	if i == len(d.lines) {
		d.draft = d.kept
	} else {
		d.draft = draftOf(d.lines[i])
	}
	return d
}

// rows returns what stands below what is written: what waits, how things stand and
// what is typed, which may have n rows; and where the cursor is.
func (d composer) rows(t *Talk, width, n int) (rows []string, at spot) {
	s := t.options.Style
	for _, text := range t.queue {
		rows = append(rows, faint().on(s.clip("next: "+s.line(text), width), s))
	}
	status := s.line(t.status)
	if !t.prompt {
		if status != "" {
			rows = append(rows, faint().on(s.clip(status, width), s))
		}
		if len(rows) == 0 {
			rows = []string{""}
		}
		return rows, spot{len(rows) - 1, -1}
	}
	if hint := d.help(t); hint != "" {
		status = hint
	}
	if status != "" {
		rows = append(rows, faint().on(s.clip(status, width), s))
	}
	typed, at := d.draft.rows("> ", width-1, n, s)
	at.row += len(rows)
	return append(rows, typed...), spot{at.row, min(at.column, max(0, width-1))}
}

// help returns what helps with what is being typed.
func (d composer) help(t *Talk) string {
	text := d.draft.String()
	if t.options.Hint == nil || !strings.HasPrefix(text, "/") {
		return ""
	}
	return t.options.Style.line(t.options.Hint(text).Text)
}
