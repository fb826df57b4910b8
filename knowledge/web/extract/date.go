package extract

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// publicationDay returns the day of publication in the address, in a time element, or
// in an element with a class for dates. It is zero without any.
func publicationDay(doc *html.Node, page *url.URL) time.Time {
	if t := findDay(page.Path); !t.IsZero() {
		return t
	}
	var d days
	d.walkNode(doc)
	for _, t := range d {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// days are the first days found, by certainty.
type days [3]time.Time

func (d *days) walkNode(n *html.Node) {
	if n.Type == html.ElementNode {
		if hiddenTags[n.DataAtom] || boilerplateTags[n.DataAtom] {
			return
		}
		machine := attrValue(n, "datetime") + attrValue(n, "content")
		kind := attrValue(n, "itemprop") + " " + attrValue(n, "class") + " " + attrValue(n, "id")
		if strings.Contains(kind, "datePublished") {
			d.addDate(0, machine)
		}
		if n.DataAtom == atom.Time {
			d.addDate(1, machine)
		}
		if n.DataAtom == atom.Time || dateKind.MatchString(kind) {
			d.addDate(2, shortText(n))
		}
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		d.walkNode(c)
	}
}

func (d *days) addDate(i int, text string) {
	if d[i].IsZero() {
		d[i] = findDay(text)
	}
}

var dateKind = regexp.MustCompile(`(?i)date|time|publi|posted|datum|byline|meta|info`)

const maxDateText = 200

// shortText returns text up to maxDateText bytes, or "".
func shortText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			if b.WriteString(c.Data + " "); b.Len() > maxDateText {
				return ""
			}
		}
	}
	return b.String()
}

// Forms of dates, with the groups of year, month and day.
var dateForms = []struct {
	form             *regexp.Regexp
	year, month, day int
}{
	{regexp.MustCompile(`(?:^|\D)((?:19|20)\d\d)[-/._]?([01]\d)[-/._]?([0-3]\d)(?:\D|$)`), 1, 2, 3},
	{regexp.MustCompile(`(?:^|\D)([0-3]?\d)[./-]([01]?\d)[./-]((?:19|20)\d\d)(?:\D|$)`), 3, 2, 1},
	{regexp.MustCompile(`(?:^|\D)([0-3]?\d)(?:st|nd|rd|th|er|\.|º)?[\s-]+(?:(?:de|of)\s+)?(\pL{3,10})\.?,?[\s-]+(?:(?:de|del)\s+)?((?:19|20)\d\d)(?:\D|$)`), 3, 2, 1},
	{regexp.MustCompile(`(?:^|\PL)(\pL{3,10})\.?\s+([0-3]?\d)(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)(?:\D|$)`), 3, 1, 2},
}

func findDay(text string) time.Time {
	for _, f := range dateForms {
		m := f.form.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		year, _ := strconv.Atoi(m[f.year])
		day, _ := strconv.Atoi(m[f.day])
		t := time.Date(year, parseMonth(m[f.month]), day, 0, 0, 0, 0, time.UTC)
		if t.Day() == day && t.Year() == year {
			return t
		}
	}
	return time.Time{}
}

// parseMonth returns a month by number or name, or 99.
func parseMonth(s string) time.Month {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Month(n)
	}
	s = strings.ToLower(s)
	for _, letters := range []int{3, 4} {
		if i := runeOffset(s, letters); months[s[:i]] != 0 {
			return months[s[:i]]
		}
	}
	return 99
}

func runeOffset(s string, n int) (at int) {
	for range n {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// months has prefixes in English, German, French, Spanish, Italian, Portuguese and
// Dutch.
var months = map[string]time.Month{
	"jan": 1, "jän": 1, "ene": 1, "gen": 1, "feb": 2, "fév": 2, "fev": 2, "mar": 3, "mär": 3, "maa": 3, "mrt": 3, "apr": 4, "avr": 4, "abr": 4,
	"may": 5, "mai": 5, "mag": 5, "mei": 5, "jun": 6, "giu": 6, "juin": 6, "jul": 7, "lug": 7, "juil": 7, "aug": 8, "aoû": 8, "ago": 8,
	"sep": 9, "set": 9, "oct": 10, "okt": 10, "ott": 10, "out": 10, "nov": 11, "dec": 12, "dez": 12, "déc": 12, "dic": 12,
}
