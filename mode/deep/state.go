package deep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/taint"
	"ponder/internal/textkit"
	"ponder/llm"
	"ponder/mode/internal/hourlimit"
)

type state struct {
	run  ponder.Run
	opts *Options

	Lines     []line          `json:"lines,omitempty"` // recent events with text
	Head      ponder.Seq      `json:"head,omitempty"`
	UserSeqs  []ponder.Seq    `json:"said,omitempty"`
	Request   *request        `json:"wanted,omitempty"`  // the newest open request
	Times     hourlimit.Times `json:"times,omitempty"`   // of the requests of the last hour
	Refused   []refusal       `json:"refused,omitempty"` // to write
	Zero      time.Duration   `json:"zero,omitempty"`    // thread clock at the run's first request
	Work      *work           `json:"work,omitempty"`
	Stop      string          `json:"stop,omitempty"`
	Clock     time.Duration   `json:"clock,omitempty"` // latest known thread clock
	Reflected bool            `json:"made,omitempty"`  // this run wrote a reflection
	Why       string          `json:"why,omitempty"`   // reason of this run's last failure
	Taint     taint.Context   `json:"taint,omitzero"`
}

type line struct {
	Seq  ponder.Seq `json:"seq"`
	Text string     `json:"text"`
	User bool       `json:"user,omitempty"` // a message of the user
}

// refusal is a request beyond the hourly limit.
type refusal struct {
	N    ponder.Seq `json:"n"`
	Next time.Time  `json:"next"` // when a request is possible
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
	Calls   []pendingCall `json:"calls,omitempty"`
	Sources []string      `json:"sources,omitempty"`
	Answer  string        `json:"answer,omitempty"` // unparsed
	Rebased string        `json:"rebased,omitempty"`
	Tried   bool          `json:"tried,omitempty"` // rebased
	Err     string        `json:"err,omitempty"`
}

type pendingCall struct {
	Own    bool            `json:"own,omitempty"` // a search for the user's own question
	Key    string          `json:"key,omitempty"`
	Call   llm.ToolCall    `json:"call"`
	Result *llm.ToolResult `json:"result,omitempty"`
}

func (s *state) Apply(ev ponder.Event) ponder.State {
	c := *s
	c.applyEvent(ev)
	return &c
}

func (s *state) applyEvent(ev ponder.Event) {
	s.appendLine(ev)
	s.Clock = max(s.Clock, ev.Elapsed) // a user's events lack it
	s.Taint = applyTaint(s.Taint, ev)
	switch b := ev.Body.(type) {
	case ponder.Progress:
		s.applyProgress(ev, b)
	case ponder.Observation:
		if isRequest(ev) {
			s.requestReflection(ev, b.Content, reasonByUser)
		}
	case ponder.InnerMonologue:
		s.dropRefusals(ev)
		if s.Work != nil && ev.Cause == fmt.Sprintf("muse-%d/1.1", s.Work.N) {
			s.Reflected = s.Reflected || ev.Run == s.run.ID
			s.finishWork(ev.Elapsed)
		}
	case ponder.CallFinished:
		s.applyCall(ev, b)
	case ponder.ToolResult:
		s.applyToolResult(ev, b)
	case ponder.Steer:
		switch {
		case b.Do == ponder.Cancel:
			s.Work, s.Request, s.Refused = nil, nil, nil
		case b.Do == ponder.AnswerNow && ev.Run != "": // without a run it is for the current turn
			s.Stop = "stopped: the user requested the answer"
		}
	case ponder.BudgetSpent:
		s.Stop = b.String()
	}
	s.startNext(ev)
}

func (s *state) applyProgress(ev ponder.Event, b ponder.Progress) {
	switch b.Stage {
	case stageRequested:
		s.requestReflection(ev, b.Content, b.Label)
	case stageRefused:
		s.dropRefusals(ev)
	case stageFailed:
		s.dropRefusals(ev)
		if s.Work != nil && ev.Cause == fmt.Sprintf("failed-%d/1.1", s.Work.N) {
			if ev.Run == s.run.ID {
				s.Why = b.Content
			}
			s.finishWork(ev.Elapsed)
		}
	}
}

// dropRefusals drops the refusals up to the request that an event settles.
func (s *state) dropRefusals(ev ponder.Event) {
	if len(s.Refused) == 0 {
		return
	}
	key, _, _ := strings.Cut(ev.Cause, "/")
	_, num, _ := strings.Cut(key, "-")
	if n, err := strconv.ParseInt(num, 10, 64); err == nil {
		s.Refused = slices.DeleteFunc(slices.Clone(s.Refused), func(r refusal) bool { return r.N <= ponder.Seq(n) })
	}
}

func (s *state) requestReflection(ev ponder.Event, prompt, reason string) {
	if next := s.Times.Next(ev.Time, 1, s.opts.PerHour); !next.IsZero() {
		s.Refused = append(slices.Clip(s.Refused), refusal{ev.Seq, next})
		return
	}
	s.Times = s.Times.Add(ev.Time)
	if s.Work == nil && s.Request == nil {
		s.Zero = s.Clock
	}
	trigger := ""
	if n := len(s.Lines); n > 0 {
		trigger = ev.ID
	}
	s.Request = &request{N: ev.Seq, Prompt: prompt, Reason: reason, Trigger: trigger, At: s.Clock}
}

// startNext starts the next reflection if one is requested and none is in progress.
func (s *state) startNext(ev ponder.Event) {
	if s.Work != nil || s.Request == nil {
		return
	}
	w := &work{request: *s.Request, ReadTo: s.Head, Text: s.joinLines(), Began: max(s.Request.At, s.Clock)}
	s.Work, s.Request = w, nil
}

func (s *state) finishWork(at time.Duration) {
	s.Work = nil
	if s.Request != nil {
		s.Request = &request{N: s.Request.N, Prompt: s.Request.Prompt, Reason: s.Request.Reason, Trigger: s.Request.Trigger, At: at}
	}
}

func (s *state) appendLine(ev ponder.Event) {
	s.Head = ev.Seq
	who, text := "", ""
	switch b := ev.Body.(type) {
	case ponder.UserMessage:
		who, text = "User", b.Content
		s.UserSeqs = append(slices.Clip(s.UserSeqs), ev.Seq)
		s.UserSeqs = s.UserSeqs[max(0, len(s.UserSeqs)-maxLines):]
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
	s.Lines = append(slices.Clip(s.Lines), line{ev.Seq, who + ": " + truncateText(text, maxEvent), who == "User"})
	s.Lines = s.Lines[max(0, len(s.Lines)-maxLines):]
}

func (s *state) joinLines() string {
	var b strings.Builder
	for _, l := range s.Lines {
		b.WriteString(l.Text + "\n\n")
	}
	return strings.TrimSpace(b.String())
}

// textSince returns the text after an event and its number of user messages.
func (s *state) textSince(at ponder.Seq) (text string, messages int) {
	var b strings.Builder
	for _, l := range s.Lines {
		if l.Seq > at {
			b.WriteString(l.Text + "\n\n")
		}
	}
	for _, n := range s.UserSeqs {
		if n > at {
			messages++
		}
	}
	return strings.TrimSpace(b.String()), messages
}

func truncateText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return textkit.Prefix(text, limit) + " […]"
}
