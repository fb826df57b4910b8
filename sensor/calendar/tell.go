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

func (s stage) name(day bool) string {
	if s == stageSoon && day {
		return "today"
	}
	return [...]string{stageFar: "far", stageUpcoming: "upcoming", stageTomorrow: "tomorrow", stageSoon: "soon"}[s]
}

// A differ compares a calendar with the last reports.
type differ struct {
	now, until time.Time
	zone       *time.Location
	where      string
	book       *schedule
	told       []*reported
	byKey      map[key]*reported
	unknown    map[string]bool // UIDs whose state is unknown
	conflicts  int             // number of conflicts in told
	out        []ponder.Observation
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

func (t *reported) isConflict() bool { return strings.HasPrefix(t.UID, conflictUID) }

func (d *differ) load(list []reported) {
	d.byKey = map[key]*reported{}
	for i := range list {
		t := list[i]
		t.UID, t.Title = sensor.Line(t.UID, maxUID+20), sensor.Line(t.Title, maxTitle)
		t.Stage = min(max(t.Stage, stageFar), stageSoon)
		if d.byKey[key{t.UID, t.Of}] == nil && len(d.told) < maxKept {
			d.told = append(d.told, &t)
			d.byKey[key{t.UID, t.Of}] = &t
			if t.isConflict() {
				d.conflicts++
			}
		}
	}
}

func (d *differ) compare() {
	if d.reportEmptied() {
		return
	}
	y, m, day := d.now.Date()
	begin := time.Date(y, m, day, 0, 0, 0, 0, d.zone) // start of today, for whole days
	all := slices.DeleteFunc(d.book.between(begin, d.until), func(i instance) bool {
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
			d.reportStage(d.newReported(i), i)
		}
	}
	d.reportConflicts(all)
}

// reportEmptied reports a calendar that lost all its entries once, because this is probably a
// fault.
func (d *differ) reportEmptied() bool {
	future := 0
	for _, t := range d.told {
		if t.Start > d.now.Unix() && !t.Gone {
			future++
		}
	}
	if d.book.size > 0 || future < 3 || len(d.unknown) > 0 {
		return false
	}
	d.told = nil
	d.emit(ponder.Observation{
		Content: fmt.Sprintf("The calendar is empty now; %d things were in it for the days to come.", future),
		Subject: sensor.Subject("calendar " + d.where), State: "emptied", Level: levelPressing,
	})
	return true
}

// compareOne compares an occurrence with its last report.
func (d *differ) compareOne(t *reported, i instance) {
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
		*t = *d.fill(t, i)
		d.reportStage(t, i)
	case !i.start.Equal(was):
		d.reportMoved(t, i, was)
	case stageOf(i.start, d.now, i.event.start.day) > t.Stage && !i.start.After(d.until):
		d.reportStage(t, i)
	}
}

func (d *differ) isFull() bool { return len(d.out) >= sensor.MaxLook }

