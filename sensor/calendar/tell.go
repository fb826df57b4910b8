package calendar

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder"
	"ponder/sensor"
)

type stage int

const (
	stageFar stage = iota
	stageUpcoming
	stageTomorrow
	stageSoon
)

// Levels of observations.
const (
	levelUpcoming = 4
	levelTomorrow = 5
	levelSoon     = 7
	levelChanged  = 5
	levelPressing = 6 // a change within a day
	levelConflict = 5
)

var levels = [...]int{stageFar: 1, stageUpcoming: levelUpcoming, stageTomorrow: levelTomorrow, stageSoon: levelSoon}

func stageOf(start, now time.Time, day bool) stage {
	switch d := start.Sub(now); {
	case d <= 2*time.Hour && !day, d <= 0:
		return stageSoon
	case d <= 24*time.Hour:
		return stageTomorrow
	}
	return stageUpcoming
}

func (s stage) stateName(day bool) string {
	if s == stageSoon && day {
		return "today"
	}
	return [...]string{stageFar: "far", stageUpcoming: "upcoming", stageTomorrow: "tomorrow", stageSoon: "soon"}[s]
}

// A changeDetector compares a calendar with the last reports.
type changeDetector struct {
	now, until   time.Time
	zone         *time.Location
	location     string
	schedule     *schedule
	records      []*reportRecord
	byKey        map[key]*reportRecord
	unknown      map[string]bool // UIDs whose state is unknown
	conflicts    int             // number of conflicts in told
	observations []ponder.Observation
}

type key struct {
	uid string
	of  int64
}

// Limits of the cursor.
const (
	maxKept      = 400
	maxKeptTitle = 80 // bytes
	maxConflicts = 60
)

const conflictUID = "conflict "

func (t *reportRecord) isConflict() bool { return strings.HasPrefix(t.UID, conflictUID) }

func (d *changeDetector) loadRecords(list []reportRecord) {
	d.byKey = map[key]*reportRecord{}
	for i := range list {
		t := list[i]
		t.UID, t.Title = sensor.Line(t.UID, maxUID+20), sensor.Line(t.Title, maxTitle)
		t.Stage = min(max(t.Stage, stageFar), stageSoon)
		if d.byKey[key{t.UID, t.Of}] == nil && len(d.records) < maxKept {
			d.records = append(d.records, &t)
			d.byKey[key{t.UID, t.Of}] = &t
			if t.isConflict() {
				d.conflicts++
			}
		}
	}
}

func (d *changeDetector) compareAll() {
	if d.reportEmptied() {
		return
	}
	y, m, day := d.now.Date()
	begin := time.Date(y, m, day, 0, 0, 0, 0, d.zone) // start of today, for whole days
	all := slices.DeleteFunc(d.schedule.listInstances(begin, d.until), func(i instance) bool {
		return i.start.Before(d.now) && !i.event.start.day
	})
	if len(all) > maxSeen {
		d.until = all[maxSeen].start
		all = all[:maxSeen]
	}
	var added []instance
	seen := map[key]bool{}
	for _, i := range all {
		k := key{i.uid, i.of}
		if seen[k] = true; d.byKey[k] == nil {
			added = append(added, i)
		} else {
			d.compareOne(d.byKey[k], i)
		}
	}
	added = d.compareMissing(seen, added)
	for _, i := range added {
		if !i.cancelled && !i.done {
			d.reportStage(d.newRecord(i), i)
		}
	}
	d.reportConflicts(all)
}

// reportEmptied reports a calendar that lost all its entries once, because this is probably a
// fault.
func (d *changeDetector) reportEmptied() bool {
	future := 0
	for _, t := range d.records {
		if t.Start > d.now.Unix() && !t.Gone {
			future++
		}
	}
	if d.schedule.size > 0 || future < 3 || len(d.unknown) > 0 {
		return false
	}
	d.records = nil
	d.addObservation(ponder.Observation{
		Content: fmt.Sprintf("The calendar is empty now; %d things were in it for the days to come.", future),
		Subject: sensor.Subject("calendar " + d.location), State: "emptied", Level: levelPressing,
	})
	return true
}

