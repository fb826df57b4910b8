package chat

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/mode/internal/background"
)

type state struct {
	run  ponder.Run
	opts *Options

	Turns   []Turn        `json:"turns,omitempty"`
	tip     *atomic.Int64 // length of the longest version in the shared array; see appendTurn
	Waiting []Turn        `json:"waiting,omitempty"` // unanswered; the first may be current
	Ended   ponder.Seq    `json:"ended,omitempty"`   // end of the last turn
	Size    int           `json:"size,omitempty"`    // bytes of Turns
	Left    int           `json:"left,omitempty"`    // dropped turns that no summary covers

	Summary string     `json:"summary,omitempty"`
	Summed  ponder.Seq `json:"summed,omitempty"`
	Command string     `json:"command,omitempty"` // its newest slash command; see Use

	Notes []note            `json:"notes,omitempty"` // unused reflections
	Mind  []background.Note `json:"mind,omitempty"`
	Deep  asking            `json:"deep,omitzero"`
	Clock time.Time         `json:"clock,omitzero"`
	Mused []time.Time       `json:"mused,omitempty"` // times of recent thoughts

	Work   *work    `json:"work,omitempty"` // the turn of Waiting[0]
	Answer []string `json:"answer,omitempty"`
	Failed string   `json:"failed,omitempty"`
	Hurry  bool     `json:"hurry,omitempty"`

	Condensed condensing `json:"condensed,omitzero"`
}

// Turn is a message with its answer.
type Turn struct {
	Said   Said     `json:"said"`
	Mused  []string `json:"mused,omitempty"`
	Answer []string `json:"answer,omitempty"`
}

// Said is a user's message.
type Said struct {
	Seq   ponder.Seq  `json:"seq,omitempty"`
	ID    string      `json:"id,omitempty"`
	Text  string      `json:"text,omitempty"`
	Media []llm.Media `json:"media,omitempty"`
}

func saidIn(ev ponder.Event, b ponder.UserMessage) Said {
	return Said{Seq: ev.Seq, ID: ev.ID, Text: b.Content, Media: b.Media}
}

func (t Turn) size() int {
	n := len(t.Said.Text) + 16
	for _, m := range t.Said.Media {
		n += len(m.Name) + 4000
	}
	for _, texts := range [][]string{t.Mused, t.Answer} {
		for _, text := range texts {
			n += len(text) + 16
		}
	}
	return n
}

func (s *state) Apply(ev ponder.Event) ponder.State {
	c := *s
	c.apply(ev)
	return &c
}

func (s *state) apply(ev ponder.Event) {
	if ev.Time.After(s.Clock) {
		s.Clock = ev.Time
	}
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		s.Waiting = append(slices.Clip(s.Waiting), Turn{Said: saidIn(ev, b)})
	case ponder.AttachmentAdded:
		s.attached(ev, b)
	case ponder.AssistantMessage:
		s.said(ev, b)
	case ponder.Thought:
		if b.Kind == Thinking && !ev.Erased {
			s.mused(ev, b.Content)
		}
	case ponder.InnerMonologue:
		s.noted(ev, b)
	case ponder.Summary:
		s.summed(b)
	case ponder.Progress:
		s.progress(ev, b)
	case ponder.Observation:
		s.observed(ev, b)
	case ponder.Steer:
		switch b.Do {
		case ponder.AnswerNow:
			s.hurry()
		case ponder.Cancel:
			s.stopped(ev, b.Content)
		}
	case ponder.BudgetSpent:
		s.hurry()
	case ponder.CallFinished:
		s.called(ev, b)
	case ponder.ToolResult:
		s.used(ev, b)
	}
}

func (s *state) progress(ev ponder.Event, b ponder.Progress) {
	switch b.Stage {
	case DeepAsked:
		s.Deep.asked(ev)
	case DeepFailed:
		s.Deep.Done = ev.Seq
	case TurnEnded:
		if n, ok := turnOf(ev.Cause); ok && s.going(n) {
			s.Failed = ""
			if b.Refused {
				s.Failed = b.Content
			}
			s.end(ev.Seq, !b.Refused)
		}
	}
}

// turnOf returns the N of a cause such as say-N-K/1.1.
func turnOf(cause string) (ponder.Seq, bool) {
	key, _, _ := strings.Cut(cause, "/")
	_, rest, ok := strings.Cut(key, "-")
	num, _, _ := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(num, 10, 64)
	return ponder.Seq(n), ok && err == nil
}

func (s *state) going(n ponder.Seq) bool { return len(s.Waiting) > 0 && s.Waiting[0].Said.Seq == n }

// change returns the current turn in a cloned list.
func (s *state) change() *Turn {
	s.Waiting = slices.Clone(s.Waiting)
	return &s.Waiting[0]
}

// said applies an answer. An imported answer answers all waiting messages.
func (s *state) said(ev ponder.Event, b ponder.AssistantMessage) {
	n, ok := turnOf(ev.Cause)
	switch {
	case ok && s.going(n):
		t := s.change()
		t.Answer = append(slices.Clip(t.Answer), b.Content)
		if ev.Run == s.run.ID {
			s.Answer = append(slices.Clip(s.Answer), b.Content)
		}
	case ev.Run == "":
		for len(s.Waiting) > 1 {
			s.end(ev.Seq, false)
		}
		if len(s.Waiting) == 1 {
			t := s.change()
			t.Answer = append(slices.Clip(t.Answer), b.Content)
			s.end(ev.Seq, false)
			return
		}
		s.push(Turn{Said: Said{Seq: ev.Seq}, Answer: []string{b.Content}})
	}
}

func (s *state) mused(ev ponder.Event, text string) {
	if n, ok := turnOf(ev.Cause); ok && s.going(n) {
		t := s.change()
		t.Mused = append(slices.Clip(t.Mused), text)
	}
	s.Mused = append(slices.Clip(s.Mused), ev.Time)
	s.Mused = s.Mused[max(0, len(s.Mused)-s.opts.ThinkPerMin):]
}

func (s *state) attached(ev ponder.Event, b ponder.AttachmentAdded) {
	if ev.Run != "" || b.Content == "" {
		return // written by a run, or unreadable for the model
	}
	text := "[attached: " + b.Name + "]\n" + b.Content
	s.push(Turn{Said: Said{Seq: ev.Seq, ID: ev.ID, Text: text}, Answer: []string{"Noted."}})
}

// end ends the current turn. used says that it was answered, which consumes its reflections.
func (s *state) end(at ponder.Seq, used bool) {
	if len(s.Waiting) == 0 {
		return
	}
	t := s.Waiting[0]
	s.minded(t, used)
	if used {
		s.Notes = without(s.Notes, s.begins(t))
		s.Condensed.Notes = part{} // they are used uncondensed
		s.Deep.Turns++
	}
	if s.opts.Forget {
		t.Mused = nil
	}
	s.push(t)
	s.Waiting, s.Work, s.Ended, s.Hurry = slices.Clip(s.Waiting[1:]), nil, at, false
	s.overflow()
}

// stopped ends the current turn on the user's command. said is the part of the pending text that
// the user saw.
func (s *state) stopped(ev ponder.Event, said string) {
	if len(s.Waiting) > 0 && strings.TrimSpace(said) != "" {
		t := s.change()
		t.Answer = append(slices.Clip(t.Answer), strings.TrimSpace(said)+cutShort)
	}
	s.end(ev.Seq, false)
}

// begins returns the seq before which notes belong to turn t.
func (s *state) begins(t Turn) ponder.Seq { return max(t.Said.Seq, s.Ended) }
