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
	Reminded  int       `json:"told,omitempty"` // reminders already past
}

const (
	maxDeadlines     = 50
	maxDeadlineAhead = 366 * 24 * time.Hour
)

// Reminder offsets: before a due date, before a dated promise, after an undated promise.
var (
	dueReminders            = []time.Duration{72 * time.Hour, 24 * time.Hour, 2 * time.Hour}
	datedPromiseReminders   = []time.Duration{24 * time.Hour, 2 * time.Hour}
	undatedPromiseReminders = []time.Duration{24 * time.Hour, 72 * time.Hour}
)

func (d Deadline) reminderTimes() (list []time.Time) {
	ahead := dueReminders
	switch {
	case d.Promise && d.Due.IsZero():
		for _, after := range undatedPromiseReminders {
			list = append(list, d.At.Add(after))
		}
		return list
	case d.Promise:
		ahead = datedPromiseReminders
	}
	for _, before := range ahead {
		list = append(list, d.Due.Add(-before))
	}
	return list
}

func (d Deadline) nextReminder() (at time.Time, ok bool) {
	list := d.reminderTimes()
	if d.Reminded >= len(list) {
		return time.Time{}, false
	}
	return list[d.Reminded], true
}

// countReminders returns d with the reminders up to now counted.
func (d Deadline) countReminders(now time.Time) Deadline {
	for i, at := range d.reminderTimes() {
		if !at.After(now) {
			d.Reminded = max(d.Reminded, i+1)
		}
	}
	return d
}

// isNear reports whether a reminder is due and the deadline itself is not past.
func (d Deadline) isNear(now time.Time) bool {
	at, ok := d.nextReminder()
	return ok && !at.After(now) && (d.Due.IsZero() || d.Due.After(now))
}

func (d Deadline) toSeen() SeenObservation {
	o := SeenObservation{ID: d.ID, Seq: d.Seq, At: d.At}
	o.Sensor, o.Subject, o.State, o.Source, o.Content = d.Sensor, d.Subject, d.State, d.Source, d.Text
	o.Level, o.Untrusted, o.Due = d.Level, d.Untrusted, d.Due
	return o
}

func (d Deadline) clampLimits() (Deadline, bool) {
	d.ID, d.Sensor, d.State = textkit.Line(d.ID, maxName), textkit.Line(d.Sensor, maxName), textkit.Line(d.State, maxName)
	d.Subject, d.Source, d.Text = textkit.Line(d.Subject, maxSign), textkit.Line(d.Source, maxSign), textkit.Line(d.Text, 2*maxLine)
	d.Level, d.Reminded, d.Seq = clamp(d.Level, 0, 10), clamp(d.Reminded, 0, len(dueReminders)), max(0, d.Seq)
	d.At, d.Due = storableTime(d.At), storableTime(d.Due)
	return d, d.ID != "" && d.Text != "" && (d.Promise || !d.Due.IsZero())
}

func (a Internal) clampDeadlines(out *Internal) {
	for _, d := range lastN(a.Deadlines, maxDeadlines) {
		if d, ok := d.clampLimits(); ok {
			out.Deadlines = append(out.Deadlines, d)
		}
	}
}

func (m *merge) updateDeadlines() {
	seen := make([]SeenObservation, 0, len(m.in.Seen))
	for _, o := range m.in.Seen {
		if !o.Again {
			seen = append(seen, o)
		}
	}
	slices.SortStableFunc(seen, compareSeq)
	list := &m.state.Internal.Deadlines
	for _, o := range seen {
		for i, d := range *list {
			if d.ID == o.ID {
				(*list)[i] = d.countReminders(m.now)
			}
		}
		dropWhere(list, func(d Deadline) bool { return endsDeadline(d, o) })
		m.addDeadlines(o)
	}
	dropWhere(list, func(d Deadline) bool {
		_, more := d.nextReminder()
		return !more || !d.Due.IsZero() && !d.Due.After(m.now) || m.isSettled(d)
	})
	slices.SortStableFunc(*list, compareDeadlines)
	*list = (*list)[:min(len(*list), maxDeadlines)]
}

