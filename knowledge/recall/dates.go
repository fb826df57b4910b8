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

func parseDate(s string) (time.Time, bool) {
	t := textkit.ParseDate(s)
	return t, !t.IsZero()
}

var dayFormats = []struct {
	form             *regexp.Regexp
	year, month, day int
}{
	{regexp.MustCompile(`^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})\b`), 1, 2, 3},
	{regexp.MustCompile(`^(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b`), 3, 2, 1},
	{regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th|\.)?(?: of)? (\pL{3,9})\.?,? (\d{4})\b`), 3, 2, 1},
	{regexp.MustCompile(`^(\pL{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`), 3, 1, 2},
}

var weekdayPrefix = regexp.MustCompile(`^(?i:mon|tue|wed|thu|fri|sat|sun|die|mit|don|frei|sam|son)\pL*[,.:]?\s+`)

func parseDay(s string) (time.Time, bool) {
	s = textkit.Prefix(strings.TrimSpace(s), 80)
	s = weekdayPrefix.ReplaceAllString(s, "")
	for _, d := range dayFormats {
		if m := d.form.FindStringSubmatch(s); m != nil {
			return parseYMD(m[d.year], m[d.month], m[d.day])
		}
	}
	return time.Time{}, false
}

func parseYMD(year, month, day string) (time.Time, bool) {
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

// dayName matches 20240305 trip.md, standup-2024-03-05.md, 2024_03_05 notes.md.
var dayName = regexp.MustCompile(`(?:^(\d{4})()(\d{2})()(\d{2})|(?:^|[^\d])(\d{4})([-_.])(\d{2})([-_.])(\d{2}))(?:$|[^\d])`)

// pathDay returns the day in a file's name, or in its folders as in 2024/03/05.md.
func pathDay(path string) (time.Time, bool) {
	base := filepath.Base(path)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if m := dayName.FindStringSubmatch(name); m != nil {
		return parseYMD(m[1]+m[6], m[3]+m[8], m[5]+m[10])
	}
	month := filepath.Base(filepath.Dir(path))
	year := filepath.Base(filepath.Dir(filepath.Dir(path)))
	if len(name) == 2 && len(month) == 2 && len(year) == 4 {
		return parseYMD(year, month, name)
	}
	return time.Time{}, false
}

func findDay(s string) (time.Time, bool) {
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

// Sources of an item's date, under metaDated in [Item.Meta]. Without it, the date was
// given or is a record's.
const (
	metaDated = "dated"
	datedName = "name" // of the file
	datedText = "text" // in the file
	datedFile = "file" // last change of the file; unreliable
)

// setDate uses the file's own date, its name, a day in its title or first heading, the
// user's date, or its last change.
func (it *Item) setDate(doc *document.Document, base Item, modified time.Time) {
	day, named := pathDay(base.Path)
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

func titleDay(doc *document.Document) (time.Time, bool) {
	if t, ok := findDay(doc.Title); ok {
		return t, true
	}
	if len(doc.Sections) > 0 && doc.Sections[0].Start < 400 {
		return findDay(doc.Sections[0].Title)
	}
	return time.Time{}, false
}
