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
	"ponder/mode/internal/steering"
)

// Given is what a session is started with. It never changes.
type given struct {
	run   ponder.Run
	opts  Options
	input similarity.Text // of the user's question
}

// A state is what a session knows. What is exported is kept in checkpoints, so
// it is bounded, however long the session lasts.
type state struct {
	*given `json:"-"`

	Time   clock  `json:"time,omitzero"`
	Step   step   `json:"step"`
	Wave   []cell `json:"wave,omitempty"`  // of the steps look, read and thoughts
	Notes  []note `json:"notes,omitempty"` // written, but not seen in the log yet
	End    string `json:"end,omitempty"`   // why it concludes
	Cut    string `json:"broke,omitempty"` // how what the model wrote for the answer broke off, if it did
	Paused bool   `json:"paused,omitempty"`
	Told   bool   `json:"told,omitempty"`  // that the budget is spent
	Now    bool   `json:"hurry,omitempty"` // the user wants the answer, however it comes
	Calls  int    `json:"calls,omitempty"` // the most it may make, if there is such a limit
	Out    *out   `json:"out,omitempty"`   // how it ends, once it does

	Limit time.Duration `json:"limit,omitempty"` // how long it may take, if the user has changed that

	Unaided bool   `json:"unaided,omitempty"` // goes on without a model
	Fails   int    `json:"fails,omitempty"`   // moments in a row at which calls of the model of thoughts failed
	Fault   string `json:"fault,omitempty"`   // how the last call failed, or the last look
	Outage  outage `json:"outage,omitzero"`
	Dry     int    `json:"dry,omitempty"`  // rounds in a row without new evidence
	Over    string `json:"over,omitempty"` // why the last look for the user's question brought none, if it did not
	Counts  counts `json:"counts,omitzero"`
	Worth   worth  `json:"worth,omitzero"`

	Focus    focus       `json:"focus,omitzero"`     // of what is being taken in
	Thoughts []thought   `json:"thoughts,omitempty"` // the last of them, and all since a synthesis
	Said     []*memo     `json:"said,omitempty"`     // more of them, to know what repeats them
	Since    int         `json:"since,omitempty"`    // thoughts since questions were asked for; less than none if that was early
	Open     []*question `json:"open,omitempty"`     // oldest first
	Explored []*question `json:"explored,omitempty"` // the last of them, and those that were dropped
	Sum      summary     `json:"sum,omitzero"`       // the last synthesis
	SummedAt int64       `json:"summed_at_ms,omitempty"`

	Evidence []evidence `json:"evidence,omitempty"` // of this round, and what was cited
	Seen     []string   `json:"seen,omitempty"`     // ids of hits, the last of them
	Quotes   []string   `json:"quotes,omitempty"`   // what was quoted of which page, see repeats
	Web      web        `json:"web,omitzero"`       // how looking there goes
	Topics   []topic    `json:"topics,omitempty"`   // of what was found for the user's question
	Best     float64    `json:"best,omitempty"`     // score of a hit; without a model, less than half is nothing

	Mind []background.Note `json:"mind,omitempty"` // what was on the user's mind when it began

	Facts []fact `json:"facts,omitempty"` // that the user has corrected
	steering.SourceFilter
	Barred []int `json:"barred,omitempty"` // evidence of banned sources, which is cited no more
}

// counts are how many there are of each thing. They number keys and events.
type counts struct {
	Calls     int `json:"calls,omitempty"` // that were answered, or failed for good
	Rounds    int `json:"rounds,omitempty"`
	Thoughts  int `json:"thoughts,omitempty"`
	Questions int `json:"questions,omitempty"`
	Syntheses int `json:"syntheses,omitempty"`
	Evidence  int `json:"evidence,omitempty"`
	Asked     int `json:"asked,omitempty"`  // times that questions were asked for
	Summed    int `json:"summed,omitempty"` // times that a synthesis was asked for
	Found     int `json:"found,omitempty"`  // writes of each kind
	Noted     int `json:"noted,omitempty"`
	Raised    int `json:"raised,omitempty"`
	Unaided   int `json:"unaided,omitempty"` // rounds without a model
	Steered   int `json:"steered,omitempty"`
	Facts     int `json:"facts,omitempty"`
	Aside     int `json:"aside,omitempty"`
	Rests     int `json:"rests,omitempty"`
}

