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

// Bounds of what is kept of an event, in bytes.
const (
	maxUID   = 100
	maxTitle = 100
	maxPlace = 80
)

// A moment is a time as a calendar says it: on the wall, in a zone, or a day.
type moment struct {
	wall time.Time
	zone *time.Location
	day  bool
}

func (m moment) time() time.Time { return instant(m.wall, m.zone) }

// An event is an event or a task, all of a series or one of it that is another.
type event struct {
	uid         string
	task        bool
	of          *moment // which one of the series it stands for; nil: all
	start       moment
	length      time.Duration
	rules       []rule
	more        []moment       // besides
	less        map[int64]bool // left out: Unix seconds
	lessDays    map[int64]bool // of which no time is left
	title       string
	place       string
	host        string
	cancelled   bool
	done        bool // a task
	transparent bool // it takes no time
	sequence    int
	stamp       string
}

// A book is a calendar that was read.
type book struct {
	series map[string]*event           // by UID
	apart  map[string]map[int64]*event // by UID and which one of the series it is, in Unix seconds
	broken map[string]bool             // UIDs of what could not be read
	size   int                         // objects
	steps  int                         // that are left for rules
}

// newBook makes sense of objects.
func newBook(objects []*object, user *time.Location, now time.Time) *book {
	b := &book{series: map[string]*event{}, apart: map[string]map[int64]*event{}, broken: map[string]bool{}, steps: maxAllSteps}
	z := &zones{user: user, now: now, own: map[string]*object{}, found: map[string]*time.Location{}, steps: &b.steps}
	for _, o := range objects {
		if o.kind == "VTIMEZONE" && len(z.own) < maxZones {
			z.own[firstValue(o, "TZID")] = o
		}
	}
	for _, o := range objects {
		if o.kind == "VEVENT" || o.kind == "VTODO" {
			b.size++
			b.add(o, z)
		}
	}
	return b
}

func (b *book) add(o *object, z *zones) {
	e, ok := read(o, z)
	if !ok {
		b.broken[e.uid] = true
		return
	}
	if e.of == nil {
		if old := b.series[e.uid]; old == nil || !newer(old, e) {
			b.series[e.uid] = e
		}
		return
	}
	at := e.of.time().Unix()
	if b.apart[e.uid] == nil {
		b.apart[e.uid] = map[int64]*event{}
	}
	if old := b.apart[e.uid][at]; old == nil || !newer(old, e) {
		b.apart[e.uid][at] = e
	}
}

// newer reports whether a is a later version than b.
func newer(a, b *event) bool {
	return cmp.Or(cmp.Compare(a.sequence, b.sequence), strings.Compare(a.stamp, b.stamp)) > 0
}

// read makes sense of an event or a task. If it cannot, the event has only its UID.
func read(o *object, z *zones) (*event, bool) {
	e := &event{
		task: o.kind == "VTODO", title: sensor.Line(o.text("SUMMARY"), maxTitle), place: sensor.Line(o.text("LOCATION"), maxPlace),
		transparent: strings.EqualFold(firstValue(o, "TRANSP"), "TRANSPARENT"), stamp: firstValue(o, "DTSTAMP"),
	}
	e.uid = uid(o, e.title)
	e.sequence, _ = strconv.Atoi(firstValue(o, "SEQUENCE")) // none: 0
	host, _ := o.prop("ORGANIZER")
	e.host = sensor.Line(cmp.Or(host.param("CN"), strings.TrimPrefix(strings.ToLower(host.value), "mailto:")), maxPlace)
	status := strings.ToUpper(firstValue(o, "STATUS"))
	_, completed := o.prop("COMPLETED")
	e.cancelled = status == "CANCELLED"
	e.done = e.task && (completed || status == "COMPLETED" || e.cancelled)
	if !e.times(o, z) {
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
			if len(e.more) < maxMoments {
				e.more = append(e.more, moments(p, z)...)
			}
		case "EXDATE":
			e.leaveOut(moments(p, z))
		}
	}
	return e, true
}

func (e *event) leaveOut(list []moment) {
	if e.less == nil {
		e.less, e.lessDays = map[int64]bool{}, map[int64]bool{}
	}
	for _, m := range list {
		if m.day {
			e.lessDays[m.wall.Unix()] = true
		}
		e.less[m.time().Unix()] = true
	}
}

