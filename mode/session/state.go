package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
)

// A state is what a session knows. What is exported is kept in checkpoints, so
// it is bounded, however long the session lasts.
type state struct {
	run  ponder.Run
	opts Options

	Time  clock  `json:"time,omitzero"`
	Step  step   `json:"step"`
	Notes []note `json:"notes,omitempty"` // what the latest step wrote; see note
	End   string `json:"end,omitempty"`   // why it concludes
	Out   *out   `json:"out,omitempty"`   // how it ends, once it does

	Unaided bool   `json:"unaided,omitempty"` // goes on without a model
	Fails   int    `json:"fails,omitempty"`   // calls in a row that failed
	Fault   string `json:"fault,omitempty"`   // how the last call failed, or the last look
	Dry     int    `json:"dry,omitempty"`     // rounds in a row without new evidence
	Counts  counts `json:"counts,omitzero"`

	Focus    focus      `json:"focus,omitzero"`
	Thoughts []thought  `json:"thoughts,omitempty"` // the last of them
	Since    int        `json:"since,omitempty"`    // thoughts since questions were asked for
	Open     []question `json:"open,omitempty"`     // oldest first
	Explored []question `json:"explored,omitempty"` // the last of them
	Sum      summary    `json:"sum,omitzero"`       // the last synthesis
	SummedAt int64      `json:"summed_at_ms,omitempty"`

	Evidence []evidence `json:"evidence,omitempty"` // of this round, and what was cited
	Seen     []string   `json:"seen,omitempty"`     // ids of hits, the last of them
	Topics   []topic    `json:"topics,omitempty"`   // of what was found for the user's question
	Best     float64    `json:"best,omitempty"`     // score of a hit; without a model, less than half is nothing
}

// counts are how many there are of each thing. They number keys and events.
type counts struct {
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
}

// The kinds of steps.
const (
	look      = "look"
	thoughts  = "thoughts"
	questions = "questions"
	synthesis = "synthesis"
	final     = "final"
	done      = "done"
)

// A step is what the session waits for.
type step struct {
	Do string `json:"do"`
	N  int    `json:"n,omitempty"`

	// Bad is the answer that could not be read, if it is asked for again, and
	// Why what is wrong with it.
	Bad string `json:"bad,omitempty"`
	Why string `json:"why,omitempty"`

	// Other says that the final answer is asked of the model that thought, for
	// that of the answer can't be had.
	Other bool `json:"other,omitempty"`
}

// key returns the key of the step's action.
func (p step) key() string {
	key := p.Do
	if p.Do != final {
		key = fmt.Sprintf("%s-%d", p.Do, p.N)
	}
	if p.Other {
		key += "~other"
	}
	if p.Why != "" {
		key += "~2"
	}
	return key
}

// A note is a Write. It is asked for from the step that made it until the result
// of the next is in, so that a log that was cut in the middle of it gets the rest.
type note struct {
	Key    string `json:"key"`
	Bodies bodies `json:"bodies"`
}

// bodies are stored as the events they become.
type bodies []ponder.Body

// MarshalJSON implements [json.Marshaler].
func (b bodies) MarshalJSON() ([]byte, error) {
	evs := make([]ponder.Event, len(b))
	for i := range b {
		evs[i].Body = b[i]
	}
	return json.Marshal(evs)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *bodies) UnmarshalJSON(js []byte) error {
	var evs []ponder.Event
	if err := json.Unmarshal(js, &evs); err != nil {
		return err
	}
	*b = make(bodies, len(evs))
	for i := range evs {
		(*b)[i] = evs[i].Body
	}
	return nil
}

// out is how a session ends.
type out struct {
	Status     ponder.Status `json:"status"`
	Answer     string        `json:"answer,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	Confidence float64       `json:"confidence,omitempty"`
}

// A clock counts the thinking time of the run in milliseconds, which is what
// events keep. It stands still while the run is paused, for then nobody holds the
// thread.
type clock struct {
	Now   int64 `json:"now,omitempty"`   // of the thread
	Began int64 `json:"began,omitempty"` // of the thread, when the run first wrote
	Begun bool  `json:"begun,omitempty"`
}

// see returns the clock after ev. Only the holder of a thread knows its clock.
func (c clock) see(ev ponder.Event, run ponder.RunID) clock {
	c.Now = max(c.Now, ev.Elapsed.Milliseconds())
	if !c.Begun && ev.Run == run && strings.HasPrefix(ev.Cause, firstKey+"/") {
		c.Begun, c.Began = true, c.Now
	}
	return c
}

// firstKey is the key of the first Write of a session.
const firstKey = "focus-1"

// ms returns the thinking time.
func (c clock) ms() int64 { return max(0, c.Now-c.Began) }

// offset returns the thinking time in seconds.
func (s state) offset() float64 {
	return (time.Duration(s.Time.ms()) * time.Millisecond).Seconds()
}

// Apply implements [ponder.State]. What changes the state does so on the copy
// that is returned, and copies what it refers to.
func (s state) Apply(ev ponder.Event) ponder.State {
	s.Time = s.Time.see(ev, s.run.ID)
	if s.Step.Do == done {
		return s
	}
	key, _, _ := strings.Cut(ev.Cause, "#")
	mine := ev.Run == s.run.ID && key == s.Step.key()
	switch b := ev.Body.(type) {
	case ponder.Steer:
		if b.Do == ponder.AnswerNow {
			s.conclude("an answer was wanted now")
		}
	case ponder.BudgetSpent:
		if ev.Run == s.run.ID {
			s.conclude(spent(b.What))
		}
	case ponder.CallFinished:
		if mine && s.Step.Do != look {
			s.Notes = nil
			s.called(b)
		}
	case ponder.ToolResult:
		if mine && s.Step.Do == look {
			s.Notes = nil
			s.looked(b)
		}
	}
	return s
}

// spent says which budget is spent.
func spent(what string) string {
	switch what {
	case "calls", "tokens":
		return what + " are spent"
	}
	return cmp.Or(what, "the budget") + " is spent"
}

// Next implements [ponder.State]. It does not depend on the time: what does was
// decided when the last step's result came in, and so is the same for ever.
func (s state) Next(ponder.Moment) (do []ponder.Action) {
	for _, n := range s.Notes {
		do = append(do, ponder.Write{Key: n.Key, Bodies: slices.Clone(n.Bodies)})
	}
	switch s.Step.Do {
	case done:
		return append(do, ponder.Finish{Status: s.Out.Status, Answer: s.Out.Answer, Reason: s.Out.Reason, Confidence: s.Out.Confidence})
	case look:
		return append(do, s.search())
	}
	return append(do, s.ask())
}

// write adds a Write of bodies, whose key is the prefix and n, counted up.
func (s *state) write(prefix string, n *int, add ...ponder.Body) {
	if len(add) > 0 {
		*n++
		s.Notes = append(slices.Clip(s.Notes), note{Key: fmt.Sprintf("%s-%d", prefix, *n), Bodies: add})
	}
}
