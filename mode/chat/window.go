package chat

import (
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

// Shares of a request, from when on its parts are shortened.
const (
	fixedShare   = 0.7  // of the system prompt with the tools
	summaryShare = 0.25 // of the summary
)

// Limits of the repetition of a request that the model refuses as too long.
const (
	maxRefits = 12
	minRoom   = 600 // bytes
)

// requestBytes returns the limit of a request: of the options, or less if a model refused more.
func (s *state) requestBytes() int {
	n := s.opts.windowBytes(requestShare) - s.opts.Reply
	if s.Room > 0 {
		n = min(n, s.Room)
	}
	return n
}

// shareBytes returns a share of the window in bytes.
func (s *state) shareBytes(share float64) int {
	n := s.opts.windowBytes(share)
	if s.Room > 0 {
		n = min(n, int(float64(s.Room)/requestShare*share))
	}
	return n
}

// shrinkRequest lowers the limit of requests after the model refused one as too long, and reports
// whether the next request is shorter. room is the limit that the refusal implies, or zero.
func (s *state) shrinkRequest(w *work, room int) bool {
	refused := s.buildRequest()
	size := refused.Size()
	if room <= 0 || room >= size {
		room = size * 3 / 4
	}
	before := s.Room
	s.Room = room
	next := s.buildRequest()
	if w.Refits >= maxRefits || room < minRoom || next.Size() >= size {
		s.Room = before
		return false
	}
	w.Refits++
	return true
}

// fitTools returns the first tools that fit beside a system prompt. Calls in the messages need all.
func (s *state) fitTools(system int) []llm.Tool {
	tools := s.offeredTools()
	if w := s.currentWork(); w != nil && slices.ContainsFunc(w.Msgs, func(m llm.Message) bool { return len(m.Calls()) > 0 }) {
		return tools
	}
	room := int(float64(s.requestBytes())*fixedShare) - system
	return slices.DeleteFunc(slices.Clone(tools), func(t llm.Tool) bool {
		n := (&llm.Request{Tools: []llm.Tool{t}}).Size()
		if n > room {
			return true
		}
		room -= n
		return false
	})
}

// cutTurn returns an ended turn with its texts cut to room bytes, and how many bytes that are. It returns
// nothing if too little would stay.
func (s *state) cutTurn(t Turn, room int) (msgs []llm.Message, cut int) {
	whole := s.turnMessages(t)
	if msgs = fitMessages(whole, room); messagesSize(msgs) > room || room < minCutTurn {
		return nil, 0
	}
	return msgs, countOmitted(whole, msgs)
}

// fitMessages cuts the middle of the longest texts of messages, so that all together have at most
// room bytes, as far as possible.
func fitMessages(msgs []llm.Message, room int) []llm.Message {
	if messagesSize(msgs) <= room {
		return msgs
	}
	var texts []int
	for _, m := range msgs {
		room -= m.Size()
		for _, p := range m.Parts {
			if n := len(cuttableText(p)); n > 0 {
				texts, room = append(texts, n), room+n
			}
		}
	}
	limit := max(evenLimit(texts, room), minCutText)
	cut := make([]llm.Message, len(msgs))
	for i, m := range msgs {
		cut[i] = llm.Message{Role: m.Role, Parts: slices.Clone(m.Parts)}
		for j, p := range m.Parts {
			if text := cuttableText(p); len(text) > limit {
				cut[i].Parts[j] = withText(p, truncateMiddle(text, limit-cutMarkBytes))
			}
		}
	}
	return cut
}

const (
	minCutText   = 100 // bytes of a text that always stay
	minCutTurn   = 400 // bytes of a turn
	cutMarkBytes = 50  // of the mark that truncateMiddle adds
)

// cuttableText returns the text of a part, or of a result.
func cuttableText(p llm.Part) string {
	if p.Result != nil {
		return p.Result.Text
	}
	return p.Text
}

func withText(p llm.Part, text string) llm.Part {
	if p.Result != nil {
		r := *p.Result
		r.Text = text
		p.Result = &r
		return p
	}
	p.Text = text
	return p
}

// evenLimit returns the largest limit of each size with which the sizes sum up to at most room.
func evenLimit(sizes []int, room int) int {
	sizes = slices.Sorted(slices.Values(sizes))
	for i, n := range sizes {
		if even := room / (len(sizes) - i); n > even {
			return max(0, even)
		}
		room -= n
	}
	return room
}

func messagesSize(msgs []llm.Message) (n int) {
	for _, m := range msgs {
		n += m.Size()
	}
	return n
}

// omission is what a request lacks for lack of room.
type omission struct {
	Turns int      `json:"turns,omitempty"` // oldest, which no summary covers
	Bytes int      `json:"bytes,omitempty"` // of the middle of texts
	Tools []string `json:"tools,omitempty"`
}

// describe returns the parts that the model did not see, or "" if it saw all.
func (o omission) describe() string {
	var parts []string
	if o.Turns > 0 {
		oldest := "the oldest message"
		if o.Turns > 1 {
			oldest = "the " + textkit.Number(o.Turns) + " oldest messages"
		}
		parts = append(parts, oldest+" of this conversation")
	}
	if o.Bytes > 0 {
		parts = append(parts, textkit.Number(o.Bytes)+" bytes in the middle of long texts")
	}
	if len(o.Tools) > 0 {
		parts = append(parts, textkit.Count(len(o.Tools), "tool", "tools")+" ("+strings.Join(o.Tools, ", ")+")")
	}
	if len(parts) == 0 {
		return ""
	}
	return "The context of the model is full. The answer was written without " + joinWords(parts) + "."
}

// joinWords joins words with commas and a last "and".
func joinWords(words []string) string {
	if n := len(words) - 1; n > 0 {
		return strings.Join(words[:n], ", ") + " and " + words[n]
	}
	return strings.Join(words, "")
}

// noteOmission returns the note to the user on what the request of a turn lacked, as far as the user
// does not know it. The client tells about long messages, unless a model refused more.
func (s *state) noteOmission(w *work) []ponder.Action {
	o := w.Omitted
	if o.Turns <= s.Told.Turns {
		o.Turns = 0
	}
	if len(o.Tools) <= s.Told.Tools {
		o.Tools = nil
	}
	text := o.describe()
	if text == "" {
		return nil
	}
	return []ponder.Action{ponder.Write{Key: s.actionKey(omittedKey), Bodies: []ponder.Body{ponder.SystemNote{Content: text, Reason: OmittedNote}}}}
}

// toldOmissions are the omissions of which the user knows.
type toldOmissions struct {
	Turns int `json:"turns,omitempty"`
	Tools int `json:"tools,omitempty"`
}

// noteTold remembers what the note at the end of a turn says.
func (s *state) noteTold() {
	if s.Work == nil {
		return
	}
	o := s.Work.Omitted
	s.Told = toldOmissions{Turns: max(s.Told.Turns, o.Turns), Tools: max(s.Told.Tools, len(o.Tools))}
}

// OmittedNote is the Reason of a note on what the model did not see of a conversation.
const OmittedNote = "context"

// countOmitted returns how many bytes the texts of messages lost.
func countOmitted(whole, cut []llm.Message) int { return max(0, messagesSize(whole)-messagesSize(cut)) }

func missingTools(offered, sent []llm.Tool) (names []string) {
	for _, t := range offered {
		if !slices.ContainsFunc(sent, func(o llm.Tool) bool { return o.Name == t.Name }) {
			names = append(names, t.Name)
		}
	}
	return names
}

// leftMark tells the model that old turns are missing.
func leftMark(left int) string {
	return fmt.Sprintf("(%d earlier messages are left out here.)", left)
}
