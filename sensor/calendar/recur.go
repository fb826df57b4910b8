package calendar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

// A rule is an RRULE as rrule-go parses it. Its wall times are stored as UTC.
type rule struct{ rrule.ROption }

const maxInterval = 100_000

var errRule = errors.New("invalid recurrence rule")

// ruleKeys are the supported parts of an RRULE besides UNTIL.
var ruleKeys = map[string]bool{
	"FREQ": true, "INTERVAL": true, "COUNT": true, "WKST": true, "BYDAY": true, "BYSETPOS": true, "BYMONTH": true, "BYMONTHDAY": true,
	"BYYEARDAY": true, "BYWEEKNO": true, "BYHOUR": true, "BYMINUTE": true, "BYSECOND": true,
}

// parseRule parses an RRULE with wall times in zone. It ignores extensions.
func parseRule(value string, zone *time.Location) (r rule, err error) {
	var parts []string
	var end time.Time
	given := map[string]bool{}
	for part := range strings.SplitSeq(strings.ToUpper(strings.Join(strings.Fields(value), "")), ";") {
		key, v, _ := strings.Cut(part, "=")
		given[key] = true
		switch {
		case key == "UNTIL":
			if end, err = parseUntil(v, zone); err != nil {
				return rule{}, err
			}
		case ruleKeys[key]:
			parts = append(parts, part)
		}
	}
	o, err := rrule.StrToROption(strings.Join(parts, ";"))
	if err != nil {
		return rule{}, fmt.Errorf("%w: %w", errRule, err)
	}
	o.Until = end
	for _, list := range []*[]int{&o.Bysetpos, &o.Bymonth, &o.Bymonthday, &o.Byyearday, &o.Byweekno, &o.Byhour, &o.Byminute, &o.Bysecond} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	checked := *o
	checked.Freq = rrule.SECONDLY // avoids the table of times
	if _, err := rrule.NewRRule(checked); err != nil {
		return rule{}, fmt.Errorf("%w: %w", errRule, err)
	}
	if given["INTERVAL"] && (o.Interval < 1 || o.Interval > maxInterval) || given["COUNT"] && o.Count < 1 {
		return rule{}, errRule
	}
	o.Interval = max(o.Interval, 1)
	return rule{*o}, nil
}

// parseUntil parses the end of a rule: UTC, wall time or day.
func parseUntil(value string, zone *time.Location) (time.Time, error) {
	t, day, err := parseWall(value)
	switch {
	case err != nil:
		return t, err
	case day:
		return t.Add(24*time.Hour - time.Second), nil
	case strings.HasSuffix(value, "Z"):
		return wallOf(t.In(zone)), nil
	}
	return t, nil
}

// parseWall parses a date, or a date and time, as wall time.
func parseWall(value string) (t time.Time, day bool, err error) {
	value = strings.TrimSuffix(value, "Z")
	if len(value) == len(rrule.DateFormat) {
		t, err = time.Parse(rrule.DateFormat, value)
		return t, true, err
	}
	t, err = time.Parse(rrule.LocalDateTimeFormat, value)
	return t, false, err
}

// wallOf returns the wall time of t, stored as UTC.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// fillDefaults fills missing parts of the rule from the start.
func (r *rule) fillDefaults(start time.Time) {
	if r.Freq > rrule.MONTHLY { // no nth weekday below MONTHLY
		r.Byweekday = slices.Clone(r.Byweekday)
		for i, d := range r.Byweekday {
			r.Byweekday[i] = d.Nth(0)
		}
	}
	if len(r.Byweekno)+len(r.Byyearday)+len(r.Bymonthday)+len(r.Byweekday) == 0 {
		switch r.Freq {
		case rrule.YEARLY:
			if len(r.Bymonth) == 0 {
				r.Bymonth = []int{int(start.Month())}
			}
			r.Bymonthday = []int{start.Day()}
		case rrule.MONTHLY:
			r.Bymonthday = []int{start.Day()}
		case rrule.WEEKLY:
			r.Byweekday = []rrule.Weekday{[...]rrule.Weekday{rrule.SU, rrule.MO, rrule.TU, rrule.WE, rrule.TH, rrule.FR, rrule.SA}[start.Weekday()]}
		}
	}
	if r.Freq < rrule.HOURLY && len(r.Byhour) == 0 {
		r.Byhour = []int{start.Hour()}
	}
	if r.Freq < rrule.MINUTELY && len(r.Byminute) == 0 {
		r.Byminute = []int{start.Minute()}
	}
	if r.Freq < rrule.SECONDLY && len(r.Bysecond) == 0 {
		r.Bysecond = []int{start.Second()}
	}
}

