package compat

import "testing"

// A listener puts together what is said.
type listener struct {
	text     string
	replaced int
}

func (l *listener) add(text string, replace bool) {
	if replace {
		l.text, l.replaced = "", l.replaced+1
	}
	l.text += text
}

func TestProse(t *testing.T) {
	var p Prose
	var l listener
	for _, text := range []string{" \n", " Hel", "lo ", " ", "there.", " \n"} {
		l.add(p.Hear("a", text), false)
	}
	if l.text != "Hello  there." {
		t.Errorf("said %q", l.text)
	}
	l.add(p.Settle("a", " Hello  there. And more. \n"))
	l.add(p.Hear("a", "late"), false)
	l.add(p.Hear("b", "\n\nNext"), false)
	p.Again("b")
	l.add(p.Hear("b", "Ne"), false)
	l.add(p.Hear("b", "xt one"), false)
	if l.text != "Hello  there. And more.\n\nNext one" || l.replaced > 0 {
		t.Errorf("said %q", l.text)
	}
	p.Again("b")
	l.add(p.Hear("b", "No"), false)
	l.add(p.Hear("b", " more"), false)
	l.add(p.Settle("b", "No more of it"))
	if l.text != "Hello  there. And more.\n\nNo more of it" || l.replaced != 1 {
		t.Errorf("said %q", l.text)
	}
	l.add(p.Settle("c", "Unheard."))
	if l.text != "Hello  there. And more.\n\nNo more of it\n\nUnheard." || p.Dangling() {
		t.Errorf("said %q", l.text)
	}
}
