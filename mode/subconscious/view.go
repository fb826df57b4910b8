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
	Ticks     []Ticked
	Waiting   map[string]int // by role: unseen observations
	Open      bool
	Last      time.Time
	News      time.Time // time of the last news
	Undecided []ponder.Event
	Decided   []ponder.Event
	Delivered map[string]map[string]time.Time // by escalation and channel
	Cursors   map[string][]byte               // by sensor
	Spent     ponder.Cost                     // of all calls

	roles  []Role
	knows  knowledge
	open   map[ponder.RunID]bool
	decide map[string]bool
	days   map[string]ponder.Cost
}

// Ticked is a merged tick.
type Ticked struct {
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
		State: k.State, knows: k, roles: roles, Waiting: make(map[string]int), Delivered: make(map[string]map[string]time.Time),
		Cursors: make(map[string][]byte), open: make(map[ponder.RunID]bool), decide: make(map[string]bool), days: make(map[string]ponder.Cost),
	}
}

// Apply returns the view after an event. It invalidates the old view.
func (v View) Apply(ev ponder.Event) View {
	v.knows = v.knows.next(ev, nil)
	v.State = v.knows.State
	switch b := ev.Body.(type) {
	case ponder.Observation:
		v.observed(ev, b)
	case ponder.Subconscious:
		v.ticked(ev, b)
	case ponder.Escalation:
		v.escalated(ev, b)
	case ponder.Resolved:
		if b.As == asRolledBack {
			back, _ := strconv.Atoi(b.Ref)
			v.Ticks = append(v.Ticks, Ticked{Tick: Tick{At: ev.Time}, Seq: ev.Seq, Back: back})
		}
	case ponder.RunStarted:
		if b.Mode == Name && ev.Run.Parent() == "" {
			v.open[ev.Run] = true
		}
	case ponder.RunFinished:
		delete(v.open, ev.Run)
	case ponder.CallFinished:
		v.paid(ev, b)
	}
	v.Open = len(v.open) > 0
	return v
}

func (v *View) observed(ev ponder.Event, b ponder.Observation) {
	switch {
	case sensorKind(b.Sensor) == Delivery:
		if v.Delivered[b.Subject] == nil {
			v.Delivered[b.Subject] = make(map[string]time.Time)
		}
		v.Delivered[b.Subject][b.State] = ev.Time
		return
	case own(b.Sensor):
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

func (v *View) ticked(ev ponder.Event, b ponder.Subconscious) {
	t, err := recordOf(b)
	if err != nil || t.Number == 0 {
		t = Tick{Number: b.Tick, At: ev.Time}
	}
	ticked := Ticked{Tick: t, Seq: ev.Seq, Run: ev.Run}
	for _, r := range t.Roles {
		ticked.Spent = ticked.Spent.Add(ponder.Cost{Calls: r.Calls, Tokens: r.Tokens, Money: ponder.Money(r.Money)})
	}
	v.Ticks = append(v.Ticks, ticked)
	v.Last = ev.Time
	v.wait()
}

func (v *View) wait() {
	for _, r := range v.roles {
		unread, _ := v.knows.unread(r, v.Last, all)
		if v.Waiting[r.Name] = len(unread); v.Waiting[r.Name] == 0 {
			delete(v.Waiting, r.Name)
		}
	}
}

func (v *View) escalated(ev ponder.Event, b ponder.Escalation) {
	switch {
	case b.Outcome == "" && !v.decide[b.ID]:
		v.Undecided = append(v.Undecided, ev)
	case b.Outcome != "" && !v.decide[b.ID]:
		v.decide[b.ID] = true
		v.Decided = append(v.Decided, ev)
		v.Undecided = slices.DeleteFunc(v.Undecided, func(o ponder.Event) bool {
			raised, _ := o.Body.(ponder.Escalation)
			return raised.ID == b.ID
		})
	}
}

func (v *View) paid(ev ponder.Event, b ponder.CallFinished) {
	v.Spent = v.Spent.Add(b.Spent)
	day := dayOf(ev.Time)
	v.days[day] = v.days[day].Add(b.Spent)
}

// Spend returns the cost of the calls that ended on the local day of the given time.
func (v View) Spend(day time.Time) ponder.Cost { return v.days[dayOf(day)] }

func dayOf(t time.Time) string { return t.Local().Format(time.DateOnly) }

type keptView struct {
	Knows   knowledge      `json:"knows"`
	Waiting map[string]int `json:"waiting,omitempty"`
	Open    []ponder.RunID `json:"open,omitempty"`
	Last    time.Time      `json:"last,omitzero"`
	News    time.Time      `json:"news,omitzero"`
}

// Keep encodes as JSON the parts of a view that State, Due and Pace need, for a checkpoint. It
// omits history.
func (v View) Keep() ([]byte, error) {
	k := keptView{Knows: v.knows, Waiting: v.Waiting, Last: v.Last, News: v.News}
	for run := range v.open {
		k.Open = append(k.Open, run)
	}
	return json.Marshal(k)
}

// KeptView decodes [View.Keep] for the given roles; see [NewView].
func KeptView(js []byte, roles ...Role) (View, error) {
	var k keptView
	if err := json.Unmarshal(js, &k); err != nil {
		return View{}, err
	}
	v := NewView(roles...)
	v.knows, v.State, v.Last, v.News = k.Knows, k.Knows.State, k.Last, k.News
	maps.Copy(v.Waiting, k.Waiting)
	for _, run := range k.Open {
		v.open[run] = true
	}
	v.Open = len(v.open) > 0
	return v, nil
}

// Shown returns a copy of s with an entry for each role, including roles that have not run.
func (s State) Shown(roles ...Role) State {
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

// HeldBack returns until when decisions may not act or remember, and when a role's model last read
// untrusted text. Both are zero if that never happened; until may be past.
func (v View) HeldBack() (until, since time.Time) {
	if v.knows.Exposed.IsZero() {
		return time.Time{}, time.Time{}
	}
	return v.knows.Exposed.Add(exposure), v.knows.Exposed
}

// DecisionTools returns the names of the built-in tools of decisions.
func DecisionTools() []string { return []string{messageTool, dismissTool, rememberTool} }
