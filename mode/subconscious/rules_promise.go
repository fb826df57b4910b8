package subconscious

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"

	"ponder/words"
)

//go:embed promises.txt
var promiseText string

// promisePhrases has the phrases of promises, as words.
var promisePhrases = func() (list [][]string) {
	for line := range strings.Lines(promiseText) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, strings.Fields(line))
		}
	}
	return list
}()

// maxOpening is how many words of what stands before a promise are kept.
const maxOpening = 4

// maxGap is how many words a star in a phrase stands for at most.
const maxGap = 3

// A word is a word of a text, folded, and its place there.
type word struct {
	folded     string
	start, end int
}

// wordsOf returns the words of a text.
func wordsOf(s string) (list []word) {
	words.Tokens(s, func(t words.Token) {
		list = append(list, word{words.Fold(s[t.Start:t.End]), t.Start, t.End})
	})
	return list
}

// promises finds promises in what the user or those who write to them have said, that no
// later observation of the same subject follows up.
func (f *finder) promises() {
	kind := f.first("forgotten", "observation")
	if kind == "" {
		return
	}
	for i, o := range f.seen {
		if !isOwn(o.Sensor) && sensorKind(o.Sensor) != "mail" {
			continue
		}
		sentence := promise(o.Content)
		if sentence == "" || isOver(o) || f.followed(o, f.seen[i+1:]) {
			continue
		}
		if o.Level > 0 && o.Level < LeastAdded { // everybody is promised that
			continue
		}
		importance := promiseImport
		if o.Untrusted {
			importance = strangerImport
		}
		f.add(kind, sentence, f.why(o, o.Level, ""), cmp.Or(o.Level, importance), o)
	}
}

// followed reports whether later observations of the subject of one say that it is over,
// or promise anew.
func (f *finder) followed(o Seen, later []Seen) bool {
	return o.Subject != "" && slices.ContainsFunc(later, func(n Seen) bool {
		return n.Subject == o.Subject && sensorKind(n.Sensor) == sensorKind(o.Sensor) && (isOver(n) || promise(n.Content) != "")
	})
}

// promise returns the part of a text that promises something: its first words, and the
// sentence, from the promise on if all of it is too long. It is "" if there is none.
func promise(content string) string {
	content = oneLine(content, 2*maxLine)
	list := wordsOf(content)
	for i := range list {
		for _, phrase := range promisePhrases {
			end := matches(list[i:], phrase)
			if end == 0 || denied(list[i+end:]) {
				continue
			}
			from, to := sentence(content, list[i].start, list[i+end-1].end)
			if strings.HasSuffix(content[from:to], "?") && phrase[0] != "remind" {
				continue
			}
			if len(strings.Fields(content[from:to])) > MaxWords {
				from = list[i].start
			}
			return opening(content[:from]) + content[from:to]
		}
	}
	return ""
}

// opening returns the first words of what stands before a promise, for they say whose it
// is.
func opening(before string) string {
	list := strings.Fields(before)
	if len(list) <= maxOpening {
		return before
	}
	return strings.Join(list[:maxOpening], " ") + " … "
}

// matches returns how many words a phrase takes at the beginning of a list, 0 if it is
// not there.
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

// denials are words after which a phrase promises nothing.
var denials = []string{"not", "never", "nicht", "nie", "be", "have", "sein", "haben", "list", "lists"}

// denied reports whether words take back the promise before them, or say how things will
// be, not what will be done.
func denied(rest []word) bool {
	if len(rest) == 0 || !slices.Contains(denials, rest[0].folded) {
		return false
	}
	doing := rest[0].folded == "be" && len(rest) > 1 && strings.HasSuffix(rest[1].folded, "ing")
	return !doing
}

// sentence returns where the sentence of a text begins and ends that has a place.
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
