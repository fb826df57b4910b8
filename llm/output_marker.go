package llm

import (
	"strings"
)

type markKind int

const (
	markNone    markKind = iota
	markOpen             // of reasoning
	markClose            // of reasoning
	markCall             // start of calls
	markCallEnd          // end of calls
	markAnswer           // start or end of the answer
	markRole             // start of a turn
	markTurnEnd          // end of a turn
	markChannel          // start of a harmony header
	markHarmony          // end of a harmony message
)

// A marker is a piece of a template in a model's text.
type marker struct {
	kind markKind
	name string
	size int
	end  bool // an end tag
	tag  xmlTag
}

const (
	maxMarker = 256 // bytes
	maxName   = 60
)

// specialTokens has the names of tokens such as <|im_end|>, in lower case and with underscores.
var specialTokens = map[string]marker{
	"begin_of_thought": {kind: markOpen, name: "thought"}, "end_of_thought": {kind: markClose, name: "thought"},
	"start_thinking": {kind: markOpen, name: "thinking"}, "end_thinking": {kind: markClose, name: "thinking"},
	"think": {kind: markOpen, name: "think"}, "/think": {kind: markClose, name: "think"},
	"thinking": {kind: markOpen, name: "thinking"}, "/thinking": {kind: markClose, name: "thinking"},
	"inner_prefix": {kind: markOpen, name: "inner"}, "inner_suffix": {kind: markClose, name: "inner"},
	"content_thinking": {kind: markOpen, name: "content"}, "end_message": {kind: markClose, name: "content"},
	"think:start": {kind: markOpen, name: "think:start"}, "think:end": {kind: markClose, name: "think:start"},
	"plamo:begin_think:plamo": {kind: markOpen, name: "plamo"}, "plamo:end_think:plamo": {kind: markClose, name: "plamo"}, "plamo:tag": {kind: markTurnEnd},

	"begin_of_solution": {kind: markAnswer}, "end_of_solution": {kind: markAnswer},
	"start_response": {kind: markAnswer}, "end_response": {kind: markAnswer},
	"start_text": {kind: markAnswer}, "end_text": {kind: markAnswer},
	"content_text": {kind: markAnswer}, "message_model": {kind: markAnswer},
	"chatbot_token": {kind: markRole}, "start_of_turn_token": {kind: markRole}, "assistant": {kind: markRole},
	"im_start": {kind: markRole}, "start_header_id": {kind: markRole},

	"im_end": {kind: markTurnEnd}, "eot_id": {kind: markTurnEnd}, "eom_id": {kind: markTurnEnd}, "endoftext": {kind: markTurnEnd},
	"end_of_text": {kind: markTurnEnd}, "end_of_turn": {kind: markTurnEnd}, "eot": {kind: markTurnEnd}, "eom": {kind: markTurnEnd},
	"end_of_msg": {kind: markTurnEnd}, "end_of_turn_token": {kind: markTurnEnd}, "end_of_sentence": {kind: markTurnEnd},
	"content_model_end_sampling": {kind: markTurnEnd}, "assistant_end": {kind: markTurnEnd},

	"channel": {kind: markChannel}, "start": {kind: markChannel}, "message": {kind: markChannel}, "constrain": {kind: markChannel},
	"end": {kind: markHarmony}, "return": {kind: markHarmony}, "call": {kind: markHarmony},

	"tool_calls_section_begin": {kind: markCall, name: "tool_calls_section_end"}, "tool_calls_section_end": {kind: markCallEnd},
	"tool_call_begin": {kind: markCall, name: "tool_call_end"}, "tool_call_end": {kind: markCallEnd},
	"tool_calls_begin": {kind: markCall, name: "tool_calls_end"}, "tool_calls_end": {kind: markCallEnd},
	"tool_call_start": {kind: markCall, name: "tool_call_end"},
	"tool_call":       {kind: markCall, name: "/tool_call"}, "/tool_call": {kind: markCallEnd},
	"tool_call:start": {kind: markCall, name: "tool_call:end"}, "tool_call:end": {kind: markCallEnd},
	"plamo:begin_tool_requests:plamo": {kind: markCall, name: "plamo:end_tool_requests:plamo"}, "plamo:end_tool_requests:plamo": {kind: markCallEnd},
	"python_tag":   {kind: markCall, name: "end of turn"},
	"start_action": {kind: markCall, name: "end_action"}, "end_action": {kind: markCallEnd},
	"action_start": {kind: markCall, name: "action_end"}, "action_end": {kind: markCallEnd},
	"tools_prefix": {kind: markCall, name: "tools_suffix"}, "tools_suffix": {kind: markCallEnd},
	"function_call":            {kind: markCall, name: "end of turn"},
	"content_invoke_tool_json": {kind: markCall, name: "end_message"},
}

