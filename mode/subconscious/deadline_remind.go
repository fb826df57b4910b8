package subconscious

import (
	"fmt"
	"ponder/internal/textkit"
	"slices"
	"strings"
	"time"
)

// again is in the states of what comes up again.
const again = " again "

// comesUp reports whether a finding is of something that comes up again.
func (c *claim) comesUp() bool {
	return slices.ContainsFunc(c.rests, func(o Seen) bool { return strings.Contains(o.State, again) })
}

// nearing returns what is to come up again at a time.
func (k knowledge) nearing(at time.Time) (list []Deadline) {
	for _, d := range k.State.Aside.Deadlines {
		if d.isNear(at) {
			list = append(list, d)
		}
	}
	return list
}

// remind adds to what a tick merges what comes up again: by rules, as what the first role
// finds that gives such findings. Where a model looks for that role in this tick, it comes
// up in the next.
func remind(in *Input, record *Tick, roles []Role, list []Deadline, at time.Time) {
	for i, r := range roles {
		f := finder{role: r, state: NewState(), now: at}
		var about []Seen
		for _, d := range list {
			if d.role(roles) == i && len(about) < mostFindings {
				about = append(about, d.again(at))
				f.remind(d, at)
			}
		}
		if len(about) == 0 || !in.joins(f.report()) {
			continue
		}
		for _, o := range about {
			if _, had := in.Seen[o.ID]; !had {
				in.Seen[o.ID] = o
			}
		}
		if n := slices.IndexFunc(record.Roles, func(ran Ran) bool { return ran.Role == r.Name }); n >= 0 {
			ran := &record.Roles[n]
			if ran.Findings += len(about); ran.Skipped != "" {
				ran.Skipped += "; " + count(len(about), "date or promise") + " came up"
			}
		}
	}
}

// joins adds a report of rules to those that are merged, and reports false if a model has
// looked for its role.
func (in *Input) joins(r Report) bool {
	at := slices.IndexFunc(in.Reports, func(o Report) bool { return o.Role == r.Role })
	if at < 0 {
		in.Reports = append(in.Reports, r)
		return true
	}
	had := &in.Reports[at]
	if !had.Unaided {
		return false
	}
	had.Findings = append(slices.Clone(had.Findings), r.Findings...)
	had.Escalate = textkit.Line(strings.Trim(had.Escalate+"; "+r.Escalate, "; "), maxLine)
	return true
}

// role returns the place of the role whose finding it is, -1 without any.
func (d Deadline) role(roles []Role) int {
	kinds := []string{"upcoming", "risk", "observation"}
	if d.Promise {
		kinds = []string{"forgotten", "stale", "observation"}
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(roles, func(r Role) bool { return (&finder{role: r}).gives(kind) }); i >= 0 {
			return i
		}
	}
	return -1
}

// again returns the observation as it comes up: each time is a state of its own.
func (d Deadline) again(at time.Time) Seen {
	o := d.seen()
	o.Level, o.State = 0, fmt.Sprintf("%s%s%d", textkit.Line(d.State, maxName-10), again, d.past(at).Told)
	return o
}

// remind finds what comes up again.
func (f *finder) remind(d Deadline, at time.Time) {
	o := d.again(at)
	if !d.Promise {
		f.seen = []Seen{o}
		f.deadlines()
		if f.first("upcoming") == "" {
			f.add(f.first("risk", "observation"), o.Content, "", noteworthy, o)
		}
		return
	}
	importance := promiseImport
	if o.Untrusted {
		importance = strangerImport
	}
	f.say(f.first("forgotten", "stale", "observation"), o.Content, importance, o)
}
