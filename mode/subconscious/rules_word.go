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
	placesTogether = 2 // kinds of sensors
	daysTogether   = 3
	rareLetters    = 4 // letters of a rare word
	headWords      = 4 // words quoted from a place
	mostShared     = 3
	mostReturns    = 2
	mostTermsOf    = 60
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

type returning struct {
	term  string // as first written
	stem  string
	in    []int // indexes in finder.seen
	kinds map[string]bool
	days  map[string]bool
	entry string // an entry with the word from another sensor
	reads string // that entry's summary
	kind  string
}

// repeated finds rare words that occur in several kinds of sensors or on several days, including
// earlier entries and topics.
func (f *finder) repeated() {
	if f.first("connection", "pattern") == "" {
		return
	}
	var list []*returning
	for _, r := range f.terms() {
		f.remember(r)
		if len(r.in)*3 > max(12, len(f.seen)) { // too frequent to be specific
			continue
		}
		if r.kind = f.kindOf(r); r.kind != "" {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *returning) int {
		return cmp.Or(cmp.Compare(len(b.kinds), len(a.kinds)), cmp.Compare(len(b.days), len(a.days)), cmp.Compare(len(a.in), len(b.in)), cmp.Compare(len(b.stem), len(a.stem)), cmp.Compare(a.stem, b.stem))
	})
	var used []*returning
	for _, r := range list {
		if len(used) < mostReturns && !slices.ContainsFunc(used, r.within) {
			used = append(used, r)
			f.connect(r)
		}
	}
}

func (f *finder) kindOf(r *returning) string {
	switch {
	case len(r.kinds) >= placesTogether && f.gives("connection"):
		return "connection"
	case len(r.days) >= daysTogether:
		return f.first("pattern", "connection")
	}
	return ""
}

// within reports whether all of r's observations also contain o.
func (r *returning) within(o *returning) bool {
	return r.entry == o.entry && !slices.ContainsFunc(r.in, func(i int) bool { return !slices.Contains(o.in, i) })
}

func (f *finder) terms() []*returning {
	all := make(map[string]*returning)
	for i, o := range f.seen {
		for _, t := range rare(o.Content) {
			r := all[t.stem]
			if r == nil {
				r = &returning{term: t.term, stem: t.stem, kinds: make(map[string]bool), days: make(map[string]bool)}
				all[t.stem] = r
			}
			r.in = append(r.in, i)
			r.kinds[sensorKind(o.Sensor)] = true
			r.days[day(o.At)] = true
		}
	}
	list := make([]*returning, 0, len(all))
	for _, stem := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[stem])
	}
	return list
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func (f *finder) remember(r *returning) {
	for _, t := range f.state.Aside.Topics {
		if slices.ContainsFunc(rare(t.Text), r.is) {
			r.days[day(t.Last)] = true
		}
	}
	for _, c := range categories {
		for _, e := range *f.state.list(c) {
			if r.entry != "" || !slices.ContainsFunc(rare(e.Summary), r.is) {
				continue
			}
			for _, sign := range f.state.Aside.About[e.ID].Signature {
				sensor, _, _ := strings.Cut(sign, "|")
				if kind := sensorKind(sensor); kind != "" && !r.kinds[kind] {
					r.kinds[kind] = true
					r.entry, r.reads = e.ID, e.Summary
				}
			}
		}
	}
}

func (r *returning) is(t term) bool { return t.stem == r.stem }

// connect adds the finding for a word: the shared words and two places that share them.
func (f *finder) connect(r *returning) {
	about, level := []Seen{}, 0
	for _, i := range r.in {
		about = append(about, f.seen[i])
		level = max(level, f.seen[i].Level)
	}
	one := about[len(about)-1]
	here, there, text := place(one, len(r.kinds) < placesTogether), "", ""
	for _, o := range about {
		if sensorKind(o.Sensor) != sensorKind(one.Sensor) || len(r.kinds) < placesTogether && day(o.At) != day(one.At) {
			there, text = place(o, len(r.kinds) < placesTogether), o.Content
			break
		}
	}
	if there == "" && r.entry != "" {
		there, text = "on its mind ("+headOf(r.reads)+")", r.reads
	}
	summary := r.sharedBy(one.Content, text) + " came up " + here
	if there != "" {
		summary = r.sharedBy(one.Content, text) + " came up " + there + " and " + here
	}
	importance := max(level, 1+len(r.kinds)+len(r.days)/daysTogether)
	n := len(f.found)
	f.add(r.kind, summary+".", "", within(importance, LeastAdded, LeastInsight-1), about...) // shared words alone are no insight
	if r.entry != "" && len(f.found) > n {
		f.found[n].Reinforces = []string{r.entry}
	}
}

func (r *returning) sharedBy(a, b string) string {
	list, other := []string{r.term}, rare(b)
	for _, t := range rare(a) {
		if len(list) < mostShared && t.stem != r.stem && slices.ContainsFunc(other, func(o term) bool { return o.stem == t.stem }) {
			list = append(list, t.term)
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}

func place(o Seen, dated bool) string {
	where := "in " + textkit.VisibleLine(sensorKind(o.Sensor), maxName)
	if isOwn(o.Sensor) {
		where = "in conversations"
	}
	if dated {
		where += " on " + day(o.At)
	}
	if head := headOf(o.Content); head != "" {
		where += " (" + head + ")"
	}
	return where
}

func headOf(s string) string {
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

// rare returns the rare words of s: no stop words, everyday words, numbers or dates.
func rare(s string) (list []term) {
	s = textkit.VisibleLine(s, 2*maxLine)
	for _, w := range wordsOf(s) {
		stem := stemOf(w.folded)
		if len(list) == mostTermsOf || !mayBeRare(w.folded) || isStop(w.folded) || commonStems[w.folded] || commonStems[stem] ||
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
	return letters >= rareLetters
}
