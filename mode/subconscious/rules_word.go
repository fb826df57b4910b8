package subconscious

import (
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

const (
	minSensorKinds = 2 // kinds of sensors
	minDays        = 3
	minRareLetters = 4 // letters of a rare word
	headWords      = 4 // words quoted from a place
	maxSharedTerms = 3
	maxRecurring   = 2
	maxTerms       = 60
)

//go:embed common.txt
var commonText string

var commonStems = func() map[string]bool {
	set := make(map[string]bool)
	for line := range strings.Lines(commonText) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, w := range strings.Fields(line) {
			folded := lexical.Fold(w)
			set[folded], set[stemOf(folded)] = true, true
		}
	}
	return set
}()

type recurringWord struct {
	term         string // as first written
	stem         string
	indexes      []int // indexes in finder.seen
	kinds        map[string]bool
	days         map[string]bool
	entry        string // an entry with the word from another sensor
	entrySummary string // that entry's summary
	findingType  string
}

// findRecurringWords finds rare words that occur in several kinds of sensors or on several days, including
// earlier entries and topics.
func (f *finder) findRecurringWords() {
	if f.firstGivenType("connection", "pattern") == "" {
		return
	}
	var list []*recurringWord
	for _, r := range f.collectTerms() {
		f.addEarlierUses(r)
		if len(r.indexes)*3 > max(12, len(f.seen)) { // too frequent to be specific
			continue
		}
		if r.findingType = f.recurringType(r); r.findingType != "" {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *recurringWord) int {
		return cmp.Or(cmp.Compare(len(b.kinds), len(a.kinds)), cmp.Compare(len(b.days), len(a.days)), cmp.Compare(len(a.indexes), len(b.indexes)), cmp.Compare(len(b.stem), len(a.stem)), cmp.Compare(a.stem, b.stem))
	})
	var used []*recurringWord
	for _, r := range list {
		if len(used) < maxRecurring && !slices.ContainsFunc(used, r.isCoveredBy) {
			used = append(used, r)
			f.addConnection(r)
		}
	}
}

func (f *finder) recurringType(r *recurringWord) string {
	switch {
	case len(r.kinds) >= minSensorKinds && f.givesType("connection"):
		return "connection"
	case len(r.days) >= minDays:
		return f.firstGivenType("pattern", "connection")
	}
	return ""
}

// isCoveredBy reports whether all of r's observations also contain o.
func (r *recurringWord) isCoveredBy(o *recurringWord) bool {
	return r.entry == o.entry && !slices.ContainsFunc(r.indexes, func(i int) bool { return !slices.Contains(o.indexes, i) })
}

func (f *finder) collectTerms() []*recurringWord {
	all := make(map[string]*recurringWord)
	for i, o := range f.seen {
		for _, t := range rareTerms(o.Content) {
			r := all[t.stem]
			if r == nil {
				r = &recurringWord{term: t.term, stem: t.stem, kinds: make(map[string]bool), days: make(map[string]bool)}
				all[t.stem] = r
			}
			r.indexes = append(r.indexes, i)
			r.kinds[sensorKind(o.Sensor)] = true
			r.days[utcDay(o.At)] = true
		}
	}
	list := make([]*recurringWord, 0, len(all))
	for _, stem := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[stem])
	}
	return list
}

