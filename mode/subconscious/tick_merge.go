package subconscious

import (
	"encoding/json"
	"slices"

	"ponder"
)

// buildMerge returns the bodies a tick writes: findings, new state, escalations, in order. Its time is
// the start of the tick.
func (t *tickRun) buildMerge(base knowledge, steps []roleStep) []ponder.Body {
	at := t.run.Started
	in := Input{Tick: base.State.Internal.Tick + 1, Run: string(t.run.ID), Seen: make(map[string]SeenObservation), Given: make(map[string]int64)}
	record := Tick{Number: in.Tick, At: at}
	for _, s := range steps {
		ran, l := t.roleOutcome(s, base)
		record.Roles = append(record.Roles, ran)
		if l == nil {
			continue
		}
		in.Reports = append(in.Reports, l.Report)
		in.Given[s.role.Name] = l.Given
		for _, seen := range s.seen {
			if _, known := in.Seen[seen.ID]; !known || !seen.Again {
				in.Seen[seen.ID] = seen
			}
		}
	}
	addReminders(&in, &record, t.o.rolesOrDefault(), base.dueDeadlines(at), at)
	in.Read = earlierUntrusted(base, in.Reports)
	m := Aggregate(base.State, in, at, t.o.rulesOrDefault())
	for _, r := range in.Reports {
		m.recordExposure(r, in.Seen)
		m.taintFindings(r, in)
	}
	record.Changes = m.Changes
	var bodies []ponder.Body
	for _, f := range m.Findings {
		bodies = append(bodies, f)
	}
	state, err := json.Marshal(m.State)
	if err != nil {
		panic(err) // a state always encodes
	}
	changes, err := json.Marshal(record)
	if err != nil {
		panic(err)
	}
	bodies = append(bodies, ponder.Subconscious{State: state, Tick: in.Tick, Changes: changes})
	for _, e := range m.Escalations {
		bodies = append(bodies, e)
	}
	return bodies
}

// earlierUntrusted returns untrusted observations from earlier ticks that the reports may derive from.
func earlierUntrusted(base knowledge, reports []Report) map[string]SeenObservation {
	read := make(map[string]SeenObservation)
	for _, r := range reports {
		for _, o := range base.findObservations(r.Exposed) {
			if o.Untrusted {
				read[o.ID] = o
			}
		}
	}
	return read
}

func (t *tickRun) roleOutcome(s roleStep, base knowledge) (ran RoleOutcome, l *lookResult) {
	ran = RoleOutcome{Role: s.role.Name, Skipped: s.skip}
	if s.skip != "" {
		return ran, nil
	}
	for _, seen := range s.seen {
		if seen.Again {
			ran.Again++
		} else {
			ran.New++
		}
	}
	defer func() {
		if l != nil {
			left, over := postponedSeqs(slices.Concat(s.left, filterSeen(s.seen, l.Report.Omitted)))
			ran.Left, ran.Lost = left, s.lostCount+over
		}
	}()
	if s.unaided {
		ran.Failed = s.failed
		return t.lookByRules(ran, s, base)
	}
	ended, ok := t.Looks[s.role.Name]
	if !ok {
		ran.Failed = "time limit reached"
		if t.Stop != "" {
			ran.Failed = "stopped early: " + t.Stop
		}
		return ran, nil
	}
	ran.Calls, ran.Tokens, ran.Money = ended.Spent.Calls, ended.Spent.Tokens, int64(ended.Spent.Money)
	switch ran.Failed = ended.Failed; {
	case ended.NoModel:
		return t.lookByRules(ran, s, base)
	case ended.Failed != "":
		return ran, nil
	}
	ran.Exposed, ran.Findings = ended.Report.Untrusted, len(ended.Report.Findings)
	ended.Report.Role = s.role.Name
	return ran, &ended
}

func (t *tickRun) lookByRules(ran RoleOutcome, s roleStep, base knowledge) (RoleOutcome, *lookResult) {
	report := FindByRules(s.role, base.State, s.seen, t.run.Started)
	report.Role, report.WithoutModel = s.role.Name, true
	ran.WithoutModel, ran.Findings = true, len(report.Findings)
	return ran, &lookResult{Report: report, Given: s.given}
}

func filterSeen(seen []SeenObservation, ids []string) (list []SeenObservation) {
	for _, o := range seen {
		if slices.Contains(ids, o.ID) {
			list = append(list, o)
		}
	}
	return list
}

// exposedIDs returns the ids of untrusted text that a role was shown, and whether any was. It
// considers observations, then the support of entries, then what the role's notes may derive from.
func exposedIDs(s State, seen []SeenObservation) (ids []string, any bool) {
	for _, o := range seen {
		if o.Untrusted {
			ids, any = append(ids, o.ID), true
		}
	}
	if !any {
		for _, c := range categories {
			for _, e := range *s.categoryEntries(c) {
				if about := s.Internal.Metadata[e.ID]; about.Untrusted {
					ids, any = append(ids, about.Rests...), true
				}
			}
		}
	}
	if !any && s.Internal.Exposure.hasAny() {
		return s.Internal.Exposure.Rests, true
	}
	slices.Sort(ids)
	return lastN(slices.Compact(ids), maxRests), any
}
