package query

import (
	"embed"
	"strconv"
	"strings"
)

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