// uid returns what an object is called, in a form that can be shown and kept.
func uid(o *object, title string) string {
	id := firstValue(o, "UID")
	if id == "" {
		id = title + " " + firstValue(o, "DTSTART") + firstValue(o, "DUE")
	}
	if line := sensor.Line(id, maxUID); line == id && !strings.ContainsAny(id, `<>&"\`) {
		return line
	}
	return plain(sensor.Line(id, maxUID-20)) + " #" + sensor.Hash(id)
}

// plain leaves out letters that JSON writes as several.
func plain(s string) string {
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

// times reads when an event begins and ends. A task is when it is due.
func (e *event) times(o *object, z *zones) bool {
	first, last := "DTSTART", "DTEND"
	if e.task {
		first = "DUE"
		if _, ok := o.prop(first); !ok { // without an end there is nothing to remind of
			return false
		}
	}
	p, ok := o.prop(first)
	if !ok {
		return false
	}
	var err error
	if e.start, err = when(p, z); err != nil {
		return false
	}
	if p, ok = o.prop("RECURRENCE-ID"); ok {
		of, err := when(p, z)
		if err != nil {
			return false
		}
		e.of = &of
	}
	if e.start.day {
		e.length = 24 * time.Hour
	}
	if e.task {
		return true
	}
	if p, ok = o.prop(last); ok {
		if end, err := when(p, z); err == nil && end.time().After(e.start.time()) {
			e.length = end.time().Sub(e.start.time())
		}
	} else if d, ok := duration(firstValue(o, "DURATION")); ok {
		e.length = d
	}
	return true
}

// when reads a property that is a time.
func when(p prop, z *zones) (moment, error) {
	value := strings.TrimSpace(p.value)
	wall, day, err := clock(value)
	m := moment{wall: wall, day: day, zone: z.user}
	switch {
	case day: // of the user, wherever they are
	case strings.HasSuffix(value, "Z"):
		m.zone = time.UTC
	default:
		m.zone = z.zone(p.param("TZID"))
	}
	return m, err
}

const maxMoments = 1000 // of a property

// moments reads a property that is a list of times or periods. Those that cannot be read
// are left out.
func moments(p prop, z *zones) (out []moment) {
	for v := range strings.SplitSeq(p.value, ",") {
		v, _, _ = strings.Cut(v, "/")
		if m, err := when(prop{params: p.params, value: v}, z); err == nil && len(out) < maxMoments {
			out = append(out, m)
		}
	}
	return out
}

var durations = regexp.MustCompile(`^\+?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$`)

// duration reads a positive duration: "PT1H30M".
func duration(s string) (d time.Duration, ok bool) {
	m := durations.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	for i, unit := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(m[i+1]) // missing: none
		d += time.Duration(n) * unit
	}
	return d, true
}

// An instance is an event at one of its times.
type instance struct {
	*event
	of    int64 // which one of a series, in Unix seconds; 0: there is no series
	start time.Time
	end   time.Time
}

func (e *event) at(of int64, start time.Time) instance {
	return instance{event: e, of: of, start: start, end: start.Add(e.length)}
}

// recurs reports whether an event is a series.
func (e *event) recurs() bool { return len(e.rules)+len(e.more) > 0 }

// between returns what begins from one time to another, in order.
func (b *book) between(from, to time.Time) (out []instance) {
	in := func(t time.Time) bool { return !t.Before(from) && !t.After(to) }
	ids := make([]string, 0, len(b.series))
	for id := range b.series {
		ids = append(ids, id)
	}
	slices.Sort(ids) // so that the same ones are cut off where there are too many
	for _, id := range ids {
		e := b.series[id]
		if !e.recurs() {
			if start := e.start.time(); in(start) {
				out = append(out, e.at(0, start))
			}
			continue
		}
		for _, start := range b.series[id].occurrences(from, to, b) {
			if of := start.Unix(); b.apart[id][of] == nil && in(start) {
				out = append(out, e.at(of, start))
			}
		}
	}
	for _, apart := range b.apart {
		for of, e := range apart {
			if start := e.start.time(); in(start) {
				out = append(out, e.at(of, start))
			}
		}
	}
	slices.SortStableFunc(out, func(a, b instance) int {
		return cmp.Or(a.start.Compare(b.start), strings.Compare(a.uid, b.uid), cmp.Compare(a.of, b.of))
	})
	return out
}

// occurrences returns when an event of a series begins in a window, and around it.
func (e *event) occurrences(from, to time.Time, b *book) (out []time.Time) {
	zone := e.start.zone
	low, high := wallOf(from.In(zone)).AddDate(0, 0, -1), wallOf(to.In(zone)).AddDate(0, 0, 1)
	var all []moment
	if len(e.rules) == 0 {
		all = append(all, e.start)
	}
	for _, r := range e.rules {
		walls, ok := expand(r, e.start.wall, low, high, &b.steps)
		if !ok {
			b.broken[e.uid] = true // not all are known
		}
		for _, w := range walls {
			all = append(all, moment{wall: w, zone: zone, day: e.start.day})
		}
	}
	for _, m := range append(all, e.more...) {
		t := m.time()
		if !m.wall.Before(low) && !m.wall.After(high) && !e.less[t.Unix()] && !e.lessDays[m.wall.Truncate(24*time.Hour).Unix()] {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

// find returns an event that was seen, wherever in time it is now.
func (b *book) find(uid string, of int64) (instance, bool) {
	if e := b.apart[uid][of]; e != nil && of != 0 {
		return e.at(of, e.start.time()), true
	}
	e := b.series[uid]
	switch {
	case e == nil:
		return instance{}, false
	case of == 0 && !e.recurs():
		return e.at(0, e.start.time()), true
	case of == 0 || !e.recurs():
		return instance{}, false
	}
	t := time.Unix(of, 0)
	for _, start := range e.occurrences(t, t, b) {
		if start.Equal(t) {
			return e.at(of, start), true
		}
	}
	return instance{}, false
}
