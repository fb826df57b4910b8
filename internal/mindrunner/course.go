package mindrunner

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/mode/subconscious"
)

// A course is what the minder must know of the thread to go on: a fold over all events.
type course struct {
	head    ponder.Seq
	cursors map[string]cursor          // by sensor
	failing map[string]ponder.Seq      // by sensor: where it was said to fail
	recover map[string]ponder.Seq      // by sensor: where it was last said to look again
	open    map[ponder.RunID]*account  // root runs that have not finished
	spent   map[string]ponder.Cost     // by day
	ceiling map[string]bool            // days whose ceiling was said to be reached
	tight   map[string]bool            // days in which a call did not fit into what was left
	raised  []string                   // escalations without a decision, the oldest first
	asked   map[string]int             // by escalation: decisions that were begun
	runs    map[ponder.RunID]string    // decisions that are open, and their escalations
	told    []telling                  // escalations of which the user is to be told, the oldest first
	sent    map[string]map[string]sent // by escalation and channel

	answered map[string]time.Time // by the beginning of their causes: when wants were looked up
}

// A cursor is up to where a sensor has read.
type cursor struct {
	value json.RawMessage
	seq   ponder.Seq // of the event that has it
	at    time.Time
}

// An account is what a run may cost, and has cost.
type account struct {
	mode   string
	budget ponder.Cost
	spent  ponder.Cost
	paused bool
}

// A telling is what the user is to be told.
type telling struct {
	ponder.Escalation
	at time.Time
}

// A sent is what became of a telling on a channel.
type sent struct {
	done  bool
	tries int
	fails int
	last  time.Time // of the last try, or its failure
}

// tellTime is for how long it is tried to tell the user something.
const tellTime = 7 * 24 * time.Hour

func newCourse() course {
	return course{
		cursors: map[string]cursor{}, failing: map[string]ponder.Seq{}, recover: map[string]ponder.Seq{},
		open: map[ponder.RunID]*account{}, spent: map[string]ponder.Cost{}, ceiling: map[string]bool{}, tight: map[string]bool{},
		asked: map[string]int{}, runs: map[ponder.RunID]string{}, sent: map[string]map[string]sent{},
		answered: map[string]time.Time{},
	}
}

// day returns the day of a time by the clock of the machine.
func day(t time.Time) string { return t.Local().Format(time.DateOnly) }

// apply takes in the next event.
func (c *course) apply(ev ponder.Event) {
	c.head = ev.Seq
	switch b := ev.Body.(type) {
	case ponder.Observation:
		c.observed(ev, b)
	case ponder.RunStarted:
		c.started(ev, b)
	case ponder.RunPaused, ponder.RunResumed:
		_, paused := b.(ponder.RunPaused)
		for id, a := range c.open {
			if id.Within(ev.Run) {
				a.paused = paused
			}
		}
	case ponder.RunFinished:
		delete(c.open, ev.Run)
		delete(c.runs, ev.Run)
	case ponder.CallFinished:
		c.charge(ev, b.Spent)
	case ponder.BudgetSpent:
		if a := c.account(ev.Run); a != nil && a.budget != nothing && (b.What == "tokens" || b.What == "money") {
			c.tight = map[string]bool{day(ev.Time): true}
		}
	case ponder.Escalation:
		c.escalated(ev, b)
	}
}

// account returns that of the root of a run, or nil if that is over.
func (c *course) account(run ponder.RunID) *account {
	root, _, _ := strings.Cut(string(run), "/")
	return c.open[ponder.RunID(root)]
}

// started takes in that a run begins.
func (c *course) started(ev ponder.Event, b ponder.RunStarted) {
	if ev.Run.Parent() != "" {
		return
	}
	c.open[ev.Run] = &account{mode: b.Mode, budget: b.Budget.Cost}
	if id, ok := strings.CutPrefix(ev.Cause, decideCause); ok {
		c.asked[id]++
		c.runs[ev.Run] = id
	}
}

// charge takes in what a call has cost. Days that are long over are forgotten.
func (c *course) charge(ev ponder.Event, cost ponder.Cost) {
	today := day(ev.Time)
	if _, ok := c.spent[today]; !ok && len(c.spent) > 2 {
		clear(c.spent)
	}
	c.spent[today] = c.spent[today].Add(cost)
	if a := c.account(ev.Run); a != nil {
		a.spent = a.spent.Add(cost)
	}
}

// escalated takes in that something was raised, or decided.
func (c *course) escalated(ev ponder.Event, b ponder.Escalation) {
	if b.Outcome == "" {
		c.raised = append(c.raised, b.ID)
		return
	}
	for i, id := range c.raised {
		if id == b.ID {
			c.raised = append(c.raised[:i:i], c.raised[i+1:]...)
			break
		}
	}
	delete(c.asked, b.ID)
	c.prune(ev.Time)
	if b.Outcome == messageOutcome && !ev.Erased {
		c.told = append(c.told, telling{b, ev.Time})
	}
}

// prune forgets what was to be told long ago.
func (c *course) prune(now time.Time) {
	var left []telling
	for _, t := range c.told {
		if now.Sub(t.at) < 2*tellTime {
			left = append(left, t)
		} else {
			delete(c.sent, t.ID)
		}
	}
	c.told = left
}

// observed takes in an observation. What it is of is read from its cause, which stays
// when its words are erased.
func (c *course) observed(ev ponder.Event, b ponder.Observation) {
	if strings.HasPrefix(ev.Cause, subconscious.LookUpKind+":") {
		c.lookedUp(ev)
		return
	}
	switch b.Sensor {
	case subconscious.Delivery, attemptName:
		c.delivered(ev)
	case ceilingName:
		c.ceiling = map[string]bool{strings.TrimPrefix(ev.Cause, ceilingCause+":"): true}
	case cursorName:
		if len(b.Cursor) > 0 {
			c.cursors[b.Subject] = cursor{b.Cursor, ev.Seq, ev.Time}
		}
	case sensorsName:
		if b.State == stateFailing {
			c.failing[b.Subject] = ev.Seq
		} else {
			delete(c.failing, b.Subject)
			c.recover[b.Subject] = ev.Seq
		}
	default:
		if len(b.Cursor) > 0 {
			c.cursors[b.Sensor] = cursor{b.Cursor, ev.Seq, ev.Time}
		}
	}
}

// delivered takes in what became of an attempt to tell something.
func (c *course) delivered(ev ponder.Event) {
	parts := strings.SplitN(ev.Cause, ":", 5)
	if len(parts) != 5 || parts[0] != deliveryCause {
		return
	}
	channel, what, id := parts[1], parts[3], parts[4]
	try, err := strconv.Atoi(parts[2])
	if err != nil {
		return
	}
	if c.sent[id] == nil {
		c.sent[id] = map[string]sent{}
	}
	s := c.sent[id][channel]
	s.tries, s.last = max(s.tries, try), ev.Time
	switch what {
	case whatSent:
		s.done = true
	case whatFailed:
		s.fails = max(s.fails, try)
	}
	c.sent[id][channel] = s
}

// held returns the most that runs which are open may still cost.
func (c *course) held() (sum ponder.Cost) {
	for _, a := range c.open {
		sum.Tokens += max(0, a.budget.Tokens-a.spent.Tokens)
		sum.Money += max(0, a.budget.Money-a.spent.Money)
	}
	return sum
}

// ticking returns the tick that is open, if there is one.
func (c *course) ticking(mode string) (ponder.RunID, *account) {
	for id, a := range c.open {
		if a.mode == mode {
			return id, a
		}
	}
	return "", nil
}