// compareOne compares an occurrence with its last report.
func (d *changeDetector) compareOne(t *reportRecord, i instance) {
	was := time.Unix(t.Start, 0)
	switch {
	case i.done:
	case i.cancelled:
		if !t.Gone {
			d.reportCancelled(t, was)
		}
	case t.Gone:
		if d.isFull() {
			return
		}
		*t = *d.fillRecord(t, i)
		d.reportStage(t, i)
	case !i.start.Equal(was):
		d.reportMoved(t, i, was)
	case stageOf(i.start, d.now, i.event.start.day) > t.Stage && !i.start.After(d.until):
		d.reportStage(t, i)
	}
}

func (d *changeDetector) isFull() bool { return len(d.observations) >= sensor.MaxLook }

// compareMissing handles reported events that are not at their time. It returns the added
// occurrences that are not new times of those events.
func (d *changeDetector) compareMissing(seen map[key]bool, added []instance) []instance {
	for _, t := range d.records {
		if t.isConflict() || t.Gone || seen[key{t.UID, t.Of}] || d.unknown[t.UID] || d.schedule.broken[t.UID] {
			continue
		}
		was := time.Unix(t.Start, 0)
		if i, ok := d.schedule.findInstance(t.UID, t.Of); ok {
			if t.Start > d.now.Unix() || i.start.After(d.now) {
				d.compareOne(t, i)
			}
			continue
		}
		if t.Start <= d.now.Unix() || d.isFull() || d.schedule.broken[t.UID] { // find may have marked it broken
			continue
		}
		if n := nearestInstance(added, t.UID, was); n >= 0 { // the whole series moved
			i := added[n]
			added = slices.Delete(added, n, n+1)
			d.compareOne(t, i)
			if t.Start == i.start.Unix() {
				t.Of = i.of
			}
			continue
		}
		if t.Task { // probably done
			t.Gone = true
			continue
		}
		d.reportCancelled(t, was)
	}
	return added
}

// nearestInstance returns the index of the occurrence of uid nearest to t within three days, or -1.
func nearestInstance(list []instance, uid string, t time.Time) int {
	best, at := 3*24*time.Hour, -1
	for n, i := range list {
		if far := i.start.Sub(t).Abs(); i.uid == uid && !i.cancelled && far <= best {
			best, at = far, n
		}
	}
	return at
}

// newRecord returns a new record. reportStage stores it.
func (d *changeDetector) newRecord(i instance) *reportRecord { return d.fillRecord(&reportRecord{}, i) }

func (d *changeDetector) fillRecord(t *reportRecord, i instance) *reportRecord {
	*t = reportRecord{UID: i.uid, Of: i.of, Start: i.start.Unix(), Day: i.event.start.day, Task: i.task, Title: stripEscaped(sensor.Line(i.title, maxKeptTitle))}
	return t
}

func (d *changeDetector) reportStage(t *reportRecord, i instance) {
	if d.isFull() {
		return
	}
	if k := (key{t.UID, t.Of}); d.byKey[k] == nil {
		d.byKey[k] = t
		d.records = append(d.records, t)
	}
	t.Stage = stageOf(i.start, d.now, t.Day)
	verb := "is on"
	if i.task {
		verb = "is due on"
	}
	says := d.formatName(t) + " " + verb + " " + d.formatDate(i.start, t.Day)
	if !t.Day && !i.task && i.length > 0 {
		says += " until " + d.formatEnd(i)
	}
	if i.place != "" {
		says += ", at " + i.place
	}
	if i.host != "" {
		says += ", invited by " + i.host
	}
	d.addObservation(ponder.Observation{Content: says + ".", Subject: d.formatSubject(t), State: t.Stage.stateName(t.Day), Level: d.stageLevel(t), Due: i.start})
}

func (d *changeDetector) stageLevel(t *reportRecord) int {
	if t.Stage == stageSoon && t.Day {
		return levelTomorrow
	}
	return levels[t.Stage]
}

func (d *changeDetector) reportMoved(t *reportRecord, i instance, was time.Time) {
	if d.isFull() {
		return
	}
	from := d.formatDate(was, t.Day)
	d.fillRecord(t, i)
	if t.Stage = stageFar; !i.start.After(d.until) {
		t.Stage = stageOf(i.start, d.now, t.Day)
	}
	d.addObservation(ponder.Observation{
		Content: d.formatName(t) + " was moved from " + from + " to " + d.formatDate(i.start, t.Day) + ".",
		Subject: d.formatSubject(t), State: "moved", Level: max(d.changeLevel(was), d.changeLevel(i.start)), Due: i.start,
	})
}

