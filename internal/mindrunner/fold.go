package mindrunner

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/mode/subconscious"
)

// A fold is the part of the thread that the runner needs: a fold over all events.
type fold struct {
	head       ponder.Seq
	cursors    map[string]cursor     // by sensor
	failing    map[string]ponder.Seq // by sensor: the event that reported its failure
	recover    map[string]ponder.Seq // by sensor: the event that last reported its recovery
	open       map[ponder.RunID]*account
	spent      map[string]ponder.Cost
	ceiling    map[string]bool         // days whose reached ceiling the thread reports
	tight      map[string]bool         // days in which a call did not fit into the rest of the ceiling
	raised     []string                // undecided escalations, oldest first
	asked      map[string]int          // by escalation: started decisions
	runs       map[ponder.RunID]string // open decisions and their escalations
	deliveries []delivery              // messages to the user, oldest first
	sent       map[string]map[string]sendState

	answered map[string]time.Time // by cause without its number: the time of the look-up
}

// A cursor is the position of a sensor in its source.
type cursor struct {
	value json.RawMessage
	seq   ponder.Seq // of the event that stores it
	at    time.Time
}

// An account is the budget and the cost of an open root run.
type account struct {
	mode   string
	budget ponder.Cost
	spent  ponder.Cost
	paused bool
}

// A delivery is a message to the user.
type delivery struct {
	ponder.Escalation
	at time.Time
}

// A sendState is the state of a delivery on a channel.
type sendState struct {
	done  bool
	tries int
	fails int
	last  time.Time // the time of the last attempt, or of its failure
}

// deliveryTime limits the retries of a message, from its decision on.
const deliveryTime = 7 * 24 * time.Hour

func newFold() fold {
	return fold{
		cursors: map[string]cursor{}, failing: map[string]ponder.Seq{}, recover: map[string]ponder.Seq{},
		open: map[ponder.RunID]*account{}, spent: map[string]ponder.Cost{}, ceiling: map[string]bool{}, tight: map[string]bool{},
		asked: map[string]int{}, runs: map[ponder.RunID]string{}, sent: map[string]map[string]sendState{},
		answered: map[string]time.Time{},
	}
}

// localDay returns the local day of a time.
func localDay(t time.Time) string { return t.Local().Format(time.DateOnly) }

// applyEvent folds the next event.
func (c *fold) applyEvent(ev ponder.Event) {
	c.head = ev.Seq
	switch b := ev.Body.(type) {
	case ponder.Observation:
		c.applyObservation(ev, b)
	case ponder.RunStarted:
		c.applyRunStarted(ev, b)
	case ponder.RunPaused, ponder.RunResumed:
		_, paused := b.(ponder.RunPaused)
		for id, a := range c.open {
			if id.IsWithin(ev.Run) {
				a.paused = paused
			}
		}
	case ponder.RunFinished:
		delete(c.open, ev.Run)
		delete(c.runs, ev.Run)
	case ponder.CallFinished:
		c.addCost(ev, b.Spent)
	case ponder.BudgetSpent:
		if a := c.rootAccount(ev.Run); a != nil && a.budget != noModelBudget && (b.What == "tokens" || b.What == "money") {
			c.tight = map[string]bool{localDay(ev.Time): true}
		}
	case ponder.Escalation:
		c.applyEscalation(ev, b)
	}
}

// rootAccount returns the account of the root of a run, or nil if the root is not open.
func (c *fold) rootAccount(run ponder.RunID) *account {
	root, _, _ := strings.Cut(string(run), "/")
	return c.open[ponder.RunID(root)]
}

func (c *fold) applyRunStarted(ev ponder.Event, b ponder.RunStarted) {
	if ev.Run.Parent() != "" {
		return
	}
	c.open[ev.Run] = &account{mode: b.Mode, budget: b.Budget.Cost}
	if id, ok := strings.CutPrefix(ev.Cause, decideCause); ok {
		c.asked[id]++
		c.runs[ev.Run] = id
	}
}

// addCost adds the cost of a call. It drops the sums of earlier days when it has three.
func (c *fold) addCost(ev ponder.Event, cost ponder.Cost) {
	today := localDay(ev.Time)
	if _, ok := c.spent[today]; !ok && len(c.spent) > 2 {
		clear(c.spent)
	}
	c.spent[today] = c.spent[today].Add(cost)
	if a := c.rootAccount(ev.Run); a != nil {
		a.spent = a.spent.Add(cost)
	}
}

func (c *fold) applyEscalation(ev ponder.Event, b ponder.Escalation) {
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
	c.pruneDeliveries(ev.Time)
	if b.Outcome == messageOutcome && !ev.Erased {
		c.deliveries = append(c.deliveries, delivery{b, ev.Time})
	}
}

// pruneDeliveries drops messages that are much older than deliveryTime.
func (c *fold) pruneDeliveries(now time.Time) {
	var left []delivery
	for _, t := range c.deliveries {
		if now.Sub(t.at) < 2*deliveryTime {
			left = append(left, t)
		} else {
			delete(c.sent, t.ID)
		}
	}
	c.deliveries = left
}

// applyObservation folds an observation. It reads the subject from the cause, which survives
// erasure.
func (c *fold) applyObservation(ev ponder.Event, b ponder.Observation) {
	if strings.HasPrefix(ev.Cause, subconscious.LookUpKind+":") {
		c.applyLookUp(ev)
		return
	}
	switch b.Sensor {
	case subconscious.Delivery, attemptName:
		c.applyDelivery(ev)
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

// applyDelivery folds the outcome of an attempt to send a message.
func (c *fold) applyDelivery(ev ponder.Event) {
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
		c.sent[id] = map[string]sendState{}
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

// heldCost returns the highest further cost of the open runs.
func (c *fold) heldCost() (sum ponder.Cost) {
	for _, a := range c.open {
		sum.Tokens += max(0, a.budget.Tokens-a.spent.Tokens)
		sum.Money += max(0, a.budget.Money-a.spent.Money)
	}
	return sum
}

// openRun returns the open run of a mode, or "".
func (c *fold) openRun(mode string) (ponder.RunID, *account) {
	for id, a := range c.open {
		if a.mode == mode {
			return id, a
		}
	}
	return "", nil
}
