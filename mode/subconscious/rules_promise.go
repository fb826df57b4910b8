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

// maxOpening is the number of words kept from before a promise.
const maxOpening = 4

// maxGap is the maximum number of words that a star in a phrase matches.
const maxGap = 3

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

// promises finds promises of the user and of correspondents, unless later observations follow up.
// They are not escalated, because reminders follow after a day.
func (f *finder) promises() {
	kind := f.first("promise", "observation")
	if kind == "" {
		return
	}
	for i, o := range f.seen {
		if !isOwn(o.Sensor) && sensorKind(o.Sensor) != "mail" || isOver(o) || f.has(o) {
			continue
		}
		if o.Level > 0 && o.Level < LeastAdded { // a mass message
			continue
		}
		for _, sentence := range promisesOf(o.Content) {
			if !f.followed(o, sentence, f.seen[i+1:]) {
				f.say(kind, sentence, LeastAdded, o)
			}
		}
	}
}

func (f *finder) has(o Seen) bool {
	return slices.ContainsFunc(f.found, func(r ruled) bool { return slices.Equal(r.Rests, []string{o.ID}) })
}

func (f *finder) say(kind, text string, importance int, o Seen) {
	summary := Summary(text)
	if kind == "" || !tells(summary) || slices.ContainsFunc(f.found, func(r ruled) bool { return r.Summary == summary }) {
		return
	}
	f.found = append(f.found, ruled{Finding{Type: kind, Summary: summary, Importance: importance, Rests: []string{o.ID}, Due: plain(o.Due)}, ""})
}

// followed reports whether later observations of the subject end it or repeat the promise, or say
// that it is done.
func (f *finder) followed(o Seen, promised string, later []Seen) bool {
	return slices.ContainsFunc(later, func(n Seen) bool {
		if o.Subject != "" && n.Subject == o.Subject && sensorKind(n.Sensor) == sensorKind(o.Sensor) {
			return isOver(n) || promise(n.Content) != ""
		}
		return isOwn(o.Sensor) && settles(n, promised)
	})
}

const mostPromises = 6

func promisesOf(content string) (list []string) {
	content = textkit.VisibleLine(content, 2*maxLine)
	for len(list) < mostPromises {
		from, to := promiseIn(content)
		if to == 0 {
			break
		}
		part := content[from:to]
		if len(list) == 0 {
			part = opening(content[:from]) + part
		}
		list, content = append(list, part), strings.TrimSpace(content[to:])
	}
	return list
}

// promise returns the first promising sentence, shortened to its opening and the promise if too
// long, or "".
func promise(content string) string {
	if list := promisesOf(content); len(list) > 0 {
		return list[0]
	}
	return ""
}

// promiseIn returns the byte range of a promise in content, or 0, 0.
func promiseIn(content string) (from, to int) {
	list := wordsOf(content)
	for i := range list {
		for _, phrase := range promisePhrases {
			n := matches(list[i:], phrase)
			if n == 0 || denied(list[i+n:]) {
				continue
			}
			from, to = sentence(content, list[i].start, list[i+n-1].end)
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

// opening shortens the text before a promise; its first words say whose promise it is.
func opening(before string) string {
	list := strings.Fields(before)
	if len(list) <= maxOpening {
		return before
	}
	return strings.Join(list[:maxOpening], " ") + " … "
}

// matches returns how many words the phrase matches at the start of list, or 0.
func matches(list []word, phrase []string) int {
	at := 0
	for i, p := range phrase {
		if p == "*" { // never the last
			next := phrase[i+1]
			gap := slices.IndexFunc(list[min(at, len(list)):min(at+maxGap+1, len(list))], func(w word) bool { return w.folded == next })
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

// denied reports whether rest negates a promise or describes a state instead of an action.
func denied(rest []word) bool {
	if len(rest) == 0 || !slices.Contains(denials, rest[0].folded) {
		return false
	}
	doing := rest[0].folded == "be" && len(rest) > 1 && strings.HasSuffix(rest[1].folded, "ing")
	return !doing
}

func sentence(s string, start, end int) (from, to int) {
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
