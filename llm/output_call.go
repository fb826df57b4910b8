package llm

import (
	"encoding/json"
	"slices"
	"strings"
)

// A writtenCall is a call that a model wrote as text.
type writtenCall struct {
	name  string
	input json.RawMessage // an object
}

// An openCall is a block of calls that has not ended.
type openCall struct {
	closer   string // name of the end marker
	name     string // of the tool, if the start has it
	start    int    // of the start marker
	from     int    // end of the start marker
	line     int    // start of the line
	doubtful bool
	maybe    span // first end marker in an incomplete JSON value
	passed   int  // number of them
}

const (
	endOfTurn = "end of turn"

	maxPassed = 16
)

// openCall starts a block of calls.
func (r *OutputReader) openCall(start, from int, c openCall) {
	line := r.lineStart
	if c.closer == "/function" || c.closer == "/invoke" {
		from = start // the start names the tool
	}
	r.endText(c.closer == harmonyChannel)
	c.start, c.from, c.line = start, from, line
	r.call, r.mode = c, modeCall
	r.at = max(from, start+1)
}

// readCall reads calls up to their end marker.
func (r *OutputReader) readCall() bool {
	if !r.skipPlain() {
		return true
	}
	c := &r.call
	if c.closer == "fence" {
		if strings.HasPrefix(r.tail(3), "```") && r.isLineStart() {
			r.finishCall(r.at, r.at+3, false)
			return true
		}
		if r.isLineStart() && strings.HasPrefix("```", r.tail(3)) && !r.closing {
			return false
		}
		r.at++
		return true
	}
	m, wait := lexMarker(r.tail(maxMarker), r.closing)
	if wait {
		return false
	}
	isEnd := c.isEnd(m)
	if isEnd && c.passed < maxPassed && isOpenJSON(string(r.raw[c.from:r.at])) {
		c.passed++
		if c.maybe.to == 0 {
			c.maybe = span{r.at, r.at + m.size}
		}
		isEnd = false
	}
	if !isEnd {
		r.at += max(1, m.size)
		return true
	}
	end := r.at + m.size
	if m.kind == markChannel {
		end = r.at // of the next message
	}
	r.finishCall(r.at, end, false)
	return true
}

// isEnd reports whether a marker ends the block.
func (c *openCall) isEnd(m marker) bool {
	switch c.closer {
	case harmonyChannel:
		return m.kind == markHarmony || m.kind == markChannel
	case strippedHarmony:
		return false
	case endOfTurn:
		return m.kind == markTurnEnd
	case "end_message":
		return m.kind == markClose && m.name == "content"
	}
	return m.kind == markCallEnd && m.name == c.closer
}

// isOpenJSON reports whether text starts with JSON that is not complete.
func isOpenJSON(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return isContainer(text) && jsonLen(text) == 0
}

