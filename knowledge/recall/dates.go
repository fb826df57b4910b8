package recall

import (
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ponder/internal/textkit"
	"ponder/knowledge/document"
)

// parseDate reads a time as a file writes it.
func parseDate(s string) (time.Time, bool) {
	t := textkit.ParseDate(s)
	return t, !t.IsZero()
}

// What a day is written like, at the beginning of a heading.
var days = []struct {
	form             *regexp.Regexp
	year, month, day int
}{
	{regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b`), 1, 2, 3},
	{regexp.MustCompile(`^(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b`), 3, 2, 1},
	{regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th|\.)?(?: of)? (\pL{3,9})\.?,? (\d{4})\b`), 3, 2, 1},
	{regexp.MustCompile(`^(\pL{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`), 3, 1, 2},
}

// weekday is what may stand before a day.
var weekday = regexp.MustCompile(`^(?i:mon|tue|wed|thu|fri|sat|sun|die|mit|don|frei|sam|son)\pL*[,.:]?\s+`)

// parseDay reads the day that a heading begins with.
func parseDay(s string) (time.Time, bool) {
	s = textkit.Prefix(strings.TrimSpace(s), 80)
	s = weekday.ReplaceAllString(s, "")
	for _, d := range days {
		if m := d.form.FindStringSubmatch(s); m != nil {
			return dayOf(m[d.year], m[d.month], m[d.day])
		}
	}
	return time.Time{}, false
}

func dayOf(year, month, day string) (time.Time, bool) {
	y, err := strconv.Atoi(year)
	if err != nil {
		return time.Time{}, false
	}
	d, err := strconv.Atoi(day)
	if err != nil {
		return time.Time{}, false
	}
	m, ok := parseMonth(month)
	t := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	return t, ok && t.Month() == m && t.Day() == d && y >= 1000 && y < 3000
}

// parseMonth reads a number or the beginning of a name.
func parseMonth(s string) (time.Month, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Month(n), n >= 1 && n <= 12
	}
	s = strings.ToLower(s)
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); strings.HasPrefix(name, s) {
			return m, true
		}
	}
	for name, m := range map[string]time.Month{"januar": 1, "jänner": 1, "februar": 2, "märz": 3, "mai": 5, "juni": 6, "juli": 7, "oktober": 10, "dezember": 12} {
		if name == s {
			return m, true
		}
	}
	return 0, false
}

// dayName is a day in the name of a file, in front with or without marks between,
// elsewhere with them: 20240305 trip.md, standup-2024-03-05.md, 2024_03_05 notes.md.
var dayName = regexp.MustCompile(`(?:^(\d{4})()(\d{2})()(\d{2})|(?:^|[^\d])(\d{4})([-_.])(\d{2})([-_.])(\d{2}))(?:$|[^\d])`)

// dayOfPath returns the day that a file is named after: that of its name, or of
// the folders it is in, as in 2024/03/05.md.
func dayOfPath(path string) (time.Time, bool) {
	base := filepath.Base(path)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if m := dayName.FindStringSubmatch(name); m != nil {
		return dayOf(m[1]+m[6], m[3]+m[8], m[5]+m[10])
	}
	month := filepath.Base(filepath.Dir(path))
	year := filepath.Base(filepath.Dir(filepath.Dir(path)))
	if len(name) == 2 && len(month) == 2 && len(year) == 4 {
		return dayOf(year, month, name)
	}
	return time.Time{}, false
}

// dayIn finds a full day anywhere in a title: "Standup, 2 May 2026".
func dayIn(s string) (time.Time, bool) {
	s = textkit.Prefix(strings.TrimSpace(s), 200)
	for at := 0; at < len(s); {
		if t, ok := parseDay(s[at:]); ok {
			return t, true
		}
		next := strings.IndexAny(s[at:], " ,(:–-")
		if next < 0 {
			break
		}
		_, n := utf8.DecodeRuneInString(s[at+next:])
		at += next + n
	}
	return time.Time{}, false
}

// What [Item.Meta] says, under metaDated, of where a date is from. The date of an
// item without it was given, or is that of a record.
const (
	metaDated = "dated"
	datedName = "name" // of the file
	datedText = "text" // what the file says
	datedFile = "file" // when the file was written last, which may mean nothing
)

// dates dates an item of a file by what is known best: what the file says in
// itself, its name, a day in its title or first heading, what the user gave for
// all, when it was written.
func (it *Item) dates(doc *document.Document, base Item, modified time.Time) {
	day, named := dayOfPath(base.Path)
	how := datedFile
	switch titled, ok := titleDay(doc); {
	case !doc.Published.IsZero():
		it.Date, how = doc.Published, datedText
	case named:
		it.Date, how = day, datedName
	case ok:
		it.Date, how = titled, datedText
	case !base.Date.IsZero():
		it.Date, how = base.Date, ""
	default:
		it.Date = modified
	}
	if how != "" && !it.Date.IsZero() {
		it.Meta = maps.Clone(it.Meta)
		if it.Meta == nil {
			it.Meta = map[string]string{}
		}
		it.Meta[metaDated] = how
	}
}

// titleDay returns the day that a title or the first heading has.
func titleDay(doc *document.Document) (time.Time, bool) {
	if t, ok := dayIn(doc.Title); ok {
		return t, true
	}
	if len(doc.Sections) > 0 && doc.Sections[0].Start < 400 {
		return dayIn(doc.Sections[0].Title)
	}
	return time.Time{}, false
}
