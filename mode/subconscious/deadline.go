package subconscious

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"
)

// A Deadline is a due date or a promise that resurfaces until it passes.
type Deadline struct {
	ID        string    `json:"id"`
	Seq       int64     `json:"seq"`
	At        time.Time `json:"at"`
	Sensor    string    `json:"sensor"`
	Subject   string    `json:"subject,omitempty"`
	State     string    `json:"state,omitempty"`
	Source    string    `json:"source,omitempty"`
	Text      string    `json:"text"`
	Level     int       `json:"level,omitempty"`
	Untrusted bool      `json:"untrusted,omitempty"`
	Due       time.Time `json:"due,omitzero"`
	Promise   bool      `json:"promise,omitempty"`
	Told      int       `json:"told,omitempty"` // reminders already past
}

const (
	maxDeadlines = 50
	farthest     = 366 * 24 * time.Hour
)

// Reminder offsets: before a due date, before a dated promise, after an undated promise.
var (
	dueAhead     = []time.Duration{72 * time.Hour, 24 * time.Hour, 2 * time.Hour}
	promiseAhead = []time.Duration{24 * time.Hour, 2 * time.Hour}
	promiseAfter = []time.Duration{24 * time.Hour, 72 * time.Hour}
)

func (d Deadline) times() (list []time.Time) {
	ahead := dueAhead
	switch {
	case d.Promise && d.Due.IsZero():
		for _, after := range promiseAfter {
			list = append(list, d.At.Add(after))
		}
		return list
	case d.Promise:
		ahead = promiseAhead
	}
	for _, before := range ahead {
		list = append(list, d.Due.Add(-before))
	}
	return list
}

func (d Deadline) next() (at time.Time, ok bool) {
	list := d.times()
	if d.Told >= len(list) {
		return time.Time{}, false
	}
	return list[d.Told], true
}

// past returns d with the reminders up to now counted.
func (d Deadline) past(now time.Time) Deadline {
	for i, at := range d.times() {
		if !at.After(now) {
			d.Told = max(d.Told, i+1)
		}
	}
	return d
}

// isNear reports whether a reminder is due and the deadline itself is not past.
func (d Deadline) isNear(now time.Time) bool {
	at, ok := d.next()
	return ok && !at.After(now) && (d.Due.IsZero() || d.Due.After(now))
}

func (d Deadline) seen() Seen {
	o := Seen{ID: d.ID, Seq: d.Seq, At: d.At}
	o.Sensor, o.Subject, o.State, o.Source, o.Content = d.Sensor, d.Subject, d.State, d.Source, d.Text
	o.Level, o.Untrusted, o.Due = d.Level, d.Untrusted, d.Due
	return o
}

func (d Deadline) bounded() (Deadline, bool) {
	d.ID, d.Sensor, d.State = textkit.Line(d.ID, maxName), textkit.Line(d.Sensor, maxName), textkit.Line(d.State, maxName)
	d.Subject, d.Source, d.Text = textkit.Line(d.Subject, maxSign), textkit.Line(d.Source, maxSign), textkit.Line(d.Text, 2*maxLine)
	d.Level, d.Told, d.Seq = within(d.Level, 0, 10), within(d.Told, 0, len(dueAhead)), max(0, d.Seq)
	d.At, d.Due = plain(d.At), plain(d.Due)
	return d, d.ID != "" && d.Text != "" && (d.Promise || !d.Due.IsZero())
}

func (a Aside) boundDeadlines(out *Aside) {
	for _, d := range last(a.Deadlines, maxDeadlines) {
		if d, ok := d.bounded(); ok {
			out.Deadlines = append(out.Deadlines, d)
		}
	}
}

func (m *merge) deadlines() {
	seen := make([]Seen, 0, len(m.in.Seen))
	for _, o := range m.in.Seen {
		seen = append(seen, o)
	}
	slices.SortStableFunc(seen, bySeq)
	list := &m.state.Aside.Deadlines
	for _, o := range seen {
		for i, d := range *list {
			if d.ID == o.ID {
				(*list)[i] = d.past(m.now)
			}
		}
		drop(list, func(d Deadline) bool { return endedBy(d, o) })
		m.later(o)
	}
	drop(list, func(d Deadline) bool {
		_, more := d.next()
		return !more || !d.Due.IsZero() && !d.Due.After(m.now) || m.isSettled(d)
	})
	slices.SortStableFunc(*list, soonest)
	*list = (*list)[:min(len(*list), maxDeadlines)]
}

// soonest orders deadlines: trusted ones first, then by next reminder.
func soonest(a, b Deadline) int {
	x, _ := a.next()
	y, _ := b.next()
	if a.Untrusted != b.Untrusted {
		if b.Untrusted {
			return -1
		}
		return 1
	}
	return cmp.Or(x.Compare(y), strings.Compare(a.ID, b.ID), strings.Compare(a.Text, b.Text))
}