// compareMissing handles reported events that are not at their time. It returns the added
// occurrences that are not new times of those events.
func (d *differ) compareMissing(seen map[key]bool, added []instance) []instance {
	for _, t := range d.told {
		if t.isConflict() || t.Gone || seen[key{t.UID, t.Of}] || d.unknown[t.UID] || d.book.broken[t.UID] {
			continue
		}
		was := time.Unix(t.Start, 0)
		if i, ok := d.book.find(t.UID, t.Of); ok {
			if t.Start > d.now.Unix() || i.start.After(d.now) {
				d.compareOne(t, i)
			}
			continue
		}
		if t.Start <= d.now.Unix() || d.isFull() || d.book.broken[t.UID] { // find may have marked it broken
			continue
		}
		if n := nearest(added, t.UID, was); n >= 0 { // the whole series moved
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

// nearest returns the index of the occurrence of uid nearest to t within three days, or -1.
func nearest(list []instance, uid string, t time.Time) int {
	best, at := 3*24*time.Hour, -1
	for n, i := range list {
		if far := i.start.Sub(t).Abs(); i.uid == uid && !i.cancelled && far <= best {
			best, at = far, n
		}
	}
	return at
}

// newReported returns a new record. reportStage stores it.
func (d *differ) newReported(i instance) *reported { return d.fill(&reported{}, i) }

func (d *differ) fill(t *reported, i instance) *reported {
	*t = reported{UID: i.uid, Of: i.of, Start: i.start.Unix(), Day: i.event.start.day, Task: i.task, Title: plain(sensor.Line(i.title, maxKeptTitle))}
	return t
}

func (d *differ) reportStage(t *reported, i instance) {
	if d.isFull() {
		return
	}
	if k := (key{t.UID, t.Of}); d.byKey[k] == nil {
		d.byKey[k] = t
		d.told = append(d.told, t)
	}
	t.Stage = stageOf(i.start, d.now, t.Day)
	verb := "is on"
	if i.task {
		verb = "is due on"
	}
	says := d.name(t) + " " + verb + " " + d.date(i.start, t.Day)
	if !t.Day && !i.task && i.length > 0 {
		says += " until " + d.end(i)
	}
	if i.place != "" {
		says += ", at " + i.place
	}
	if i.host != "" {
		says += ", invited by " + i.host
	}
	d.emit(ponder.Observation{Content: says + ".", Subject: d.subject(t), State: t.Stage.name(t.Day), Level: d.level(t), Due: i.start})
}

func (d *differ) level(t *reported) int {
	if t.Stage == stageSoon && t.Day {
		return levelTomorrow
	}
	return levels[t.Stage]
}

func (d *differ) reportMoved(t *reported, i instance, was time.Time) {
	if d.isFull() {
		return
	}
	from := d.date(was, t.Day)
	d.fill(t, i)
	if t.Stage = stageFar; !i.start.After(d.until) {
		t.Stage = stageOf(i.start, d.now, t.Day)
	}
	d.emit(ponder.Observation{
		Content: d.name(t) + " was moved from " + from + " to " + d.date(i.start, t.Day) + ".",
		Subject: d.subject(t), State: "moved", Level: max(d.changeLevel(was), d.changeLevel(i.start)), Due: i.start,
	})
}

func (d *differ) reportCancelled(t *reported, was time.Time) {
	if t.Start <= d.now.Unix() && !t.Day || d.isFull() {
		return
	}
	t.Gone = true
	d.emit(ponder.Observation{
		Content: d.name(t) + " on " + d.date(was, t.Day) + " was cancelled or deleted.",
		Subject: d.subject(t), State: "cancelled", Level: d.changeLevel(was), Due: was,
	})
}

func (d *differ) changeLevel(t time.Time) int {
	if t.Sub(d.now) <= 24*time.Hour {
		return levelPressing
	}
	return levelChanged
}

// reportConflicts reports events at the same time.
func (d *differ) reportConflicts(all []instance) {
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

func (d *differ) reportConflict(a, b instance) {
	name := fmt.Sprint(a.uid, " ", a.start.Unix(), " ", b.uid, " ", b.start.Unix())
	k := key{conflictUID + sensor.Hash(name), 0}
	if d.byKey[k] != nil {
		return
	}
	d.conflicts++
	t := &reported{UID: k.uid, Start: b.start.Unix()}
	d.byKey[k] = t
	d.told = append(d.told, t)
	d.emit(ponder.Observation{
		Content: fmt.Sprintf("Two events are at the same time: %s on %s until %s, and %s at %s until %s.",
			quote(a.title), d.date(a.start, false), d.end(a), quote(b.title), b.start.In(d.zone).Format("15:04"), d.end(b)),
		Subject: sensor.Subject("conflict of " + a.uid + " and " + b.uid + " " + stamp(b.start, false)), State: "conflict", Level: levelConflict, Due: b.start,
	})
}

func (d *differ) emit(o ponder.Observation) {
	o.Content, o.Source, o.Untrusted = sensor.Line(o.Content, sensor.MaxText), d.where, true
	d.out = append(d.out, o)
}

func (d *differ) subject(t *reported) string {
	return sensor.Subject(t.UID + " " + stamp(time.Unix(t.Start, 0).In(d.zone), t.Day))
}

// stamp formats the start: a day in its zone, a time in UTC.
func stamp(t time.Time, day bool) string {
	if day {
		return t.Format("2006-01-02")
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

func (d *differ) name(t *reported) string {
	if t.Task {
		return "The task " + quote(t.Title)
	}
	return "The event " + quote(t.Title)
}

func quote(s string) string { return `"` + strings.ReplaceAll(s, `"`, "'") + `"` }

// date formats a time in the user's zone.
func (d *differ) date(t time.Time, day bool) string {
	if day {
		return t.In(d.zone).Format("Mon 2 Jan 2006")
	}
	return t.In(d.zone).Format("Mon 2 Jan 2006 15:04 MST")
}

func (d *differ) end(i instance) string {
	end := i.end.In(d.zone)
	if i.end.Sub(i.start) < 20*time.Hour {
		return end.Format("15:04")
	}
	return end.Format("Mon 2 Jan 15:04")
}

// toKeep returns the records of future and recent occurrences.
func (d *differ) toKeep() []reported {
	out := make([]reported, 0, len(d.told))
	for _, t := range d.told {
		if t.Start > d.now.Add(-36*time.Hour).Unix() {
			out = append(out, *t)
		}
	}
	slices.SortStableFunc(out, func(a, b reported) int { return int(a.Start/60 - b.Start/60) })
	return out[max(0, len(out)-maxKept):]
}
