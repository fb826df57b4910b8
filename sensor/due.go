package sensor

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits and default hours of dates.
const (
	maxTextBytes  = 8000 // bytes of a text to read
	maxDates      = 50   // per sentence
	endOfWorkday  = 18   // deadline hour without a time
	endOfEvening  = 22   // the same for an evening
	maxAhead      = 366 * 24 * time.Hour
	maxRecurrence = 300 * 24 * time.Hour // a day without a year whose next occurrence is later is past
)

// FindDeadline returns the earliest future deadline in an English or German text. A deadline is a date,
// weekday or time of today after a word such as by, until, due or bis, or a word such as tomorrow.
// Times are in the zone of now. A deadline without a time is at 18:00, for "tonight" at 22:00. Due
// ignores past deadlines and those more than a year ahead.
func FindDeadline(text string, now time.Time) (at time.Time, ok bool) {
	text = strings.ToValidUTF8(text[:min(len(text), maxTextBytes)], "\uFFFD")
	for _, s := range splitSentences(text) {
		list := datesIn(s)
		for _, loc := range list {
			f := dateMatch{sentence: s, loc: loc, now: now}
			clock := f.groupText("clock") != ""
			t, is := f.findDeadline()
			if is && (!ok || t.Before(at)) && !(clock && hasDay(list)) {
				at, ok = t, true
			}
		}
	}
	return at, ok
}

// splitSentences splits a text without breaking dates and abbreviations.
func splitSentences(text string) (list []string) {
	start := 0
	for i := range len(text) {
		end := text[i] == '\n' || text[i] == ';'
		if next := text[i+1:]; strings.HasPrefix(next, " ") || strings.HasPrefix(next, "\n") {
			end = end || text[i] == '!' || text[i] == '?' || text[i] == '.' && !shortForm.MatchString(text[max(start, i-6):i])
		}
		if end {
			list, start = append(list, text[start:i+1]), i+1
		}
	}
	return append(list, text[start:])
}

// shortForm matches text before a point that does not end a sentence.
var shortForm = regexp.MustCompile(`(?i)(?:\d|\b(?:jan|feb|mar|mär|apr|jun|jul|aug|sept?|okt|oct|nov|de[cz]|mo|di|mi|do|fr|sa|so|mon|tue|wed|thu|fri|sat|sun|no|nr|[ap]|[ap]\.m))$`)

const (
	monthNames = `jan(?:uary|uar|\.)?|jänner|feb(?:ruary|ruar|\.)?|mar(?:ch|\.)?|märz|maerz|apr(?:il|\.)?|may|mai|june?|juni|july?|juli|aug(?:ust|\.)?|sept?(?:ember|\.)?|o[ck]t(?:ober|\.)?|nov(?:ember|\.)?|de[cz](?:ember|\.)?`
	dayNames   = `(?:mon|tues|wednes|thurs|fri|satur|sun)day|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag`
	clockNames = `\d{1,2}:\d\d|\d{1,2} ?[ap]\.?m\b\.?|\d{1,2}(?:[.:]\d\d)? uhr|noon|midnight|mittags?|mitternacht`
)

var datePattern = regexp.MustCompile(`(?i)(?:^|[^\pL\pN])(?:` +
	`(?P<iso>\d{4}-\d\d-\d\d)` +
	`|(?P<day>\d{1,2})(?:st|nd|rd|th|\.)? ?(?:of )?(?P<month>` + monthNames + `)(?:,? (?P<year>\d{4}))?` +
	`|(?P<usmonth>` + monthNames + `) (?P<usday>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<usyear>\d{4}))?` +
	`|(?P<point>\d{1,2}\. ?\d{1,2}\.(?: ?\d{4}|\d\d)?)` +
	`|(?P<slash>\d{1,2}/\d{1,2}(?:/\d{4}|/\d\d)?)` +
	`|(?P<weekday>` + dayNames + `)` +
	`|(?P<relative>day after tomorrow|tomorrow|tonight|today|heute abend|heute|übermorgen|uebermorgen|morgen|end of (?:the )?(?:day|week|month)|ende der woche|ende des monats)` +
	`|(?P<in>in|within|binnen|innerhalb von) (?P<count>\d{1,3}) (?P<unit>hours?|days?|weeks?|stunden?|tage?n?|wochen?)` +
	`|(?P<clock>` + clockNames + `)` +
	`)(?:$|[^\pL\pN/-])`)