// bracketMarkers has the markers that are no tags, in lower case.
var bracketMarkers = []struct {
	text string
	marker
}{
	{"[think]", marker{kind: markOpen, name: "[think]"}}, {"[/think]", marker{kind: markClose, name: "[think]"}},
	{"[thinking]", marker{kind: markOpen, name: "[thinking]"}}, {"[/thinking]", marker{kind: markClose, name: "[thinking]"}},
	{"◁think▷", marker{kind: markOpen, name: "◁think▷"}}, {"◁/think▷", marker{kind: markClose, name: "◁think▷"}},
	{"[begin final response]", marker{kind: markClose, name: "reasoning steps"}}, {"[end final response]", marker{kind: markAnswer}},
	{"[unused16]", marker{kind: markOpen, name: "[unused16]"}}, {"[unused17]", marker{kind: markClose, name: "[unused16]"}},
	{"<unused94>", marker{kind: markOpen, name: "<unused94>"}}, {"<unused95>", marker{kind: markClose, name: "<unused94>"}},
	{"<|channel>", marker{kind: markOpen, name: "<|channel>"}}, {"<channel|>", marker{kind: markClose, name: "<|channel>"}},
	{"<|tool_call>", marker{kind: markCall, name: "<tool_call|>"}}, {"<tool_call|>", marker{kind: markCallEnd, name: "<tool_call|>"}},
	{"<start_function_call>", marker{kind: markCall, name: "<end_function_call>"}},
	{"<end_function_call>", marker{kind: markCallEnd, name: "<end_function_call>"}},
	{"<start_of_turn>model", marker{kind: markRole}}, {"<|turn>model", marker{kind: markRole}},
	{"<end_of_turn>", marker{kind: markTurnEnd}}, {"<turn|>", marker{kind: markTurnEnd}}, {"<eos>", marker{kind: markTurnEnd}},
	{"</s>", marker{kind: markTurnEnd}},
	{"[tool_calls]", marker{kind: markCall, name: "end of turn"}},
	{"[tool_call]", marker{kind: markCall, name: "[/tool_call]"}}, {"[/tool_call]", marker{kind: markCallEnd, name: "[/tool_call]"}},
	{"[tool_request]", marker{kind: markCall, name: "[end_tool_request]"}}, {"[end_tool_request]", marker{kind: markCallEnd, name: "[end_tool_request]"}},
}

// tagNames has the names of tags such as <think>, in lower case and without name space.
var tagNames = map[string]markKind{
	"think": markOpen, "thinking": markOpen, "thought": markOpen, "thoughts": markOpen, "reasoning": markOpen,
	"scratchpad": markOpen, "antthinking": markOpen, "inner_monologue": markOpen, "longcat_think": markOpen,
	"answer": markAnswer, "response": markAnswer, "final_answer": markAnswer, "output": markAnswer, "message": markAnswer,
	"tool_call": markCall, "tool_calls": markCall, "toolcall": markCall, "function_call": markCall, "function_calls": markCall,
	"functioncall": markCall, "tool_use": markCall, "function": markCall, "invoke": markCall, "longcat_tool_call": markCall, "tools": markCall,
}

