package deep

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
	"ponder/llm"
)

type state struct {
	run  ponder.Run
	opts *Options

	Lines  []line        `json:"lines,omitempty"` // recent events with text
	Head   ponder.Seq    `json:"head,omitempty"`
	Said   []ponder.Seq  `json:"said,omitempty"`
	Wanted *request      `json:"wanted,omitempty"` // the newest open request
	Zero   time.Duration `json:"zero,omitempty"`   // thread clock at the run's first request
	Work   *work         `json:"work,omitempty"`
	Stop   string        `json:"stop,omitempty"`
	Clock  time.Duration `json:"clock,omitempty"` // latest known thread clock
	Made   bool          `json:"made,omitempty"`  // this run wrote a reflection
	Why    string        `json:"why,omitempty"`   // reason of this run's last failure
}

type line struct {
	Seq  ponder.Seq `json:"seq"`
	Text string     `json:"text"`
}

type request struct {
	N       ponder.Seq    `json:"n"`
	Prompt  string        `json:"prompt,omitempty"`
	Reason  string        `json:"reason,omitempty"`
	Trigger string        `json:"trigger,omitempty"`
	At      time.Duration `json:"at,omitempty"` // thread clock
}

type work struct {
	request
	ReadTo  ponder.Seq    `json:"read_to"`
	Text    string        `json:"text"`
	Began   time.Duration `json:"began"` // thread clock
	Round   int           `json:"round,omitempty"`
	Msgs    []llm.Message `json:"msgs,omitempty"`
	Calls   []use         `json:"calls,omitempty"`
	Sources []string      `json:"sources,omitempty"`
	Answer  string        `json:"answer,omitempty"` // unparsed
	Rebased string        `json:"rebased,omitempty"`
	Tried   bool          `json:"tried,omitempty"` // rebased
	Err     string        `json:"err,omitempty"`
}

type use struct {
	Key    string          `json:"key,omitempty"`
	Call   llm.ToolCall    `json:"call"`
	Result *llm.ToolResult `json:"result,omitempty"`
}

func (s *state) Apply(ev ponder.Event) ponder.State {
	c := *s
	c.apply(ev)
	return &c
}

func (s *state) apply(ev ponder.Event) {
	s.read(ev)
	s.Clock = max(s.Clock, ev.Elapsed) // a user's events lack it
	switch b := ev.Body.(type) {
	case ponder.Progress:
		s.progress(ev, b)
	case ponder.Observation:
		if asks(ev) {
			s.want(ev, b.Content, byUser)
		}
	case ponder.InnerMonologue:
		if s.Work != nil && ev.Cause == fmt.Sprintf("muse-%d/1.1", s.Work.N) {
			s.Made = s.Made || ev.Run == s.run.ID
			s.done(ev.Elapsed)
		}
	case ponder.CallFinished:
		s.called(ev, b)
	case ponder.ToolResult:
		s.used(ev, b)
	case ponder.Steer:
		switch {
		case b.Do == ponder.Cancel:
			s.Work, s.Wanted = nil, nil
		case b.Do == ponder.AnswerNow && ev.Run != "": // without a run it is for the current turn
			s.Stop = "stopped: an answer was wanted at once"
		}
	case ponder.BudgetSpent:
		s.Stop = b.What + " is spent"
	}
	s.begin(ev)
}

func (s *state) progress(ev ponder.Event, b ponder.Progress) {
	switch b.Stage {
	case asked:
		s.want(ev, b.Content, b.Label)
	case failed:
		if s.Work != nil && ev.Cause == fmt.Sprintf("failed-%d/1.1", s.Work.N) {
			if ev.Run == s.run.ID {
				s.Why = b.Content
			}
			s.done(ev.Elapsed)
		}
	}
}

func (s *state) want(ev ponder.Event, prompt, reason string) {
	if s.Work == nil && s.Wanted == nil {
		s.Zero = s.Clock
	}
	trigger := ""
	if n := len(s.Lines); n > 0 {
		trigger = ev.ID
	}
	s.Wanted = &request{N: ev.Seq, Prompt: prompt, Reason: reason, Trigger: trigger, At: s.Clock}
}

// begin starts the next reflection if one is requested and none is in progress.
func (s *state) begin(ev ponder.Event) {
	if s.Work != nil || s.Wanted == nil {
		return
	}
	w := &work{request: *s.Wanted, ReadTo: s.Head, Text: s.transcript(), Began: max(s.Wanted.At, s.Clock)}
	s.Work, s.Wanted = w, nil
}

func (s *state) done(at time.Duration) {
	s.Work = nil
	if s.Wanted != nil {
		s.Wanted = &request{N: s.Wanted.N, Prompt: s.Wanted.Prompt, Reason: s.Wanted.Reason, Trigger: s.Wanted.Trigger, At: at}
	}
}

func (s *state) read(ev ponder.Event) {
	s.Head = ev.Seq
	who, text := "", ""
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		who, text = "User", b.Content
		s.Said = append(slices.Clip(s.Said), ev.Seq)
		s.Said = s.Said[max(0, len(s.Said)-transcript):]
	case ponder.AssistantMessage:
		who, text = "Assistant", b.Content
	case ponder.AttachmentAdded:
		who, text = "Attached "+b.Name, b.Content
	case ponder.SystemNote:
		who, text = "Note", b.Content
	case ponder.Summary:
		who, text = "Summary of what was said before", b.Content
	case ponder.InnerMonologue:
		who, text = "You thought before", b.Content
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	s.Lines = append(slices.Clip(s.Lines), line{ev.Seq, who + ": " + head(text, maxEvent)})
	s.Lines = s.Lines[max(0, len(s.Lines)-transcript):]
}

func (s *state) transcript() string {
	var b strings.Builder
	for _, l := range s.Lines {
		b.WriteString(l.Text + "\n\n")
	}
	return strings.TrimSpace(b.String())
}

// since returns the text after an event and its number of user messages.
func (s *state) since(at ponder.Seq) (text string, messages int) {
	var b strings.Builder
	for _, l := range s.Lines {
		if l.Seq > at {
			b.WriteString(l.Text + "\n\n")
		}
	}
	for _, n := range s.Said {
		if n > at {
			messages++
		}
	}
	return strings.TrimSpace(b.String()), messages
}

func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return textkit.Prefix(text, most) + " […]"
}
