package llm

import (
	"strings"
)

// An OutputConfig describes the text that an [OutputReader] reads.
type OutputConfig struct {
	// Tools are the offered tools. Calls of other tools are hidden.
	Tools []Tool

	// Open declares that the template writes the start tag of reasoning, so that the text begins
	// with reasoning.
	Open bool

	// Hold declares that the template may write that tag. The reader then holds the start of the
	// text until an end tag is unlikely.
	Hold bool

	// Verbatim declares that the text is data, such as JSON. Only calls in markers that name an
	// offered tool are calls then; models also write data in such markers.
	Verbatim bool
}

// An OutputReader separates a model's text into reasoning, answer and the tool calls that the
// model writes as text. It knows the markers of all families; see docs/design/reasoning.md. It
// keeps markers in code, in quotes, and in sentences about them.
//
// Add returns text once it certainly belongs to the answer. It returns doubtful text as
// reasoning; if that text belongs to the answer after all, Close returns it as text. A late end
// tag can show that text already returned was reasoning: see Retracts. The result does not
// depend on how the text is cut into pieces.
type OutputReader struct {
	cfg  OutputConfig
	raw  []byte
	at   int // scanned up to here
	done int // assigned to segments up to here
	live int // returned as reasoning up to here, if after done
	segs []outputSegment

	mode     outputMode
	held     holdState
	native   bool // reasoning came in its own field
	harmony  bool // the text has channels
	tagged   bool // reasoning had a start tag
	wrapped  bool // an answer tag is open
	hasText  bool
	closing  bool // Close was called
	retracts bool
	dropped  bool // an end tag came without a start tag
	doubts   int  // doubtful starts that were text

	thought openThought // in modeReasoning
	call    openCall    // in modeCall

	blank      int    // no text from done up to here
	retracted  int    // segments up to here are not text
	unsent     string // retracted before it was returned
	lineStart  int
	fence      string // opening run of backticks or tildes
	tick       int    // length of the open run of backticks in the line
	trim       bool   // line breaks here are hidden
	begun      bool   // the answer has begun
	noBare     bool   // the answer is no call
	strike     bool   // the text has the tag <s>
	quotedCall bool   // a call in a quotation has not ended
	document   bool   // the text has tags such as <thought type="a">

	reasoning, text strings.Builder // not yet returned
}

type outputMode int

const (
	modeText outputMode = iota
	modeReasoning
	modeCall
	modeBare // perhaps a call without a marker, to the end
)

// A holdState tells whether the start of the text may be reasoning without a start tag.
type holdState int

const (
	released    holdState = iota
	heldBack              // not returned yet
	provisional           // returned as reasoning
)

const (
	// holdSize is the size of the start of a text, in bytes, by which its kind is decided.
	holdSize = 160

	maxDoubts = 4
	maxBare   = 32 << 10
)

type outputKind int

const (
	outText outputKind = iota
	outReasoning
	outPreamble // reasoning, or the answer if there is no other: see promotePreamble
	outHidden
	outCall
)

// An outputSegment is a part of the raw text.
type outputSegment struct {
	kind     outputKind
	from, to int
	calls    []writtenCall
	returned bool // a preamble that was answer text before
}

// An openThought is reasoning that has not ended.
type openThought struct {
	name     string
	kind     outputKind
	start    int // of its start tag
	open     int // end of that tag
	line     int // start of the line of that tag
	nested   int // start tags in it that are open
	doubtful bool
	maybe    span // newest possible end tag, or the first call
	isCall   bool // maybe is a call
}

type span struct{ from, to int }

// NewOutputReader returns a reader of one answer.
func NewOutputReader(cfg OutputConfig) *OutputReader {
	r := &OutputReader{cfg: cfg}
	switch {
	case cfg.Open:
		r.held = provisional
	case cfg.Hold:
		r.held = heldBack
	}
	return r
}

// NoteReasoning records that the model's reasoning came in its own field. The text then does
// not begin with reasoning.
func (r *OutputReader) NoteReasoning() {
	if !r.native && r.held == heldBack {
		r.held = released
	}
	r.native = true
}

// Add reads a piece and returns the new reasoning and text.
func (r *OutputReader) Add(piece string) (reasoning, text string) {
	r.raw = append(r.raw, piece...)
	r.readAll()
	return r.takeOutput()
}

// Close reads the end and returns the rest. cut reports that the answer broke off.
func (r *OutputReader) Close(cut bool) (reasoning, text string) {
	r.closing = true
	for {
		r.readAll()
		if !r.resolveEnd(cut) {
			break
		}
	}
	r.promotePreamble(cut)
	return r.takeOutput()
}

func (r *OutputReader) takeOutput() (reasoning, text string) {
	reasoning, text = r.reasoning.String(), r.text.String()
	r.reasoning.Reset()
	r.text.Reset()
	return reasoning, text
}

// Retracts reports whether a late end tag showed that returned text was reasoning.
func (r *OutputReader) Retracts() bool { return r.retracts }

// DropsStart reports whether reasoning ended without a start tag.
func (r *OutputReader) DropsStart() bool { return r.dropped }

// Separates reports whether the model marked the start of its reasoning.
func (r *OutputReader) Separates() bool { return r.native || r.tagged || r.harmony }

// Calls returns the calls of offered tools, in order. They have no IDs.
func (r *OutputReader) Calls() (calls []ToolCall) {
	for _, s := range r.segs {
		calls = append(calls, r.offeredCalls(s.calls)...)
	}
	return calls
}

