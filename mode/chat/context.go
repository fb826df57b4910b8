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
	mostShare    = 0.9  // maximum of a request
	messageShare = 0.4  // maximum of one message; the middle of longer ones is cut
)

func (o *Options) bytes(share float64) int { return int(float64(o.Window) * bytesPerToken * share) }

// request returns the next request of the current turn. System prompt, tools and history keep their
// wording across turns, so that providers can cache the prefix. Parts of this turn come last.
func (s *state) request() llm.Request {
	t := s.Waiting[0]
	req := llm.Request{Tools: s.tools(), MaxTokens: s.opts.Reply, Cache: true}
	now := s.current(t)
	if s.Work != nil {
		now = append(now, s.Work.Msgs...)
		if s.Work.Last && len(req.Tools) > 0 {
			req.ToolChoice = "none" // tools must stay, because the messages contain calls
		}
	}
	room := s.opts.bytes(mostShare) - s.opts.Reply - len(s.system(0)) - (&llm.Request{Messages: now, Tools: req.Tools}).Size()
	turns, left := s.fit(room)
	req.System = s.system(left)
	for _, old := range turns {
		req.Messages = append(req.Messages, s.shown(old)...)
	}
	req.Messages = append(req.Messages, now...)
	return req
}

func (s *state) system(left int) string {
	parts := []string{strings.TrimSpace(s.opts.System)}
	if s.opts.Think {
		parts = append(parts, strings.TrimSpace(s.opts.ThinkRules))
	}
	if s.opts.Deep {
		parts = append(parts, strings.TrimSpace(innerRules))
	}
	if s.Summary != "" {
		parts = append(parts, "What was said before, in short:\n"+s.Summary)
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("(%d earlier messages are left out here.)", left))
	}
	return strings.Join(nonempty(parts), "\n\n")
}

func nonempty(parts []string) (list []string) {
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	return list
}

func (s *state) fit(room int) (turns []Turn, left int) {
	i := len(s.Turns)
	for i > 0 {
		size := min(s.Turns[i-1].size(), 2*s.opts.bytes(messageShare))
		if room -= size; room < 0 {
			break
		}
		i--
	}
	return s.Turns[i:], i + s.Left
}

func (s *state) current(t Turn) []llm.Message {
	m := llm.Message{Role: llm.User}
	if mind := s.mind(t); mind != "" {
		m.Parts = append(m.Parts, llm.Part{Text: mind})
	}
	if inner, _ := s.inner(t); inner != "" {
		m.Parts = append(m.Parts, llm.Part{Text: clipped(inner, s.opts.bytes(messageShare)) + "\n\n"})
	}
	m.Parts = append(m.Parts, s.parts(t.Said)...)
	return []llm.Message{m}
}

func (s *state) parts(said Said) (parts []llm.Part) {
	text := said.Text
	if strings.TrimSpace(text) == "" && len(said.Media) == 0 {
		text = "(an empty message)"
	}
	if text != "" {
		parts = append(parts, llm.Part{Text: clipped(text, s.opts.bytes(messageShare))})
	}
	for _, m := range said.Media {
		parts = append(parts, llm.Part{Media: &m})
	}
	return parts
}

// shown returns an ended turn as messages, with thoughts as tool calls.
func (s *state) shown(t Turn) (msgs []llm.Message) {
	msgs = append(msgs, llm.Message{Role: llm.User, Parts: s.parts(t.Said)})
	if s.opts.Think {
		for i, text := range t.Mused {
			js, err := json.Marshal(map[string]string{"thought": text})
			if err != nil {
				continue
			}
			id := fmt.Sprintf("think-%d-%d", t.Said.Seq, i)
			msgs = append(msgs,
				llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Call: &llm.ToolCall{ID: id, Name: thinkTool, Input: js}}}},
				llm.Message{Role: llm.User, Parts: []llm.Part{{Result: &llm.ToolResult{ID: id, Name: thinkTool, Text: noted}}}})
		}
	}
	answer := strings.Join(t.Answer, "\n\n")
	if answer == "" {
		answer = noAnswer
	}
	return append(msgs, llm.Say(llm.Assistant, clipped(answer, s.opts.bytes(messageShare))))
}

// LeftOut returns how many middle bytes of a message or attached file the model does not see for
// lack of space.
func (o Options) LeftOut(text string) int {
	if o.WithoutModel {
		return 0
	}
	o = o.orDefault()
	head, tail := middle(text, o.bytes(messageShare))
	return tail - head
}

func clipped(text string, most int) string {
	head, tail := middle(text, most)
	if head == tail {
		return text
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out here …]\n%s", text[:head], tail-head, text[tail:])
}

// middle returns the byte range to cut so that text has at most most bytes, or 0, 0.
func middle(text string, most int) (head, tail int) {
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
