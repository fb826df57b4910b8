package chat

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"ponder"
	"ponder/llm"
)

const bytesPerToken = 3.6

// Shares of the window.
const (
	fullShare    = 0.75 // from which old turns are condensed
	requestShare = 0.9  // maximum of a request
	messageShare = 0.4  // maximum of one message; the middle of longer ones is cut
)

func (o *Options) windowBytes(share float64) int {
	return int(float64(o.Window) * bytesPerToken * share)
}

// buildRequest returns the next request of the current turn. System prompt, tools and history keep their
// wording across turns, so that providers can cache the prefix. Parts of this turn come last.
func (s *state) buildRequest() llm.Request {
	req, _ := s.fitRequest()
	return req
}

// fitRequest returns the next request, and its omission.
func (s *state) fitRequest() (req llm.Request, o omission) {
	limit, fixed := s.requestBytes(), len(s.systemPrompt(0))
	req = llm.Request{Tools: s.fitTools(fixed), MaxTokens: s.opts.Reply, Cache: true}
	o.Tools = missingTools(s.offeredTools(), req.Tools)
	unlimited := *s
	unlimited.Room = 0
	whole := unlimited.currentMessages(s.Waiting[0])
	if w := s.currentWork(); w != nil {
		whole = append(whole, w.Msgs...)
		if w.Last && len(req.Tools) > 0 {
			req.ToolChoice = "none" // tools must stay, because the messages contain calls
		}
	}
	fixed += (&llm.Request{Tools: req.Tools}).Size()
	now := whole
	if s.Room > 0 {
		now = fitMessages(whole, limit-fixed)
	}
	o.Bytes = countOmitted(whole, now)
	room := limit - fixed - messagesSize(now)
	turns, left := s.fitTurns(room)
	for _, old := range turns {
		msgs := s.turnMessages(old)
		req.Messages = append(req.Messages, msgs...)
		if s.Room > 0 {
			o.Bytes += countOmitted(unlimited.turnMessages(old), msgs)
		}
	}
	if older := len(s.Turns) - len(turns) - 1; older >= 0 { // such as a file that the conversation is about
		if msgs, cut := unlimited.cutTurn(s.Turns[older], room-messagesSize(req.Messages)); msgs != nil {
			req.Messages, left, o.Bytes = append(msgs, req.Messages...), left-1, o.Bytes+cut
		}
	}
	o.Turns = left
	req.System = s.systemPrompt(left)
	req.Messages = append(req.Messages, now...)
	return req, o
}

func (s *state) systemPrompt(left int) string {
	parts := []string{strings.TrimSpace(s.opts.System)}
	if s.opts.Think {
		parts = append(parts, strings.TrimSpace(s.opts.ThinkRules))
	}
	if s.opts.Deep {
		parts = append(parts, strings.TrimSpace(innerRules))
	}
	parts = append(parts, s.opts.Locale.Describe(s.run.Started))
	if s.Summary != "" {
		parts = append(parts, "What was said before, in short:\n"+truncateMiddle(s.Summary, int(float64(s.requestBytes())*summaryShare)))
	}
	if left > 0 {
		parts = append(parts, leftMark(left))
	}
	return strings.Join(dropEmpty(parts), "\n\n")
}

func dropEmpty(parts []string) (list []string) {
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	return list
}

func (s *state) fitTurns(room int) (turns []Turn, left int) {
	i := len(s.Turns)
	for i > 0 {
		size := min(s.Turns[i-1].byteSize(), 2*s.shareBytes(messageShare))
		if room -= size; room < 0 {
			break
		}
		i--
	}
	return s.Turns[i:], i + s.Left
}

func (s *state) currentMessages(t Turn) []llm.Message {
	m := llm.Message{Role: llm.User}
	if mind := s.backgroundText(t); mind != "" {
		m.Parts = append(m.Parts, llm.Part{Text: mind})
	}
	if inner, _ := s.reflectionText(t); inner != "" {
		m.Parts = append(m.Parts, llm.Part{Text: truncateMiddle(inner, s.shareBytes(messageShare)) + "\n\n"})
	}
	m.Parts = append(m.Parts, s.messageParts(t.Message)...)
	return []llm.Message{m}
}

func (s *state) messageParts(said Message) (parts []llm.Part) {
	text := said.Text
	if strings.TrimSpace(text) == "" && len(said.Media) == 0 {
		text = "(an empty message)"
	}
	if text != "" {
		parts = append(parts, llm.Part{Text: truncateMiddle(text, s.shareBytes(messageShare))})
	}
	for _, m := range said.Media {
		parts = append(parts, llm.Part{Media: &m})
	}
	return parts
}

// turnMessages returns an ended turn as messages, with thoughts as tool calls.
func (s *state) turnMessages(t Turn) (msgs []llm.Message) {
	msgs = append(msgs, llm.Message{Role: llm.User, Parts: s.messageParts(t.Message)})
	if s.opts.Think {
		for i, text := range t.Thoughts {
			js, err := json.Marshal(map[string]string{"thought": text})
			if err != nil {
				continue
			}
			id := fmt.Sprintf("think-%d-%d", t.Message.Seq, i)
			msgs = append(msgs,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: id, Name: thinkTool, Input: js}}}},
				llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: id, Name: thinkTool, Text: thoughtNoted}}}})
		}
	}
	answer := strings.Join(t.Answer, "\n\n")
	if answer == "" {
		answer = noAnswer
	}
	return append(msgs, llm.Say(llm.Assistant, truncateMiddle(answer, s.shareBytes(messageShare))))
}

// OmittedBytes returns how many middle bytes of a message or attached file the model does not see for
// lack of space.
func (o Options) OmittedBytes(text string) int {
	if o.WithoutModel {
		return 0
	}
	o = o.orDefault()
	head, tail := middleRange(text, o.windowBytes(messageShare))
	return tail - head
}

func truncateMiddle(text string, most int) string {
	head, tail := middleRange(text, most)
	if head == tail {
		return text
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", text[:head], tail-head, text[tail:])
}

// middleRange returns the byte range to cut so that text has at most most bytes, or 0, 0.
func middleRange(text string, most int) (head, tail int) {
	if len(text) <= most || most <= 0 {
		return 0, 0
	}
	head, tail = most*2/3, len(text)-most/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return head, tail
}

var _ ponder.State = (*state)(nil)
