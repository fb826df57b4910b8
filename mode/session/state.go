package session

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit/similarity"
	"ponder/llm/structured"
	"ponder/mode/internal/background"
	"ponder/mode/internal/pendingwrites"
	"ponder/mode/internal/runstate"
	"ponder/mode/internal/steerstate"
)

// runInput is the constant input of a session.
type runInput struct {
	run   ponder.Run
	opts  Options
	input similarity.Text
}

// state is the state of a session. Exported fields are stored in checkpoints, so all of them are
// bounded.
type state struct {
	*runInput `json:"-"`

	Time        clock   `json:"time,omitzero"`
	Step        step    `json:"step"`
	Wave        []slot  `json:"wave,omitempty"`  // of the steps look, read and thoughts
	Notes       []note  `json:"notes,omitempty"` // decided but not yet in the log
	StopReason  string  `json:"end,omitempty"`   // why it concludes
	Cut         string  `json:"broke,omitempty"` // how the answer broke off, if so
	Paused      bool    `json:"paused,omitempty"`
	BudgetSpent bool    `json:"told,omitempty"`  // the budget is spent
	AnswerNow   bool    `json:"hurry,omitempty"` // the user wants the answer at once
	Calls       int     `json:"calls,omitempty"` // maximum number of calls, if limited
	Outcome     *runEnd `json:"out,omitempty"`   // how the run ends, once it does

	StopCode     ponder.EndReason `json:"end_code,omitempty"`     // of StopReason
	ReachedLimit runstate.Reason  `json:"limit_reached,omitzero"` // the limit that BudgetSpent names
	Refused      bool             `json:"refused,omitempty"`      // the budget refused the call for the answer

	TimeLimit time.Duration `json:"limit,omitempty"` // time limit, if the user changed it

	Unaided   bool   `json:"unaided,omitempty"` // continues without a model
	Failures  int    `json:"fails,omitempty"`   // consecutive failures of the thinking model
	LastError string `json:"fault,omitempty"`   // error of the last call or look

	FormatIgnored bool `json:"format_ignored,omitempty"` // the model ignored the format when asked for it again

	Outage      outage    `json:"outage,omitzero"`
	EmptyRounds int       `json:"dry,omitempty"`  // consecutive rounds without new evidence
	EmptyReason string    `json:"over,omitempty"` // why the last look for the user's question found nothing
	Counts      counts    `json:"counts,omitzero"`
	CallValue   callValue `json:"worth,omitzero"`

	Focus          focus          `json:"focus,omitzero"`     // of the cell being applied
	Thoughts       []thought      `json:"thoughts,omitempty"` // of the timeline; see cutTimeline
	History        []*pastThought `json:"said,omitempty"`     // memos of more thoughts
	SinceQuestions int            `json:"since,omitempty"`    // thoughts since the last questions; negative after an early call
	Open           []*question    `json:"open,omitempty"`
	Explored       []*question    `json:"explored,omitempty"` // recent ones, including dropped
	Synthesis      summary        `json:"sum,omitzero"`
	Summaries      []pastSummary  `json:"sums,omitempty"`    // syntheses in the timeline
	Shrinks        int            `json:"shrinks,omitempty"` // how often the limits of prompts were halved
	SummedAt       int64          `json:"summed_at_ms,omitempty"`

	Evidence  []evidence `json:"evidence,omitempty"` // of this round, and those of shedEvidence
	Seen      []string   `json:"seen,omitempty"`     // recent ids of hits
	Quotes    []string   `json:"quotes,omitempty"`   // known quotes by page; see repeats
	Web       webState   `json:"web,omitzero"`
	Topics    []topic    `json:"topics,omitempty"` // of hits for the user's question
	BestScore float64    `json:"best,omitempty"`   // best score; without a model, hits below half are ignored

	Mind []background.Note `json:"mind,omitempty"` // background notes at the start

	Facts []fact `json:"facts,omitempty"`
	steerstate.SourceFilter
	BannedEvidence []int      `json:"barred,omitempty"`  // evidence of banned sources
	Removed        []evidence `json:"removed,omitempty"` // the newest of it, for a release

	Limits *ponder.Budget `json:"limits,omitempty"` // of the run, if the user changed them
}

