package subconscious

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"ponder"
	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
	"ponder/mode/internal/background"
)

// FeedSensor is the sensor of internal observations that hand entries of the mind to conversations
// and sessions.
const FeedSensor = background.Sensor

// EscalatedState is the state of an observation that the user must learn of. Its subject is the id
// of the escalation.
const EscalatedState = background.EscalatedState

const (
	minInnerStrength = 4              // minimum strength, or
	maxUntilDue      = 72 * time.Hour // maximum time until due
	maxPastDue       = 24 * time.Hour // time past due when an entry is dropped
	minSharedWeight  = 2              // minimum weight of shared words
	maxMatched       = 4 << 10        // bytes of a text that are read
)

// HandoffEntry is an entry as shared with conversations and sessions.
type HandoffEntry struct {
	Entry
	Category  Category
	Due       time.Time
	Age       time.Duration // since LastSeen
	Untrusted bool
}

// RelevantEntries returns at most most entries relevant to a text, the most relevant first. An entry must be
// strong or due soon at now, and must not come from the thread itself.
func (s State) RelevantEntries(said string, of ponder.ThreadID, now time.Time, limit int) []HandoffEntry {
	said = textkit.Prefix(said, maxMatched)
	if limit <= 0 || strings.TrimSpace(said) == "" {
		return nil
	}
	s = s.DecayTo(now)
	type match struct {
		HandoffEntry
		weight int
	}
	var list []match
	t := extractKeywords(said, detectLanguage(said))
	for c, entries := range map[Category][]Entry{ActiveThreads: s.ActiveThreads, Patterns: s.Patterns, Hunches: s.Hunches, Insights: s.Insights} {
		for _, e := range entries {
			a := s.Internal.Metadata[e.ID]
			if !shouldShare(e, a, now) || a.isOnlyFrom(of) {
				continue
			}
			n := HandoffEntry{Entry: e, Category: c, Due: a.Due, Age: max(0, now.Sub(e.LastSeen)), Untrusted: a.Untrusted}
			if w := t.sharedWeight(extractKeywords(e.Summary, t.lang)); w >= minSharedWeight {
				list = append(list, match{n, w})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.weight*b.Strength, a.weight*a.Strength), strings.Compare(a.ID, b.ID))
	})
	noted := make([]HandoffEntry, 0, limit)
	for _, m := range list[:min(limit, len(list))] {
		noted = append(noted, m.HandoffEntry)
	}
	return noted
}

func shouldShare(e Entry, a EntryMetadata, now time.Time) bool {
	if !a.Due.IsZero() && now.Sub(a.Due) > maxPastDue {
		return false
	}
	return e.Strength >= minInnerStrength || !a.Due.IsZero() && a.Due.Sub(now) <= maxUntilDue
}

func (a EntryMetadata) isOnlyFrom(thread ponder.ThreadID) bool {
	return thread != "" && len(a.Signature) > 0 && !slices.ContainsFunc(a.Signature, func(s string) bool { return !strings.Contains(s, string(thread)) })
}

// Observation returns the internal observation that hands n to a conversation or session.
func (n HandoffEntry) Observation() ponder.Observation {
	fresh := "noticed " + formatAge(n.Age)
	if !n.Due.IsZero() {
		fresh += ", " + formatDue(n.Due.Sub(n.LastSeen)-n.Age)
	}
	return ponder.Observation{
		Sensor: FeedSensor, Subject: n.ID, State: fmt.Sprintf("strength %d", n.Strength),
		Content: textkit.OneLine(n.Summary) + " (" + fresh + ")", Due: n.Due, Untrusted: n.Untrusted,
	}
}

func formatAge(d time.Duration) string {
	if d < time.Minute {
		return "just now"
	}
	return formatDuration(d) + " ago"
}

func formatDue(d time.Duration) string {
	switch {
	case d <= -time.Minute:
		return "was due " + formatDuration(-d) + " ago"
	case d < time.Minute:
		return "due now"
	}
	return "due in " + formatDuration(d)
}

func formatDuration(d time.Duration) string {
	n, unit := int(d/time.Minute), "minute"
	switch {
	case d >= 48*time.Hour:
		n, unit = int(d/(24*time.Hour)), "day"
	case d >= 2*time.Hour:
		n, unit = int(d/time.Hour), "hour"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprint(n, " ", unit)
}

type keywords struct {
	lang lexical.Language
	stem map[string]wordKind
}

// wordKind says how specific a word is.
type wordKind struct {
	name bool
	time bool
}

func extractKeywords(s string, lang lexical.Language) keywords {
	r := keywords{lang, make(map[string]wordKind)}
	first, last := true, 0
	lexical.Tokens(s, func(t lexical.Token) {
		w := s[t.Start:t.End]
		first = first || strings.ContainsAny(s[last:t.Start], ".!?:\n")
		k := wordKind{name: isProper(w, first, lang), time: timeWords[lexical.Fold(w)]}
		first, last = false, t.End
		if !lexical.Stop(w, lang) && len(w) > 1 {
			stem := lexical.Stem(w, lang)
			before := r.stem[stem]
			r.stem[stem] = wordKind{k.name || before.name, k.time || before.time}
		}
	})
	return r
}

// isProper reports whether a word is a name or a code. Capitals do not count in German or at the
// start of a sentence.
func isProper(w string, first bool, lang lexical.Language) bool {
	digits, upper, letters := 0, 0, 0
	for i, r := range w {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsUpper(r):
			letters++
			if i > 0 || !first && lang != "de" {
				upper++
			}
		case unicode.IsLetter(r):
			letters++
		}
	}
	return digits >= 3 || digits > 0 && letters > 0 || upper > 0 && letters > 1
}

// sharedWeight returns the weight of the words that two texts share. A name weighs as much as two other
// words.
func (r keywords) sharedWeight(o keywords) (weight int) {
	for stem, k := range o.stem {
		mine, ok := r.stem[stem]
		switch {
		case !ok:
		case k.time || mine.time:
			weight++
		case k.name || mine.name:
			weight += minSharedWeight
		default:
			weight++
		}
	}
	return weight
}

// detectLanguage returns the language with the most stop words in s, or "" if s has none.
func detectLanguage(s string) lexical.Language {
	const enough = 40
	var list []string
	lexical.Tokens(s, func(t lexical.Token) {
		if len(list) < enough {
			list = append(list, s[t.Start:t.End])
		}
	})
	best, bestCount := lexical.Language(""), 0
	for _, lang := range languages {
		n := 0
		for _, w := range list {
			if lexical.Stop(w, lang) {
				n++
			}
		}
		if n > bestCount {
			best, bestCount = lang, n
		}
	}
	return best
}

// languages lists the languages with stemmers. English is first because it shares the most words
// with others.
var languages = func() []lexical.Language {
	list := lexical.Languages()
	slices.SortStableFunc(list, func(a, b lexical.Language) int {
		switch {
		case a == "en":
			return -1
		case b == "en":
			return 1
		}
		return 0
	})
	return list
}()

var timeWords = func() map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
		september october november december montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar marz mai juni juli oktober
		dezember lundi mardi mercredi jeudi vendredi samedi dimanche janvier fevrier mars avril juin juillet aout septembre octobre novembre decembre
		lunes martes miercoles jueves viernes sabado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
		today tomorrow yesterday week month year day morgen gestern heute woche monat jahr tag demain hier semaine mois annee jour hoy manana ayer semana mes ano dia`) {
		m[w] = true
	}
	return m
}()
