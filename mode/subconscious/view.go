package subconscious

import (
	"time"

	"ponder"
)

// A View is what is shown of a subconscious: a fold over all events of its thread.
type View struct {
	State
	Ticks     []Ticked
	Waiting   map[string]int // by role: observations that it has not seen
	Open      bool           // a tick is at work
	Last      time.Time      // when the last tick was merged
	News      time.Time      // when something new last came
	Undecided []ponder.Event // escalations that were raised and not decided
	Decided   []ponder.Event
	Delivered map[string]map[string]time.Time // by escalation and channel
	Cursors   map[string][]byte               // of sensors
	Spent     ponder.Cost                     // of runs that have finished, all in all
}

// A Ticked is a tick, as it was merged.
type Ticked struct {
	Tick
	Seq   ponder.Seq // of its event
	State State      // after it
	Back  int        // the tick whose state was restored, where it is no tick but a rollback
}

// NewView returns the view of a thread without events.
func NewView() View { return View{State: NewState()} }

// Apply returns the view after an event.
func (v View) Apply(ev ponder.Event) View { return v }

// Due reports whether a tick would have something to do, and why or why not in words.
func (v View) Due(o Options, now time.Time) (due bool, why string) { return false, "" }

// Pace returns how long after the last tick the next one comes: shorter than usual
// where things happen, longer where nothing does.
func (v View) Pace(every time.Duration, now time.Time) time.Duration { return every }
