package llm

import (
	"slices"
	"strings"
	"unicode"
)

// endText ends the text before a marker here. marks reports that the model marks the start of
// its reasoning.
func (r *OutputReader) endText(marks bool) {
	kind := outText
	switch before := r.raw[r.done:r.at]; {
	case !r.isBegun():
		kind = outHidden
	case r.held == provisional, r.held == heldBack && !marks && isSelfTalk(string(before)):
		kind = outReasoning
	}
	r.assign(kind, r.at)
	r.held = released
}

// hide hides a marker here. Text before it that is not returned yet is the answer, unless the
// marker starts the answer.
func (r *OutputReader) hide(m marker) {
	begun := r.isBegun()
	atStart := r.isLineStart()
	switch {
	case !begun:
		r.assign(outHidden, r.at)
	case r.held != released && m.kind == markAnswer && !m.end:
		r.assign(outReasoning, r.at)
		r.dropped, begun = true, false
	default:
		r.assign(outText, r.at)
	}
	r.held = released
	r.at += m.size
	r.assign(outHidden, r.at)
	if atStart || !begun {
		r.lineStart = r.at
	}
	r.trim = !begun
}

// applyMarker acts on a marker in the text. It returns false to wait for more text.
func (r *OutputReader) applyMarker(m marker) bool {
	v, wait := r.judge(m)
	if wait {
		return false
	}
	if v == isDoubtful && r.doubts >= maxDoubts {
		v = isText
	}
	if v == isText {
		r.at += m.size
		return true
	}
	switch m.kind {
	case markOpen:
		if is, wait := r.isRecord(m); is || wait {
			if is {
				r.document = true
				r.at += m.size
			}
			return is
		}
		return r.openReasoning(m, v == isDoubtful)
	case markClose:
		r.closeWithoutStart(m, v)
	case markCall:
		if r.quotedCall || r.inLongQuotation() {
			r.quotedCall = true
			r.at += m.size
			return true
		}
		r.openCall(r.at, r.at+m.size, openCall{closer: m.name, doubtful: v == isDoubtful})
	case markCallEnd:
		r.skipOrHide(m, v == isMarker && !r.quotedCall)
		r.quotedCall = false
	case markAnswer:
		r.skipOrHide(m, m.tag.size == 0 || r.isAnswerTag(m))
	case markRole:
		r.skipOrHide(m, v == isMarker && (r.isLineStart() || !r.isBegun()))
	case markTurnEnd:
		return r.applyTurnEnd(m)
	case markChannel:
		return r.readHeader()
	case markHarmony:
		if !r.harmony {
			return r.applyTurnEnd(m)
		}
		r.endText(true)
		r.setText(r.at + m.size)
	}
	return true
}

// isRecord reports whether a tag belongs to the data that was asked for, as <thoughts>, or
// <thought> around other tags.
func (r *OutputReader) isRecord(m marker) (is, wait bool) {
	if !r.cfg.Verbatim || m.tag.size == 0 || m.name != "thought" && m.name != "thoughts" {
		return false, false
	}
	rest := strings.TrimLeft(string(r.raw[r.at+m.size:min(len(r.raw), r.at+m.size+maxName)]), " \t\r\n")
	return m.name == "thoughts" || strings.HasPrefix(rest, "<"), m.name == "thought" && rest == "" && !r.closing
}

func (r *OutputReader) skipOrHide(m marker, hide bool) {
	if !hide {
		r.at += m.size
		return
	}
	r.hide(m)
}

// isAnswerTag reports whether a tag such as <answer> encloses the answer after reasoning.
func (r *OutputReader) isAnswerTag(m marker) bool {
	if m.end {
		was := r.wrapped
		r.wrapped = false
		return was
	}
	r.wrapped = r.wrapped || !r.isBegun() && (r.native || r.tagged || r.dropped)
	return r.wrapped
}

// applyTurnEnd hides the end of a turn if the text ends there.
func (r *OutputReader) applyTurnEnd(m marker) bool {
	after := string(r.raw[r.at+m.size : min(len(r.raw), r.at+m.size+maxLine)])
	rest := strings.TrimSpace(after)
	if rest == "" && len(after) < maxLine && !r.closing {
		return false
	}
	ends := rest == "" || rest[0] == '<' || after[0] == '\n' && !r.isMention()
	r.skipOrHide(m, ends && !(r.strike && strings.HasPrefix(r.tail(len("</s>")), "</s>")))
	return true
}

