package chat

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/taint"
	"ponder/internal/toolname"
	"ponder/llm"
)

// ApprovalTime is how long a question for an approval can be answered.
const ApprovalTime = 24 * time.Hour

// maxQuestions limits the remembered questions of a conversation. Older ones are dropped, which
// denies them.
const maxQuestions = 50

// maxTurnQuestions limits the questions of a turn, so that the user reads each of them.
const maxTurnQuestions = 5

// Texts for the model.
const (
	tooManyQuestions = "Not run: this turn has asked the user about enough calls. Wait for the answers."
	waitsForApproval = "Not run yet: Ponder itself has asked the user to approve this call with exactly these arguments. It runs when the user approves. Do not ask for it again; end your answer."
	deniedByUser     = "Not run: the user denied this call."
	notInTime        = "Not run: the question was answered before, has expired, or does not belong to this conversation."
	deniedBefore     = "Not run: the user denied exactly this call. Go on without it."
)

// Verdicts on questions.
const (
	verdictOpen     = ""
	verdictApproved = "approved"
	verdictDenied   = "denied"
	verdictInvalid  = "invalid" // no such open question
)

// A question asks the user to approve a call.
type question struct {
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Expires time.Time       `json:"expires"`
	Verdict string          `json:"verdict,omitempty"`
	Decided ponder.Seq      `json:"decided,omitempty"` // the message that decided it
}

// A decidedCall is a call that a message approves or denies.
type decidedCall struct {
	Verdict string          `json:"verdict"`
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
}

func (s *state) applyQuestion(ev ponder.Event, b ponder.ApprovalRequested) {
	s.Questions = append(slices.Clip(s.Questions), question{ID: ev.ID, Tool: b.Tool, Args: b.Args, Expires: b.Expires})
	s.Questions = s.Questions[max(0, len(s.Questions)-maxQuestions):]
}

// applyMessage applies a message of the user, and its answers to questions.
func (s *state) applyMessage(ev ponder.Event, b ponder.UserMessage) {
	m := messageFrom(ev, b)
	for _, d := range b.Decisions[:min(len(b.Decisions), maxQuestions)] {
		m.Decided = append(m.Decided, s.decideQuestion(ev, d))
	}
	s.Taint = s.Taint.AddEvent(ev)
	s.Waiting = append(slices.Clip(s.Waiting), Turn{Message: m})
}

// decideQuestion applies an answer. Only the first answer in time counts.
func (s *state) decideQuestion(ev ponder.Event, d ponder.ApprovalDecision) decidedCall {
	i := slices.IndexFunc(s.Questions, func(q question) bool { return q.ID == d.ID })
	if i < 0 {
		return decidedCall{Verdict: verdictInvalid}
	}
	q := s.Questions[i]
	call := decidedCall{Verdict: verdictInvalid, Tool: q.Tool, Args: q.Args}
	if q.Verdict != verdictOpen || ev.Time.After(q.Expires) {
		return call
	}
	call.Verdict = verdictDenied
	if d.Approved {
		call.Verdict = verdictApproved
	}
	s.Questions = slices.Clone(s.Questions)
	s.Questions[i].Verdict, s.Questions[i].Decided = call.Verdict, ev.Seq
	return call
}

// closeQuestions closes all questions of a fork, whose originals belong to the other conversation. An
// approved call that waits there does not run here too.
func (s *state) closeQuestions() {
	s.Questions, s.Waiting = slices.Clone(s.Questions), slices.Clone(s.Waiting)
	for i := range s.Questions {
		if s.Questions[i].Verdict == verdictOpen {
			s.Questions[i].Verdict = verdictInvalid
		}
	}
	for i := range s.Waiting {
		m := &s.Waiting[i].Message
		m.Decided = slices.Clone(m.Decided)
		for j := range m.Decided {
			m.Decided[j].Verdict = verdictInvalid
		}
	}
}

// currentWork returns the work of the current turn. A turn that answers questions starts with the
// approved calls; otherwise the work is nil before the first call of a model.
func (s *state) currentWork() *work {
	if s.Work != nil || len(s.Waiting) == 0 || len(s.Waiting[0].Message.Decided) == 0 {
		return s.Work
	}
	w, msg := work{}, llm.Message{Role: llm.Assistant}
	for i, d := range s.Waiting[0].Message.Decided {
		if d.Tool == "" {
			continue
		}
		c := llm.ToolCall{ID: "approved-" + strconv.FormatInt(int64(s.Waiting[0].Message.Seq), 10) + "-" + strconv.Itoa(i), Name: d.Tool, Input: d.Args}
		u := pendingCall{Call: c}
		switch known := slices.ContainsFunc(s.opts.Tools, func(t llm.Tool) bool { return t.Name == d.Tool }); {
		case d.Verdict == verdictDenied:
			u.Result = &llm.ToolResult{ID: c.ID, Name: c.Name, Text: deniedByUser, Failed: true}
		case d.Verdict == verdictInvalid:
			u.Result = &llm.ToolResult{ID: c.ID, Name: c.Name, Text: notInTime, Failed: true}
		case !known:
			u.Result = &llm.ToolResult{ID: c.ID, Name: c.Name, Text: "Not run: this tool is no longer available.", Failed: true}
		default:
			u.Key = s.actionKey(toolKey, 0, i)
		}
		msg.Parts = append(msg.Parts, llm.Part{Call: &c})
		w.Calls = append(w.Calls, u)
	}
	if len(w.Calls) == 0 {
		return nil
	}
	w.Msgs = []llm.Message{msg}
	w.finishRound(false)
	return &w
}