// The kinds of steps.
const (
	earlier   = "earlier"
	look      = "look"
	onWeb     = "web"  // beside a look
	reads     = "read" // pages that a look at the web has found
	thoughts  = "thoughts"
	questions = "questions"
	synthesis = "synthesis"
	final     = "final"
	done      = "done"
)

// A step is what the session waits for: one action, or those of the wave.
type step struct {
	Do string `json:"do"`
	N  int    `json:"n,omitempty"` // of the final answer: how often the session has paused for it
	structured.Retry

	// Other says that the final answer is asked of the model that thought, for
	// that of the answer can't be had.
	Other bool `json:"other,omitempty"`
}

// What the keys of some actions have beyond their names.
const (
	askedAnew = "~2"     // because the answer could not be read
	another   = "~other" // of the other model
)

// markOf returns what the key of an action has beyond its name.
func markOf(r structured.Retry) string {
	if r.Why != "" {
		return askedAnew
	}
	return ""
}

func (p step) key() string {
	key := p.Do
	if p.Do != final || p.N > 0 {
		key += "-" + strconv.Itoa(p.N)
	}
	if p.Other {
		key += another
	}
	return key + markOf(p.Retry)
}

// inWave reports whether the step has actions for each cell of the wave.
func (p step) inWave() bool { return p.Do == look || p.Do == reads || p.Do == thoughts }

// A note is a Write that the session has decided on.
type (
	note   = pendingwrites.Note
	bodies = pendingwrites.Bodies
)

// out is how a session ends.
type out = runstate.End

// A clock counts the thinking time, and knows when the newest event was.
type clock struct {
	runstate.Clock

	Wall time.Time `json:"wall,omitzero"` // of the newest event that changed the state
}

// see returns the clock after ev. Only the holder of a thread knows its clock.
func (c clock) see(ev ponder.Event, run ponder.RunID) clock {
	return clock{c.After(ev, run, firstKey), ev.Time}
}

// firstKey is the key of the first Write of a session that thinks.
const firstKey = "focus-1"

func (s *state) offset() float64 { return s.Time.Seconds() }

// Apply implements [ponder.State]. What changes the state does so on the copy
// that is returned, and copies what it refers to.
func (s *state) Apply(ev ponder.Event) ponder.State {
	if !s.minds(ev) {
		return s
	}
	next := *s
	next.Time = s.Time.see(ev, s.run.ID)
	next.see(ev)
	return &next
}

// minds reports whether ev may change anything.
func (s *state) minds(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallFinished, ponder.ToolResult, ponder.BudgetSpent:
		return ev.Run == s.run.ID
	case ponder.Steer, ponder.RunPaused, ponder.RunResumed:
		return true
	case ponder.Observation:
		_, ok := background.Of(ev)
		return ok && s.Counts.Thoughts == 0
	}
	return ev.Run == s.run.ID && (len(s.Notes) > 0 && pendingwrites.Ends(ev.Cause) || s.isAskedAgain() && s.isForeign(ev.Cause))
}

