package calendar

import (
	"slices"
	"time"
)

// Bounds of what recurs.
const (
	maxSteps     = 15_000  // days that are tried, and times that are found, for a rule
	maxAllSteps  = 300_000 // for all of a look
	maxInstances = 200     // of a rule
	maxTimes     = 1440    // of a day
)

// An expander finds the times of a rule that are in a window. All times are on the wall.
// It jumps to the window unless the rule counts, and gives up after so many steps: rules
// are written by strangers, and "every second, on 30 February" is one.
type expander struct {
	rule
	start    time.Time
	from, to time.Time
	steps    *int // what is left for all rules
	left     int  // for this
	counted  int
	out      []time.Time
	done     bool
	times    []time.Duration // of a period
}

// expand returns when a rule recurs from one time to another, both included. It reports
// whether it got to the end: if not, some may be missing.
func expand(r rule, start, from, to time.Time, steps *int) ([]time.Time, bool) {
	r.complete(start)
	e := expander{rule: r, start: start, from: from, to: to, steps: steps, left: min(maxSteps, *steps)}
	if !r.until.IsZero() && r.until.Before(to) {
		e.to = r.until
	}
	if e.to.Before(start) {
		return nil, true
	}
	before := e.left
	if r.freq < hourly && !e.clocks() {
		return nil, false
	}
	for k := e.first(); !e.done; k++ {
		begin, days := e.period(k)
		if begin.After(e.to) || begin.Year() > 9999 {
			break
		}
		if e.left <= 0 {
			*steps -= before
			return e.out, false
		}
		if r.freq >= hourly {
			k += e.instant(begin)
			continue
		}
		e.days(begin, days)
	}
	*steps -= before - e.left
	return e.out, true
}

// clocks makes the times of a day, for rules of days and longer.
func (e *expander) clocks() bool {
	hours, minutes, seconds := e.hour.numbers(0, 23), e.minute.numbers(0, 59), e.second.numbers(0, 59)
	if len(hours)*len(minutes)*len(seconds) > maxTimes {
		return false
	}
	for _, h := range hours {
		for _, m := range minutes {
			for _, s := range seconds {
				e.times = append(e.times, time.Duration(h)*time.Hour+time.Duration(m)*time.Minute+time.Duration(s)*time.Second)
			}
		}
	}
	return true
}

// unit returns how long a period is, of those that are all alike.
func (e *expander) unit() time.Duration {
	switch e.freq {
	case weekly:
		return 7 * 24 * time.Hour
	case daily:
		return 24 * time.Hour
	case hourly:
		return time.Hour
	case minutely:
		return time.Minute
	}
	return time.Second
}

// first returns the number of the period to begin with.
func (e *expander) first() int {
	if e.count > 0 || e.from.Before(e.start) {
		return 0
	}
	var past int
	switch e.freq {
	case yearly:
		past = e.from.Year() - e.start.Year()
	case monthly:
		past = 12*(e.from.Year()-e.start.Year()) + int(e.from.Month()-e.start.Month())
	default:
		past = int((e.from.Unix() - e.start.Unix()) / int64(e.unit()/time.Second))
	}
	return max(past/e.interval-1, 0)
}

