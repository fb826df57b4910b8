package subconscious

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"
)

// Bounds of what a role is shown of what it has not seen.
const (
	maxShown     = 24   // observations
	maxShownSize = 3600 // bytes, with their frames
	maxContent   = 400  // bytes of one
	maxLabel     = 100  // bytes of a subject or a source
)

// longestLabel is a label of the longest that there are.
const longestLabel = "o00"

// A labelled is an observation as a role is shown it.
type labelled struct {
	label string // o1, o2, ...
	frame string
	Seen
}

// label chooses what of the observations a role is shown, and gives it labels, the oldest
// first. Of too many those of low level are left out, of these the oldest. It depends on
// the observations alone, so that an answer is read with the labels that it was given.
func label(seen []Seen) (shown []labelled, left []Seen) {
	order := make([]int, len(seen))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(seen[b].Level, seen[a].Level), cmp.Compare(seen[b].Seq, seen[a].Seq))
	})
	size := 0
	for _, i := range order {
		l := labelled{frame: frame(longestLabel, seen[i]), Seen: seen[i]}
		if len(shown) == maxShown || size+len(l.frame)+1 > maxShownSize {
			left = append(left, seen[i])
			continue
		}
		size += len(l.frame) + 1
		shown = append(shown, l)
	}
	slices.SortStableFunc(shown, func(a, b labelled) int { return cmp.Compare(a.Seq, b.Seq) })
	for i := range shown {
		shown[i].label = fmt.Sprintf("o%d", i+1)
		shown[i].frame = frame(shown[i].label, shown[i].Seen)
	}
	return shown, left
}

// frame returns an observation between marks that nothing in it can close.
func frame(label string, o Seen) string {
	var b strings.Builder
	b.WriteString("<observation id=" + label)
	attribute(&b, "sensor", o.Sensor, maxName)
	attribute(&b, "subject", o.Subject, maxLabel)
	attribute(&b, "state", o.State, maxName)
	if o.Level > 0 {
		fmt.Fprintf(&b, " level=%d", min(o.Level, 10))
	}
	if !o.At.IsZero() {
		attribute(&b, "seen", stamp(o.At), maxName)
	}
	if !o.Due.IsZero() {
		attribute(&b, "due", stamp(o.Due), maxName)
	}
	attribute(&b, "source", o.Source, maxLabel)
	if o.Untrusted {
		b.WriteString(` written-by="strangers"`)
	}
	b.WriteString(">" + quoted(o.Content, maxContent) + "</observation>")
	return b.String()
}

// attribute writes an attribute, if it has a value.
func attribute(b *strings.Builder, name, value string, size int) {
	if value = strings.ReplaceAll(quoted(value, size), `"`, "'"); value != "" {
		fmt.Fprintf(b, ` %s="%s"`, name, value)
	}
}

// brackets are replaced by their like in what is quoted, so that it has no marks.
var brackets = strings.NewReplacer("<", "‹", ">", "›", "＜", "‹", "＞", "›", "﹤", "‹", "﹥", "›")

// quoted returns what somebody wrote as a line of at most so many bytes that can neither
// close the marks it stands between nor begin another line.
func quoted(s string, size int) string {
	return textkit.TruncateBytes(brackets.Replace(textkit.VisibleLine(s, 4*size)), size)
}

// stamp returns a time as roles are shown it and give it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04Z") }

// leftOut says in words how much was left out, by kind of sensor.
func leftOut(left []Seen) string {
	counts := make(map[string]int)
	for _, o := range left {
		counts[quoted(sensorKind(o.Sensor), maxName)]++
	}
	kinds := make([]string, 0, len(counts))
	for _, k := range names(counts) {
		kinds = append(kinds, fmt.Sprintf("%d of %s", counts[k], k))
	}
	return strings.Join(kinds, ", ")
}