// isMention reports whether the word before introduces a marker.
func (r *OutputReader) isMention() bool {
	words := strings.Fields(string(r.raw[max(r.lineStart, r.at-maxName):r.at]))
	return len(words) > 0 && wordsBefore[strings.ToLower(words[len(words)-1])]
}

// openReasoning starts reasoning at a marker here.
func (r *OutputReader) openReasoning(m marker, doubtful bool) bool {
	end := r.at + m.size
	if m.name == "<|channel>" || m.name == "<unused94>" {
		label, _, ok := strings.Cut(string(r.raw[end:min(len(r.raw), end+maxName)]), "\n")
		switch word := strings.TrimSpace(label); {
		case !ok && len(label) < maxName && !r.closing:
			return false
		case ok && (word == "thought" || word == "analysis"):
			end += len(label) + 1
		}
	}
	start := r.at
	r.endText(true)
	r.thought = openThought{name: m.name, kind: outReasoning, start: start, open: end, doubtful: doubtful, line: r.lineStart}
	r.mode, r.at = modeReasoning, end
	r.fence, r.tick, r.lineStart = "", 0, end
	if r.live = max(r.live, end); !doubtful {
		r.assign(outHidden, end)
	}
	return true
}

// closeWithoutStart acts on an end tag without a start tag: all text before is reasoning, unless
// no answer follows.
func (r *OutputReader) closeWithoutStart(m marker, v markerUse) {
	blank := !r.isBegun()
	switch {
	case v == isDoubtful && !(blank || r.held == provisional), m.tag.size > 0 && r.document:
		r.at += m.size
		return
	case blank:
		r.assign(outHidden, r.at)
	case r.held == provisional, r.held == heldBack && isSelfTalk(string(r.raw[r.done:r.at])):
		r.assign(outReasoning, r.at)
		r.dropped = true
	case r.held == released && r.Separates():
		r.assign(outText, r.at)
	default:
		r.retractText()
		r.assign(outPreamble, r.at)
		r.hasText, r.dropped = false, true
	}
	r.held = released
	r.setText(r.at + m.size)
}

// retractText makes the text a preamble, and an earlier preamble reasoning.
func (r *OutputReader) retractText() {
	for i := range r.segs {
		switch s := &r.segs[i]; {
		case i >= r.retracted && s.kind == outText:
			s.kind, s.returned, r.retracts = outPreamble, true, true
		case s.kind == outPreamble:
			s.kind = outReasoning
		}
	}
	r.retracted = len(r.segs)
	r.unsent = r.text.String()
	r.text.Reset()
}

// readReasoning reads reasoning up to a possible end.
func (r *OutputReader) readReasoning() bool {
	t := &r.thought
	switch t.name {
	case strippedHarmony:
		return r.readUntilWord("assistant", lexStripped)
	case "Here is my response:":
		return r.readUntilWord("Here", lexGranite)
	}
	if !r.skipPlain() {
		return true
	}
	m, wait := lexMarker(r.tail(maxMarker), r.closing)
	if wait {
		return false
	}
	if t.name == harmonyChannel {
		if m.kind != markHarmony && m.kind != markChannel {
			return r.skipSpecial()
		}
		if m.kind == markChannel {
			m.size = 0 // of the next message
		}
		r.endReasoning(m)
		return true
	}
	switch m.kind {
	case markClose, markOpen, markCall, markAnswer:
	default:
		return r.skipSpecial()
	}
	v, wait := r.judge(m)
	switch {
	case wait:
		return false
	case m.kind == markOpen:
		if v == isMarker && !isBlank(r.raw[t.open:r.at]) {
			t.nested++
		}
	case m.kind == markClose && v == isMarker && t.nested > 0:
		t.nested--
		t.maybe = span{r.at, r.at + m.size}
	case m.kind == markClose && v == isMarker, m.kind == markAnswer && m.tag.size == 0 && v == isMarker && !m.end:
		r.endReasoning(m)
		return true
	case m.kind == markClose && !t.isCall:
		t.maybe = span{r.at, r.at + m.size}
	case (m.kind == markCall || m.kind == markAnswer && !m.end) && v == isMarker && r.isLineStart() && t.maybe.to == 0:
		t.maybe, t.isCall = span{r.at, r.at}, true
	}
	r.at += m.size
	return true
}

