// Package query analyses a question: [Parse] returns its words, times, people and
// class. It needs no model, is deterministic, and takes less than a millisecond. It
// reads only the first 4 KiB.
//
// # Expressions of time
//
// English is read best: "last week", "between May and July", "Q2 2023". German, French
// and Spanish depend on tables (lexicon/); the language with the most known words wins.
// Numeric dates follow ISO 8601 and common forms. Ambiguities:
//
//   - Texts are of the past. So a month, day or weekday without a year is the latest
//     that has begun; "last" is the latest that is over. In "between May and July",
//     July is the latest, and May the one before.
//   - Weeks begin on Monday. "last week" is the previous week; "the past week" counts
//     back from now.
//   - "three weeks ago" is the week around that day, "a year ago" half a year before
//     and after; days are exact.
//   - 3/5/2024 is in March in English and in May in other languages.
//   - Seasons are northern, in whole months. A winter begins in its year's December.
//   - "after 2020" begins with 2021, but the operator after:2020 with 2020.
//   - Ambiguous words ("may", "fall", "march") need a preposition, a year or a capital.
//
// Open ranges are intersected, closed ones joined. "before the launch" is an [Anchor]:
// the caller must find its time.
//
// # Operators
//
//	"exact phrase"   -"not this"   prefix*   -not   +must
//	kind:post   source:twitter   tag:"new york"   from:anna
//	before:2024-03   after:2024   on:yesterday   (also until: since: date: during:)
//
// Other colons are text.
//
// # Classes
//
// Rules weigh cues (lexicon/classes.txt), the first words, people and times. testdata
// has labelled queries, half of them held out; TestClasses gives the accuracy. The
// author of the rules wrote them too, so expect worse results with others.
//
// # Limitations
//
// Parse misses typing errors, times of day, durations, years before 1000, lower-case
// names that are also words, and references to earlier queries.
package query

import (
	"embed"
	"strconv"
	"strings"
	"time"

	"ponder/internal/textkit"
)

// Bounds on the text; the rest is ignored.
const (
	maxBytes  = 4 << 10
	maxTokens = 512
)

// A Query has zero values for absent parts.
type Query struct {
	Text    string   // the rest, without operators, times and anchors
	Words   []Word   // in order, without stop words; includes words taken from Text
	Phrases []string // exact; their words are also in Words
	People  []string // as written, each once

	Time   Range
	Anchor *Anchor // an event instead of Time
	Recent bool    // asks for the newest

	Kinds, Sources, Tags []string // from operators: any of Kinds, any of Sources, all of Tags

	Class      Class
	Confidence float64 // 0 to 1, of Class
	Why        string  // reason for Class
}

type Word struct {
	Text   string // as written; after a minus possibly several words
	Prefix bool   // matches words with this prefix
	Must   bool   // required
	Not    bool   // excluded
	Time   bool   // of a time or anchor; matters only if that fails
	Event  bool   // of an anchor's event; weighs less than the rest
}

// A Range is From <= t < To; zero is open.
type Range struct {
	From, To time.Time
	Text     string // as written; several joined by ", "
	Strict   bool   // from operators, so exclusive; otherwise texts may also be about this time
}

func (r Range) IsZero() bool { return r.From.IsZero() && r.To.IsZero() }

func (r Range) Contains(t time.Time) bool {
	return (r.From.IsZero() || !t.Before(r.From)) && (r.To.IsZero() || t.Before(r.To))
}

// An Anchor is an event that dates the query: "before the launch".
type Anchor struct {
	Relation string // before, after or around
	Event    string
	Text     string
}

type Class string

const (
	Fact     Class = "fact"
	Temporal Class = "temporal"
	Person   Class = "person"
	Overview Class = "overview"
	HowTo    Class = "howto"
)

// Parse analyses a text at time now, whose location defines days. It never fails:
// unknown parts stay in Text.
func Parse(text string, now time.Time) Query {
	p := newParser(strings.ToValidUTF8(textkit.Prefix(text, maxBytes), "\uFFFD"), now)
	p.readOperators()
	p.readTimes()
	p.findAnchor()
	p.findPeople()
	p.setText()
	p.classifyQuery()
	return p.q
}

//go:embed lexicon/*.txt
var files embed.FS

// Senses of words in expressions of time; lexicon/en.txt lists all.
const (
	senseMonth    = "month"
	senseWeekday  = "weekday"
	senseUnit     = "unit"
	senseSeason   = "season"
	senseNumber   = "number" // 0 is a half, -1 a few
	senseOrdinal  = "ordinal"
	senseShift    = "shift"  // this, last, next
	senseBehind   = "behind" // the same, after the noun
	sensePast     = "past"   // counted back from now
	senseDay      = "day"    // days from today
	sensePart     = "part"   // of the day
	senseEdge     = "edge"
	senseAgo      = "ago"
	senseBefore   = "before" // ago, before the amount
	senseRelation = "rel"
	senseTo       = "to"
	senseOnward   = "onward"
	senseOf       = "of"
	senseArticle  = "article"
	senseHoliday  = "holiday"
	senseWeek     = "week"
	senseYear     = "year"
	senseToDate   = "todate"
	senseYearAgo  = "yearago"
	senseDecade   = "decade"
	senseRecent   = "recent"
	senseDoubt    = "doubtful" // usually not a time
	senseWeak     = "weak"     // usually not a relation
	senseNever    = "never"    // looks like a time but is none
	senseFirst    = "first"    // first words of all but the next
	senseSay      = "say"      // only identifies the language
)

// maxPhrase limits the words of a phrase.
const maxPhrase = 5

type lexicon map[string]map[string]int

// The first language is the default.
var languages = []string{"en", "de", "fr", "es"}

var lexicons = readLexicons()

func readLexicons() map[string]lexicon {
	all := make(map[string]lexicon)
	for _, lang := range languages {
		text, err := files.ReadFile("lexicon/" + lang + ".txt")
		if err != nil {
			continue // embedded, so never
		}
		all[lang] = readLexicon(string(text))
	}
	return all
}

func readLexicon(text string) lexicon {
	l := make(lexicon)
	for line := range strings.Lines(text) {
		head, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		sense, number, _ := strings.Cut(head, " ")
		value, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		for w := range strings.SplitSeq(list, ",") {
			l.add(sense, strings.TrimSpace(w), value)
		}
	}
	return l
}

// add also stores the first word under senseFirst, and all words as known.
func (l lexicon) add(sense, word string, value int) {
	if l[sense] == nil {
		l[sense] = make(map[string]int)
	}
	l[sense][word] = value
	if sense == senseFirst || sense == "" {
		return
	}
	if sense != senseSay {
		first, _, _ := strings.Cut(word, " ")
		l.add(senseFirst, first, 0)
	}
	if sense == senseDoubt || sense == senseNever {
		return
	}
	l.add("", word, 0)
	for w := range strings.FieldsSeq(word) {
		if len(w) > 2 {
			l.add("", w, 0)
		}
	}
}

func (l lexicon) hasWord(word string) bool {
	_, ok := l[""][word]
	return ok
}

// guessLanguage returns the language that knows the most words.
func guessLanguage(list []token) string {
	best, maxKnown := languages[0], 0
	for _, lang := range languages {
		n := 0
		for i := range min(len(list), 64) {
			if list[i].kind == word && lexicons[lang].hasWord(list[i].text) {
				n++
			}
		}
		if n > maxKnown {
			best, maxKnown = lang, n
		}
	}
	return best
}
