package tui

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ponder/internal/textkit"
)

// A key is something that was typed: a letter or a pasted text, or a key with a
// name, such as enter, esc, left or ctrl+c.
type key struct {
	name   string // empty for text
	text   string // of a letter, or what was pasted
	pasted bool
}

// A decoder makes keys of the bytes that a terminal sends. They may come in any
// pieces.
type decoder struct {
	left    []byte // is not whole yet
	pasting bool
	paste   []byte
}

// Limits of what is kept.
const (
	maxPaste    = 256 << 10
	maxSequence = 64 // bytes of an escape sequence
)

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// feed returns the keys that are whole now.
func (d *decoder) feed(b []byte) (keys []key) {
	d.left = append(d.left, b...)
	for len(d.left) > 0 {
		n, k := d.next()
		if n == 0 {
			break
		}
		d.left = d.left[n:]
		if k != (key{}) {
			keys = append(keys, k)
		}
	}
	d.left = slices.Clone(d.left)
	return keys
}

// patience returns how long to wait for the rest of what has begun, before flush
// takes it as it is; zero if nothing has.
func (d *decoder) patience() time.Duration {
	switch {
	case d.pasting:
		return 2 * time.Second
	case len(d.left) > 0:
		return 50 * time.Millisecond
	}
	return 0
}

// flush returns what has begun as keys, for nothing more came.
func (d *decoder) flush() []key {
	left := d.left
	d.left = nil
	if d.pasting {
		d.keep(left)
		return []key{d.pasteDone()}
	}
	if len(left) == 1 && left[0] == 0x1b {
		return []key{{name: "esc"}}
	}
	return nil
}

// next returns the first key, and of how many bytes it is: none if it is not
// whole. A key may be nothing that anyone has a use for.
func (d *decoder) next() (int, key) {
	if d.pasting {
		return d.pasted()
	}
	c := d.left[0]
	switch {
	case c == 0x1b:
		return d.escape()
	case c < 0x20 || c == 0x7f:
		return 1, key{name: control(c)}
	case !utf8.FullRune(d.left):
		return 0, key{}
	}
	r, n := utf8.DecodeRune(d.left)
	if r == utf8.RuneError && n == 1 {
		return 1, key{}
	}
	return n, key{text: textkit.Clean(string(r))}
}

// control names a control character.
func control(c byte) string {
	switch c {
	case '\r', '\n':
		return "enter"
	case '\t':
		return "tab"
	case 0x7f, 0x08:
		return "backspace"
	case 0x1c:
		return "ctrl+c" // ctrl+\ wants out as well
	case 0:
		return ""
	}
	if c >= 0x1b {
		return ""
	}
	return "ctrl+" + string('a'+c-1)
}

// pasted takes what is being pasted.
func (d *decoder) pasted() (int, key) {
	i := bytes.Index(d.left, []byte(pasteEnd))
	if i >= 0 {
		d.keep(d.left[:i])
		return i + len(pasteEnd), d.pasteDone()
	}
	n := max(0, len(d.left)-(len(pasteEnd)-1)) // the rest may be the beginning of the end
	d.keep(d.left[:n])
	return n, key{}
}

// keep adds to what was pasted, as far as there is room.
func (d *decoder) keep(b []byte) {
	d.paste = append(d.paste, b[:min(len(b), maxPaste-len(d.paste))]...)
}

// pasteDone returns what was pasted.
func (d *decoder) pasteDone() key {
	text := strings.ToValidUTF8(string(d.paste), "")
	d.pasting, d.paste = false, nil
	return key{text: textkit.Clean(strings.NewReplacer("\r", "\n", "\t", " ").Replace(text)), pasted: true}
}

// escape takes an escape sequence.
func (d *decoder) escape() (int, key) {
	b := d.left
	if len(b) == 1 {
		return 0, key{}
	}
	switch b[1] {
	case '[':
		end := bytes.IndexFunc(b[2:], func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return d.unfinished()
		}
		return d.sequence(string(b[:2+end+1]))
	case 'O':
		if len(b) < 3 {
			return 0, key{}
		}
		return 3, key{name: named(string(b[2]))}
	case ']', 'P', '_', '^', 'X': // the terminal says something about itself
		for _, end := range []string{"\a", "\x1b\\"} {
			if i := bytes.Index(b, []byte(end)); i >= 0 {
				return i + len(end), key{}
			}
		}
		return d.unfinished()
	case 0x1b:
		return 1, key{name: "esc"}
	case '\r', '\n':
		return 2, key{name: "alt+enter"}
	}
	_, n := utf8.DecodeRune(b[1:])
	return 1 + n, key{} // with alt
}

// unfinished leaves out what goes on for too long.
func (d *decoder) unfinished() (int, key) {
	if len(d.left) > maxSequence {
		return len(d.left), key{}
	}
	return 0, key{}
}

// sequence takes a sequence that is whole.
func (d *decoder) sequence(s string) (int, key) {
	if s == pasteBegin {
		d.pasting = true
		return len(s), key{}
	}
	body := s[2:]
	if i := strings.IndexByte(body, ';'); i > 0 { // with shift or its like
		body = body[:i] + body[len(body)-1:]
	}
	return len(s), key{name: named(strings.TrimPrefix(body, "1"))}
}

// named names the sequences that have a use.
func named(body string) string {
	switch body {
	case "A":
		return "up"
	case "B":
		return "down"
	case "C":
		return "right"
	case "D":
		return "left"
	case "H", "~", "7~":
		return "home"
	case "F", "4~", "8~":
		return "end"
	case "3~":
		return "delete"
	}
	return ""
}
