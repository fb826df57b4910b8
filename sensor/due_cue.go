package sensor

import (
	"slices"
	"strings"
	"unicode"
)

// Folded words around a date that make it a deadline.
var (
	cuesBefore = strings.Fields("by until till before bis latest spatestens spaetestens than") // immediately before the date
	cuesAround = strings.Fields("due deadline deadlines expires expire submit overdue frist stichtag abgabe abgabetermin abgabefrist " +
		"fallig faellig ablauft einzureichen einreichen closes reminder") // up to maxBefore words before it, or maxAfter after it
	fillers      = strings.Fields("the next this coming end of on at zum zur am um der dem den kommenden nachsten naechsten ende noon midnight uhr pm late early") // between
	morningWords = strings.Fields("guten gute guter jeden heute gestern am der den dieser diesem good every eines since seit")                                     // before "morgen" in the sense of morning
	pastWords    = strings.Fields("was were ago last letzten letzter letzte war waren since seit")                                                                 // mark the past
)

// Limits in words between a date and its cue.
const (
	maxBefore = 9
	maxAfter  = 5
)

// foldUmlauts replaces German letters by ASCII.
var foldUmlauts = strings.NewReplacer("ä", "a", "ö", "o", "ü", "u", "ß", "ss")

func foldWords(s string) []string {
	return strings.FieldsFunc(foldUmlauts.Replace(strings.ToLower(s)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

func (f dateMatch) isDeadline() bool {
	from, to := f.matchSpan()
	ahead, behind := foldWords(f.sentence[:from]), foldWords(f.sentence[to:])
	relative := f.groupText("relative")
	if relative == "morgen" && f.isMorning(from, ahead) {
		return false
	}
	near := ahead[max(0, len(ahead)-maxBefore):]
	if slices.ContainsFunc(near[max(0, len(near)-3):], func(w string) bool { return slices.Contains(pastWords, w) }) {
		return false
	}
	if slices.ContainsFunc(append(slices.Clone(near), behind[:min(len(behind), maxAfter)]...), func(w string) bool { return slices.Contains(cuesAround, w) }) {
		return f.groupText("clock") == "" || followsCue(near)
	}
	if followsCue(near) {
		return true
	}
	switch relative {
	case "tomorrow", "morgen", "day after tomorrow", "übermorgen", "uebermorgen", "tonight", "heute abend":
		return !strings.HasSuffix(strings.TrimRight(f.sentence, " \"'”’)"), "?")
	}
	return false
}

func (f dateMatch) matchSpan() (from, to int) {
	from, to = -1, f.loc[0]
	for i := 2; i < len(f.loc); i += 2 {
		if f.loc[i] >= 0 {
			if from < 0 {
				from = f.loc[i]
			}
			to = max(to, f.loc[i+1])
		}
	}
	return from, to
}

// followsCue reports whether the preceding words end with a deadline cue, then only days, times
// and filler words.
func followsCue(ahead []string) bool {
	for _, w := range slices.Backward(ahead) {
		switch {
		case slices.Contains(cuesBefore, w):
			return true
		case slices.Contains(fillers, w), w[0] >= '0' && w[0] <= '9', weekdays[w]:
		default:
			return false
		}
	}
	return false
}

// weekdays has the folded names of days.
var weekdays = func() map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields("monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag") {
		set[w] = true
	}
	return set
}()

// isMorning reports whether "morgen" means the morning: capitalised within the sentence, or after
// a word such as "guten".
func (f dateMatch) isMorning(from int, ahead []string) bool {
	if len(ahead) == 0 {
		return false
	}
	return f.sentence[from] == 'M' || slices.Contains(morningWords, ahead[len(ahead)-1])
}