// Prefixes of tags: MiniMax's name space, and DeepSeek's.
const minimaxPrefix = "]<]minimax[>["

// lexMarker reads the marker at the start of text. wait reports that more text could decide;
// final, that there is none.
func lexMarker(text string, final bool) (m marker, wait bool) {
	if len(text) > 1 && !mayBeMarker(text[0], text[1]) {
		return m, false
	}
	if rest, ok := strings.CutPrefix(text, minimaxPrefix); ok {
		m, wait = lexMarker(strings.TrimLeft(rest, " \r\n"), final)
		if m.kind != markNone {
			m.size += len(text) - len(strings.TrimLeft(rest, " \r\n"))
		}
		return m, wait
	}
	if !final && text != "" && strings.HasPrefix(minimaxPrefix, text) {
		return m, true
	}
	for _, b := range bracketMarkers {
		if hasFoldPrefix(text, b.text) {
			b.marker.size = len(b.text)
			return b.marker, false
		}
		wait = wait || hasFoldPrefix(b.text, text)
	}
	if wait && !final {
		return m, true
	}
	if !strings.HasPrefix(text, "<") {
		return m, false
	}
	if name, size, more := lexToken(text); size > 0 {
		return tokenMarker(text, name, size, final)
	} else if more && !final {
		return m, true
	}
	tag, more := lexTag(text)
	if tag.size == 0 {
		return m, more && !final
	}
	return tag.marker(), false
}

// mayBeMarker decides quickly by the first bytes.
func mayBeMarker(first, second byte) bool {
	switch first {
	case '<':
		return second == '/' || second == '|' || second >= 0x80 || isTagByte(second) && second > '9'
	case '[':
		return strings.IndexByte("/tbeuTBEU", second) >= 0
	case ']':
		return second == '<'
	}
	return first >= 0x80
}

// lexToken reads a special token such as <|im_end|>. It returns its normal name.
func lexToken(text string) (name string, size int, more bool) {
	rest := ""
	switch {
	case strings.HasPrefix(text, "<|"):
		rest = text[2:]
	case strings.HasPrefix(text, "<｜"):
		rest = text[len("<｜"):]
	default:
		return "", 0, strings.HasPrefix("<｜", text)
	}
	for _, end := range []string{"|>", "｜>"} {
		n := strings.Index(rest, end)
		if n < 0 || n > maxName || strings.ContainsAny(rest[:n], "<> \n") {
			continue
		}
		name = strings.ToLower(strings.ReplaceAll(rest[:n], "▁", "_"))
		return strings.ReplaceAll(name, "-", "_"), len(text) - len(rest) + n + len(end), false
	}
	return "", 0, len(rest) <= maxName && !strings.ContainsAny(rest, "<> \n")
}

// tokenMarker returns the marker of a special token.
func tokenMarker(text, name string, size int, final bool) (m marker, wait bool) {
	if name == "open" || name == "close" {
		return lexSection(text, name, size, final)
	}
	m, ok := specialTokens[name]
	if !ok {
		return marker{}, false
	}
	m.size, m.end = size, strings.HasPrefix(name, "end_")
	if m.kind == markCallEnd {
		m.name = name
	}
	if m.kind != markRole {
		return m, false
	}
	rest := text[size:]
	for _, role := range []string{"assistant<|end_header_id|>", "<|chatbot_token|>", "assistant"} {
		if hasFoldPrefix(rest, role) {
			m.size += len(role)
			return m, false
		}
		wait = wait || hasFoldPrefix(role, rest)
	}
	if name == "im_start" || name == "start_header_id" {
		if !wait || final {
			return marker{}, wait && !final
		}
	}
	return m, wait && !final
}