func (d *changeDetector) reportCancelled(t *reportRecord, was time.Time) {
	if t.Start <= d.now.Unix() && !t.Day || d.isFull() {
		return
	}
	t.Gone = true
	d.addObservation(ponder.Observation{
		Content: d.formatName(t) + " on " + d.formatDate(was, t.Day) + " was cancelled or deleted.",
		Subject: d.formatSubject(t), State: "cancelled", Level: d.changeLevel(was), Due: was,
	})
}

func (d *changeDetector) changeLevel(t time.Time) int {
	if t.Sub(d.now) <= 24*time.Hour {
		return levelPressing
	}
	return levelChanged
}

// reportConflicts reports events at the same time.
func (d *changeDetector) reportConflicts(all []instance) {
	all = slices.DeleteFunc(all, func(i instance) bool {
		return i.cancelled || i.task || i.transparent || i.event.start.day || i.length <= 0
	})
	for n, a := range all {
		for _, b := range all[n+1:] {
			if !b.start.Before(a.end) {
				break
			}
			if d.isFull() || d.conflicts >= maxConflicts {
				return
			}
			if a.uid == b.uid {
				continue
			}
			d.reportConflict(a, b)
		}
	}
}

func (d *changeDetector) reportConflict(a, b instance) {
	name := fmt.Sprint(a.uid, " ", a.start.Unix(), " ", b.uid, " ", b.start.Unix())
	k := key{conflictUID + sensor.Hash(name), 0}
	if d.byKey[k] != nil {
		return
	}
	d.conflicts++
	t := &reportRecord{UID: k.uid, Start: b.start.Unix()}
	d.byKey[k] = t
	d.records = append(d.records, t)
	d.addObservation(ponder.Observation{
		Content: fmt.Sprintf("Two events are at the same time: %s on %s until %s, and %s at %s until %s.",
			quoteText(a.title), d.formatDate(a.start, false), d.formatEnd(a), quoteText(b.title), b.start.In(d.zone).Format("15:04"), d.formatEnd(b)),
		Subject: sensor.Subject("conflict of " + a.uid + " and " + b.uid + " " + formatStart(b.start, false)), State: "conflict", Level: levelConflict, Due: b.start,
	})
}

func (d *changeDetector) addObservation(o ponder.Observation) {
	o.Content, o.Source, o.Untrusted = sensor.Line(o.Content, sensor.MaxText), d.location, true
	d.observations = append(d.observations, o)
}

func (d *changeDetector) formatSubject(t *reportRecord) string {
	return sensor.Subject(t.UID + " " + formatStart(time.Unix(t.Start, 0).In(d.zone), t.Day))
}

// formatStart formats the start: a day in its zone, a time in UTC.
func formatStart(t time.Time, day bool) string {
	if day {
		return t.Format("2006-01-02")
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

func (d *changeDetector) formatName(t *reportRecord) string {
	if t.Task {
		return "The task " + quoteText(t.Title)
	}
	return "The event " + quoteText(t.Title)
}

func quoteText(s string) string { return `"` + strings.ReplaceAll(s, `"`, "'") + `"` }

// formatDate formats a time in the user's zone.
func (d *changeDetector) formatDate(t time.Time, day bool) string {
	if day {
		return t.In(d.zone).Format("Mon 2 Jan 2006")
	}
	return t.In(d.zone).Format("Mon 2 Jan 2006 15:04 MST")
}

func (d *changeDetector) formatEnd(i instance) string {
	end := i.end.In(d.zone)
	if i.end.Sub(i.start) < 20*time.Hour {
		return end.Format("15:04")
	}
	return end.Format("Mon 2 Jan 15:04")
}

// recordsToKeep returns the records of future and recent occurrences.
func (d *changeDetector) recordsToKeep() []reportRecord {
	out := make([]reportRecord, 0, len(d.records))
	for _, t := range d.records {
		if t.Start > d.now.Add(-36*time.Hour).Unix() {
			out = append(out, *t)
		}
	}
	slices.SortStableFunc(out, func(a, b reportRecord) int { return int(a.Start/60 - b.Start/60) })
	return out[max(0, len(out)-maxKept):]
}