// counts number keys and events.
type counts struct {
	Calls     int `json:"calls,omitempty"` // finished calls
	Rounds    int `json:"rounds,omitempty"`
	Thoughts  int `json:"thoughts,omitempty"`
	Questions int `json:"questions,omitempty"`
	Syntheses int `json:"syntheses,omitempty"`
	Evidence  int `json:"evidence,omitempty"`
	Asked     int `json:"asked,omitempty"`  // calls for questions
	Summed    int `json:"summed,omitempty"` // calls for a synthesis
	Found     int `json:"found,omitempty"`
	Noted     int `json:"noted,omitempty"`
	Raised    int `json:"raised,omitempty"`
	Unaided   int `json:"unaided,omitempty"`
	Steered   int `json:"steered,omitempty"`
	Facts     int `json:"facts,omitempty"`
	Omitted   int `json:"aside,omitempty"`
	Waits     int `json:"rests,omitempty"`
	Views     int `json:"views,omitempty"` // rounds on the user's question
}

const (
	earlier    = "earlier"
	lookupStep = "look"
	webStep    = "web"  // concurrent with a look
	readStep   = "read" // of found pages
	thoughts   = "thoughts"
	questions  = "questions"
	synthesis  = "synthesis"
	final      = "final"
	done       = "done"
)

// step is the awaited action, or the actions of the wave.
type step struct {
	Do string `json:"do"`
	N  int    `json:"n,omitempty"` // for the final answer: number of pauses
	structured.Retry

	ThoughtModel bool `json:"other,omitempty"` // the thinking model writes the answer, because the final model failed
}

const (
	retrySuffix = "~2"     // a retry of an unreadable answer
	otherSuffix = "~other" // of the other model
)

func retryMark(r structured.Retry) string {
	if r.Why != "" {
		return retrySuffix
	}
	return ""
}

func (p step) actionKey() string {
	key := p.Do
	if p.Do != final || p.N > 0 {
		key += "-" + strconv.Itoa(p.N)
	}
	if p.ThoughtModel {
		key += otherSuffix
	}
	return key + retryMark(p.Retry)
}

func (p step) isInWave() bool { return p.Do == lookupStep || p.Do == readStep || p.Do == thoughts }

// A note is a Write that the session has decided on.
type note = pendingwrites.Note

type runEnd = runstate.End

type clock struct {
	runstate.Clock

	Wall time.Time `json:"wall,omitzero"` // of the newest event that changed the state
}

// observeEvent returns the clock after ev. Only the holder knows the thread's clock.
func (c clock) observeEvent(ev ponder.Event, run ponder.RunID) clock {
	return clock{c.Advance(ev, run, firstKey), ev.Time}
}

const firstKey = "focus-1"

func (s *state) elapsedSeconds() float64 { return s.Time.Seconds() }

// Apply implements [ponder.State]. It changes a copy and clones shared data first.
func (s *state) Apply(ev ponder.Event) ponder.State {
	if !s.isRelevant(ev) {
		return s
	}
	next := *s
	next.Time = s.Time.observeEvent(ev, s.run.ID)
	next.applyEvent(ev)
	return &next
}

func (s *state) isRelevant(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallFinished, ponder.ToolResult, ponder.BudgetSpent:
		return ev.Run == s.run.ID
	case ponder.Steer, ponder.RunPaused, ponder.RunResumed:
		return true
	case ponder.Observation:
		_, ok := background.NoteFrom(ev)
		return ok && s.Counts.Thoughts == 0
	}
	return ev.Run == s.run.ID && (len(s.Notes) > 0 && pendingwrites.IsLastEvent(ev.Cause) || s.isRetrying() && s.isForeign(ev.Cause))
}

