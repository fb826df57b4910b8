package subconscious

import (
	"cmp"
	"maps"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"time"
)

// Limits of stored state. Lengths are in bytes.
const (
	maxSummary  = 200
	maxLine     = 300
	maxHint     = 160
	maxName     = 40
	maxSign     = 300
	maxRoles    = 16
	maxHistory  = 10
	maxRests    = 8
	maxSaid     = 3
	maxJournal  = 5
	maxHints    = 24
	maxSettled  = 50
	maxForgot   = 500
	maxTopics   = 100
	maxAlerts   = 200
	maxPending  = 50
	maxUndone   = 100
	maxTimes    = 20
	maxNumber   = 1_000_000_000
	lastTicks   = 3
	maxFound    = 24
	maxSources  = 8
	maxQuotes   = 3
	maxFindings = 20
	maxReports  = 32
)

// bounded returns a deep copy clamped to all limits, because a stored state may come from anywhere.
func (s State) bounded() State {
	out := NewState()
	used := make(map[string]bool)
	for _, c := range categories {
		list := out.list(c)
		for _, e := range *s.list(c) {
			e.Summary = Summary(e.Summary)
			if e.Strength < 1 || e.Summary == "" || !isName(e.ID) || used[e.ID] || len(*list) == c.size() {
				continue
			}
			used[e.ID] = true
			e.Strength = min(e.Strength, MaxStrength)
			e.Created, e.LastSeen = plain(e.Created), plain(e.LastSeen)
			*list = append(*list, e)
		}
	}
	for _, h := range last(s.EscalationHistory, maxHistory) {
		out.EscalationHistory = append(out.EscalationHistory, Escalated{
			ID: textkit.Line(h.ID, maxName), Summary: Summary(h.Summary), Reason: textkit.Line(h.Reason, maxLine), Outcome: textkit.Line(h.Outcome, maxLine), Created: plain(h.Created),
		})
	}
	for _, name := range names(s.ThreadState) {
		r := s.ThreadState[name]
		out.ThreadState[name] = RoleState{
			LastFindings:    lines(r.LastFindings, maxFound, maxLine),
			NoveltyPressure: within(r.NoveltyPressure, 0, MaxPressure),
			FocusHint:       textkit.Line(r.FocusHint, maxHint),
		}
	}
	out.Aside = s.Aside.bounded(used)
	return out
}

func (a Aside) bounded(entries map[string]bool) Aside {
	out := Aside{
		Tick: within(a.Tick, 0, maxNumber), Next: within(a.Next, 0, maxNumber),
		Decayed: plain(a.Decayed), Raised: plain(a.Raised),
		Read: make(map[string]int64), About: make(map[string]About), Journal: make(map[string][]string), Found: make(map[string][]int),
		Exposure: a.Exposure.bounded(), Back: RolledBack{Tick: within(a.Back.Tick, 0, maxNumber), At: plain(a.Back.At)},
	}
	for _, name := range names(a.Read) {
		out.Read[name] = max(0, a.Read[name])
	}
	for _, name := range names(a.Journal) {
		out.Journal[name] = lines(a.Journal[name], maxJournal, maxLine)
	}
	for _, name := range names(a.Found) {
		for _, n := range last(a.Found[name], lastTicks) {
			out.Found[name] = append(out.Found[name], within(n, 0, maxFound))
		}
	}
	for id := range entries {
		if about, ok := a.About[id]; ok {
			out.About[id] = about.bounded()
		}
	}
	for _, h := range last(a.Hints, maxHints) {
		if h.Text = textkit.Line(h.Text, maxHint); h.Text != "" && isName(h.From) && isName(h.To) && h.Hops <= 1 {
			h.Tick, h.Hops = within(h.Tick, 0, maxNumber), max(0, h.Hops)
			out.Hints = append(out.Hints, h)
		}
	}
	a.boundTopics(&out)
	a.boundAlerts(&out)
	for _, at := range last(a.Told, maxTellings) {
		out.Told = append(out.Told, plain(at))
	}
	a.boundWanted(&out)
	a.boundDeadlines(&out)
	return out
}

