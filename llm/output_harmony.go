package llm

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names of reasoning in OpenAI's harmony format, with and without its special tokens.
const (
	harmonyChannel  = "harmony"
	strippedHarmony = "stripped harmony"
)

// A harmonyHeader is the header of a harmony message.
type harmonyHeader struct {
	role, channel, recipient string
	size                     int
}

// lexHeader reads <|start|>, a role, <|channel|>, a channel, a recipient and <|message|>, or a
// part of them.
func lexHeader(text string, final bool) (h harmonyHeader, wait bool) {
	rest := text
	for rest != "" {
		spaces := len(rest) - len(strings.TrimLeft(rest, " "))
		name, size, _ := lexToken(rest[spaces:])
		if size > 0 {
			size += spaces
		}
		switch {
		case name == "message":
			h.size = len(text) - len(rest) + size
			return h, false
		case name == "start" && len(rest) < len(text):
			return h.endAt(text, rest), false
		case name == "start":
			role := leadingWord(rest[size:], ".")
			h.role = role
			rest = rest[size+len(role):]
		case name == "channel":
			rest = strings.TrimLeft(rest[size:], " ")
			h.channel = channelName(rest)
			rest = rest[len(h.channel):]
		case name == "constrain":
			rest = strings.TrimLeft(rest[size:], " ")
			rest = rest[len(leadingWord(rest, "")):]
		case strings.HasPrefix(strings.TrimLeft(rest, " "), "to="):
			rest = strings.TrimLeft(rest, " ")[3:]
			h.recipient = leadingWord(rest, ".-")
			rest = rest[len(h.recipient):]
		case hasFoldPrefix(strings.TrimLeft(rest, " "), "json"), hasFoldPrefix(strings.TrimLeft(rest, " "), "code"):
			trimmed := strings.TrimLeft(rest, " ")
			if h.recipient == "" && !strings.HasPrefix(trimmed[4:], "<") {
				return h.endAt(text, rest), false
			}
			rest = trimmed[4:]
		default:
			trimmed := strings.TrimLeft(rest, " ")
			if !final && len(trimmed) < len("<|constrain|>") && (trimmed == "" || isPrefixOfAny(strings.ToLower(trimmed), "to=", "json", "code", "<|message|>", "<|constrain|>", "<|channel|>")) {
				return h, true
			}
			return h.endAt(text, rest), false
		}
	}
	h.size = len(text)
	return h, !final
}

func (h harmonyHeader) endAt(text, rest string) harmonyHeader {
	h.size = len(text) - len(rest)
	return h
}

func isPrefixOfAny(text string, words ...string) bool {
	for _, w := range words {
		if strings.HasPrefix(w, text) {
			return true
		}
	}
	return false
}

// leadingWord returns the letters, digits, underscores and bytes of more at the start of text.
func leadingWord(text, more string) string {
	n := strings.IndexFunc(text, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && !strings.ContainsRune(more, c)
	})
	if n < 0 {
		return text
	}
	return text[:n]
}

// channelName returns the channel at the start of text, although other words may follow at once.
func channelName(text string) string {
	for _, name := range []string{"analysis", "commentary", "final"} {
		if hasFoldPrefix(text, name) {
			return text[:len(name)]
		}
	}
	return leadingWord(text, "")
}

// readHeader reads a harmony header here. It returns false to wait for more text.
func (r *OutputReader) readHeader() bool {
	h, wait := lexHeader(r.tail(maxMarker), r.closing)
	if wait && len(r.raw)-r.at < maxMarker {
		return false
	}
	r.endText(true)
	r.startMessage(h)
	return true
}

// startMessage starts a harmony message at its header here.
func (r *OutputReader) startMessage(h harmonyHeader) {
	start, end := r.at, r.at+h.size
	r.harmony, r.held = true, released
	switch to := strings.ToLower(h.recipient); to {
	case "", "user", "all", "assistant":
	case "self":
		h.channel = "analysis"
	default:
		r.openCall(start, end, openCall{closer: harmonyChannel, name: h.recipient})
		return
	}
	switch strings.ToLower(h.channel) {
	case "", "final":
		r.setText(end)
		return
	case "analysis":
		r.thought = openThought{name: harmonyChannel, kind: outReasoning, start: start}
	default:
		r.thought = openThought{name: harmonyChannel, kind: outPreamble, start: start}
	}
	r.assign(outHidden, end)
	r.mode, r.at, r.lineStart, r.fence, r.tick = modeReasoning, end, end, "", 0
}

// readStrippedStart reads a header whose special tokens the server removed, as in
// "analysisThe user asks". It returns more to wait for more text.
func (r *OutputReader) readStrippedStart(text string) (is, more bool) {
	h, more := lexStripped(text)
	if h.size == 0 || more {
		return false, more
	}
	r.endText(true)
	r.startStripped(h)
	return true, false
}

func (r *OutputReader) startStripped(h harmonyHeader) {
	r.startMessage(h)
	if r.mode == modeReasoning {
		r.thought.name = strippedHarmony
	}
	if r.mode == modeCall {
		r.call.closer = strippedHarmony
	}
}

// lexStripped reads a header without special tokens.
func lexStripped(text string) (h harmonyHeader, more bool) {
	rest := strings.TrimPrefix(text, "assistant")
	bare := len(rest) == len(text)
	for _, name := range []string{"analysis", "commentary", "final"} {
		after, ok := strings.CutPrefix(rest, name)
		if !ok {
			more = more || strings.HasPrefix(name, rest) || strings.HasPrefix("assistant", text)
			continue
		}
		h.channel = name
		if to, ok := strings.CutPrefix(strings.TrimLeft(after, " "), "to="); ok {
			h.recipient = leadingWord(to, ".-")
			after = strings.TrimLeft(to[len(h.recipient):], " ")
			if after == "" {
				return h, true
			}
			if after, ok = strings.CutPrefix(after, "json"); !ok && strings.HasPrefix("json", after) {
				return h, true
			}
			h.size = len(text) - len(after)
			return h, false
		}
		if after == "" || strings.HasPrefix(" to=", after) {
			return h, true
		}
		first, _ := utf8.DecodeRuneInString(after)
		if !bare || unicode.IsUpper(first) || unicode.Is(unicode.Han, first) {
			h.size = len(text) - len(after)
		}
		return h, false
	}
	return h, more
}

// lexGranite reads the text with which Granite ends its reasoning.
func lexGranite(text string) (h harmonyHeader, more bool) {
	for _, end := range []string{"Here is my response:", "Here's my response:"} {
		if strings.HasPrefix(text, end) {
			return harmonyHeader{channel: "final", size: len(end)}, false
		}
		more = more || strings.HasPrefix(end, text)
	}
	return h, more
}

// readUntilWord reads reasoning up to a header that begins with a word.
func (r *OutputReader) readUntilWord(word string, lex func(text string) (h harmonyHeader, more bool)) bool {
	rest := r.raw[r.at:]
	i := bytes.Index(rest, []byte(word))
	if i < 0 {
		keep := partialLen(string(rest[max(0, len(rest)-len(word)):]), word)
		r.at += len(rest) - keep
		if r.closing {
			r.at += keep
		}
		return r.closing
	}
	r.at += i
	h, more := lex(r.tail(maxMarker))
	switch {
	case more && !r.closing:
		return false
	case h.size == 0:
		r.at += len(word)
	default:
		r.assign(r.thought.kind, r.at)
		r.startStripped(h)
	}
	return true
}

// partialLen returns the length of word's longest prefix at the end of text.
func partialLen(text, word string) int {
	for n := min(len(word)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, word[:n]) {
			return n
		}
	}
	return 0
}
