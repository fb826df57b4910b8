package subconscious

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"ponder"
)

// View is the displayable state of a subconscious, folded from all events of its thread.
type View struct {
	State
	Ticks     []MergedTick
	Waiting   map[string]int // by role: unseen observations
	Open      bool
	Last      time.Time
	News      time.Time // time of the last news
	Undecided []ponder.Event
	Decided   []ponder.Event
	Delivered map[string]map[string]time.Time // by escalation and channel
	Cursors   map[string][]byte               // by sensor
	Spent     ponder.Cost                     // of all calls

	roles      []Role
	facts      knowledge
	open       map[ponder.RunID]bool
	decidedIDs map[string]bool
	days       map[string]ponder.Cost
}

// MergedTick is a merged tick.
type MergedTick struct {
	Tick
	Seq   ponder.Seq
	Run   ponder.RunID
	Spent ponder.Cost // of all calls of the run, including failed ones
	Back  int         // for a rollback: the tick whose state was restored
}

// Delivery is the sensor of delivered messages: the subject is the id of the escalation, the state
// is the channel. Other internal records use sensors of kind [Name]. One with a cursor stores the
// position of the sensor named by its subject.
const Delivery = deliverySensor

// NewView returns the view of an empty thread with the given roles, or the default roles.
func NewView(roles ...Role) View {
	if len(roles) == 0 {
		roles = DefaultRoles()
	}
	k := newKnowledge()
	return View{
		State: k.State, facts: k, roles: roles, Waiting: make(map[string]int), Delivered: make(map[string]map[string]time.Time),
		Cursors: make(map[string][]byte), open: make(map[ponder.RunID]bool), decidedIDs: make(map[string]bool), days: make(map[string]ponder.Cost),
	}
}

// Apply returns the view after an event. It invalidates the old view.
func (v View) Apply(ev ponder.Event) View {
	v.facts = v.facts.applyInPlace(ev, nil)
	v.State = v.facts.State
	switch b := ev.Body.(type) {
	case ponder.Observation:
		v.applyObservation(ev, b)
	case ponder.Subconscious:
		v.applyTick(ev, b)
	case ponder.Escalation:
		v.applyEscalation(ev, b)
	case ponder.Resolution:
		if b.As == asRolledBack {
			back, _ := strconv.Atoi(b.Ref)
			v.Ticks = append(v.Ticks, MergedTick{Tick: Tick{At: ev.Time}, Seq: ev.Seq, Back: back})
		}
	case ponder.RunStarted:
		if b.Mode == Name && ev.Run.Parent() == "" {
			v.open[ev.Run] = true
		}
	case ponder.RunFinished:
		delete(v.open, ev.Run)
	case ponder.CallFinished:
		v.addCost(ev, b)
	}
	v.Open = len(v.open) > 0
	return v
}

func (v *View) applyObservation(ev ponder.Event, b ponder.Observation) {
	switch {
	case sensorKind(b.Sensor) == Delivery:
		if v.Delivered[b.Subject] == nil {
			v.Delivered[b.Subject] = make(map[string]time.Time)
		}
		v.Delivered[b.Subject][b.State] = ev.Time
		return
	case isInternalSensor(b.Sensor):
		if len(b.Cursor) > 0 {
			v.Cursors[b.Subject] = b.Cursor // the sensor saw nothing new
		}
		return
	case len(b.Cursor) > 0:
		v.Cursors[b.Sensor] = b.Cursor
	}
	if !isLookUp(b.Sensor) {
		v.News = ev.Time
	}
	for _, r := range v.roles {
		if r.Sees(b) {
			v.Waiting[r.Name]++
		}
	}
}

func (v *View) applyTick(ev ponder.Event, b ponder.Subconscious) {
	t, err := decodeTick(b)
	if err != nil || t.Number == 0 {
		t = Tick{Number: b.Tick, At: ev.Time}
	}
	ticked := MergedTick{Tick: t, Seq: ev.Seq, Run: ev.Run}
	for _, r := range t.Roles {
		ticked.Spent = ticked.Spent.Add(ponder.Cost{Calls: r.Calls, Tokens: r.Tokens, Money: ponder.Money(r.Money)})
	}
	v.Ticks = append(v.Ticks, ticked)
	v.Last = ev.Time
	v.countWaiting()
}