// lexSection reads <|open|>name attributes<|sep|>, as Kimi K3 writes it.
func lexSection(text, which string, size int, final bool) (m marker, wait bool) {
	const sep = "<|sep|>"
	head, _, ok := strings.Cut(text[size:], sep)
	if !ok {
		return m, !final && len(text) < maxMarker
	}
	tag, _ := lexTag("<" + head + ">")
	tag.end = which == "close"
	m = tag.marker()
	m.size = size + len(head) + len(sep)
	if m.kind == markNone && (tag.name == "call" || tag.name == "argument") {
		m.kind = markCall
	}
	if m.kind == markAnswer {
		m.tag = xmlTag{} // it always encloses the answer
	}
	return m, false
}

// An xmlTag is a tag such as <function=f>, <invoke name="f"> or </think>.
type xmlTag struct {
	name  string // in lower case, without name space
	value string // after "="
	attrs string
	end   bool
	size  int
}

// lexTag reads a tag.
func lexTag(text string) (tag xmlTag, more bool) {
	i := 1
	if i < len(text) && text[i] == '/' {
		tag.end = true
		i++
	}
	for _, space := range []string{"｜DSML｜", "|DSML|"} {
		if rest := text[min(i, len(text)):]; strings.HasPrefix(rest, space) {
			i += len(space)
		} else if strings.HasPrefix(space, rest) {
			return tag, true
		}
	}
	start := i
	for i < len(text) && isTagByte(text[i]) {
		i++
	}
	if i-start > maxName {
		return tag, false
	}
	if i == len(text) {
		return tag, true
	}
	if i == start {
		return tag, false
	}
	tag.name = tagName(strings.ToLower(text[start:i]))
	if strings.IndexByte("= \t\r\n>/", text[i]) < 0 {
		return tag, false
	}
	n := strings.IndexByte(text[i:], '>')
	if n < 0 {
		return tag, len(text) < maxMarker && !strings.Contains(text[i:], "<")
	}
	rest := text[i : i+n]
	if strings.Contains(rest, "<") || len(rest) > maxMarker {
		return tag, false
	}
	if value, ok := strings.CutPrefix(rest, "="); ok {
		tag.value = strings.Trim(strings.TrimSpace(value), `"'`)
	} else {
		tag.attrs = rest
	}
	tag.size = i + n + 1
	return tag, false
}

// tagName drops a name space, as in seed:think, or a suffix, as in think:opensource.
func tagName(name string) string {
	before, after, ok := strings.Cut(name, ":")
	if _, known := tagNames[before]; ok && !known {
		return after
	}
	return before
}

func isTagByte(c byte) bool {
	return c == '_' || c == ':' || c == '-' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (t xmlTag) marker() marker {
	m := marker{name: t.name, size: t.size, end: t.end, tag: t, kind: tagNames[t.name]}
	switch {
	case m.kind == markOpen && t.end:
		m.kind = markClose
	case m.kind == markCall && t.end:
		m.kind = markCallEnd
		m.name = "/" + t.name
	case m.kind == markCall:
		if (t.name == "function" || t.name == "invoke") && t.callName() == "" || t.name == "tools" && t.attrs != "" {
			return marker{}
		}
		m.name = "/" + t.name
	case (m.kind == markOpen || m.kind == markAnswer) && strings.TrimSpace(t.attrs) != "":
		return marker{tag: t} // a tag of a document
	}
	return m
}

// callName returns the tool that a tag names.
func (t xmlTag) callName() string {
	for _, key := range []string{"name", "tool"} {
		if v := t.attr(key); v != "" {
			return v
		}
	}
	return t.value
}

// attr returns an attribute, or "".
func (t xmlTag) attr(key string) string {
	for rest := t.attrs; ; {
		_, after, ok := strings.Cut(rest, key+"=")
		if !ok || after == "" {
			return ""
		}
		quote := after[0]
		if quote == '"' || quote == '\'' {
			value, _, _ := strings.Cut(after[1:], string(quote))
			return value
		}
		rest = after
	}
}

// hasFoldPrefix is strings.HasPrefix without regard to the case of ASCII letters.
func hasFoldPrefix(text, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if foldByte(text[i]) != foldByte(prefix[i]) {
			return false
		}
	}
	return true
}

func foldByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
