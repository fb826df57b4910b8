package chat

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ponder"
	"ponder/internal/taint"
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
	Room    int           `json:"room,omitempty"`    // bytes of a request, after a model refused more in this run
	Told    toldOmissions `json:"told,omitzero"`

	Summary string     `json:"summary,omitempty"`
	Summed  ponder.Seq `json:"summed,omitempty"`
	Command string     `json:"command,omitempty"` // its newest slash command; see Use

	Notes        []note            `json:"notes,omitempty"` // unused reflections
	Mind         []background.Note `json:"mind,omitempty"`
	Deep         reflectionState   `json:"deep,omitzero"`
	Clock        time.Time         `json:"clock,omitzero"`
	ThoughtTimes []time.Time       `json:"mused,omitempty"` // times of recent thoughts

	Work      *work    `json:"work,omitempty"` // the turn of Waiting[0]
	Answer    []string `json:"answer,omitempty"`
	Failed    string   `json:"failed,omitempty"`
	AnswerNow bool     `json:"hurry,omitempty"`

	Condensed condensation `json:"condensed,omitzero"`

	Taint     taint.Context `json:"taint,omitzero"`
	Questions []question    `json:"questions,omitempty"` // for approvals; the oldest first
}

// Turn is a message with its answer.
type Turn struct {
	Message  Message  `json:"said"`
	Thoughts []string `json:"mused,omitempty"`
	Answer   []string `json:"answer,omitempty"`
}

// Message is a user's message.
type Message struct {
	Seq   ponder.Seq  `json:"seq,omitempty"`
	ID    string      `json:"id,omitempty"`
	Text  string      `json:"text,omitempty"`
	Media []llm.Media `json:"media,omitempty"`

	Decided  []decidedCall `json:"decided,omitempty"`  // questions that it answers
	Attached bool          `json:"attached,omitempty"` // it is a file, whose text others may have written
}

// IsDecision reports whether a message only answers questions of the program.
func (m Message) IsDecision() bool { return len(m.Decided) > 0 }

func messageFrom(ev ponder.Event, b ponder.UserMessage) Message {
	return Message{Seq: ev.Seq, ID: ev.ID, Text: b.Content, Media: b.Media}
}

func (t Turn) byteSize() int {
	n := len(t.Message.Text) + 16
	for _, m := range t.Message.Media {
		n += len(m.Name) + 4000
	}
	for _, texts := range [][]string{t.Thoughts, t.Answer} {
		for _, text := range texts {
			n += len(text) + 16
		}
	}
	return n
}

func (s *state) Apply(ev ponder.Event) ponder.State {
	c := *s
	c.applyEvent(ev)
	return &c
}

func (s *state) applyEvent(ev ponder.Event) {
	if ev.Time.After(s.Clock) {
		s.Clock = ev.Time
	}
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		s.applyMessage(ev, b)
	case ponder.AttachmentAdded:
		s.applyAttachment(ev, b)
	case ponder.AssistantMessage:
		s.applyAnswer(ev, b)
	case ponder.Thought:
		if b.Kind == Thinking && !ev.Erased {
			s.applyThought(ev, b.Content)
		}
	case ponder.InnerMonologue:
		s.applyReflection(ev, b)
	case ponder.ApprovalRequested:
		s.applyQuestion(ev, b)
	case ponder.SystemNote:
		if b.From != "" {
			s.closeQuestions()
		}
	case ponder.Summary:
		s.applySummary(b)
	case ponder.Progress:
		s.applyProgress(ev, b)
	case ponder.Observation:
		s.applyObservation(ev, b)
	case ponder.Steer:
		switch b.Do {
		case ponder.AnswerNow:
			s.answerNow()
		case ponder.Cancel:
			s.stopTurn(ev, b.Content)
		}
	case ponder.BudgetSpent:
		s.answerNow()
	case ponder.CallFinished:
		s.applyCall(ev, b)
	case ponder.ToolResult:
		s.applyToolResult(ev, b)
	}
}

func (s *state) applyProgress(ev ponder.Event, b ponder.Progress) {
	switch b.Stage {
	case DeepAsked:
		s.Deep.applyRequest(ev, s.opts.DeepPerHour)
	case DeepFailed:
		s.Deep.Done = ev.Seq
	case TurnEnded:
		if n, ok := parseTurnSeq(ev.Cause); ok && s.isCurrent(n) {
			s.Failed = ""
			if b.Refused {
				s.Failed = b.Content
			}
			s.endTurn(ev.Seq, !b.Refused)
		}
	}
}

