package calendar

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/sensor"
)

// Limits of a stored event, in bytes.
const (
	maxUID   = 100
	maxTitle = 100
	maxPlace = 80
)

// A moment is a time in a calendar: a wall time in a zone, or a day.
type moment struct {
	wall time.Time
	zone *time.Location
	day  bool
}

func (m moment) toTime() time.Time { return wallToTime(m.wall, m.zone) }

// An event is an event or task: a whole series, or one changed occurrence.
type event struct {
	uid          string
	task         bool
	replaces     *moment // the occurrence that it replaces; nil for the series
	start        moment
	length       time.Duration
	rules        []rule
	added        []moment       // RDATE
	excluded     map[int64]bool // EXDATE, Unix seconds
	excludedDays map[int64]bool // EXDATE of whole days
	title        string
	place        string
	host         string
	cancelled    bool
	done         bool // for a task
	transparent  bool // does not block time
	sequence     int
	stamp        string
}

type schedule struct {
	series  map[string]*event           // by UID
	changed map[string]map[int64]*event // changed occurrences by UID and original start in Unix seconds
	broken  map[string]bool             // UIDs of unreadable events
	size    int                         // number of objects
	steps   int                         // remaining steps for rules
}

func newSchedule(objects []*object, user *time.Location, now time.Time) *schedule {
	b := &schedule{series: map[string]*event{}, changed: map[string]map[int64]*event{}, broken: map[string]bool{}, steps: maxAllSteps}
	z := &zoneResolver{user: user, now: now, defined: map[string]*object{}, found: map[string]*time.Location{}, steps: &b.steps}
	for _, o := range objects {
		if o.kind == "VTIMEZONE" && len(z.defined) < maxZones {
			z.defined[firstValue(o, "TZID")] = o
		}
	}
	for _, o := range objects {
		if o.kind == "VEVENT" || o.kind == "VTODO" {
			b.size++
			b.addObject(o, z)
		}
	}
	return b
}

func (b *schedule) addObject(o *object, z *zoneResolver) {
	e, ok := readEvent(o, z)
	if !ok {
		b.broken[e.uid] = true
		return
	}
	if e.replaces == nil {
		if old := b.series[e.uid]; old == nil || !isNewer(old, e) {
			b.series[e.uid] = e
		}
		return
	}
	at := e.replaces.toTime().Unix()
	if b.changed[e.uid] == nil {
		b.changed[e.uid] = map[int64]*event{}
	}
	if old := b.changed[e.uid][at]; old == nil || !isNewer(old, e) {
		b.changed[e.uid][at] = e
	}
}

// isNewer reports whether a is a later version than b.
func isNewer(a, b *event) bool {
	return cmp.Or(cmp.Compare(a.sequence, b.sequence), strings.Compare(a.stamp, b.stamp)) > 0
}

// readEvent interprets an event or task. If it fails, the event has only its UID.
func readEvent(o *object, z *zoneResolver) (*event, bool) {
	e := &event{
		task: o.kind == "VTODO", title: sensor.Line(o.unescapedText("SUMMARY"), maxTitle), place: sensor.Line(o.unescapedText("LOCATION"), maxPlace),
		transparent: strings.EqualFold(firstValue(o, "TRANSP"), "TRANSPARENT"), stamp: firstValue(o, "DTSTAMP"),
	}
	e.uid = objectUID(o, e.title)
	e.sequence, _ = strconv.Atoi(firstValue(o, "SEQUENCE")) // none: 0
	host, _ := o.firstProp("ORGANIZER")
	e.host = sensor.Line(cmp.Or(host.paramValue("CN"), strings.TrimPrefix(strings.ToLower(host.value), "mailto:")), maxPlace)
	status := strings.ToUpper(firstValue(o, "STATUS"))
	_, completed := o.firstProp("COMPLETED")
	e.cancelled = status == "CANCELLED"
	e.done = e.task && (completed || status == "COMPLETED" || e.cancelled)
	if !e.readTimes(o, z) {
		return e, false
	}
	for _, p := range o.props {
		switch p.name {
		case "RRULE":
			r, err := parseRule(p.value, e.start.zone)
			if err != nil || len(e.rules) > 3 {
				return e, false
			}
			e.rules = append(e.rules, r)
		case "RDATE":
			if len(e.added) < maxMoments {
				e.added = append(e.added, parseMoments(p, z)...)
			}
		case "EXDATE":
			e.excludeMoments(parseMoments(p, z))
		}
	}
	return e, true
}

func (e *event) excludeMoments(list []moment) {
	if e.excluded == nil {
		e.excluded, e.excludedDays = map[int64]bool{}, map[int64]bool{}
	}
	for _, m := range list {
		if m.day {
			e.excludedDays[m.wall.Unix()] = true
		}
		e.excluded[m.toTime().Unix()] = true
	}
}

