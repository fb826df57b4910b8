package subconscious

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

// MergeResult is the result of a merge.
type MergeResult struct {
	State       State
	Changes     []Change
	Findings    []ponder.Finding
	Escalations []ponder.Escalation // without an Outcome
}

// Aggregate merges the reports of roles into a state. It is pure, leaves s unchanged, and does not
// depend on the order of reports and findings. See docs/design/subconscious.md.
func Aggregate(s State, in Input, now time.Time, rules Rules) MergeResult {
	m := newMerge(s, in, storableTime(now), rules)
	m.applyDecay()
	m.rearmTopics()
	for _, c := range m.claims {
		m.mergeClaim(c)
	}
	m.promoteHunches()
	m.removeFaded()
	m.pruneLists()
	m.recordRoles()
	m.updateDeadlines()
	m.escalateFindings()
	m.shrinkMind()
	m.state.Internal.Rollback = Rollback{}
	m.state.Internal.Tick = max(m.state.Internal.Tick, clamp(in.Tick, 0, maxNumber))
	m.state = m.state.clampLimits()
	return m.mergeResult()
}

type merge struct {
	state             State
	in                Input
	now               time.Time
	rules             Rules
	rolesByName       map[string]Role
	reports           []Report
	claims            []*claim
	entriesBefore     map[string]Entry
	settledSignatures [][]string      // signatures of each settled topic before the tick
	credited          map[string]bool // keys "entry role" of this tick's reinforcements
	texts             *phraseReader
	changes           []Change
	escalations       []ponder.Escalation
}

type claim struct {
	Finding
	role        Role
	unaided     bool
	tiebreak    string // tiebreak among claims of equal importance
	text        *phrase
	support     []SeenObservation
	isNew       bool
	relevant    []SeenObservation // relevant subset of rests
	onlyLookUps bool              // rests on look-ups alone
	due         time.Time
	untrusted   bool
	exposed     []string
	weight      int // importance less habituation
	outcome     string
	entry       string
}

const (
	outcomeAdded       = "added"
	outcomeReinforced  = "reinforced"
	outcomeKnown       = "known"      // an entry says it; no new support
	outcomeEcho        = "echo"       // repeats an entry without support
	outcomeSuppressed  = "suppressed" // the topic is resolved or forgotten
	outcomeUnimportant = "unimportant"
	outcomeUnsupported = "unsupported" // rests on no observation
)

func newMerge(s State, in Input, now time.Time, rules Rules) *merge {
	m := &merge{state: s.clampLimits(), in: in, now: now, rules: rules, texts: newReader(rules.Same),
		rolesByName: make(map[string]Role), entriesBefore: make(map[string]Entry), credited: make(map[string]bool)}
	list := rules.Roles
	if len(list) == 0 {
		list = DefaultRoles()
	}
	for _, r := range list {
		m.rolesByName[r.Name] = r
	}
	for _, c := range categories {
		for _, e := range *m.state.categoryEntries(c) {
			m.entriesBefore[e.ID] = e
		}
	}
	for _, t := range m.state.Internal.Settled {
		m.settledSignatures = append(m.settledSignatures, slices.Clone(t.Signature))
	}
	m.sortReports()
	return m
}

func (m *merge) sortReports() {
	type keyIndex struct {
		key string
		Report
	}
	var list []keyIndex
	for _, r := range m.in.Reports {
		if !isName(r.Role) {
			continue
		}
		r.Findings = slices.Clone(r.Findings)
		var keys []string
		for i := range r.Findings {
			keys = append(keys, jsonKey(r.Findings[i]))
		}
		slices.Sort(keys)
		rest := r
		rest.Findings = nil
		list = append(list, keyIndex{jsonKey(rest) + jsonKey(keys), r})
	}
	slices.SortStableFunc(list, func(a, b keyIndex) int { return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.key, b.key)) })
	for _, r := range list[:min(len(list), maxReports)] {
		m.reports = append(m.reports, r.Report)
		m.addClaims(r.Report)
	}
	slices.SortStableFunc(m.claims, compareClaims)
}

func compareClaims(a, b *claim) int {
	return cmp.Or(cmp.Compare(b.Importance, a.Importance), cmp.Compare(a.role.Name, b.role.Name), cmp.Compare(a.tiebreak, b.tiebreak))
}

func jsonKey(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		return "" // a time that JSON cannot encode
	}
	return string(js)
}

func (m *merge) addClaims(r Report) {
	role, ok := m.rolesByName[r.Role]
	if !ok {
		role = Role{Name: r.Role, Category: ActiveThreads}
	}
	var list []*claim
	recalled := m.readsOnlyLookUps(r.Role)
	for _, f := range r.Findings {
		c := &claim{Finding: f, role: role, unaided: r.WithoutModel, onlyLookUps: recalled, untrusted: r.Untrusted, exposed: r.Exposed}
		c.Due = storableTime(c.Due)
		c.Summary, c.Importance, c.Type = Summary(f.Summary), clamp(f.Importance, 1, 10), textkit.Line(f.Type, maxName)
		if c.Summary == "" {
			continue
		}
		c.tiebreak = jsonKey(c.Finding)
		list = append(list, c)
	}
	slices.SortStableFunc(list, compareClaims)
	for _, c := range list[:min(len(list), maxFindings)] {
		c.text = m.texts.phraseOf(c.Summary)
		m.findSupport(c)
		m.claims = append(m.claims, c)
	}
}

func (m *merge) mergeResult() MergeResult {
	out := MergeResult{State: m.state, Changes: m.changes, Escalations: m.escalations}
	for _, c := range m.claims {
		f := ponder.Finding{Content: c.Summary, By: c.role.Name, Kind: c.Type, Importance: c.Importance, Due: c.due,
			Untrusted: c.untrusted, MergeResult: c.outcome, Entry: c.entry, Reinforces: c.Reinforces}
		for _, o := range c.support {
			f.Observations = append(f.Observations, o.ID)
		}
		out.Findings = append(out.Findings, f)
	}
	return out
}

func (m *merge) recordChange(e Entry, c Category, did, by, why string) {
	about := m.state.Internal.Metadata[e.ID]
	m.changes = append(m.changes, Change{Entry: e.ID, Category: c, Effect: did, By: by, Why: textkit.TruncateBytes(why, maxLine),
		Strength: e.Strength, Summary: e.Summary, Rests: slices.Clone(about.Rests)})
}

// NewState returns an empty state.
func NewState() State {
	return State{Mind: Mind{
		ActiveThreads: []Entry{}, Patterns: []Entry{}, Hunches: []Entry{}, Insights: []Entry{},
		EscalationHistory: []EscalationRecord{}, ThreadState: map[string]RoleState{},
	}}
}