// SplitParts returns parts with their text separated. The reader must have read exactly their
// text. An opaque stays with the first piece of its part.
func (r *OutputReader) SplitParts(parts []Part) (out []Part) {
	at, next := 0, 0
	for _, p := range parts {
		if p.Text == "" {
			out = append(out, p)
			continue
		}
		from := at
		at += len(p.Text)
		n := len(out)
		var open pieces
		for ; next < len(r.segs) && r.segs[next].to < from; next++ { // of earlier parts
		}
		for _, s := range r.segs[next:] {
			if s.from >= at {
				break
			}
			if s.kind == outCall && from <= s.from {
				out = open.flush(out)
				for _, c := range r.offeredCalls(s.calls) {
					out = append(out, Part{Call: &c})
				}
			}
			lo, hi := max(s.from, from), min(s.to, at)
			if lo >= hi || s.kind == outHidden || s.kind == outCall {
				continue
			}
			if isText := s.kind == outText; isText != open.isText {
				out = open.flush(out)
				open.isText = isText
			}
			open.Write(r.raw[lo:hi])
		}
		out = open.flush(out)
		switch {
		case p.Opaque == nil:
		case len(out) > n:
			out[n].Opaque = p.Opaque
		default:
			out = append(out, Part{Opaque: p.Opaque})
		}
	}
	return out
}

// pieces joins adjacent pieces of equal kind.
type pieces struct {
	isText bool
	strings.Builder
}

// flush returns out with the joined pieces.
func (p *pieces) flush(out []Part) []Part {
	switch text := p.String(); {
	case text == "":
	case p.isText:
		out = append(out, Part{Text: text})
	default:
		out = append(out, Part{Reasoning: text})
	}
	p.Reset()
	return out
}

// assign assigns the text up to a place.
func (r *OutputReader) assign(kind outputKind, to int, calls ...writtenCall) {
	if to <= r.done && len(calls) == 0 {
		return
	}
	switch kind {
	case outText:
		r.text.Write(r.raw[r.done:to])
		r.hasText = r.hasText || !isBlank(r.raw[r.done:to])
	case outReasoning, outPreamble:
		r.showReasoning(to)
	}
	n := len(r.segs) - 1
	if n >= 0 && r.segs[n].kind == kind && r.segs[n].to == r.done && kind != outCall && !r.segs[n].returned {
		r.segs[n].to = to
	} else {
		r.segs = append(r.segs, outputSegment{kind: kind, from: r.done, to: to, calls: calls})
	}
	r.done = to
	r.live = max(r.live, to)
}

// showReasoning returns text up to a place as reasoning, perhaps for now.
func (r *OutputReader) showReasoning(to int) {
	if from := max(r.live, r.done); from < to {
		r.reasoning.Write(r.raw[from:to])
		r.live = to
	}
}

// readAll reads as far as the kind of the text is certain.
func (r *OutputReader) readAll() {
	for r.at < len(r.raw) {
		var more bool
		switch r.mode {
		case modeText:
			more = r.readText()
		case modeReasoning:
			more = r.readReasoning()
		case modeCall:
			more = r.readCall()
		case modeBare:
			more = r.readBare()
		}
		if !more {
			break
		}
	}
	r.release()
}

// release returns text that is certain.
func (r *OutputReader) release() {
	switch r.mode {
	case modeText:
		r.decideHold()
		switch {
		case r.held == provisional:
			r.showReasoning(r.at)
		case r.held == released && (r.at-r.done > maxLine || r.isBegun()):
			r.assign(outText, r.at)
		}
	case modeReasoning:
		switch t := &r.thought; {
		case t.doubtful:
			r.showReasoning(r.at)
		case t.maybe.to > 0:
			r.assign(t.kind, t.maybe.from)
			r.showReasoning(r.at)
		default:
			r.assign(t.kind, r.at)
		}
	}
}

// decideHold decides from the start of a long text whether it may be reasoning.
func (r *OutputReader) decideHold() {
	if r.held != heldBack || r.at < holdSize {
		return
	}
	r.held = released
	if isSelfTalk(string(r.raw[:holdSize])) {
		r.held = provisional
	}
}

func (r *OutputReader) tail(n int) string { return string(r.raw[r.at:min(len(r.raw), r.at+n)]) }

// readText reads plain text, or a marker. It returns false to wait for more text.
func (r *OutputReader) readText() bool {
	if c := r.raw[r.at]; r.trim && (c == '\n' || c == '\r') {
		r.at++
		r.lineStart = r.at
		r.assign(outHidden, r.at)
		return true
	}
	r.trim = false
	if !r.begun {
		if r.begun = r.isBegun(); !r.begun && r.readStart() {
			return false
		}
		if r.mode != modeText || r.at == len(r.raw) {
			return true
		}
	}
	special := r.skipPlain()
	r.decideHold()
	if !special {
		return true
	}
	m, wait := lexMarker(r.tail(maxMarker), r.closing)
	switch {
	case wait:
		return false
	case m.kind == markNone:
		r.document = r.document || tagNames[m.tag.name] == markOpen
		r.strike = r.strike || m.tag.name == "s" && !m.tag.end
		return r.skipSpecial()
	}
	return r.applyMarker(m)
}

// setText continues with answer text at a place, as at the start of a line.
func (r *OutputReader) setText(at int) {
	r.mode, r.at, r.lineStart, r.fence, r.tick = modeText, at, at, "", 0
	r.assign(outHidden, at)
	r.trim, r.begun = true, r.hasText
}