// compareDeadlines orders deadlines: trusted ones first, then by next reminder.
func compareDeadlines(a, b Deadline) int {
	x, _ := a.nextReminder()
	y, _ := b.nextReminder()
	if a.Untrusted != b.Untrusted {
		if b.Untrusted {
			return -1
		}
		return 1
	}
	return cmp.Or(x.Compare(y), strings.Compare(a.ID, b.ID), strings.Compare(a.Text, b.Text))
}

func (m *merge) addDeadlines(o SeenObservation) {
	if slices.ContainsFunc(m.state.Internal.Deadlines, func(d Deadline) bool { return d.ID == o.ID }) {
		return
	}
	for _, d := range findDeadlines(o) {
		d, ok := d.clampLimits()
		list := &m.state.Internal.Deadlines
		if !ok || !d.Due.IsZero() && (!d.Due.After(m.now) || d.Due.Sub(m.now) > maxDeadlineAhead) || m.isEnded(d) {
			continue
		}
		*list = append(*list, d.countReminders(m.now))
	}
}

func (m *merge) isEnded(d Deadline) bool {
	for _, o := range m.in.Seen {
		if endsDeadline(d, o) {
			return true
		}
	}
	return false
}

// findDeadlines returns the deadlines in an observation. It ignores calendars, which remind by
// themselves.
func findDeadlines(o SeenObservation) (list []Deadline) {
	kind := sensorKind(o.Sensor)
	if kind == "calendar" || isLookUp(o.Sensor) || isInternalSensor(o.Sensor) || isOver(o) || o.Level > 0 && o.Level < MinEntryImportance {
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

// endsDeadline reports whether o ends d. Either its subject ended, got a new due date or is a changed
// file, or the user reports the work done.
func endsDeadline(d Deadline, o SeenObservation) bool {
	if o.Seq <= d.Seq || o.ID == d.ID {
		return false
	}
	if o.Sensor == d.Sensor && o.Subject == d.Subject && o.Subject != "" {
		return isOver(o) || !o.Due.IsZero() || sensorKind(o.Sensor) == "files"
	}
	return reportsDone(o, d.Text)
}

// reportsDone reports whether the user says in o that text is done, sharing a rare word.
func reportsDone(o SeenObservation, text string) bool {
	if sensorKind(o.Sensor) != "own" || o.Untrusted || stateWord(o) != "done" {
		return false
	}
	have := rareTerms(trimAttribution(text))
	return slices.ContainsFunc(rareTerms(trimAttribution(o.Content)), func(t term) bool {
		return slices.ContainsFunc(have, func(h term) bool { return h.stem == t.stem })
	})
}

func trimAttribution(text string) string {
	said, _, _ := strings.Cut(text, " (The user said this")
	return said
}

// isSettled reports whether the user settled d's topic since the observation.
func (m *merge) isSettled(d Deadline) bool {
	text, sign := m.texts.phraseOf(Summary(d.Text)), signatureOf(d.toSeen())
	return slices.ContainsFunc(m.state.Internal.Settled, func(t SettledTopic) bool {
		if t.At.Before(d.At) && !t.Forgotten {
			return false
		}
		topic := m.texts.phraseOf(t.Text)
		return m.texts.isSame(topic, text) || m.texts.coversTopic(topic, text) || sign != "" && slices.Contains(t.Signature, sign) && m.texts.isNear(topic, text)
	})
}

// Due reports whether a tick would have work now, and why. A tick has work if a role would look, or
// if a gathered escalation may be raised. Without new events, ticks eventually become idle unless a
// role has its own pace.
func (v View) Due(o Options, now time.Time) (due bool, why string) {
	var list []string
	for _, s := range planTick(o, v.facts, now, TickInput{Upto: noSeqLimit}) {
		if s.skip == "" {
			list = append(list, s.role.Name+": "+s.why)
		}
	}
	if canRaise(o, v.facts, now) {
		list = append(list, formatCount(len(v.Internal.Pending), "finding")+" waiting for escalation")
	}
	if n := len(v.facts.dueDeadlines(now)); n > 0 {
		list = append(list, formatCount(n, "date or promise")+" due for another reminder")
	}
	if len(list) == 0 {
		return false, "nothing is new"
	}
	return true, strings.Join(list, "; ")
}

const reminderMark = " again "

func (c *claim) isReminder() bool {
	return slices.ContainsFunc(c.support, func(o SeenObservation) bool { return strings.Contains(o.State, reminderMark) })
}

func (k knowledge) dueDeadlines(at time.Time) (list []Deadline) {
	for _, d := range k.State.Internal.Deadlines {
		if d.isNear(at) {
			list = append(list, d)
		}
	}
	return list
}

// addReminders adds due reminders to a tick as findings of the first role that gives them. If a model
// looked for that role, the reminder waits for the next tick.
func addReminders(in *Input, record *Tick, roles []Role, list []Deadline, at time.Time) {
	for i, r := range roles {
		f := finder{role: r, state: NewState(), now: at}
		var about []SeenObservation
		for _, d := range list {
			if d.roleIndex(roles) == i && len(about) < maxModelFindings {
				about = append(about, d.reminderSeen(at))
				f.addReminder(d, at)
			}
		}
		if len(about) == 0 || !in.mergeReport(f.buildReport()) {
			continue
		}
		for _, o := range about {
			if _, had := in.Seen[o.ID]; !had {
				in.Seen[o.ID] = o
			}
		}
		if n := slices.IndexFunc(record.Roles, func(ran RoleOutcome) bool { return ran.Role == r.Name }); n >= 0 {
			ran := &record.Roles[n]
			if ran.Findings += len(about); ran.Skipped != "" {
				ran.Skipped += "; " + formatCount(len(about), "date or promise") + " came up"
			}
		}
	}
}

// mergeReport merges a rule-based report into in. It returns false if a model already looked for its
// role.
func (in *Input) mergeReport(r Report) bool {
	at := slices.IndexFunc(in.Reports, func(o Report) bool { return o.Role == r.Role })
	if at < 0 {
		in.Reports = append(in.Reports, r)
		return true
	}
	had := &in.Reports[at]
	if !had.WithoutModel {
		return false
	}
	had.Findings = append(slices.Clone(had.Findings), r.Findings...)
	had.Escalate = textkit.Line(strings.Trim(had.Escalate+"; "+r.Escalate, "; "), maxLine)
	return true
}

// roleIndex returns the index of the role that reports the deadline, or -1.
func (d Deadline) roleIndex(roles []Role) int {
	kinds := []string{"upcoming", "risk", "observation"}
	if d.Promise {
		kinds = []string{"forgotten", "stale", "observation"}
	}
	for _, kind := range kinds {
		if i := slices.IndexFunc(roles, func(r Role) bool { return (&finder{role: r}).givesType(kind) }); i >= 0 {
			return i
		}
	}
	return -1
}

// reminderSeen returns the observation with a state that differs for each reminder.
func (d Deadline) reminderSeen(at time.Time) SeenObservation {
	o := d.toSeen()
	o.Level, o.State = 0, fmt.Sprintf("%s%s%d", textkit.Line(d.State, maxName-10), reminderMark, d.countReminders(at).Reminded)
	return o
}

func (f *finder) addReminder(d Deadline, at time.Time) {
	o := d.reminderSeen(at)
	if !d.Promise {
		f.seen = []SeenObservation{o}
		f.findDueDates()
		if f.firstGivenType("upcoming") == "" {
			f.addFinding(f.firstGivenType("risk", "observation"), o.Content, "", noteworthyLevel, o)
		}
		return
	}
	importance := promiseImportance
	if o.Untrusted {
		importance = strangerImportance
	}
	f.addStatement(f.firstGivenType("forgotten", "stale", "observation"), o.Content, importance, o)
}
