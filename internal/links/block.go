package links

import "bytes"

// block is the state of lines.
type block struct {
	lineStart bool // at the start of a line
	codeLine  bool // in a line of code
	hasText   bool // a line with text came before
	isBlank   bool // the line before is blank
	indented  bool // in an indented code block
	nested    bool // a list, a quote or the like may be open
	htmlBlock bool // clients may read the lines as HTML until a blank one
	marker    int  // column of the newest list item
	item      int  // column of its text; 0: no item is open
	fence     fence

	// Clients may or may not be in a fenced code block: until the containers end, or to the end.
	maybeFenced bool
	lostFence   bool
}

// A fence is an open fenced code block.
type fence struct {
	mark    byte
	size    int // 0: no block is open
	indent  int
	certain bool // no container can end it
	inItem  bool // the line of a list item began it
}

// linePrefix is the beginning of a line.
type linePrefix struct {
	bytes  int // before the first character that is no marker
	column int // of that character
	indent int // before the first marker
	first  byte
	isItem bool
	quoted bool
	number bool // the item has a number other than 1
}

// readLineStart reads the beginning of a line: all of it if it is blank or a fence.
func (f *Filter) readLineStart(in []byte, more bool) int {
	p, ok := readPrefix(in, more)
	if !ok {
		return 0
	}
	isBare := !p.quoted && !p.isItem
	if p.first == '\n' && isBare {
		f.isBlank, f.htmlBlock, f.inline = true, false, inline{}
		f.emit(in[:p.bytes+1]...)
		return p.bytes + 1
	}
	if f.fence.size > 0 {
		if n, isCode := f.readFenced(in, p, more); isCode {
			return n
		}
	}
	if p.indent >= 4 && f.hasText && (f.indented || f.isBlank && !f.nested && !f.maybeFenced && !f.lostFence) && !f.htmlBlock {
		f.indented, f.codeLine, f.lineStart, f.isBlank = true, true, false, false
		return f.copyCode(in)
	}
	f.indented = false
	if isBare && p.indent == 0 && f.isBlank && !isOdd(p.first) {
		f.nested, f.maybeFenced, f.marker, f.item = false, false, 0, 0
	}
	if p.first == '`' || p.first == '~' {
		n, isFence, ok := f.readFenceLine(in, p, more)
		if !ok || isFence {
			return n
		}
	}
	f.noteContainers(p, isOdd(p.first))
	f.lineStart, f.isBlank, f.hasText = false, false, true
	f.startLine()
	if p.bytes > 0 {
		f.emit(in[:p.bytes]...)
		return p.bytes
	}
	return f.readInline(in, more)
}

// indentBytes returns the length of the white space at the start.
func (p linePrefix) indentBytes(in []byte) int {
	return len(in) - len(bytes.TrimLeft(in, " \t"))
}

// isOdd reports whether a line that begins with c may open a container in some clients, such as a
// footnote or an admonition.
func isOdd(c byte) bool { return bytes.IndexByte([]byte("[:!?=/{%$|"), c) >= 0 }

// isCertainItem reports whether all clients take the line for a list item, not for a paragraph.
func (f *Filter) isCertainItem(p linePrefix) bool {
	isPlaced := p.indent <= 3 || p.indent == f.marker || f.item <= p.indent && p.indent <= f.item+3
	return p.isItem && !p.quoted && p.first > ' ' && isPlaced && (!p.number || f.isBlank || f.item > 0)
}

func (f *Filter) noteContainers(p linePrefix, odd bool) {
	if f.isCertainItem(p) {
		f.marker, f.item = p.indent, p.column
	} else if p.indent < f.item || p.quoted {
		f.marker, f.item = 0, 0
	}
	f.nested = f.nested || p.isItem || p.quoted || odd
	f.maybeFenced = f.maybeFenced || p.first == '[' || p.first == ':' // a footnote or a definition
}

// readPrefix reads white space and the markers of quotes and list items.
func readPrefix(in []byte, more bool) (p linePrefix, ok bool) {
	at, column, isFirst := 0, 0, true
	for {
		for at < len(in) && (in[at] == ' ' || in[at] == '\t' || in[at] == '\r') {
			if in[at] == '\t' {
				column += 3 - column%4
			}
			at, column = at+1, column+1
		}
		if isFirst {
			p.indent, isFirst = column, false
		}
		p.bytes, p.column = at, column
		if at == len(in) {
			return p, !more
		}
		p.first = in[at]
		n := 0
		switch c := in[at]; {
		case c == '>':
			p.quoted = true
			at, column = at+1, column+1
			continue
		case c == '-' || c == '+' || c == '*':
			n = 1
		case '0' <= c && c <= '9':
			for n < 10 && at+n < len(in) && '0' <= in[at+n] && in[at+n] <= '9' {
				n++
			}
			if at+n == len(in) {
				return p, !more
			}
			if in[at+n] != '.' && in[at+n] != ')' {
				return p, true
			}
			p.number = p.number || n > 1 || c != '1'
			n++
		default:
			return p, true
		}
		if at+n == len(in) {
			return p, !more
		}
		if c := in[at+n]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return p, true
		}
		p.isItem = true
		at, column = at+n, column+n
	}
}