// endReasoning ends reasoning at a marker here.
func (r *OutputReader) endReasoning(m marker) {
	t := r.thought
	if t.doubtful && !hasWords(string(r.raw[t.open:r.at])) { // as in <think>...</think>
		r.mode, r.lineStart = modeText, t.line
		r.at += m.size
		return
	}
	r.assign(outHidden, max(r.done, min(t.open, r.at)))
	r.assign(t.kind, r.at)
	r.tagged = true
	r.setText(r.at + m.size)
}

func hasWords(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) >= 0
}

// resolveEnd decides what the end of the text is. It reports whether text is left to read.
func (r *OutputReader) resolveEnd(cut bool) (again bool) {
	switch r.mode {
	case modeText:
		kind := outText
		switch {
		case r.held == provisional && cut, r.held == heldBack && cut && isSelfTalk(string(r.raw[r.done:])):
			kind = outReasoning
		case isBlank(r.raw[r.done:]) && len(r.segs) > 0 && !r.hasText:
			kind = outHidden
		}
		r.assign(kind, len(r.raw))
		r.held = released
		return false
	case modeReasoning:
		return r.resolveThought()
	case modeCall:
		if end := r.call.maybe; end.to > 0 {
			r.finishCall(end.from, end.to, false)
			return true
		}
		r.finishCall(len(r.raw), len(r.raw), cut)
	case modeBare:
		r.finishBare(cut)
	}
	return r.mode == modeText && r.at < len(r.raw) || r.done < len(r.raw)
}

// resolveThought decides what reasoning without an end is.
func (r *OutputReader) resolveThought() (again bool) {
	t := r.thought
	switch {
	case t.doubtful:
		r.doubts++
		r.mode, r.at, r.lineStart, r.begun = modeText, t.start+1, t.line, true
		return true
	case t.maybe.to > 0:
		r.assign(t.kind, t.maybe.from)
		r.tagged = true
		r.setText(t.maybe.to)
		return true
	}
	r.assign(t.kind, len(r.raw))
	return false
}

// promotePreamble makes a preamble the answer if there is no other, nor a call. Before a lone end
// tag, that takes an answer that is complete.
func (r *OutputReader) promotePreamble(cut bool) {
	isPreamble := func(s outputSegment) bool { return s.kind == outPreamble }
	if r.hasText || len(r.Calls()) > 0 || r.dropped && cut || !slices.ContainsFunc(r.segs, isPreamble) {
		return
	}
	r.text.WriteString(r.unsent)
	r.retracts, r.dropped = false, false
	for i := range r.segs {
		switch s := &r.segs[i]; {
		case s.kind == outPreamble:
			if s.kind = outText; !s.returned {
				r.text.Write(r.raw[s.from:s.to])
			}
		case s.kind == outReasoning && s.returned:
			r.retracts = true
		}
	}
}

// startWords has texts with which reasoning starts without a marker.
var startWords = []struct{ text, name string }{
	{"Here is my thought process:", "Here is my response:"}, {"Here's my thought process:", "Here is my response:"},
	{"Here are my reasoning steps:", "reasoning steps"},
}

// readStart reads the start of the answer. It returns true to wait for more text.
func (r *OutputReader) readStart() (wait bool) {
	for r.at < len(r.raw) && r.raw[r.at] <= ' ' {
		if r.raw[r.at] == '\n' {
			r.lineStart = r.at + 1
		}
		r.at++
	}
	if r.at == len(r.raw) {
		return !r.closing
	}
	text := r.tail(maxMarker)
	for _, s := range startWords {
		if strings.HasPrefix(text, s.text) {
			r.openReasoning(marker{name: s.name, size: len(s.text)}, false)
			return false
		}
		wait = wait || strings.HasPrefix(s.text, text)
	}
	is, more := r.readStrippedStart(text)
	if is {
		return false
	}
	wait = wait || more
	bare, more := r.findBare(text)
	if wait || more {
		if !r.closing {
			return true
		}
	}
	if bare {
		r.mode = modeBare
		return false
	}
	return false
}