// datesIn returns the submatch indexes of the dates in a sentence.
func datesIn(s string) (list [][]int) {
	for start := 0; len(list) < maxDates; {
		loc := datePattern.FindStringSubmatchIndex(s[start:])
		if loc == nil {
			break
		}
		for i := range loc {
			if loc[i] >= 0 {
				loc[i] += start
			}
		}
		list = append(list, loc)
		_, start = dateMatch{loc: loc}.matchSpan()
	}
	return list
}

// hasDay reports whether a match names more than a time of day.
func hasDay(list [][]int) bool {
	return slices.ContainsFunc(list, func(loc []int) bool { return loc[2*datePattern.SubexpIndex("clock")] < 0 })
}

type dateMatch struct {
	sentence string
	loc      []int
	now      time.Time
}

// groupText returns the text of a group of datePattern, in lower case.
func (f dateMatch) groupText(name string) string {
	i := 2 * datePattern.SubexpIndex(name)
	if f.loc[i] < 0 {
		return ""
	}
	return strings.ToLower(f.sentence[f.loc[i]:f.loc[i+1]])
}

// findDeadline returns the deadline, if the date is one.
func (f dateMatch) findDeadline() (time.Time, bool) {
	day, exact, ok := f.parseDay()
	if !ok || !f.isDeadline() {
		return time.Time{}, false
	}
	at := day
	if !exact {
		at = f.timeOf(day)
		if end := startOfDay(day).AddDate(0, 0, 1).Add(-time.Minute); !at.After(f.now) && f.clockText() == "" {
			at = end
		}
	}
	return at, at.After(f.now) && at.Sub(f.now) <= maxAhead
}

// timeOf returns the time of day in the sentence, or the default hour, on a day.
func (f dateMatch) timeOf(day time.Time) time.Time {
	hour, minute := endOfWorkday, 0
	if r := f.groupText("relative"); r == "tonight" || r == "heute abend" {
		hour = endOfEvening
	}
	if s := f.clockText(); s != "" {
		hour, minute = clockOf(s)
	}
	y, m, d := day.Date()
	return time.Date(y, m, d, hour, minute, 0, 0, day.Location())
}

// clockText returns the time of day in the sentence as written, or "".
func (f dateMatch) clockText() string {
	if s := f.groupText("clock"); s != "" {
		return s
	}
	if m := clockPattern.FindStringSubmatch(f.sentence); m != nil {
		return strings.ToLower(m[1])
	}
	return ""
}

var clockPattern = regexp.MustCompile(`(?i)(?:^|[^\pL\pN:.])(` + clockNames + `)(?:$|[^\pL\pN])`)

// clockOf parses a time of day.
func clockOf(s string) (hour, minute int) {
	switch {
	case s == "noon" || strings.HasPrefix(s, "mittag"):
		return 12, 0
	case s == "midnight" || s == "mitternacht":
		return 23, 59
	}
	digits := strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	hour = parseNumber(digits[0])
	if len(digits) > 1 {
		minute = parseNumber(digits[1])
	}
	switch pm := strings.Contains(s, "p"); {
	case pm && hour < 12:
		hour += 12
	case !pm && strings.Contains(s, "a") && hour == 12:
		hour = 0
	}
	return min(hour, 23), min(minute, 59)
}

