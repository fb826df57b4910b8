// Package links makes links and images of untrusted Markdown inert, unless their addresses are
// known. An inert address stays readable, usually as code.
//
// A [Filter] is a pure function of the text: the sizes of the written pieces do not matter. It
// follows CommonMark where that is certain. Where clients may read a text in two ways, it assumes
// the worse one. So code stays as it is only if all clients show it as code.
package links

import "strings"

// A Policy decides about the addresses of a text.
type Policy interface {
	// Applies reports whether the text may be changed. A filter asks before the first change.
	Applies() bool
	// Knows reports whether an address may be followed, or loaded as an image.
	Knows(address string, image bool) bool
}

// Bounds of held text, in bytes.
const (
	maxHeld   = 2100 // an address with its surroundings
	maxInline = 512  // an inline code span
)

// A Filter filters one text. It is not safe for concurrent use.
type Filter struct {
	// EndsFence closes an open code block at the end, for texts to which others are appended.
	EndsFence bool

	policy  Policy
	applies int8 // 1: yes, -1: no, 0: not asked

	in     []byte // unread input
	out    []byte // since the last Write
	recent []byte // end of all output
	isCR   bool   // a carriage return waits for its line feed

	block
	inline
}

// New returns a filter.
func New(p Policy) *Filter { return &Filter{policy: p, block: block{lineStart: true}} }

// Text filters a complete text.
func Text(text string, p Policy) string {
	f := New(p)
	return f.Write(text) + f.Close()
}

// Write adds a piece of the text and returns the filtered text that is certain.
func (f *Filter) Write(piece string) string {
	f.readInput(piece)
	return f.drain(false)
}

// Close returns the rest.
func (f *Filter) Close() string {
	if f.isCR {
		f.in, f.isCR = append(f.in, '\n'), false
	}
	rest := f.drain(true)
	if f.EndsFence && f.fence.size > 0 && f.isActive() {
		if !f.lineStart {
			rest += "\n"
		}
		rest += strings.Repeat(" ", f.fence.indent) + strings.Repeat(string(f.fence.mark), f.fence.size)
		f.fence = fence{}
	}
	return rest
}

// readInput appends a piece. A carriage return alone ends a line, like a line feed.
func (f *Filter) readInput(piece string) {
	if !f.isCR && strings.IndexByte(piece, '\r') < 0 {
		f.in = append(f.in, piece...)
		return
	}
	for i := range len(piece) {
		c := piece[i]
		if f.isCR {
			if c == '\n' {
				f.in = append(f.in, '\r')
			} else {
				f.in = append(f.in, '\n')
			}
		}
		if f.isCR = c == '\r'; !f.isCR {
			f.in = append(f.in, c)
		}
	}
}

// drain reads the input as far as it is certain, and returns the output.
func (f *Filter) drain(final bool) string {
	at := 0
	for at < len(f.in) {
		view := f.in[at:min(len(f.in), at+maxHeld)]
		n := f.readNext(view, !final && len(view) < maxHeld)
		if n == 0 {
			break
		}
		at += n
	}
	f.in = append(f.in[:0], f.in[at:]...)
	text := string(f.out)
	f.out = f.out[:0]
	return text
}

// readNext reads the beginning of the input and returns its length, or 0 if it depends on what
// follows. Without more, it is not 0.
func (f *Filter) readNext(in []byte, more bool) int {
	if f.lineStart {
		return f.readLineStart(in, more)
	}
	if f.codeLine {
		return f.copyCode(in)
	}
	return f.readInline(in, more)
}

// isActive reports whether the filter may change the text.
func (f *Filter) isActive() bool {
	if f.applies == 0 {
		f.applies = -1
		if f.policy.Applies() {
			f.applies = 1
		}
	}
	return f.applies > 0
}

const maxRecent = 256

// emit appends output.
func (f *Filter) emit(text ...byte) {
	f.out = append(f.out, text...)
	if len(text) >= maxRecent {
		f.recent = append(f.recent[:0], text[len(text)-maxRecent:]...)
		return
	}
	if len(f.recent)+len(text) > 4*maxRecent {
		f.recent = append(f.recent[:0], f.recent[len(f.recent)-maxRecent:]...)
	}
	f.recent = append(f.recent, text...)
}

// lastByte returns the last byte of the output, or 0.
func (f *Filter) lastByte() byte {
	if len(f.recent) == 0 {
		return 0
	}
	return f.recent[len(f.recent)-1]
}

// lastWord returns the end of the output that may belong to a host or a mail address.
func (f *Filter) lastWord() string {
	i := len(f.recent)
	for i > max(0, len(f.recent)-maxRecent) && isWordByte(f.recent[i-1]) {
		i--
	}
	return string(f.recent[i:])
}

var (
	encoded   = strings.NewReplacer("`", "%60", "|", "%7C", "@", "%40", "\n", " ")
	separated = strings.NewReplacer(":", "[:]", ".", "[.]", "@", "[@]", "/", "[/]")
)

// emitCode writes an address as inline code, with marks that no earlier mark of the paragraph can
// end.
func (f *Filter) emitCode(address []byte) {
	if len(address) == 0 {
		return
	}
	size := 1
	for size <= maxRun && f.openRuns&(1<<size) != 0 {
		size++
	}
	if size > maxRun {
		f.emit([]byte(separated.Replace(string(address)))...)
		f.endToken()
		return
	}
	switch {
	case f.isEscape:
		f.emit('\\') // the backslash before would escape the mark
	case f.lastByte() == '`':
		f.emit(' ') // two runs would be one
	}
	marks := strings.Repeat("`", size)
	text := string(address)
	if text != "@" { // some clients look for mail addresses in code too
		text = encoded.Replace(text)
	}
	f.emit([]byte(marks + text + marks)...)
	f.endToken()
	f.isFirst, f.isWrapped = false, true
}