// parseTurnSeq returns the N of a cause such as say-N-K/1.1.
func parseTurnSeq(cause string) (ponder.Seq, bool) {
	key, _, _ := strings.Cut(cause, "/")
	_, rest, ok := strings.Cut(key, "-")
	num, _, _ := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(num, 10, 64)
	return ponder.Seq(n), ok && err == nil
}

func (s *state) isCurrent(n ponder.Seq) bool {
	return len(s.Waiting) > 0 && s.Waiting[0].Message.Seq == n
}

// cloneCurrent returns the current turn in a cloned list.
func (s *state) cloneCurrent() *Turn {
	s.Waiting = slices.Clone(s.Waiting)
	return &s.Waiting[0]
}

// applyAnswer applies an answer. An imported answer answers all waiting messages.
func (s *state) applyAnswer(ev ponder.Event, b ponder.AssistantMessage) {
	n, ok := parseTurnSeq(ev.Cause)
	switch {
	case ok && s.isCurrent(n):
		t := s.cloneCurrent()
		t.Answer = append(slices.Clip(t.Answer), b.Content)
		if ev.Run == s.run.ID {
			s.Answer = append(slices.Clip(s.Answer), b.Content)
		}
	case ev.Run == "":
		s.Taint = s.Taint.AddEvent(ev)
		for len(s.Waiting) > 1 {
			s.endTurn(ev.Seq, false)
		}
		if len(s.Waiting) == 1 {
			t := s.cloneCurrent()
			t.Answer = append(slices.Clip(t.Answer), b.Content)
			s.endTurn(ev.Seq, false)
			return
		}
		s.pushTurn(Turn{Message: Message{Seq: ev.Seq}, Answer: []string{b.Content}})
	}
}

func (s *state) applyThought(ev ponder.Event, text string) {
	if n, ok := parseTurnSeq(ev.Cause); ok && s.isCurrent(n) {
		t := s.cloneCurrent()
		t.Thoughts = append(slices.Clip(t.Thoughts), text)
	}
	s.ThoughtTimes = append(slices.Clip(s.ThoughtTimes), ev.Time)
	s.ThoughtTimes = s.ThoughtTimes[max(0, len(s.ThoughtTimes)-s.opts.ThinkPerMin):]
}

func (s *state) applyAttachment(ev ponder.Event, b ponder.AttachmentAdded) {
	if ev.Run != "" || b.Content == "" {
		return // written by a run, or unreadable for the model
	}
	s.Taint = s.Taint.AddEvent(ev)
	text := "[attached: " + b.Name + "]\n" + b.Content
	s.pushTurn(Turn{Message: Message{Seq: ev.Seq, ID: ev.ID, Text: text, Attached: true}, Answer: []string{"Noted."}})
}

// endTurn ends the current turn. used says that it was answered, which consumes its reflections.
func (s *state) endTurn(at ponder.Seq, used bool) {
	if len(s.Waiting) == 0 {
		return
	}
	t := s.Waiting[0]
	if used {
		s.noteTold()
	}
	s.dropShownNotes(t, used)
	if used {
		s.Notes = dropNotes(s.Notes, s.turnBegin(t))
		s.Condensed.Notes = condensedPart{} // they are used uncondensed
		s.Deep.Turns = s.turnsWithoutReflection()
	}
	if s.opts.Forget {
		t.Thoughts = nil
	}
	s.pushTurn(t)
	s.Waiting, s.Work, s.Ended, s.AnswerNow = slices.Clip(s.Waiting[1:]), nil, at, false
	s.planCondensation()
}

// stopTurn ends the current turn on the user's command. said is the part of the pending text that
// the user saw.
func (s *state) stopTurn(ev ponder.Event, said string) {
	if len(s.Waiting) > 0 && strings.TrimSpace(said) != "" {
		t := s.cloneCurrent()
		t.Answer = append(slices.Clip(t.Answer), strings.TrimSpace(said)+stoppedMark)
	}
	s.endTurn(ev.Seq, false)
}

// turnBegin returns the seq before which notes belong to turn t.
func (s *state) turnBegin(t Turn) ponder.Seq { return max(t.Message.Seq, s.Ended) }