// Limits of recurrence.
const (
	maxSteps     = 15_000  // days and times to try for one rule
	maxAllSteps  = 300_000 // for all rules in one look
	maxInstances = 200     // per rule
	maxTimes     = 1440    // per day
)

// An expander finds the times of a rule in a window, all as wall times. It jumps to the window
// unless the rule has a COUNT. The steps are bounded, because rules are untrusted ("every second,
// on 30 February"); rrule-go has no such bound (docs/design/calendar.md).
type expander struct {
	rule
	start    time.Time
	from, to time.Time
	steps    *int // remaining for all rules
	left     int  // remaining for this rule
	counted  int
	out      []time.Time
	done     bool
	times    []time.Duration // in each day
}

// expandRule returns the times of a rule between from and to, inclusive. It returns false if some may
// be missing.
func expandRule(r rule, start, from, to time.Time, steps *int) ([]time.Time, bool) {
	r.fillDefaults(start)
	e := expander{rule: r, start: start, from: from, to: to, steps: steps, left: min(maxSteps, *steps)}
	if !r.Until.IsZero() && r.Until.Before(to) {
		e.to = r.Until
	}
	if e.to.Before(start) {
		return nil, true
	}
	before := e.left
	if r.Freq < rrule.HOURLY && !e.buildTimes() {
		return nil, false
	}
	for k := e.firstPeriod(); !e.done; k++ {
		begin, days := e.periodStart(k)
		if begin.After(e.to) || begin.Year() > 9999 {
			break
		}
		if e.left <= 0 {
			*steps -= before
			return e.out, false
		}
		if r.Freq >= rrule.HOURLY {
			k += e.addInstant(begin)
			continue
		}
		e.addDays(begin, days)
	}
	*steps -= before - e.left
	return e.out, true
}

// buildTimes computes the times of a day, for daily and longer periods.
func (e *expander) buildTimes() bool {
	if len(e.Byhour)*len(e.Byminute)*len(e.Bysecond) > maxTimes {
		return false
	}
	for _, h := range e.Byhour {
		for _, m := range e.Byminute {
			for _, s := range e.Bysecond {
				e.times = append(e.times, time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(s)*time.Second)
			}
		}
	}
	return true
}

// periodLength returns the length of periods of constant length.
func (e *expander) periodLength() time.Duration {
	switch e.Freq {
	case rrule.WEEKLY:
		return 7 * 24 * time.Hour
	case rrule.DAILY:
		return 24 * time.Hour
	case rrule.HOURLY:
		return time.Hour
	case rrule.MINUTELY:
		return time.Minute
	}
	return time.Second
}

// firstPeriod returns the number of the first period to try.
func (e *expander) firstPeriod() int {
	if e.Count > 0 || e.from.Before(e.start) {
		return 0
	}
	var past int
	switch e.Freq {
	case rrule.YEARLY:
		past = e.from.Year() - e.start.Year()
	case rrule.MONTHLY:
		past = 12*(e.from.Year()-e.start.Year()) + int(e.from.Month()-e.start.Month())
	default:
		past = int((e.from.Unix() - e.start.Unix()) / int64(e.periodLength()/time.Second))
	}
	return max(past/e.Interval-1, 0)
}