func (s *state) applyEvent(ev ponder.Event) {
	key, _, _ := strings.Cut(ev.Cause, "#")
	switch b := ev.Body.(type) {
	case ponder.Steer:
		s.applySteer(ev.ID, b)
	case ponder.Observation:
		n, _ := background.NoteFrom(ev)
		s.Mind = background.AppendNote(s.Mind, n)
	case ponder.RunPaused:
		s.Paused = true
		if isSelfPaused(ev) {
			s.Outage.Pausing, s.Notes = false, pendingwrites.RemoveCompleted(s.Notes, ev.Cause)
		}
	case ponder.RunResumed:
		s.Paused = false
	case ponder.BudgetSpent:
		s.BudgetSpent, s.ReachedLimit = true, runstate.BudgetReason(b)
		s.concludeRun(s.ReachedLimit)
	case ponder.CallFinished:
		s.Counts.Calls++
		s.skipForeignKey(key)
		if s.Step.isInWave() {
			s.applyThoughts(key, &b)
		} else if key == s.Step.actionKey() {
			s.applyCall(&b)
		}
	case ponder.ToolResult:
		s.skipForeignKey(key)
		switch {
		case s.Step.Do == lookupStep:
			s.applyLookup(key, b)
		case s.Step.Do == readStep:
			s.applyPage(key, b)
		case s.Step.Do == earlier && key == s.Step.actionKey():
			s.applyEarlier(b)
		}
	default:
		if s.isForeign(ev.Cause) {
			s.acceptUnread()
		}
		if pendingwrites.IsLastEvent(ev.Cause) {
			s.Notes = pendingwrites.RemoveCompleted(s.Notes, ev.Cause)
		}
	}
}

// isForeign reports whether an event belongs to a Write that this version did not decide.
func (s *state) isForeign(cause string) bool {
	key, _, ok := strings.Cut(cause, "/")
	return ok && !slices.ContainsFunc(s.Notes, func(n note) bool { return n.Key == key })
}

func (s *state) isRetrying() bool {
	return s.Step.Why != "" || slices.ContainsFunc(s.Wave, func(c slot) bool { return c.Why != "" && !c.Done })
}

// acceptUnread accepts a pending answer as prose. The log shows that another version could read it.
func (s *state) acceptUnread() {
	if s.Step.Why != "" {
		_ = s.applyAnswer(s.Step.Bad, "", true)
		return
	}
	if s.Step.Do != thoughts {
		return
	}
	s.acceptSlots()
	s.settleWave()
}

// acceptSlots accepts the pending answers of the wave as prose.
func (s *state) acceptSlots() {
	s.Wave = slices.Clone(s.Wave)
	for i := range s.Wave {
		if c := &s.Wave[i]; c.Why != "" && !c.Done && c.readThoughts(c.Bad, s.run.Input, true) == nil {
			c.Done = true
		}
	}
}

// skipForeignKey advances the counters past the key of a foreign result, so that keys stay unique. If it
// was the answer, the session concludes.
func (s *state) skipForeignKey(key string) {
	do, number, _ := strings.Cut(strings.TrimSuffix(key, retrySuffix), "-")
	n, _ := strconv.Atoi(number)
	switch do {
	case lookupStep, webStep, thoughts:
		s.Counts.Rounds = max(s.Counts.Rounds, n)
	case readStep:
		s.Web.Pages = max(s.Web.Pages, n)
	case questions:
		s.Counts.Asked = max(s.Counts.Asked, n)
	case synthesis:
		s.Counts.Summed = max(s.Counts.Summed, n)
	case final, final + otherSuffix:
		s.concludeRun(concludedBefore)
	}
}

var concludedBefore = runstate.Reason{Code: ponder.EndEarlier, Text: "the session had concluded before"}

// Next implements [ponder.State]. Only a wait during an outage depends on the time. All else
// follows from the log.
func (s *state) Next(now ponder.Moment) []ponder.Action {
	do := make([]ponder.Action, 0, len(s.Notes)+max(1, len(s.Wave)))
	for _, n := range s.Notes {
		do = append(do, n.Action())
	}
	switch {
	case s.Step.Do == done:
		do = append(do, s.Outcome.Action())
	case s.Outage.Pausing:
	case s.isWaiting(now.Wall):
		do = append(do, ponder.Wait{Until: s.Outage.Until})
	case s.Step.Do == earlier:
		do = append(do, s.earlierAction())
	case s.Step.isInWave():
		for i := range s.Wave {
			do = s.appendActions(do, &s.Wave[i])
		}
	default:
		do = append(do, s.modelCall(s.Step.actionKey(), nil))
	}
	return do
}

// queueWrite adds a Write of bodies under prefix and the incremented n.
func (s *state) queueWrite(prefix string, n *int, add ...ponder.Body) {
	s.Notes = runstate.AppendWrite(s.Notes, prefix, n, add)
}