// decideCall returns the arguments of a call, or the text of its result if it is not run now.
func (s *state) decideCall(w *work, c llm.ToolCall, i int) (args json.RawMessage, text string) {
	if text = s.refuseCall(w, c, i); text != "" || s.opts.Gate == nil {
		return c.Input, text
	}
	d := s.opts.Gate(s.describeUse(w, c))
	if args = c.Input; d.Args != nil {
		args = d.Args
	}
	switch {
	case d.Refusal != "":
		return c.Input, d.Refusal
	case d.Ask == "":
		return args, ""
	case s.isDenied(c.Name, args):
		return c.Input, deniedBefore
	case w.countQuestions() >= maxTurnQuestions:
		return c.Input, tooManyQuestions
	}
	s.askUser(w, i, c.Name, taint.Compact(args), d.Ask)
	return c.Input, waitsForApproval
}

// askUser asks for the approval of a call, unless the same question is open.
func (s *state) askUser(w *work, i int, name string, args json.RawMessage, reason string) {
	same := func(tool string, other json.RawMessage) bool { return tool == name && bytes.Equal(other, args) }
	for _, q := range s.Questions {
		if same(q.Tool, q.Args) && q.Verdict == verdictOpen && s.Clock.Before(q.Expires.Add(-ApprovalTime/2)) {
			return
		}
	}
	for _, o := range w.Out {
		if o.Question != nil && same(o.Question.Tool, o.Question.Args) {
			return
		}
	}
	w.Out = append(slices.Clip(w.Out), pendingWrite{Key: s.actionKey(questionKey, w.Round, i), Question: &ponder.ApprovalRequested{
		Tool: name, Args: args, Reason: reason, Expires: s.Clock.Add(ApprovalTime), Untrusted: s.Taint.Names(),
	}})
}

func (w *work) countQuestions() (n int) {
	for _, o := range w.Out {
		if o.Question != nil {
			n++
		}
	}
	return n
}

func (s *state) describeUse(w *work, c llm.ToolCall) ToolUse {
	u := ToolUse{Call: c, Turns: append(s.visibleTurns(), s.currentTurn(w)), Used: taint.Results(w.Msgs), View: s.viewOf(w)}
	for _, q := range s.Questions {
		if q.Verdict == verdictApproved {
			u.Approved = append(u.Approved, q.Tool)
		}
	}
	return u
}

// isDenied reports whether the user denied exactly this call, and has written nothing since.
func (s *state) isDenied(tool string, args json.RawMessage) bool {
	own := ponder.Seq(0) // the newest message that answers no question
	for _, t := range append(s.visibleTurns(), s.Waiting[0]) {
		if !t.Message.IsDecision() {
			own = max(own, t.Message.Seq)
		}
	}
	args = taint.Compact(args)
	return slices.ContainsFunc(s.Questions, func(q question) bool {
		return q.Verdict == verdictDenied && q.Decided > own && q.Tool == tool && bytes.Equal(q.Args, args)
	})
}

// viewOf returns the texts that the model sees, by their origin.
func (s *state) viewOf(w *work) taint.View {
	texts := []taint.Text{{Content: s.Summary}, {Content: s.backgroundText(s.Waiting[0])}}
	for _, n := range s.Notes {
		texts = append(texts, taint.Text{Content: n.Text})
	}
	for _, t := range append(s.visibleTurns(), s.currentTurn(w)) {
		if !t.Message.IsDecision() {
			texts = append(texts, taint.Text{Content: t.Message.Text, User: !t.Message.Attached})
		}
		for _, text := range slices.Concat(t.Answer, t.Thoughts) {
			texts = append(texts, taint.Text{Content: text})
		}
	}
	v := taint.NewView(s.Taint, texts, taint.Results(w.Msgs))
	v.Described = s.opts.Described
	return v
}

// isOwnSearch reports whether a call searches the web for the user's own question.
func (s *state) isOwnSearch(w *work, c llm.ToolCall) bool {
	if c.Name != toolname.WebSearch {
		return false
	}
	return s.viewOf(w).IsOwnSearch(c.Input)
}

// PendingApprovals folds a conversation into its open questions.
type PendingApprovals struct {
	List []ponder.Event // of ApprovalRequested, the oldest first
}

// Apply folds the next event.
func (p *PendingApprovals) Apply(ev ponder.Event) {
	switch b := ev.Body.(type) {
	case ponder.ApprovalRequested:
		if !ev.Erased {
			p.List = append(p.List, ev)
			p.List = p.List[max(0, len(p.List)-maxQuestions):]
		}
	case ponder.SystemNote:
		if b.From != "" { // a fork asks anew
			p.List = nil
		}
	case ponder.UserMessage:
		for _, d := range b.Decisions {
			p.List = slices.DeleteFunc(p.List, func(ev ponder.Event) bool { return ev.ID == d.ID })
		}
	}
}

// Open returns the questions that can be answered at a time.
func (p *PendingApprovals) Open(now time.Time) (list []ponder.Event) {
	for _, ev := range p.List {
		if !now.After(ev.Body.(ponder.ApprovalRequested).Expires) {
			list = append(list, ev)
		}
	}
	return list
}

// ApprovalCode returns the code of a question, which a user types to answer it. A model cannot
// know it before the question is asked, because it comes from the random part of the event's ID.
func ApprovalCode(id string) string { return strings.ToUpper(id[max(0, len(id)-codeLen):]) }

const codeLen = 6