func (a Aside) boundTopics(out *Aside) {
	for _, t := range last(a.Topics, maxTopics) {
		if t.Text = Summary(t.Text); t.Text != "" && isName(t.Role) {
			t.Times, t.Last = within(t.Times, 0, maxTimes), plain(t.Last)
			out.Topics = append(out.Topics, t)
		}
	}
	for _, t := range fewerSettled(a.Settled) {
		if t.Text = textkit.Line(t.Text, maxLine); t.Text != "" || len(t.Signature) > 0 {
			t.Signature, t.At = lines(t.Signature, maxRests, maxSign), plain(t.At)
			out.Settled = append(out.Settled, t)
		}
	}
}

// fewerSettled keeps the newest resolved topics, and many more of the forgotten ones, which are
// permanent.
func fewerSettled(list []Settled) []Settled {
	var forgotten, resolved int
	for _, t := range list {
		if t.Forgotten {
			forgotten++
		} else {
			resolved++
		}
	}
	if forgotten <= maxForgot && resolved <= maxSettled {
		return list
	}
	kept := make([]Settled, 0, maxForgot+maxSettled)
	for _, t := range list {
		left, most := &resolved, maxSettled
		if t.Forgotten {
			left, most = &forgotten, maxForgot
		}
		if *left <= most {
			kept = append(kept, t)
		}
		*left = min(*left, max(*left-1, most))
	}
	return kept
}

func (a Aside) boundAlerts(out *Aside) {
	for _, t := range last(a.Alerts, maxAlerts) {
		if t.Signature, t.Text = textkit.Line(t.Signature, maxSign), textkit.Line(t.Text, maxSummary); t.Signature != "" || t.Text != "" {
			t.Importance, t.Dismissed = within(t.Importance, 1, 10), within(t.Dismissed, 0, maxTimes)
			t.Escalation, t.At = textkit.Line(t.Escalation, maxName), plain(t.At)
			out.Alerts = append(out.Alerts, t)
		}
	}
	for _, p := range last(a.Pending, maxPending) {
		if p.Summary = Summary(p.Summary); p.Summary == "" {
			continue
		}
		p.Role, p.Entry, p.Reason = textkit.Line(p.Role, maxName), textkit.Line(p.Entry, maxName), textkit.Line(p.Reason, maxLine)
		p.Importance, p.At = within(p.Importance, 1, 10), plain(p.At)
		p.Rests, p.Signature = lines(p.Rests, maxRests, maxName), lines(p.Signature, maxRests, maxSign)
		p.Sources, p.Quotes = lines(p.Sources, maxSources, maxLine), lines(p.Quotes, maxQuotes, 2*maxLine)
		out.Pending = append(out.Pending, p)
	}
	for _, u := range last(a.Undone, maxUndone) {
		if u.ID = textkit.Line(u.ID, maxName); u.ID != "" {
			out.Undone = append(out.Undone, u)
		}
	}
}

func (a About) bounded() About {
	a.By = lines(a.By, maxRoles, maxName)
	a.Due, a.Importance = plain(a.Due), within(a.Importance, 0, 10)
	a.Rests = lines(a.Rests, maxRests, maxName)
	a.Signature = lines(a.Signature, maxRests, maxSign)
	a.Said = lines(a.Said, maxSaid, maxSummary)
	return a
}

func names[T any](m map[string]T) []string {
	list := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(s string) bool { return !isName(s) })
	return list[:min(len(list), maxRoles)]
}

func isName(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

func lines(list []string, n, size int) []string {
	out := make([]string, 0, min(n, len(list)))
	for _, s := range last(list, n) {
		if s = textkit.Line(s, size); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// plain returns t as it reads back from JSON; times that JSON cannot store become zero.
func plain(t time.Time) time.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9998 {
		return time.Time{}
	}
	return t.UTC().Round(0)
}

func within[T cmp.Ordered](n, least, most T) T { return min(max(n, least), most) }
