// Package query understands what a text asks for: [Parse] takes it apart into what
// to look for, when that was, of whom, and what kind of answer is wanted. It needs no
// model. It is pure and deterministic: the same text at the same time is the same
// [Query]. It takes less than a millisecond, time linear in the text, and reads no more than
// the first 4 KiB of it.
//
// # Expressions of time
//
// English is read best ("last week", "in March 2024", "between May and July", "three
// months ago", "since Monday", "Q2 2023", "the 1990s", "last summer", "the end of last
// year"); German, French and Spanish as far as tables of words go (lexicon/), of which
// the language is taken that knows most words of the text. Dates of digits are read as
// ISO 8601 and in the usual forms. Where there is a choice:
//
//   - Texts that are searched are of the past. So a month, a day or a weekday without a
//     year is the latest that has begun, and "last" one the latest that is over. Of
//     "between May and July" the second is the latest, and the first the one before it.
//   - Weeks begin on Monday. "last week" is the week before this one, "the past week"
//     and "the last 7 days" are counted back from now.
//   - "three weeks ago" is the week around that day, "a year ago" half a year before and
//     after; of days it is the day.
//   - 3/5/2024 is of March in English, and of May in other languages; 25/12/2023 is read
//     as it can be.
//   - Seasons are those of the north, by whole months. Winter of a year begins in its December.
//   - "after 2020" begins with 2021, but the operator after:2020 with 2020.
//   - Words that mostly mean something else ("may", "fall", "march") are times only behind
//     a word that leads one in, with a year or a capital.
//
// Several expressions are narrowed to what they have in common if they are open to one
// side, and span what is between them if not. "before the launch" is an [Anchor]: the
// caller must find when that was.
//
// # Operators
//
//	"exact phrase"   -"not this"   prefix*   -not   +must
//	kind:post   source:twitter   tag:"new york"   from:anna
//	before:2024-03   after:2024   on:yesterday   (also until: since: date: during:)
//
// What is no operator, as a colon behind another word, is text.
//
// # Classes
//
// Rules weigh cues (lexicon/classes.txt), the form of the first words, people and times.
// testdata has queries with their class: classes.tsv in plain words, late.tsv in freer
// ones. Every second query of both is held back; TestClasses says how many are right.
// All have one author, who wrote the rules too, so that queries of others will do worse.
//
// # What it does not see
//
// Typing errors, times of day ("at 5 pm"), amounts of time that something took, years
// before 1000, names that are words too and have no capital, and what a query refers to
// in one before it.
package query

import (
	"embed"
	"strconv"
	"strings"
	"time"

	"ponder/internal/textkit"
)

// Bounds on what is read of a query. What is behind them is not read.
const (
	maxBytes  = 4 << 10
	maxTokens = 512
)

// A Query is what a text asks for. What it does not ask for is zero.
type Query struct {
	Text    string   // what is left to look for: without operators, expressions of time and anchors
	Words   []Word   // of Text and of what was taken from it, in their order, without words that say nothing
	Phrases []string // to be found as they are; their words are among Words too
	People  []string // who is named, as written, each once

	Time   Range
	Anchor *Anchor // an event that Time would be known by
	Recent bool    // asks for what is newest

	Kinds, Sources, Tags []string // asked for with operators: any of Kinds, any of Sources, all of Tags

	Class      Class
	Confidence float64 // 0 to 1, of Class
	Why        string  // a sentence for users: what Class was told by
}

// A Word is a word to look for.
type Word struct {
	Text   string // as written; behind a minus it may be several
	Prefix bool   // what begins with it
	Must   bool   // nothing without it
	Not    bool   // nothing with it
	Time   bool   // it is of an expression of time or an anchor, and only worth much if that fails
	Event  bool   // it is of the event of an anchor: less than what is asked for, but said beside it
}

// A Range is a span of time: From <= t < To. Zero is open.
type Range struct {
	From, To time.Time
	Text     string // what said so, as written; several with ", " between
	Strict   bool   // said with operators: nothing else is wanted. If not, it may be what the texts are about rather than when they were written
}

// IsZero reports whether the range has neither beginning nor end.
func (r Range) IsZero() bool { return r.From.IsZero() && r.To.IsZero() }

// Holds reports whether t is in the range.
func (r Range) Holds(t time.Time) bool {
	return (r.From.IsZero() || !t.Before(r.From)) && (r.To.IsZero() || t.Before(r.To))
}

// An Anchor is an event whose time is not known from the query: "before the
// launch".
type Anchor struct {
	Relation string // before, after or around
	Event    string // "launch", "I moved to Berlin"
	Text     string // all of it as written
}

// A Class is what kind of thing a query asks for.
type Class string

// The classes.
const (
	Fact     Class = "fact"     // a thing that one passage says
	Temporal Class = "temporal" // when something was, or what was at some time
	Person   Class = "person"   // somebody, or what they said, want, did or were told
	Overview Class = "overview" // what there is on a subject
	HowTo    Class = "howto"    // how something is done
)

// Parse returns what a text asks for. now is the time at which it asks, whose
// location is where its days begin. It never fails: what it does not understand
// is left in Text.
func Parse(text string, now time.Time) Query {
	p := newParser(strings.ToValidUTF8(textkit.Prefix(text, maxBytes), "\uFFFD"), now)
	p.operators()
	p.times()
	p.anchors()
	p.people()
	p.rest()
	p.classify()
	return p.q
}

//go:embed lexicon/*.txt
var files embed.FS

// Senses of words in expressions of time. lexicon/en.txt has them all.
const (
	senseMonth    = "month"
	senseWeekday  = "weekday"
	senseUnit     = "unit"
	senseSeason   = "season"
	senseNumber   = "number" // 0 is half a one, -1 a few
	senseOrdinal  = "ordinal"
	senseShift    = "shift"  // this, last, next
	senseBehind   = "behind" // the same, behind the noun
	sensePast     = "past"   // counted back from now, rather than by the calendar
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
	senseDoubt    = "doubtful" // mostly means something else
	senseWeak     = "weak"     // of relations, those that mostly mean something else
	senseNever    = "never"    // no expression of time, though it looks like one
	senseFirst    = "first"    // begins a phrase of any sense but the next
	senseSay      = "say"      // tells the language
)

// maxPhrase is the most words that a phrase of a lexicon has.
const maxPhrase = 5

// A lexicon has, by sense, the values of words and phrases of a language.
type lexicon map[string]map[string]int

// languages are those that have a lexicon. The first is taken if none fits better.
var languages = []string{"en", "de", "fr", "es"}

// lexicons has the lexicon of each language.
var lexicons = readLexicons()

func readLexicons() map[string]lexicon {
	all := make(map[string]lexicon)
	for _, lang := range languages {
		text, err := files.ReadFile("lexicon/" + lang + ".txt")
		if err != nil {
			continue // it is embedded
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

// add adds a word or phrase, its first word to those, and its words to what is known
// of any sense.
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

// knows reports whether a word has any sense in the lexicon.
func (l lexicon) knows(word string) bool {
	_, ok := l[""][word]
	return ok
}

// guess returns the language that most words of a text are known in.
func guess(list []token) string {
	best, most := languages[0], 0
	for _, lang := range languages {
		n := 0
		for i := range min(len(list), 64) {
			if list[i].kind == word && lexicons[lang].knows(list[i].text) {
				n++
			}
		}
		if n > most {
			best, most = lang, n
		}
	}
	return best
}
