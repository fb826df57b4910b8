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

// A state is what a conversation knows. It is kept in checkpoints as its JSON.
type state struct {
	run  ponder.Run
	opts *Options

	Turns   []Turn        `json:"turns,omitempty"` // that have ended and are not condensed, oldest first
	tip     *atomic.Int64 // the length of the longest version of Turns in its array: see appendTurn
	Waiting []Turn        `json:"waiting,omitempty"` // whose messages are not answered; the first may be going on
	Ended   ponder.Seq    `json:"ended,omitempty"`   // where the last turn ended
	Size    int           `json:"size,omitempty"`    // of Turns
	Left    int           `json:"left,omitempty"`    // turns before Turns that are in no summary

	Summary string     `json:"summary,omitempty"` // of what came before Turns
	Summed  ponder.Seq `json:"summed,omitempty"`  // the last event that it stands for
	Command string     `json:"command,omitempty"` // the newest message in it that begins with a slash: see Use

	Notes []note            `json:"notes,omitempty"` // reflections that were not used
	Mind  []background.Note `json:"mind,omitempty"`  // what the subconscious says, as far as it was not used
	Deep  asking            `json:"deep,omitzero"`
	Clock time.Time         `json:"clock,omitzero"`  // of the newest event
	Mused []time.Time       `json:"mused,omitempty"` // when the newest thoughts were put down

	// What the run does.
	Work   *work    `json:"work,omitempty"` // the turn of Waiting[0]
	Answer []string `json:"answer,omitempty"`
	Failed string   `json:"failed,omitempty"` // why its last turn was not answered
	Hurry  bool     `json:"hurry,omitempty"`

	Condensed condensing `json:"condensed,omitzero"`
}

// A Turn is a message and what it was answered.
type Turn struct {
	Said   Said     `json:"said"`
	Mused  []string `json:"mused,omitempty"`  // thoughts that were put down
	Answer []string `json:"answer,omitempty"` // texts
}

// Said is a message of the user.
type Said struct {
	Seq   ponder.Seq  `json:"seq,omitempty"`
	ID    string      `json:"id,omitempty"`
	Text  string      `json:"text,omitempty"`
	Media []llm.Media `json:"media,omitempty"`
}

func saidIn(ev ponder.Event, b ponder.UserMessage) Said {
	return Said{Seq: ev.Seq, ID: ev.ID, Text: b.Content, Media: b.Media}
}

// size returns about how many bytes a turn takes in what the model is shown.
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

// Apply implements [ponder.State].
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

// progress takes in what the mode and others say of turns and reflections.
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

// going reports whether the turn of the message n is the one that goes on.
func (s *state) going(n ponder.Seq) bool { return len(s.Waiting) > 0 && s.Waiting[0].Said.Seq == n }

// change returns the turn that goes on, to be changed.
func (s *state) change() *Turn {
	s.Waiting = slices.Clone(s.Waiting)
	return &s.Waiting[0]
}

// said takes in an answer. One that no run of the mode gave, as in a thread from
// elsewhere, answers all that waits.
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

// mused takes in a thought.
func (s *state) mused(ev ponder.Event, text string) {
	if n, ok := turnOf(ev.Cause); ok && s.going(n) {
		t := s.change()
		t.Mused = append(slices.Clip(t.Mused), text)
	}
	s.Mused = append(slices.Clip(s.Mused), ev.Time)
	s.Mused = s.Mused[max(0, len(s.Mused)-s.opts.ThinkPerMin):]
}

// attached takes in a file, which is shown with the message after it.
func (s *state) attached(ev ponder.Event, b ponder.AttachmentAdded) {
	if ev.Run != "" || b.Content == "" {
		return // of a run, or one that the model cannot read
	}
	text := "[attached: " + b.Name + "]\n" + b.Content
	s.push(Turn{Said: Said{Seq: ev.Seq, ID: ev.ID, Text: text}, Answer: []string{"Noted."}})
}

// end ends the turn that goes on. Used says that it was answered, so that the
// reflections that it was shown are used up.
func (s *state) end(at ponder.Seq, used bool) {
	if len(s.Waiting) == 0 {
		return
	}
	t := s.Waiting[0]
	s.minded(t, used)
	if used {
		s.Notes = without(s.Notes, s.begins(t))
		s.Condensed.Notes = part{} // they are used as they are
		s.Deep.Turns++
	}
	if s.opts.Forget {
		t.Mused = nil
	}
	s.push(t)
	s.Waiting, s.Work, s.Ended, s.Hurry = slices.Clip(s.Waiting[1:]), nil, at, false
	s.overflow()
}

// stopped ends the turn that goes on because the user wants no more of it. Said is
// what there was of the text that was being written, as far as the user has seen it.
func (s *state) stopped(ev ponder.Event, said string) {
	if len(s.Waiting) > 0 && strings.TrimSpace(said) != "" {
		t := s.change()
		t.Answer = append(slices.Clip(t.Answer), strings.TrimSpace(said)+cutShort)
	}
	s.end(ev.Seq, false)
}

// begins returns where a turn begins that is next: what was noted before that is
// for it, and what comes later for the one after it.
func (s *state) begins(t Turn) ponder.Seq { return max(t.Said.Seq, s.Ended) }
