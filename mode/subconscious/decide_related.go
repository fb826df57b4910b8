package subconscious

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ponder"
)

// sameTime is the distance below which two due dates count as one time.
const sameTime = 24 * time.Hour

// relation has the parts by which findings and entries may belong together.
type relation struct {
	sensors []string
	names   []string // stems of words that may be names
	words   []string // all stems
	times   []value  // times of the day, weekdays and months
	dues    []time.Time
}

func (r *relation) addText(text string, texts *phraseReader) {
	r.names = append(r.names, nameStems(text)...)
	r.words = append(r.words, stemsOf(text)...)
	for _, v := range texts.phraseOf(text).values {
		if strings.IndexByte("twm", v.kind) >= 0 {
			r.times = append(r.times, v)
		}
	}
}

func (r *relation) addObservation(o SeenObservation, texts *phraseReader) {
	r.sensors = append(r.sensors, o.Sensor)
	r.addText(o.Content, texts)
	if !o.Due.IsZero() {
		r.dues = append(r.dues, o.Due)
	}
}

func (r *relation) addEntry(e Entry, about EntryMetadata, texts *phraseReader) {
	for _, text := range append([]string{e.Summary}, about.Wordings...) {
		r.addText(text, texts)
	}
	for _, s := range about.Signature {
		sensor, _, _ := strings.Cut(s, "|")
		r.sensors = append(r.sensors, sensor)
	}
	if !about.Due.IsZero() {
		r.dues = append(r.dues, about.Due)
	}
}

// isShared reports whether r and o share a source, a person or a time.
func (r relation) isShared(o relation) bool {
	return slices.ContainsFunc(r.sensors, func(s string) bool { return slices.Contains(o.sensors, s) }) ||
		slices.ContainsFunc(r.names, func(s string) bool { return slices.Contains(o.words, s) }) ||
		slices.ContainsFunc(o.names, func(s string) bool { return slices.Contains(r.words, s) }) ||
		slices.ContainsFunc(r.times, func(v value) bool { return slices.Contains(o.times, v) }) ||
		slices.ContainsFunc(r.dues, func(t time.Time) bool {
			return slices.ContainsFunc(o.dues, func(u time.Time) bool { return t.Sub(u).Abs() < sameTime })
		})
}

// relatedEntries returns the entries that an escalation names, or that share a source, a person or a time
// with it.
func (k knowledge) relatedEntries(e ponder.Escalation) map[string]bool {
	texts, related, own := newReader(nil), make(map[string]bool), relation{}
	found, _ := splitCompiled(e.Content)
	for _, text := range found {
		own.addText(text, texts)
	}
	for _, o := range k.findObservations(e.Observations) {
		own.addObservation(o, texts)
	}
	about := k.State.Internal.Metadata
	for _, id := range e.Entries {
		if en, _ := k.State.findEntry(id); en != nil {
			related[id] = true
			own.addEntry(*en, about[id], texts)
		}
	}
	for _, c := range categories {
		for _, en := range *k.State.categoryEntries(c) {
			r := relation{}
			r.addEntry(en, about[en.ID], texts)
			for _, o := range k.findObservations(about[en.ID].Rests) {
				r.addObservation(o, texts)
			}
			if own.isShared(r) {
				related[en.ID] = true
			}
		}
	}
	return related
}

// nameStems returns the stems of the capitalized words that are neither everyday words nor times.
func nameStems(s string) (names []string) {
	for _, w := range wordsOf(s) {
		first, _ := utf8.DecodeRuneInString(s[w.start:w.end])
		stem := stemOf(w.folded)
		if unicode.IsUpper(first) && w.end-w.start > 1 && !isStop(w.folded) && !commonStems[w.folded] && !commonStems[stem] && !timeWords[w.folded] {
			names = append(names, stem)
		}
	}
	return names
}