// objectUID returns an identifier of the object that is safe to show and store.
func objectUID(o *object, title string) string {
	id := firstValue(o, "UID")
	if id == "" {
		id = title + " " + firstValue(o, "DTSTART") + firstValue(o, "DUE")
	}
	if line := sensor.Line(id, maxUID); line == id && !strings.ContainsAny(id, `<>&"\`) {
		return line
	}
	return stripEscaped(sensor.Line(id, maxUID-20)) + " #" + sensor.Hash(id)
}

// stripEscaped removes letters that JSON escapes.
func stripEscaped(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '"':
			return '\''
		case '<', '>', '&', '\\':
			return ' '
		}
		return r
	}, s)
}

// readTimes reads the start and length. The start of a task is its deadline.
func (e *event) readTimes(o *object, z *zoneResolver) bool {
	first, last := "DTSTART", "DTEND"
	if e.task {
		first = "DUE"
		if _, ok := o.firstProp(first); !ok { // a task without a deadline needs no reminder
			return false
		}
	}
	p, ok := o.firstProp(first)
	if !ok {
		return false
	}
	var err error
	if e.start, err = parseMoment(p, z); err != nil {
		return false
	}
	if p, ok = o.firstProp("RECURRENCE-ID"); ok {
		of, err := parseMoment(p, z)
		if err != nil {
			return false
		}
		e.replaces = &of
	}
	if e.start.day {
		e.length = 24 * time.Hour
	}
	if e.task {
		return true
	}
	if p, ok = o.firstProp(last); ok {
		if end, err := parseMoment(p, z); err == nil && end.toTime().After(e.start.toTime()) {
			e.length = end.toTime().Sub(e.start.toTime())
		}
	} else if d, ok := parseDuration(firstValue(o, "DURATION")); ok {
		e.length = d
	}
	return true
}

func parseMoment(p prop, z *zoneResolver) (moment, error) {
	value := strings.TrimSpace(p.value)
	wall, day, err := parseWall(value)
	m := moment{wall: wall, day: day, zone: z.user}
	switch {
	case day: // in the user's zone
	case strings.HasSuffix(value, "Z"):
		m.zone = time.UTC
	default:
		m.zone = z.lookupZone(p.paramValue("TZID"))
	}
	return m, err
}

const maxMoments = 1000 // of a property

// parseMoments reads a list of times or periods and skips unreadable ones.
func parseMoments(p prop, z *zoneResolver) (out []moment) {
	for v := range strings.SplitSeq(p.value, ",") {
		v, _, _ = strings.Cut(v, "/")
		if m, err := parseMoment(prop{params: p.params, value: v}, z); err == nil && len(out) < maxMoments {
			out = append(out, m)
		}
	}
	return out
}

var durationPattern = regexp.MustCompile(`^\+?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$`)

// parseDuration parses a positive duration such as "PT1H30M".
func parseDuration(s string) (d time.Duration, ok bool) {
	m := durationPattern.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(m[i+1]) // missing: none
		d += time.Duration(n) * unit
	}
	return d, true
}

type instance struct {
	*event
	of    int64 // original start in Unix seconds; 0 without a series
	start time.Time
	end   time.Time
}

func (e *event) newInstance(of int64, start time.Time) instance {
	return instance{event: e, of: of, start: start, end: start.Add(e.length)}
}

func (e *event) isRecurring() bool { return len(e.rules)+len(e.added) > 0 }

// listInstances returns the occurrences that start from one time to another, in order.
func (b *schedule) listInstances(from, to time.Time) (out []instance) {
	in := func(t time.Time) bool { return !t.Before(from) && !t.After(to) }
	ids := make([]string, 0, len(b.series))
	for id := range b.series {
		ids = append(ids, id)
	}
	slices.Sort(ids) // keeps the truncation stable
	for _, id := range ids {
		e := b.series[id]
		if !e.isRecurring() {
			if start := e.start.toTime(); in(start) {
				out = append(out, e.newInstance(0, start))
			}
			continue
		}
		for _, start := range b.series[id].expandOccurrences(from, to, b) {
			if of := start.Unix(); b.changed[id][of] == nil && in(start) {
				out = append(out, e.newInstance(of, start))
			}
		}
	}
	for _, apart := range b.changed {
		for of, e := range apart {
			if start := e.start.toTime(); in(start) {
				out = append(out, e.newInstance(of, start))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b instance) int {
		return cmp.Or(a.start.Compare(b.start), strings.Compare(a.uid, b.uid), cmp.Compare(a.of, b.of))
	})
	return out
}

// expandOccurrences returns the starts of a series in the window and a margin.
func (e *event) expandOccurrences(from, to time.Time, b *schedule) (out []time.Time) {
	zone := e.start.zone
	low, high := wallOf(from.In(zone)).AddDate(0, 0, -1), wallOf(to.In(zone)).AddDate(0, 0, 1)
	var all []moment
	if len(e.rules) == 0 {
		all = append(all, e.start)
	}
	for _, r := range e.rules {
		walls, ok := expandRule(r, e.start.wall, low, high, &b.steps)
		if !ok {
			b.broken[e.uid] = true // incomplete
		}
		for _, w := range walls {
			all = append(all, moment{wall: w, zone: zone, day: e.start.day})
		}
	}
	for _, m := range append(all, e.added...) {
		t := m.toTime()
		if !m.wall.Before(low) && !m.wall.After(high) && !e.excluded[t.Unix()] && !e.excludedDays[m.wall.Truncate(24*time.Hour).Unix()] {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// findInstance returns a reported occurrence at its current time.
func (b *schedule) findInstance(uid string, of int64) (instance, bool) {
	if e := b.changed[uid][of]; e != nil && of != 0 {
		return e.newInstance(of, e.start.toTime()), true
	}
	e := b.series[uid]
	switch {
	case e == nil:
		return instance{}, false
	case of == 0 && !e.isRecurring():
		return e.newInstance(0, e.start.toTime()), true
	case of == 0 || !e.isRecurring():
		return instance{}, false
	}
	t := time.Unix(of, 0)
	for _, start := range e.expandOccurrences(t, t, b) {
		if start.Equal(t) {
			return e.newInstance(of, start), true
		}
	}
	return instance{}, false
}