func utcDay(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func (f *finder) addEarlierUses(r *recurringWord) {
	for _, t := range f.state.Internal.Topics {
		if slices.ContainsFunc(rareTerms(t.Text), r.hasStem) {
			r.days[utcDay(t.Last)] = true
		}
	}
	for _, c := range categories {
		for _, e := range *f.state.categoryEntries(c) {
			if r.entry != "" || !slices.ContainsFunc(rareTerms(e.Summary), r.hasStem) {
				continue
			}
			for _, sign := range f.state.Internal.Metadata[e.ID].Signature {
				sensor, _, _ := strings.Cut(sign, "|")
				if kind := sensorKind(sensor); kind != "" && !r.kinds[kind] {
					r.kinds[kind] = true
					r.entry, r.entrySummary = e.ID, e.Summary
				}
			}
		}
	}
}

func (r *recurringWord) hasStem(t term) bool { return t.stem == r.stem }

// addConnection adds the finding for a word: the shared words and two places that share them.
func (f *finder) addConnection(r *recurringWord) {
	about, level := []SeenObservation{}, 0
	for _, i := range r.indexes {
		about = append(about, f.seen[i])
		level = max(level, f.seen[i].Level)
	}
	one := about[len(about)-1]
	here, there, text := describePlace(one, len(r.kinds) < minSensorKinds), "", ""
	for _, o := range about {
		if sensorKind(o.Sensor) != sensorKind(one.Sensor) || len(r.kinds) < minSensorKinds && utcDay(o.At) != utcDay(one.At) {
			there, text = describePlace(o, len(r.kinds) < minSensorKinds), o.Content
			break
		}
	}
	if there == "" && r.entry != "" {
		there, text = "on its mind ("+leadingWords(r.entrySummary)+")", r.entrySummary
	}
	summary := r.formatShared(one.Content, text) + " came up " + here
	if there != "" {
		summary = r.formatShared(one.Content, text) + " came up " + there + " and " + here
	}
	importance := max(level, 1+len(r.kinds)+len(r.days)/minDays)
	n := len(f.found)
	f.addFinding(r.findingType, summary+".", "", clamp(importance, MinEntryImportance, MinInsightImportance-1), about...) // shared words alone are no insight
	if r.entry != "" && len(f.found) > n {
		f.found[n].Reinforces = []string{r.entry}
	}
}

func (r *recurringWord) formatShared(a, b string) string {
	list, other := []string{r.term}, rareTerms(b)
	for _, t := range rareTerms(a) {
		if len(list) < maxSharedTerms && t.stem != r.stem && slices.ContainsFunc(other, func(o term) bool { return o.stem == t.stem }) {
			list = append(list, t.term)
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

func describePlace(o SeenObservation, dated bool) string {
	where := "in " + textkit.VisibleLine(sensorKind(o.Sensor), maxName)
	if isOwnSensor(o.Sensor) {
		where = "in conversations"
	}
	if dated {
		where += " on " + utcDay(o.At)
	}
	if head := leadingWords(o.Content); head != "" {
		where += " (" + head + ")"
	}
	return where
}

func leadingWords(s string) string {
	s = textkit.VisibleLine(s, 2*maxLine)
	if i := strings.IndexAny(s, "()\"“”"); i > 0 {
		s = s[:i]
	}
	for i := range s {
		if strings.IndexByte(".:;,!?", s[i]) >= 0 && (i+1 == len(s) || s[i+1] == ' ') && i > 0 {
			s = s[:i]
			break
		}
	}
	list := strings.Fields(s)
	if len(list) > headWords {
		return textkit.Line(strings.Join(list[:headWords], " "), 60) + " …"
	}
	return textkit.Line(s, 60)
}

type term struct{ term, stem string }

// rareTerms returns the rare words of s: no stop words, everyday words, numbers or dates.
func rareTerms(s string) (list []term) {
	s = textkit.VisibleLine(s, 2*maxLine)
	for _, w := range wordsOf(s) {
		stem := stemOf(w.folded)
		if len(list) == maxTerms || !mayBeRare(w.folded) || isStop(w.folded) || commonStems[w.folded] || commonStems[stem] ||
			slices.ContainsFunc(list, func(t term) bool { return t.stem == stem }) {
			continue
		}
		list = append(list, term{s[w.start:w.end], stem})
	}
	return list
}

func mayBeRare(w string) bool {
	letters := 0
	for _, r := range w {
		if unicode.IsLetter(r) {
			letters++
			if lexical.Unspaced(r) {
				letters++
			}
		}
	}
	return letters >= minRareLetters
}
