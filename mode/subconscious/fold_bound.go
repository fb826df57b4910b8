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
	maxSummary   = 200
	maxLine      = 300
	maxHint      = 160
	maxName      = 40
	maxSign      = 300
	maxRoles     = 16
	maxHistory   = 10
	maxRests     = 8
	maxWordings  = 3
	maxJournal   = 5
	maxHints     = 24
	maxSettled   = 50
	maxForgotten = 500
	maxTopics    = 100
	maxAlerts    = 200
	maxPending   = 50
	maxUndecided = 100
	maxTimes     = 20
	maxNumber    = 1_000_000_000
	lastTicks    = 3
	maxFound     = 24
	maxSources   = 8
	maxQuotes    = 3
	maxFindings  = 20
	maxReports   = 32
)

// clampLimits returns a deep copy clamped to all limits, because a stored state may come from anywhere.
func (s State) clampLimits() State {
	out := NewState()
	used := make(map[string]bool)
	for _, c := range categories {
		list := out.categoryEntries(c)
		for _, e := range *s.categoryEntries(c) {
			e.Summary = Summary(e.Summary)
			if e.Strength < 1 || e.Summary == "" || !isName(e.ID) || used[e.ID] || len(*list) == c.maxEntries() {
				continue
			}
			used[e.ID] = true
			e.Strength = min(e.Strength, MaxStrength)
			e.Created, e.LastSeen = storableTime(e.Created), storableTime(e.LastSeen)
			*list = append(*list, e)
		}
	}
	for _, h := range lastN(s.EscalationHistory, maxHistory) {
		out.EscalationHistory = append(out.EscalationHistory, EscalationRecord{
			ID: textkit.Line(h.ID, maxName), Summary: Summary(h.Summary), Reason: textkit.Line(h.Reason, maxLine), Outcome: textkit.Line(h.Outcome, maxLine), Created: storableTime(h.Created),
		})
	}
	for _, name := range sortedNames(s.ThreadState) {
		r := s.ThreadState[name]
		out.ThreadState[name] = RoleState{
			LastFindings:    clampLines(r.LastFindings, maxFound, maxLine),
			NoveltyPressure: clamp(r.NoveltyPressure, 0, MaxPressure),
			FocusHint:       textkit.Line(r.FocusHint, maxHint),
		}
	}
	out.Internal = s.Internal.clampLimits(used)
	return out
}

func (a Internal) clampLimits(entries map[string]bool) Internal {
	out := Internal{
		Tick: clamp(a.Tick, 0, maxNumber), Next: clamp(a.Next, 0, maxNumber),
		Decayed: storableTime(a.Decayed), LastRaised: storableTime(a.LastRaised),
		Read: make(map[string]int64), Metadata: make(map[string]EntryMetadata), Journal: make(map[string][]string), Found: make(map[string][]int), Pressed: make(map[string]time.Time),
		Exposure: a.Exposure.clampLimits(), Rollback: Rollback{Tick: clamp(a.Rollback.Tick, 0, maxNumber), At: storableTime(a.Rollback.At)},
	}
	for _, name := range sortedNames(a.Read) {
		out.Read[name] = max(0, a.Read[name])
	}
	for _, name := range sortedNames(a.Journal) {
		out.Journal[name] = clampLines(a.Journal[name], maxJournal, maxLine)
	}
	for _, name := range sortedNames(a.Found) {
		for _, n := range lastN(a.Found[name], lastTicks) {
			out.Found[name] = append(out.Found[name], clamp(n, 0, maxFound))
		}
	}
	for _, name := range sortedNames(a.Pressed) {
		out.Pressed[name] = storableTime(a.Pressed[name])
	}
	for id := range entries {
		if about, ok := a.Metadata[id]; ok {
			out.Metadata[id] = about.clampLimits()
		}
	}
	for _, h := range lastN(a.Hints, maxHints) {
		if h.Text = textkit.Line(h.Text, maxHint); h.Text != "" && isName(h.From) && isName(h.To) && h.Hops <= 1 {
			h.Tick, h.Hops = clamp(h.Tick, 0, maxNumber), max(0, h.Hops)
			out.Hints = append(out.Hints, h)
		}
	}
	a.clampTopics(&out)
	a.clampAlerts(&out)
	for _, at := range lastN(a.MessageTimes, maxMessageTimes) {
		out.MessageTimes = append(out.MessageTimes, storableTime(at))
	}
	a.clampLookUps(&out)
	a.clampDeadlines(&out)
	return out
}