// parseDay returns the day, or an exact time if the date gives one.
func (f dateMatch) parseDay() (day time.Time, exact, ok bool) {
	today := startOfDay(f.now)
	switch {
	case f.groupText("iso") != "":
		day, err := time.ParseInLocation(time.DateOnly, f.groupText("iso"), f.now.Location())
		return day, false, err == nil
	case f.groupText("day") != "":
		day, ok = f.resolveDate(f.groupText("year"), monthOf(f.groupText("month")), parseNumber(f.groupText("day")))
	case f.groupText("usday") != "":
		day, ok = f.resolveDate(f.groupText("usyear"), monthOf(f.groupText("usmonth")), parseNumber(f.groupText("usday")))
	case f.groupText("point") != "":
		p := splitNumbers(f.groupText("point"))
		day, ok = f.resolveDate(p[2], parseNumber(p[1]), parseNumber(p[0]))
	case f.groupText("slash") != "":
		p := splitNumbers(f.groupText("slash"))
		d, m := parseNumber(p[0]), parseNumber(p[1])
		if m > 12 {
			d, m = m, d
		}
		day, ok = f.resolveDate(p[2], m, d)
		ok = ok && (d > 12 || d == m) // otherwise the order is ambiguous
	case f.groupText("weekday") != "":
		left := (int(weekdayOf(f.groupText("weekday")))-int(today.Weekday())+6)%7 + 1
		return today.AddDate(0, 0, left), false, true
	case f.groupText("relative") != "":
		return f.relativeDay(today), false, true
	case f.groupText("in") != "":
		return f.offsetDay(parseNumber(f.groupText("count")))
	default:
		return today, false, true
	}
	return day, false, ok
}

// resolveDate returns a day in the given year, or its next occurrence.
func (f dateMatch) resolveDate(year string, month, day int) (time.Time, bool) {
	y := f.now.Year()
	if year != "" {
		if y = parseNumber(year); y < 100 {
			y += 2000
		}
	}
	t := time.Date(y, time.Month(month), day, 0, 0, 0, 0, f.now.Location())
	if year == "" && t.Before(startOfDay(f.now)) {
		t = time.Date(y+1, time.Month(month), day, 0, 0, 0, 0, f.now.Location())
		if t.Sub(f.now) > maxRecurrence {
			return t, false
		}
	}
	return t, month >= 1 && month <= 12 && t.Day() == day
}

// relativeDay returns the day that a word such as tomorrow names.
func (f dateMatch) relativeDay(today time.Time) time.Time {
	switch r := f.groupText("relative"); {
	case strings.HasPrefix(r, "day after"), strings.HasSuffix(r, "bermorgen"):
		return today.AddDate(0, 0, 2)
	case r == "tomorrow" || r == "morgen":
		return today.AddDate(0, 0, 1)
	case strings.HasSuffix(r, "week"), strings.HasSuffix(r, "woche"):
		return today.AddDate(0, 0, (int(time.Friday)-int(today.Weekday())+7)%7)
	case strings.HasSuffix(r, "month"), strings.HasSuffix(r, "monats"):
		return time.Date(today.Year(), today.Month()+1, 0, 0, 0, 0, 0, today.Location())
	}
	return today
}

// offsetDay returns the time n hours ahead, or the day n days or weeks ahead.
func (f dateMatch) offsetDay(n int) (day time.Time, exact, ok bool) {
	switch unit := f.groupText("unit"); {
	case strings.HasPrefix(unit, "hour"), strings.HasPrefix(unit, "stunde"):
		return f.now.Add(time.Duration(n) * time.Hour), true, true
	case strings.HasPrefix(unit, "w"):
		n *= 7
	}
	return startOfDay(f.now).AddDate(0, 0, n), false, true
}

func startOfDay(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

func parseNumber(s string) int {
	n, _ := strconv.Atoi(s) // s has only digits
	return n
}

// splitNumbers returns the parts of a numeric date; the last may be missing.
func splitNumbers(s string) [3]string {
	var out [3]string
	copy(out[:], strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }))
	return out
}

func monthOf(name string) int {
	name = foldUmlauts.Replace(strings.TrimSuffix(name, "."))
	switch {
	case name == "mai":
		return 5
	case strings.HasPrefix(name, "mae"):
		return 3
	case strings.HasPrefix(name, "ja"):
		return 1
	}
	return 1 + slices.Index([]string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"},
		strings.NewReplacer("okt", "oct", "dez", "dec").Replace(name[:3]))
}

func weekdayOf(name string) time.Weekday {
	switch name[:3] {
	case "mon":
		return time.Monday
	case "tue", "die":
		return time.Tuesday
	case "wed", "mit":
		return time.Wednesday
	case "thu", "don":
		return time.Thursday
	case "fri", "fre":
		return time.Friday
	case "sat", "sam":
		return time.Saturday
	}
	if name == "sonnabend" {
		return time.Saturday
	}
	return time.Sunday
}
