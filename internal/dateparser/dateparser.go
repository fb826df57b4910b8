// Package dateparser stands in for the package of the same path that the library
// which extracts articles asks for dates in unusual forms. The original knows two
// hundred languages, and makes the tables for them whenever a program starts,
// which takes a quarter of a second, whatever the program is about to do. This one
// knows the usual forms in six languages, and costs nothing until it is asked.
//
// It is a module of its own: the replace line in go.mod puts it in place.
package dateparser

import (
	"errors"
	"strings"
	"time"
)

// A ParserType is a way to read a date. All are the same here.
type ParserType uint8

// The types that are asked for.
const (
	CustomFormat ParserType = iota
	AbsoluteTime
)

// A Source says which of several dates is meant. It is not looked at.
type Source uint8

// Past says that dates are of the past.
const Past Source = 1

// A Configuration says how to read. It is not looked at.
type Configuration struct {
	PreferredDateSource Source
	StrictParsing       bool
}

// A Parser reads dates. Its zero value is ready, and safe for concurrent use.
type Parser struct{ ParserTypes []ParserType }

// A Date is a day.
type Date struct{ Time time.Time }

var errNone = errors.New("not a date")

const maxText = 60 // bytes; what is longer is no date

// layouts are the forms of dates, in English.
var layouts = []string{
	"2006-1-2", "2006/1/2", "2006.1.2", "2.1.2006", "2/1/2006", "2-1-2006",
	"2 January 2006", "2 Jan 2006", "January 2 2006", "Jan 2 2006", "Monday 2 January 2006", "Monday January 2 2006", "Mon 2 Jan 2006", "Mon Jan 2 2006",
	"2006 January 2", "January 2006",
}

// words has the names of months in other languages, and what else stands in
// dates.
var words = map[string]string{
	"januar": "january", "jänner": "january", "februar": "february", "märz": "march", "mai": "may", "juni": "june", "juli": "july", "oktober": "october", "dezember": "december",
	"janvier": "january", "février": "february", "mars": "march", "avril": "april", "juin": "june", "juillet": "july", "août": "august", "septembre": "september", "octobre": "october", "novembre": "november", "décembre": "december",
	"enero": "january", "febrero": "february", "marzo": "march", "abril": "april", "mayo": "may", "junio": "june", "julio": "july", "agosto": "august", "septiembre": "september", "octubre": "october", "noviembre": "november", "diciembre": "december",
	"gennaio": "january", "febbraio": "february", "aprile": "april", "maggio": "may", "giugno": "june", "luglio": "july", "settembre": "september", "ottobre": "october", "dicembre": "december",
	"januari": "january", "februari": "february", "maart": "march", "mei": "may", "augustus": "august", "sept": "sep",
	"de": "", "del": "", "of": "", "the": "", "on": "", "den": "", "le": "", "el": "", "il": "",
}

// ordinals end numbers of days.
var ordinals = []string{"st", "nd", "rd", "th", "er", "º", "°"}

// Parse reads a date, or returns an error. Formats are not looked at.
func (*Parser) Parse(_ *Configuration, text string, _ ...string) (Date, error) {
	if len(text) > maxText {
		return Date{}, errNone
	}
	var parts []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' || r == '\u00a0' }) {
		if w = plain(w); w != "" {
			parts = append(parts, w)
		}
	}
	line := strings.Join(parts, " ")
	for _, layout := range layouts {
		if t, err := time.Parse(layout, line); err == nil {
			return Date{t}, nil
		}
	}
	return Date{}, errNone
}

// plain returns a word as layouts have it.
func plain(w string) string {
	if len(w) > 1 && w[0] >= '0' && w[0] <= '9' {
		for _, end := range ordinals {
			if n, ok := strings.CutSuffix(w, end); ok && len(n) <= 2 {
				return n
			}
		}
		if n := strings.TrimSuffix(w, "."); len(n) <= 2 {
			return n
		}
		return w
	}
	if w = strings.TrimRight(w, ".,"); w == "" {
		return ""
	}
	if english, ok := words[w]; ok {
		return english
	}
	return w
}