func (m *merge) later(o Seen) {
	if slices.ContainsFunc(m.state.Aside.Deadlines, func(d Deadline) bool { return d.ID == o.ID }) {
		return
	}
	for _, d := range deadlinesOf(o) {
		d, ok := d.bounded()
		list := &m.state.Aside.Deadlines
		if !ok || !d.Due.IsZero() && (!d.Due.After(m.now) || d.Due.Sub(m.now) > farthest) || m.endedLater(d) {
			continue
		}
		*list = append(*list, d.past(m.now))
	}
}

func (m *merge) endedLater(d Deadline) bool {
	for _, o := range m.in.Seen {
		if endedBy(d, o) {
			return true
		}
	}
	return false
}

// deadlinesOf returns the deadlines in an observation. It ignores calendars, which remind by
// themselves.
func deadlinesOf(o Seen) (list []Deadline) {
	kind := sensorKind(o.Sensor)
	if kind == "calendar" || isLookUp(o.Sensor) || own(o.Sensor) || isOver(o) || o.Level > 0 && o.Level < LeastAdded {
		return nil
	}
	d := Deadline{ID: o.ID, Seq: o.Seq, At: o.At, Sensor: o.Sensor, Subject: o.Subject, State: o.State, Source: o.Source,
		Text: textkit.VisibleLine(o.Content, 2*maxLine), Level: o.Level, Untrusted: o.Untrusted, Due: o.Due}
	var promised []string
	if kind == "own" || kind == "mail" {
		promised = promisesOf(o.Content)
	}
	if !o.Due.IsZero() {
		d.Promise = kind == "own" && len(promised) > 0
		return []Deadline{d}
	}
	d.Level, d.Promise = 0, true
	for _, d.Text = range promised {
		list = append(list, d)
	}
	return list
}

// endedBy reports whether o ends d. Either its subject ended, got a new due date or is a changed
// file, or the user reports the work done.
func endedBy(d Deadline, o Seen) bool {
	if o.Seq <= d.Seq || o.ID == d.ID {
		return false
	}
	if o.Sensor == d.Sensor && o.Subject == d.Subject && o.Subject != "" {
		return isOver(o) || !o.Due.IsZero() || sensorKind(o.Sensor) == "files"
	}
	return settles(o, d.Text)
}

// settles reports whether the user says in o that text is done, sharing a rare word.
func settles(o Seen, text string) bool {
	if sensorKind(o.Sensor) != "own" || o.Untrusted || stateWord(o) != "done" {
		return false
	}
	have := rare(saidOf(text))
	return slices.ContainsFunc(rare(saidOf(o.Content)), func(t term) bool {
		return slices.ContainsFunc(have, func(h term) bool { return h.stem == t.stem })
	})
}

func saidOf(text string) string {
	said, _, _ := strings.Cut(text, " (The user said this")
	return said
}

// isSettled reports whether the user settled d's topic since the observation.
func (m *merge) isSettled(d Deadline) bool {
	text, sign := m.texts.read(Summary(d.Text)), signature(d.seen())
	return slices.ContainsFunc(m.state.Aside.Settled, func(t Settled) bool {
		if t.At.Before(d.At) && !t.Forgotten {
			return false
		}
		topic := m.texts.read(t.Text)
		return m.texts.same(topic, text) || m.texts.names(topic, text) || sign != "" && slices.Contains(t.Signature, sign) && m.texts.near(topic, text)
	})
}

// Due reports whether a tick would have work now, and why. A tick has work if a role would look, or
// if a gathered escalation may be raised. Without new events, ticks eventually become idle unless a
// role has its own pace.
func (v View) Due(o Options, now time.Time) (due bool, why string) {
	var list []string
	for _, s := range plan(o, v.knows, now, TickInput{Upto: all}) {
		if s.skip == "" {
			list = append(list, s.role.Name+": "+s.why)
		}
	}
	if gathered(o, v.knows, now) {
		list = append(list, count(len(v.Aside.Pending), "finding")+" waited to be escalated")
	}
	if n := len(v.knows.nearing(now)); n > 0 {
		list = append(list, count(n, "date or promise")+" is to come up again")
	}
	if len(list) == 0 {
		return false, "nothing is new"
	}
	return true, strings.Join(list, "; ")
}

const again = " again "

func (c *claim) comesUp() bool {
	return slices.ContainsFunc(c.rests, func(o Seen) bool { return strings.Contains(o.State, again) })
}

func (k knowledge) nearing(at time.Time) (list []Deadline) {
	for _, d := range k.State.Aside.Deadlines {
		if d.isNear(at) {
			list = append(list, d)
		}
	}
	return list
}

// remind adds due reminders to a tick as findings of the first role that gives them. If a model
// looked for that role, the reminder waits for the next tick.
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

// joins merges a rule-based report into in. It returns false if a model already looked for its
// role.
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

// role returns the index of the role that reports the deadline, or -1.
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

// again returns the observation with a state that differs for each reminder.
func (d Deadline) again(at time.Time) Seen {
	o := d.seen()
	o.Level, o.State = 0, fmt.Sprintf("%s%s%d", textkit.Line(d.State, maxName-10), again, d.past(at).Told)
	return o
}

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