func (v *View) countWaiting() {
	for _, r := range v.roles {
		unread, _ := v.facts.unreadObservations(r, v.Last, noSeqLimit)
		if v.Waiting[r.Name] = len(unread); v.Waiting[r.Name] == 0 {
			delete(v.Waiting, r.Name)
		}
	}
}

func (v *View) applyEscalation(ev ponder.Event, b ponder.Escalation) {
	switch {
	case b.Outcome == "" && !v.decidedIDs[b.ID]:
		v.Undecided = append(v.Undecided, ev)
	case b.Outcome != "" && !v.decidedIDs[b.ID]:
		v.decidedIDs[b.ID] = true
		v.Decided = append(v.Decided, ev)
		v.Undecided = slices.DeleteFunc(v.Undecided, func(o ponder.Event) bool {
			raised, _ := o.Body.(ponder.Escalation)
			return raised.ID == b.ID
		})
	}
}

func (v *View) addCost(ev ponder.Event, b ponder.CallFinished) {
	v.Spent = v.Spent.Add(b.Spent)
	day := localDay(ev.Time)
	v.days[day] = v.days[day].Add(b.Spent)
}

// DayCost returns the cost of the calls that ended on the local day of the given time.
func (v View) DayCost(day time.Time) ponder.Cost { return v.days[localDay(day)] }

func localDay(t time.Time) string { return t.Local().Format(time.DateOnly) }

type storedView struct {
	Facts   knowledge      `json:"knows"`
	Waiting map[string]int `json:"waiting,omitempty"`
	Open    []ponder.RunID `json:"open,omitempty"`
	Last    time.Time      `json:"last,omitzero"`
	News    time.Time      `json:"news,omitzero"`
}

// EncodeCheckpoint encodes as JSON the parts of a view that State, Due and Pace need, for a checkpoint. It
// omits history.
func (v View) EncodeCheckpoint() ([]byte, error) {
	k := storedView{Facts: v.facts, Waiting: v.Waiting, Last: v.Last, News: v.News}
	for run := range v.open {
		k.Open = append(k.Open, run)
	}
	return json.Marshal(k)
}

// DecodeView decodes [View.EncodeCheckpoint] for the given roles; see [NewView].
func DecodeView(js []byte, roles ...Role) (View, error) {
	var k storedView
	if err := json.Unmarshal(js, &k); err != nil {
		return View{}, err
	}
	v := NewView(roles...)
	v.facts, v.State, v.Last, v.News = k.Facts, k.Facts.State, k.Last, k.News
	maps.Copy(v.Waiting, k.Waiting)
	for _, run := range k.Open {
		v.open[run] = true
	}
	v.Open = len(v.open) > 0
	return v, nil
}

// FillRoles returns a copy of s with an entry for each role, including roles that have not run.
func (s State) FillRoles(roles ...Role) State {
	all := maps.Clone(s.ThreadState)
	if all == nil {
		all = make(map[string]RoleState)
	}
	for _, r := range roles {
		if _, ok := all[r.Name]; !ok {
			all[r.Name] = RoleState{LastFindings: []string{}}
		}
	}
	s.ThreadState = all
	return s
}

// SuspendedUntil returns until when decisions may not act or remember, and when a role's model last read
// untrusted text. Both are zero if that never happened; until may be past.
func (v View) SuspendedUntil() (until, since time.Time) {
	if v.facts.Exposed.IsZero() {
		return time.Time{}, time.Time{}
	}
	return v.facts.Exposed.Add(exposureWindow), v.facts.Exposed
}

// DecisionTools returns the names of the built-in tools of decisions.
func DecisionTools() []string { return []string{messageTool, dismissTool, rememberTool} }