// periodStart returns the start of period k and its number of days.
func (e *expander) periodStart(k int) (begin time.Time, days int) {
	day := time.Date(e.start.Year(), e.start.Month(), e.start.Day(), 0, 0, 0, 0, time.UTC)
	n := k * e.Interval
	switch e.Freq {
	case rrule.YEARLY:
		begin = time.Date(e.start.Year()+n, 1, 1, 0, 0, 0, 0, time.UTC)
		return begin, daysInYear(begin.Year())
	case rrule.MONTHLY:
		begin = time.Date(e.start.Year(), e.start.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		return begin, begin.AddDate(0, 1, -1).Day()
	case rrule.WEEKLY:
		return day.AddDate(0, 0, 7*n-(int(day.Weekday()-e.weekStart())+7)%7), 7
	case rrule.DAILY:
		return day.AddDate(0, 0, n), 1
	}
	unit := e.periodLength()
	begin = e.start.Truncate(unit)
	seconds := int64(n) * int64(unit/time.Second)
	return time.Unix(begin.Unix()+seconds, 0).UTC(), 0
}

func (e *expander) addDays(begin time.Time, days int) {
	var found []time.Time
	for i := range days {
		e.left--
		day := begin.AddDate(0, 0, i)
		if !e.matchesDay(day) {
			continue
		}
		if e.left -= len(e.times); e.left <= 0 {
			return
		}
		for _, t := range e.times {
			found = append(found, day.Add(t))
		}
	}
	e.addTimes(e.selectPositions(found))
}

// addInstant adds the times of an hour, minute or second and returns the number of periods to
// skip.
func (e *expander) addInstant(begin time.Time) (skip int) {
	e.left--
	step := time.Duration(e.Interval) * e.periodLength()
	if !e.matchesDay(begin) {
		next := time.Date(begin.Year(), begin.Month(), begin.Day()+1, 0, 0, 0, 0, time.UTC)
		return max(int((next.Sub(begin)-1)/step), 0)
	}
	if !isAllowed(e.Byhour, begin.Hour()) {
		return max(int((begin.Truncate(time.Hour).Add(time.Hour).Sub(begin)-1)/step), 0)
	}
	if e.Freq >= rrule.MINUTELY && !isAllowed(e.Byminute, begin.Minute()) {
		return max(int((begin.Truncate(time.Minute).Add(time.Minute).Sub(begin)-1)/step), 0)
	}
	if e.Freq == rrule.SECONDLY {
		if isAllowed(e.Bysecond, begin.Second()) {
			e.addTimes([]time.Time{begin})
		}
		return 0
	}
	minutes := []int{0}
	if e.Freq == rrule.HOURLY {
		minutes = e.Byminute
	}
	var found []time.Time
	for _, m := range minutes {
		for _, s := range e.Bysecond {
			found = append(found, begin.Add(time.Duration(m)*time.Minute+time.Duration(s)*time.Second))
		}
	}
	e.left -= len(found)
	e.addTimes(e.selectPositions(found))
	return 0
}

// selectPositions applies BYSETPOS to the times of a period.
func (e *expander) selectPositions(found []time.Time) []time.Time {
	if len(e.Bysetpos) == 0 {
		return found
	}
	var out []time.Time
	for _, p := range e.Bysetpos {
		if p < 0 {
			p += len(found) + 1
		}
		if p >= 1 && p <= len(found) {
			out = append(out, found[p-1])
		}
	}
	slices.SortStableFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}

func (e *expander) addTimes(times []time.Time) {
	for _, t := range times {
		if t.Before(e.start) {
			continue
		}
		if e.counted++; t.After(e.to) || e.Count > 0 && e.counted > e.Count || len(e.out) == maxInstances {
			e.done = true
			return
		}
		if !t.Before(e.from) {
			e.out = append(e.out, t)
		}
	}
}

func (e *expander) matchesDay(day time.Time) bool {
	if !isAllowed(e.Bymonth, int(day.Month())) || !e.matchesWeekday(day) || !isAllowed(e.Bymonthday, day.Day(), day.Day()-1-daysInMonth(day)) ||
		!isAllowed(e.Byyearday, day.YearDay(), day.YearDay()-1-daysInYear(day.Year())) {
		return false
	}
	if len(e.Byweekno) == 0 {
		return true
	}
	n, all := weekOf(day, e.weekStart())
	return isAllowed(e.Byweekno, n, n-1-all)
}

// isAllowed reports whether list is empty or contains one of values.
func isAllowed(list []int, values ...int) bool {
	return len(list) == 0 || slices.ContainsFunc(values, func(v int) bool { return slices.Contains(list, v) })
}

// matchesWeekday reports whether a day matches BYDAY, including its position in the month or year.
func (e *expander) matchesWeekday(day time.Time) bool {
	if len(e.Byweekday) == 0 {
		return true
	}
	at, all := day.Day(), daysInMonth(day)
	if e.Freq == rrule.YEARLY && len(e.Bymonth) == 0 {
		at, all = day.YearDay(), daysInYear(day.Year())
	}
	return slices.ContainsFunc(e.Byweekday, func(d rrule.Weekday) bool {
		return toWeekday(d) == day.Weekday() && (d.N() == 0 || d.N() == (at-1)/7+1 || d.N() == -((all-at)/7+1))
	})
}

func toWeekday(d rrule.Weekday) time.Weekday { return time.Weekday((d.Day() + 1) % 7) }

func (e *expander) weekStart() time.Weekday { return toWeekday(e.Wkst) }

// daysInMonth returns the number of days in the month of day.
func daysInMonth(day time.Time) int {
	return time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func daysInYear(year int) int { return time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay() }

// weekOf returns the week number of a day and the number of weeks in its year. Week 1 has most of
// its days in the year.
func weekOf(day time.Time, wkst time.Weekday) (n, all int) {
	begin := day.AddDate(0, 0, -(int(day.Weekday()-wkst)+7)%7)
	year := begin.AddDate(0, 0, 3).Year()
	first := firstWeek(year, wkst)
	n = int(begin.Sub(first)/(7*24*time.Hour)) + 1
	return n, int(firstWeek(year+1, wkst).Sub(first) / (7 * 24 * time.Hour))
}

func firstWeek(year int, wkst time.Weekday) time.Time {
	fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
	return fourth.AddDate(0, 0, -(int(fourth.Weekday()-wkst)+7)%7)
}
