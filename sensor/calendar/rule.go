package calendar

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A freq is how often a rule repeats.
type freq int

const (
	yearly freq = iota
	monthly
	weekly
	daily
	hourly
	minutely
	secondly
)

var freqs = map[string]freq{
	"YEARLY": yearly, "MONTHLY": monthly, "WEEKLY": weekly, "DAILY": daily,
	"HOURLY": hourly, "MINUTELY": minutely, "SECONDLY": secondly,
}

// A rule says when something recurs: an RRULE. Its times are those of a clock on the
// wall, which are kept as times in UTC here.
type rule struct {
	freq     freq
	interval int
	count    int       // 0: without end
	until    time.Time // zero: without end
	wkst     time.Weekday
	month    set
	monthDay set // negative: from the end
	yearDay  set
	weekNo   set
	weekday  set // of the time package
	nth      set // nthIndex of those of a month or year
	hour     set
	minute   set
	second   set
	setPos   []int
}

// A set has numbers from -384 to 383.
type set struct {
	bits [12]uint64
	any  bool
}

const setZero = 384

func (s *set) add(n int) {
	s.any = true
	s.bits[(n+setZero)/64] |= 1 << ((n + setZero) % 64)
}

func (s *set) has(n int) bool { return s.bits[(n+setZero)/64]&(1<<((n+setZero)%64)) != 0 }

// numbers returns those from low to high.
func (s *set) numbers(low, high int) (out []int) {
	for n := low; n <= high; n++ {
		if s.has(n) {
			out = append(out, n)
		}
	}
	return out
}

// nthIndex is where the nth weekday (1 to 53, or negative from the end) is in a set.
func nthIndex(n int, day time.Weekday) int { return n*7 + int(day) }

const maxInterval = 100_000

var errRule = errors.New("the rule of recurrence cannot be read")

// parseRule reads an RRULE whose times are on clocks of a zone.
func parseRule(value string, zone *time.Location) (rule, error) {
	r := rule{interval: 1, wkst: time.Monday, freq: -1}
	for part := range strings.SplitSeq(strings.ToUpper(strings.TrimSpace(value)), ";") {
		key, v, _ := strings.Cut(part, "=")
		if err := r.part(strings.TrimSpace(key), strings.TrimSpace(v), zone); err != nil {
			return rule{}, err
		}
	}
	if r.freq < 0 {
		return rule{}, errRule
	}
	return r, nil
}

func (r *rule) part(key, value string, zone *time.Location) (err error) {
	switch key {
	case "FREQ":
		f, ok := freqs[value]
		if !ok {
			return errRule
		}
		r.freq = f
	case "INTERVAL":
		r.interval, err = number(value, 1, maxInterval)
	case "COUNT":
		r.count, err = number(value, 1, 1<<30)
	case "UNTIL":
		r.until, err = until(value, zone)
	case "WKST":
		day, ok := weekdays[value]
		if !ok {
			return errRule
		}
		r.wkst = day
	case "BYDAY":
		err = r.days(value)
	case "BYSETPOS":
		err = each(value, -366, 366, func(n int) { r.setPos = append(r.setPos, n) })
	default:
		err = r.by(key, value)
	}
	return err
}

func (r *rule) by(key, value string) error {
	bounds := map[string]struct {
		set       *set
		low, high int
	}{
		"BYMONTH": {&r.month, 1, 12}, "BYMONTHDAY": {&r.monthDay, -31, 31}, "BYYEARDAY": {&r.yearDay, -366, 366}, "BYWEEKNO": {&r.weekNo, -53, 53},
		"BYHOUR": {&r.hour, 0, 23}, "BYMINUTE": {&r.minute, 0, 59}, "BYSECOND": {&r.second, 0, 59},
	}
	b, ok := bounds[key]
	if !ok {
		return nil // an extension
	}
	return each(value, b.low, b.high, b.set.add)
}

// each calls f with the numbers of a list. Where there are negative ones, there is no 0.
func each(list string, low, high int, f func(int)) error {
	for v := range strings.SplitSeq(list, ",") {
		n, err := number(strings.TrimSpace(v), low, high)
		if err != nil || n == 0 && low < 0 {
			return errRule
		}
		f(n)
	}
	return nil
}

func number(s string, low, high int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%w: %.20q", errRule, s)
	}
	return n, nil
}

var weekdays = map[string]time.Weekday{
	"SU": time.Sunday, "MO": time.Monday, "TU": time.Tuesday, "WE": time.Wednesday,
	"TH": time.Thursday, "FR": time.Friday, "SA": time.Saturday,
}

// days reads a BYDAY: "MO,WE" or "-1FR".
func (r *rule) days(value string) error {
	for v := range strings.SplitSeq(value, ",") {
		if v = strings.TrimSpace(v); len(v) < 2 {
			return errRule
		}
		day, ok := weekdays[v[len(v)-2:]]
		if !ok {
			return errRule
		}
		n := v[:len(v)-2]
		if n == "" {
			r.weekday.add(int(day))
			continue
		}
		nth, err := number(n, -53, 53)
		if err != nil || nth == 0 {
			return errRule
		}
		r.nth.add(nthIndex(nth, day))
	}
	return nil
}

// until reads the end of a rule, which is in UTC, or on the wall, or a day.
func until(value string, zone *time.Location) (time.Time, error) {
	t, day, err := clock(value)
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

// clock reads a date, or a date and time, as they are on the wall.
func clock(value string) (t time.Time, day bool, err error) {
	value = strings.TrimSuffix(value, "Z")
	if len(value) == len("20060102") {
		t, err = time.Parse("20060102", value)
		return t, true, err
	}
	t, err = time.Parse("20060102T150405", value)
	return t, false, err
}

// wallOf returns what clocks show at a time, as a time in UTC.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// complete takes from the start what the rule leaves open.
func (r *rule) complete(start time.Time) {
	if r.freq > monthly { // there are no others
		for i := -53; i <= 53; i++ {
			for day := time.Sunday; day <= time.Saturday; day++ {
				if i != 0 && r.nth.any && r.nth.has(nthIndex(i, day)) {
					r.weekday.add(int(day))
				}
			}
		}
		r.nth = set{}
	}
	if !r.weekNo.any && !r.yearDay.any && !r.monthDay.any && !r.weekday.any && !r.nth.any {
		switch r.freq {
		case yearly:
			if !r.month.any {
				r.month.add(int(start.Month()))
			}
			r.monthDay.add(start.Day())
		case monthly:
			r.monthDay.add(start.Day())
		case weekly:
			r.weekday.add(int(start.Weekday()))
		}
	}
	if r.freq < hourly && !r.hour.any {
		r.hour.add(start.Hour())
	}
	if r.freq < minutely && !r.minute.any {
		r.minute.add(start.Minute())
	}
	if r.freq < secondly && !r.second.any {
		r.second.add(start.Second())
	}
	slices.Sort(r.setPos)
	r.setPos = slices.Compact(r.setPos)
}