// see changes the state by an event that it minds.
func (s *state) see(ev ponder.Event) {
	key, _, _ := strings.Cut(ev.Cause, "#")
	switch b := ev.Body.(type) {
	case ponder.Steer:
		s.applySteer(ev.ID, b)
	case ponder.Observation:
		n, _ := background.Of(ev)
		s.Mind = background.With(s.Mind, n)
	case ponder.RunPaused:
		s.Paused = true
		if ofItself(ev) {
			s.Outage.Pauses, s.Notes = false, pendingwrites.Without(s.Notes, ev.Cause)
		}
	case ponder.RunResumed:
		s.Paused = false
	case ponder.BudgetSpent:
		s.Told = true
		s.conclude(runstate.BudgetSpent(b.What))
	case ponder.CallFinished:
		s.Counts.Calls++
		s.passOver(key)
		if s.Step.inWave() {
			s.answeredCell(key, &b)
		} else if key == s.Step.key() {
			s.called(&b)
		}
	case ponder.ToolResult:
		s.passOver(key)
		switch {
		case s.Step.Do == look:
			s.lookedCell(key, b)
		case s.Step.Do == reads:
			s.readCell(key, b)
		case s.Step.Do == earlier && key == s.Step.key():
			s.remember(b)
		}
	default:
		if s.isForeign(ev.Cause) {
			s.acceptUnread()
		}
		if pendingwrites.Ends(ev.Cause) {
			s.Notes = pendingwrites.Without(s.Notes, ev.Cause)
		}
	}
}

// isForeign reports whether an event is of a Write that this version of the program has
// not decided.
func (s *state) isForeign(cause string) bool {
	key, _, ok := strings.Cut(cause, "/")
	return ok && !slices.ContainsFunc(s.Notes, func(n note) bool { return n.Key == key })
}

// isAskedAgain reports whether an answer that could not be read is asked for again.
func (s *state) isAskedAgain() bool {
	return s.Step.Why != "" || slices.ContainsFunc(s.Wave, func(c cell) bool { return c.Why != "" && !c.Done })
}

// acceptUnread reads as prose what this version of the program would ask for again: another
// version could read it, and the log continues from there.
func (s *state) acceptUnread() {
	if s.Step.Why != "" {
		_ = s.take(s.Step.Bad, "", true) // what no version can read is asked for again
		return
	}
	if s.Step.Do != thoughts {
		return
	}
	s.Wave = slices.Clone(s.Wave)
	for i := range s.Wave {
		if c := &s.Wave[i]; c.Why != "" && !c.Done && c.hear(c.Bad, true) == nil {
			c.Done = true
		}
	}
	s.settleWave()
}

// passOver counts on from the key of a result, so that none is used twice: another
// version of the program may have asked for what this one would not have. If that was
// the answer, the session concludes.
func (s *state) passOver(key string) {
	do, number, _ := strings.Cut(strings.TrimSuffix(key, askedAnew), "-")
	n, _ := strconv.Atoi(number)
	switch do {
	case look, onWeb, thoughts:
		s.Counts.Rounds = max(s.Counts.Rounds, n)
	case reads:
		s.Web.Pages = max(s.Web.Pages, n)
	case questions:
		s.Counts.Asked = max(s.Counts.Asked, n)
	case synthesis:
		s.Counts.Summed = max(s.Counts.Summed, n)
	case final, final + another:
		s.conclude(concluded)
	}
}

// concluded is why a session concludes because another version of the program did.
const concluded = "it was concluded before"

// Next implements [ponder.State]. It depends on the time only while a model that does not
// answer is given some; all else that does was decided when the last step's result came
// in, and so is the same for ever.
func (s *state) Next(now ponder.Moment) []ponder.Action {
	do := make([]ponder.Action, 0, len(s.Notes)+max(1, len(s.Wave)))
	for _, n := range s.Notes {
		do = append(do, n.Action())
	}
	switch {
	case s.Step.Do == done:
		do = append(do, s.Out.Action())
	case s.Outage.Pauses: // nothing else meanwhile
	case s.rests(now.Wall):
		do = append(do, ponder.Wait{Until: s.Outage.Until})
	case s.Step.Do == earlier:
		do = append(do, s.recollect())
	case s.Step.inWave():
		for i := range s.Wave {
			do = s.consider(do, &s.Wave[i])
		}
	default:
		do = append(do, s.ask(s.Step.key(), nil))
	}
	return do
}

// write adds a Write of bodies, whose key is the prefix and n, counted up.
func (s *state) write(prefix string, n *int, add ...ponder.Body) {
	s.Notes = runstate.Write(s.Notes, prefix, n, add)
}
