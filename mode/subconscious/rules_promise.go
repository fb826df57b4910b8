package subconscious

import (
	_ "embed"
	"slices"
	"strings"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

//go:embed promises.txt
var promiseText string

var promisePhrases = func() (list [][]string) {
	for line := range strings.Lines(promiseText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, strings.Fields(line))
		}
	}
	return list
}()

// maxOpeningWords is the number of words kept from before a promise.
const maxOpeningWords = 4

// maxGapWords is the maximum number of words that a star in a phrase matches.
const maxGapWords = 3

type word struct {
	folded     string
	start, end int
}

func wordsOf(s string) (list []word) {
	lexical.Tokens(s, func(t lexical.Token) {
		list = append(list, word{lexical.Fold(s[t.Start:t.End]), t.Start, t.End})
	})
	return list
}

// findPromises finds promises of the user and of correspondents, unless later observations follow up.
// They are not escalated, because reminders follow after a day.
func (f *finder) findPromises() {
	kind := f.firstGivenType("promise", "observation")
	if kind == "" {
		return
	}
	for i, o := range f.seen {
		if !isOwnSensor(o.Sensor) && sensorKind(o.Sensor) != "mail" || isOver(o) || f.hasFinding(o) {
			continue
		}
		if o.Level > 0 && o.Level < MinEntryImportance { // a mass message
			continue
		}
		for _, sentence := range promisesOf(o.Content) {
			if !f.isFollowedUp(o, sentence, f.seen[i+1:]) {
				f.addStatement(kind, sentence, MinEntryImportance, o)
			}
		}
	}
}

func (f *finder) hasFinding(o SeenObservation) bool {
	return slices.ContainsFunc(f.found, func(r ruleFinding) bool { return slices.Equal(r.Rests, []string{o.ID}) })
}

func (f *finder) addStatement(kind, text string, importance int, o SeenObservation) {
	summary := Summary(text)
	if kind == "" || !hasContent(summary) || slices.ContainsFunc(f.found, func(r ruleFinding) bool { return r.Summary == summary }) {
		return
	}
	f.found = append(f.found, ruleFinding{Finding{Type: kind, Summary: summary, Importance: importance, Rests: []string{o.ID}, Due: storableTime(o.Due)}, ""})
}

// isFollowedUp reports whether later observations of the subject end it or repeat the promise, or say
// that it is done.
func (f *finder) isFollowedUp(o SeenObservation, promised string, later []SeenObservation) bool {
	return slices.ContainsFunc(later, func(n SeenObservation) bool {
		if o.Subject != "" && n.Subject == o.Subject && sensorKind(n.Sensor) == sensorKind(o.Sensor) {
			return isOver(n) || firstPromise(n.Content) != ""
		}
		return isOwnSensor(o.Sensor) && reportsDone(n, promised)
	})
}

const maxPromises = 6

func promisesOf(content string) (list []string) {
	content = textkit.VisibleLine(content, 2*maxLine)
	for len(list) < maxPromises {
		from, to := locatePromise(content)
		if to == 0 {
			break
		}
		part := content[from:to]
		if len(list) == 0 {
			part = shortenOpening(content[:from]) + part
		}
		list, content = append(list, part), strings.TrimSpace(content[to:])
	}
	return list
}

// firstPromise returns the first promising sentence, shortened to its opening and the promise if too
// long, or "".
func firstPromise(content string) string {
	if list := promisesOf(content); len(list) > 0 {
		return list[0]
	}
	return ""
}

// locatePromise returns the byte range of a promise in content, or 0, 0.
func locatePromise(content string) (from, to int) {
	list := wordsOf(content)
	for i := range list {
		for _, phrase := range promisePhrases {
			n := matchPhrase(list[i:], phrase)
			if n == 0 || isDenied(list[i+n:]) {
				continue
			}
			from, to = sentenceBounds(content, list[i].start, list[i+n-1].end)
			if strings.HasSuffix(content[from:to], "?") && phrase[0] != "remind" {
				continue
			}
			if len(strings.Fields(content[from:to])) > MaxWords {
				from = list[i].start
			}
			return from, to
		}
	}
	return 0, 0
}

// shortenOpening shortens the text before a promise; its first words say whose promise it is.
func shortenOpening(before string) string {
	list := strings.Fields(before)
	if len(list) <= maxOpeningWords {
		return before
	}
	return strings.Join(list[:maxOpeningWords], " ") + " … "
}

// matchPhrase returns how many words the phrase matches at the start of list, or 0.
func matchPhrase(list []word, phrase []string) int {
	at := 0
	for i, p := range phrase {
		if p == "*" { // never the last
			next := phrase[i+1]
			gap := slices.IndexFunc(list[min(at, len(list)):min(at+maxGapWords+1, len(list))], func(w word) bool { return w.folded == next })
			if gap < 0 {
				return 0
			}
			at += gap
			continue
		}
		if at >= len(list) || list[at].folded != p {
			return 0
		}
		at++
	}
	return at
}

var denials = []string{"not", "never", "nicht", "nie", "be", "have", "sein", "haben", "list", "lists"}

// isDenied reports whether rest negates a promise or describes a state instead of an action.
func isDenied(rest []word) bool {
	if len(rest) == 0 || !slices.Contains(denials, rest[0].folded) {
		return false
	}
	doing := rest[0].folded == "be" && len(rest) > 1 && strings.HasSuffix(rest[1].folded, "ing")
	return !doing
}

func sentenceBounds(s string, start, end int) (from, to int) {
	for i := start - 1; i > 0; i-- {
		if s[i] == ' ' && strings.IndexByte(".!?;\n", s[i-1]) >= 0 {
			from = i + 1
			break
		}
	}
	for to = end; to < len(s); to++ {
		if strings.IndexByte(".!?;\n", s[to]) >= 0 && (to+1 == len(s) || s[to+1] == ' ') {
			to++
			break
		}
	}
	return from, min(to, len(s))
}
