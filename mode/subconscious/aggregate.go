package subconscious

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

// Merged is the result of a merge.
type Merged struct {
	State    State
	Changes  []Change
	Findings []ponder.Finding
	Raised   []ponder.Escalation // without an Outcome
}

// Aggregate merges the reports of roles into a state. It is pure, leaves s unchanged, and does not
// depend on the order of reports and findings. See docs/design/subconscious.md.
func Aggregate(s State, in Input, now time.Time, rules Rules) Merged {
	m := newMerge(s, in, plain(now), rules)
	m.fade()
	m.rearm()
	for _, c := range m.claims {
		m.settle(c)
	}
	m.promote()
	m.sweep()
	m.prune()
	m.roles()
	m.deadlines()
	m.escalate()
	m.fit()
	m.state.Aside.Back = RolledBack{}
	m.state.Aside.Tick = max(m.state.Aside.Tick, within(in.Tick, 0, maxNumber))
	m.state = m.state.bounded()
	return m.merged()
}

type merge struct {
	state   State
	in      Input
	now     time.Time
	rules   Rules
	by      map[string]Role
	reports []Report
	claims  []*claim
	before  map[string]Entry
	then    [][]string      // signatures of each settled topic before the tick
	credit  map[string]bool // keys "entry role" of this tick's reinforcements
	texts   *reader
	changes []Change
	raised  []ponder.Escalation
}

type claim struct {
	Finding
	role      Role
	unaided   bool
	order     string // tiebreak among claims of equal importance
	text      *phrase
	rests     []Seen
	new       bool
	related   []Seen // relevant subset of rests
	recalled  bool   // rests on look-ups alone
	due       time.Time
	untrusted bool
	exposed   []string
	weight    int // importance less habituation
	became    string
	entry     string
}

const (
	added      = "added"
	reinforced = "reinforced"
	known      = "known"      // an entry says it; no new support
	echo       = "echo"       // repeats an entry without support
	suppressed = "suppressed" // the topic is resolved or forgotten
	tooLight   = "unimportant"
)

func newMerge(s State, in Input, now time.Time, rules Rules) *merge {
	m := &merge{state: s.bounded(), in: in, now: now, rules: rules, texts: newReader(rules.Same),
		by: make(map[string]Role), before: make(map[string]Entry), credit: make(map[string]bool)}
	list := rules.Roles
	if len(list) == 0 {
		list = DefaultRoles()
	}
	for _, r := range list {
		m.by[r.Name] = r
	}
	for _, c := range categories {
		for _, e := range *m.state.list(c) {
			m.before[e.ID] = e
		}
	}
	for _, t := range m.state.Aside.Settled {
		m.then = append(m.then, slices.Clone(t.Signature))
	}
	m.order()
	return m
}

func (m *merge) order() {
	type keyed struct {
		key string
		Report
	}
	var list []keyed
	for _, r := range m.in.Reports {
		if !isName(r.Role) {
			continue
		}
		r.Findings = slices.Clone(r.Findings)
		var keys []string
		for i := range r.Findings {
			keys = append(keys, keyOf(r.Findings[i]))
		}
		slices.Sort(keys)
		rest := r
		rest.Findings = nil
		list = append(list, keyed{keyOf(rest) + keyOf(keys), r})
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.key, b.key)) })
	for _, r := range list[:min(len(list), maxReports)] {
		m.reports = append(m.reports, r.Report)
		m.claim(r.Report)
	}
	slices.SortStableFunc(m.claims, lesser)
}

func lesser(a, b *claim) int {
	return cmp.Or(cmp.Compare(b.Importance, a.Importance), cmp.Compare(a.role.Name, b.role.Name), cmp.Compare(a.order, b.order))
}

func keyOf(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		return "" // a time that JSON cannot encode
	}
	return string(js)
}

func (m *merge) claim(r Report) {
	role, ok := m.by[r.Role]
	if !ok {
		role = Role{Name: r.Role, Category: ActiveThreads}
	}
	var list []*claim
	recalled := m.recalled(r.Role)
	for _, f := range r.Findings {
		c := &claim{Finding: f, role: role, unaided: r.Unaided, recalled: recalled, untrusted: r.Untrusted, exposed: r.Exposed}
		c.Due = plain(c.Due)
		c.Summary, c.Importance, c.Type = Summary(f.Summary), within(f.Importance, 1, 10), textkit.Line(f.Type, maxName)
		if c.Summary == "" {
			continue
		}
		c.order = keyOf(c.Finding)
		list = append(list, c)
	}
	slices.SortStableFunc(list, lesser)
	for _, c := range list[:min(len(list), maxFindings)] {
		c.text = m.texts.read(c.Summary)
		m.ground(c)
		m.claims = append(m.claims, c)
	}
}

func (m *merge) merged() Merged {
	out := Merged{State: m.state, Changes: m.changes, Raised: m.raised}
	for _, c := range m.claims {
		f := ponder.Finding{Content: c.Summary, By: c.role.Name, Kind: c.Type, Importance: c.Importance, Due: c.due,
			Untrusted: c.untrusted, Became: c.became, Entry: c.entry, Reinforces: c.Reinforces}
		for _, o := range c.rests {
			f.Rests = append(f.Rests, o.ID)
		}
		out.Findings = append(out.Findings, f)
	}
	return out
}

func (m *merge) note(e Entry, c Category, did, by, why string) {
	about := m.state.Aside.About[e.ID]
	m.changes = append(m.changes, Change{Entry: e.ID, Category: c, Did: did, By: by, Why: textkit.TruncateBytes(why, maxLine),
		Strength: e.Strength, Summary: e.Summary, Rests: slices.Clone(about.Rests)})
}

// NewState returns an empty state.
func NewState() State {
	return State{Mind: Mind{
		ActiveThreads: []Entry{}, Patterns: []Entry{}, Hunches: []Entry{}, Insights: []Entry{},
		EscalationHistory: []Escalated{}, ThreadState: map[string]RoleState{},
	}}
}