// lineOf returns the rest of the line without its end. Without more, the input may end the line.
func lineOf(in []byte, more bool) (line []byte, ok bool) {
	if i := bytes.IndexByte(in, '\n'); i >= 0 {
		return in[:i], true
	}
	return in, !more
}

func runLength(in []byte, c byte) (n int) {
	for n < len(in) && in[n] == c {
		n++
	}
	return n
}

// minFence is the least number of marks of a fence.
const minFence = 3

// readFenceLine reads the first line of a fenced code block.
func (f *Filter) readFenceLine(in []byte, p linePrefix, more bool) (n int, isFence, ok bool) {
	size := runLength(in[p.bytes:], p.first)
	if p.bytes+size == len(in) && more {
		return 0, false, false
	}
	if size < minFence {
		return 0, false, true
	}
	line, ok := lineOf(in[p.bytes:], more)
	if !ok {
		return 0, false, false
	}
	if p.first == '`' && bytes.IndexByte(line[size:], '`') >= 0 {
		return 0, false, true
	}
	isCut := p.bytes+len(line) >= maxHeld
	isBare := !p.isItem && !p.quoted
	g := fence{mark: p.first, size: size, indent: p.column, certain: isBare && (p.indent == 0 || p.indent <= 3 && !f.nested), inItem: p.isItem}
	fits := isBare && (p.indent <= 3 || f.isBlank) || f.isCertainItem(p) || isBare && f.item > 0 && f.item <= p.column && p.column <= f.item+3
	switch {
	case f.htmlBlock, isCut, p.indent > 0 && !f.hasText:
		f.lostFence = true
		return 0, false, true
	case f.lostFence:
		return 0, false, true
	case g.certain, !p.quoted && !f.maybeFenced && fits:
	default:
		f.maybeFenced, f.nested = true, true
		f.lostFence = isBare && p.indent <= 3
		return 0, false, true
	}
	f.noteContainers(p, false)
	f.fence, f.isBlank, f.hasText = g, false, true
	if g.certain {
		f.inline = inline{}
	} else if g.mark == '`' { // clients may read a paragraph here
		f.openRuns |= 1 << min(size, maxRun+1)
	}
	n = min(len(in), p.bytes+len(line)+1)
	f.emit(in[:n]...)
	f.lineStart = in[n-1] == '\n'
	f.codeLine = !f.lineStart
	return n, true, true
}

// readFenced reads the beginning of a line in a fenced code block. If the block may have ended
// before, the line is not code.
func (f *Filter) readFenced(in []byte, p linePrefix, more bool) (n int, isCode bool) {
	g := f.fence
	if !g.certain && p.indent < g.indent {
		f.fence = fence{}
		f.lostFence = f.lostFence || p.indent > 0 || g.indent <= 3 && !g.inItem
		return 0, false
	}
	at := p.indentBytes(in)
	size := runLength(in[at:], g.mark)
	if size > 0 && at+size == len(in) && more {
		return 0, true
	}
	if size >= g.size {
		line, ok := lineOf(in[at:], more)
		if !ok {
			return 0, true
		}
		if len(bytes.TrimSpace(line[size:])) == 0 {
			if at+len(line) >= maxHeld {
				f.fence, f.lostFence = fence{}, true
				return 0, false
			}
			if g.certain && p.indent <= 3 || !g.certain && p.indent == g.indent {
				f.fence = fence{}
			} else if !g.certain {
				f.fence, f.lostFence = fence{}, true
				return 0, false
			}
		}
	}
	f.lineStart, f.codeLine, f.isBlank = false, true, false
	return f.copyCode(in), true
}

// copyCode copies code to the end of the line.
func (f *Filter) copyCode(in []byte) int {
	n := bytes.IndexByte(in, '\n') + 1
	if f.lineStart, f.codeLine = n > 0, n == 0; n == 0 {
		n = len(in)
	}
	f.emit(in[:n]...)
	return n
}