// period returns when the kth period begins, and how many days it has.
func (e *expander) period(k int) (begin time.Time, days int) {
	day := time.Date(e.start.Year(), e.start.Month(), e.start.Day(), 0, 0, 0, 0, time.UTC)
	n := k * e.interval
	switch e.freq {
	case yearly:
		begin = time.Date(e.start.Year()+n, 1, 1, 0, 0, 0, 0, time.UTC)
		return begin, daysIn(begin.Year())
	case monthly:
		begin = time.Date(e.start.Year(), e.start.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		return begin, begin.AddDate(0, 1, -1).Day()
	case weekly:
		return day.AddDate(0, 0, 7*n-(int(day.Weekday()-e.wkst)+7)%7), 7
	case daily:
		return day.AddDate(0, 0, n), 1
	}
	unit := e.unit()
	begin = e.start.Truncate(unit)
	seconds := int64(n) * int64(unit/time.Second)
	return time.Unix(begin.Unix()+seconds, 0).UTC(), 0
}

// days finds the times of a period of days.
func (e *expander) days(begin time.Time, days int) {
	var found []time.Time
	for i := range days {
		e.left--
		day := begin.AddDate(0, 0, i)
		if !e.fits(day) {
			continue
		}
		if e.left -= len(e.times); e.left <= 0 {
			return
		}
		for _, t := range e.times {
			found = append(found, day.Add(t))
		}
	}
	e.emit(e.positions(found))
}

// instant finds the times of an hour, minute or second, and returns how many periods can
// be passed over.
func (e *expander) instant(begin time.Time) (skip int) {
	e.left--
	step := time.Duration(e.interval) * e.unit()
	if !e.fits(begin) {
		next := time.Date(begin.Year(), begin.Month(), begin.Day()+1, 0, 0, 0, 0, time.UTC)
		return max(int((next.Sub(begin)-1)/step), 0)
	}
	if e.hour.any && !e.hour.has(begin.Hour()) {
		return max(int((begin.Truncate(time.Hour).Add(time.Hour).Sub(begin)-1)/step), 0)
	}
	if e.freq >= minutely && e.minute.any && !e.minute.has(begin.Minute()) {
		return max(int((begin.Truncate(time.Minute).Add(time.Minute).Sub(begin)-1)/step), 0)
	}
	if e.freq == secondly {
		if !e.second.any || e.second.has(begin.Second()) {
			e.emit([]time.Time{begin})
		}
		return 0
	}
	minutes := []int{0}
	if e.freq == hourly {
		minutes = e.minute.numbers(0, 59)
	}
	var found []time.Time
	for _, m := range minutes {
		for _, s := range e.second.numbers(0, 59) {
			found = append(found, begin.Add(time.Duration(m)*time.Minute+time.Duration(s)*time.Second))
		}
	}
	e.left -= len(found)
	e.emit(e.positions(found))
	return 0
}

// positions returns those of a period's times that the rule wants.
func (e *expander) positions(found []time.Time) []time.Time {
	if len(e.setPos) == 0 {
		return found
	}
	var out []time.Time
	for _, p := range e.setPos {
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

// emit takes those times that are in the window.
func (e *expander) emit(times []time.Time) {
	for _, t := range times {
		if t.Before(e.start) {
			continue
		}
		if e.counted++; t.After(e.to) || e.count > 0 && e.counted > e.count || len(e.out) == maxInstances {
			e.done = true
			return
		}
		if !t.Before(e.from) {
			e.out = append(e.out, t)
		}
	}
}

// fits reports whether a day is one of the rule.
func (e *expander) fits(day time.Time) bool {
	if e.month.any && !e.month.has(int(day.Month())) {
		return false
	}
	if (e.weekday.any || e.nth.any) && !e.weekday.has(int(day.Weekday())) && !e.isNth(day) {
		return false
	}
	if e.monthDay.any && !e.monthDay.has(day.Day()) && !e.monthDay.has(day.Day()-1-daysOf(day)) {
		return false
	}
	if e.yearDay.any && !e.yearDay.has(day.YearDay()) && !e.yearDay.has(day.YearDay()-1-daysIn(day.Year())) {
		return false
	}
	if e.weekNo.any {
		n, all := weekOf(day, e.wkst)
		return e.weekNo.has(n) || e.weekNo.has(n-1-all)
	}
	return true
}

// isNth reports whether a day is the nth of its weekday, in its month or year.
func (e *expander) isNth(day time.Time) bool {
	if !e.nth.any {
		return false
	}
	at, all := day.Day(), daysOf(day)
	if e.freq == yearly && !e.month.any {
		at, all = day.YearDay(), daysIn(day.Year())
	}
	return e.nth.has(nthIndex((at-1)/7+1, day.Weekday())) || e.nth.has(nthIndex(-((all-at)/7+1), day.Weekday()))
}

// daysOf returns how many days the month of a day has.
func daysOf(day time.Time) int {
	if day.Month() == time.February {
		return 28 + daysIn(day.Year()) - 365
	}
	return 30 + int(day.Month()+day.Month()/8)%2
}

// daysIn returns how many days a year has.
func daysIn(year int) int {
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 366
	}
	return 365
}

// weekOf returns the number of a day's week, and how many weeks its year has. The first
// is that which has most of its days in the year.
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
