package subconscious

import (
	"encoding/json"
	"slices"

	"ponder"
)

// merge returns the bodies a tick writes: findings, new state, escalations, in order. Its time is
// the start of the tick.
func (t *tickRun) merge(base knowledge, steps []step) []ponder.Body {
	at := t.run.Started
	in := Input{Tick: base.State.Aside.Tick + 1, Run: string(t.run.ID), Seen: make(map[string]Seen), Given: make(map[string]int64)}
	record := Tick{Number: in.Tick, At: at}
	for _, s := range steps {
		ran, l := t.ran(s, base)
		record.Roles = append(record.Roles, ran)
		if l == nil {
			continue
		}
		in.Reports = append(in.Reports, l.Report)
		in.Given[s.role.Name] = l.Given
		for _, seen := range s.seen {
			in.Seen[seen.ID] = seen
		}
	}
	remind(&in, &record, t.o.roles(), base.nearing(at), at)
	in.Read = readBefore(base, in.Reports)
	m := Aggregate(base.State, in, at, t.o.rules())
	for _, r := range in.Reports {
		m.expose(r, in.Seen)
		m.taint(r, in)
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
	for _, e := range m.Raised {
		bodies = append(bodies, e)
	}
	return bodies
}

// readBefore returns untrusted observations from earlier ticks that the reports may derive from.
func readBefore(base knowledge, reports []Report) map[string]Seen {
	read := make(map[string]Seen)
	for _, r := range reports {
		for _, o := range base.observations(r.Exposed) {
			if o.Untrusted {
				read[o.ID] = o
			}
		}
	}
	return read
}

func (t *tickRun) ran(s step, base knowledge) (ran Ran, l *look) {
	ran = Ran{Role: s.role.Name, Skipped: s.skip}
	if s.skip != "" {
		return ran, nil
	}
	ran.New = len(s.seen)
	defer func() {
		if l != nil {
			left, over := leftOf(slices.Concat(s.left, of(s.seen, l.Report.Unsaid)))
			ran.Left, ran.Lost = left, s.lost+over
		}
	}()
	if s.unaided {
		ran.Failed = s.failed
		return t.unaided(ran, s, base)
	}
	ended, ok := t.Looks[s.role.Name]
	if !ok {
		ran.Failed = "it was too late"
		if t.Stop != "" {
			ran.Failed = "it was too late: " + t.Stop
		}
		return ran, nil
	}
	ran.Calls, ran.Tokens, ran.Money = ended.Spent.Calls, ended.Spent.Tokens, int64(ended.Spent.Money)
	switch ran.Failed = ended.Failed; {
	case ended.NoOne:
		return t.unaided(ran, s, base)
	case ended.Failed != "":
		return ran, nil
	}
	ran.Exposed, ran.Findings = ended.Report.Untrusted, len(ended.Report.Findings)
	ended.Report.Role = s.role.Name
	return ran, &ended
}

func (t *tickRun) unaided(ran Ran, s step, base knowledge) (Ran, *look) {
	report := Find(s.role, base.State, s.seen, t.run.Started)
	report.Role, report.Unaided = s.role.Name, true
	ran.Unaided, ran.Findings = true, len(report.Findings)
	return ran, &look{Report: report, Given: s.given}
}

func of(seen []Seen, ids []string) (list []Seen) {
	for _, o := range seen {
		if slices.Contains(ids, o.ID) {
			list = append(list, o)
		}
	}
	return list
}

// exposed returns the ids of untrusted text that a role was shown, and whether any was. It
// considers observations, then the support of entries, then what the role's notes may derive from.
func exposed(s State, seen []Seen) (ids []string, any bool) {
	for _, o := range seen {
		if o.Untrusted {
			ids, any = append(ids, o.ID), true
		}
	}
	if !any {
		for _, c := range categories {
			for _, e := range *s.list(c) {
				if about := s.Aside.About[e.ID]; about.Untrusted {
					ids, any = append(ids, about.Rests...), true
				}
			}
		}
	}
	if !any && s.Aside.Exposure.any() {
		return s.Aside.Exposure.Rests, true
	}
	slices.Sort(ids)
	return last(slices.Compact(ids), maxRests), any
}