func (a Internal) clampTopics(out *Internal) {
	for _, t := range lastN(a.Topics, maxTopics) {
		if t.Text = Summary(t.Text); t.Text != "" && isName(t.Role) {
			t.Times, t.Last = clamp(t.Times, 0, maxTimes), storableTime(t.Last)
			out.Topics = append(out.Topics, t)
		}
	}
	for _, t := range trimSettled(a.Settled) {
		if t.Text = textkit.Line(t.Text, maxLine); t.Text != "" || len(t.Signature) > 0 {
			t.Signature, t.At = clampLines(t.Signature, maxRests, maxSign), storableTime(t.At)
			out.Settled = append(out.Settled, t)
		}
	}
}

// trimSettled keeps the newest resolved topics, and many more of the forgotten ones, which are
// permanent.
func trimSettled(list []SettledTopic) []SettledTopic {
	var forgotten, resolved int
	for _, t := range list {
		if t.Forgotten {
			forgotten++
		} else {
			resolved++
		}
	}
	if forgotten <= maxForgotten && resolved <= maxSettled {
		return list
	}
	kept := make([]SettledTopic, 0, maxForgotten+maxSettled)
	for _, t := range list {
		left, limit := &resolved, maxSettled
		if t.Forgotten {
			left, limit = &forgotten, maxForgotten
		}
		if *left <= limit {
			kept = append(kept, t)
		}
		*left = min(*left, max(*left-1, limit))
	}
	return kept
}

func (a Internal) clampAlerts(out *Internal) {
	for _, t := range lastN(a.Alerts, maxAlerts) {
		if t.Signature, t.Text = textkit.Line(t.Signature, maxSign), textkit.Line(t.Text, maxSummary); t.Signature != "" || t.Text != "" {
			t.Importance, t.Dismissed = clamp(t.Importance, 1, 10), clamp(t.Dismissed, 0, maxTimes)
			t.Escalation, t.At = textkit.Line(t.Escalation, maxName), storableTime(t.At)
			out.Alerts = append(out.Alerts, t)
		}
	}
	for _, p := range lastN(a.Pending, maxPending) {
		if p.Summary = Summary(p.Summary); p.Summary == "" {
			continue
		}
		p.Role, p.Entry, p.Reason = textkit.Line(p.Role, maxName), textkit.Line(p.Entry, maxName), textkit.Line(p.Reason, maxLine)
		p.Importance, p.At = clamp(p.Importance, 1, 10), storableTime(p.At)
		p.Rests, p.Signature = clampLines(p.Rests, maxRests, maxName), clampLines(p.Signature, maxRests, maxSign)
		p.Sources, p.Quotes = clampLines(p.Sources, maxSources, maxLine), clampLines(p.Quotes, maxQuotes, 2*maxLine)
		out.Pending = append(out.Pending, p)
	}
	for _, u := range lastN(a.Undecided, maxUndecided) {
		if u.ID = textkit.Line(u.ID, maxName); u.ID != "" {
			out.Undecided = append(out.Undecided, u)
		}
	}
}

func (a EntryMetadata) clampLimits() EntryMetadata {
	a.By = clampLines(a.By, maxRoles, maxName)
	a.Due, a.Decayed, a.Importance = storableTime(a.Due), storableTime(a.Decayed), clamp(a.Importance, 0, 10)
	a.Rests = clampLines(a.Rests, maxRests, maxName)
	a.Signature = clampLines(a.Signature, maxRests, maxSign)
	a.Wordings = clampLines(a.Wordings, maxWordings, maxSummary)
	return a
}

func sortedNames[T any](m map[string]T) []string {
	list := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(s string) bool { return !isName(s) })
	return list[:min(len(list), maxRoles)]
}

func isName(s string) bool {
	return s != "" && len(s) <= maxName && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) < 0
}

func clampLines(list []string, n, size int) []string {
	out := make([]string, 0, min(n, len(list)))
	for _, s := range lastN(list, n) {
		if s = textkit.Line(s, size); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// storableTime returns t as it reads back from JSON; times that JSON cannot store become zero.
func storableTime(t time.Time) time.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9998 {
		return time.Time{}
	}
	return t.UTC().Round(0)
}

func clamp[T cmp.Ordered](n, low, high T) T { return min(max(n, low), high) }