// jsonLen returns the length of the object or list at the start of text, or 0 if it is not
// complete.
func jsonLen(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			n := stringLen(text[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// finishCall ends a block. cut reports that the answer broke off in it.
func (r *OutputReader) finishCall(bodyEnd, end int, cut bool) {
	c := r.call
	body := string(r.raw[min(c.from, bodyEnd):bodyEnd])
	calls := r.parseCalls(body, c.name, cut)
	if c.doubtful && !r.fitSchemas(calls) {
		calls = nil
	}
	if len(calls) == 0 && !cut && (c.doubtful || r.closing && bodyEnd == len(r.raw) && !strings.ContainsAny(body, "{[(") && !strings.Contains(body, "<")) {
		// the marker alone is stray, or a word of the text
		r.mode, r.at, r.lineStart, r.begun = modeText, c.start+1, c.line, true
		if c.doubtful {
			r.doubts++
		} else {
			r.setText(max(c.from, c.start+1))
		}
		return
	}
	if r.cfg.Verbatim && len(r.offeredCalls(calls)) == 0 { // the data that was asked for
		r.mode, r.at, r.begun = modeText, end, true
		return
	}
	r.assign(outCall, end, calls...)
	r.setText(end)
	r.tagged = r.tagged || c.closer == harmonyChannel
}

// offeredCalls returns the calls of offered tools.
func (r *OutputReader) offeredCalls(written []writtenCall) (calls []ToolCall) {
	for _, c := range written {
		if t := r.findTool(c.name); t != nil {
			calls = append(calls, ToolCall{Name: t.Name, Input: c.input})
		}
	}
	return calls
}

// fitSchemas reports whether the arguments of all calls of offered tools are valid.
func (r *OutputReader) fitSchemas(written []writtenCall) bool {
	for _, c := range written {
		t := r.findTool(c.name)
		if t == nil {
			continue
		}
		check, err := newChecker(&Schema{Name: t.Name, JSON: t.Schema})
		if err != nil || check == nil { // a schema of a client may be of any kind
			continue
		}
		if _, err := check.checkValue(c.input); err != nil {
			return false
		}
	}
	return true
}

// findTool returns the offered tool with a name, in which models add a name space or change
// the case, or nil.
func (r *OutputReader) findTool(name string) *Tool {
	name = strings.TrimSuffix(strings.Trim(strings.TrimSpace(name), "\"'`"), ".call")
	short := name[strings.LastIndexAny(name, ".:/")+1:]
	for _, same := range []func(offered string) bool{
		func(offered string) bool { return offered == name },
		func(offered string) bool { return offered == short },
		func(offered string) bool {
			return strings.EqualFold(strings.ReplaceAll(offered, "-", "_"), strings.ReplaceAll(short, "-", "_"))
		},
	} {
		if i := slices.IndexFunc(r.cfg.Tools, func(t Tool) bool { return same(t.Name) }); i >= 0 {
			return &r.cfg.Tools[i]
		}
	}
	return nil
}

// callKeys has the members with which the JSON of a call may begin.
var callKeys = map[string]bool{
	"name": true, "tool_name": true, "function": true, "function_name": true, "tool": true, "type": true, "id": true, "tool_call_id": true,
	"arguments": true, "parameters": true, "tool_calls": true,
}

// findBare reports whether the answer begins like a call without a marker.
func (r *OutputReader) findBare(text string) (bare, wait bool) {
	if len(r.cfg.Tools) == 0 || r.cfg.Verbatim || r.noBare || text == "" {
		return false, false
	}
	if text[0] == '[' {
		rest := strings.TrimLeft(text[1:], " \t\r\n")
		if rest == "" {
			return false, true
		}
		if rest[0] != '{' {
			return r.findToolCall(rest)
		}
		text = rest
	}
	if text[0] != '{' {
		return r.findToolCall(text)
	}
	rest := strings.TrimLeft(text[1:], " \t\r\n")
	if rest == "" {
		return false, true
	}
	if rest[0] != '"' {
		return false, false
	}
	n := stringLen(rest)
	if n == 0 {
		return false, len(rest) < maxName
	}
	return callKeys[strings.ToLower(rest[1:n-1])], false
}

// findToolCall reports whether text begins with the name of a tool and a parenthesis.
func (r *OutputReader) findToolCall(text string) (bare, wait bool) {
	name := leadingWord(text, ".-")
	if name == "" {
		return false, false
	}
	rest := text[len(name):]
	if rest == "" {
		for _, t := range r.cfg.Tools {
			wait = wait || strings.HasPrefix(t.Name, name)
		}
		return false, wait
	}
	return rest[0] == '(' && r.findTool(name) != nil, false
}

// readBare waits for the end of the answer, unless it is too long for a call.
func (r *OutputReader) readBare() bool {
	if len(r.raw)-r.done > maxBare {
		r.noBare, r.mode = true, modeText
		return true
	}
	r.at = len(r.raw)
	return false
}

// finishBare decides whether the whole answer is calls of offered tools.
func (r *OutputReader) finishBare(cut bool) {
	body := strings.TrimSpace(stripTurnEnds(string(r.raw[r.done:])))
	calls, whole := r.parseBare(body)
	if whole && len(calls) > 0 && !cut && len(r.offeredCalls(calls)) == len(calls) {
		r.assign(outCall, len(r.raw), calls...)
		r.at, r.held = len(r.raw), released
		r.mode = modeText
		return
	}
	if whole && len(calls) > 0 && len(body) > 0 && body[0] == '{' { // of a tool that does not exist
		r.assign(outHidden, len(r.raw))
		r.at, r.held, r.mode = len(r.raw), released, modeText
		return
	}
	r.noBare, r.mode, r.at = true, modeText, r.done
}

// stripTurnEnds removes the ends of turns at the end of text.
func stripTurnEnds(text string) string {
	for {
		text = strings.TrimSpace(text)
		i := strings.LastIndexByte(text, '<')
		if i < 0 {
			return text
		}
		m, _ := lexMarker(text[i:], true)
		if m.kind != markTurnEnd && m.kind != markHarmony || m.size != len(text)-i {
			return text
		}
		text = text[:i]
	}
}
