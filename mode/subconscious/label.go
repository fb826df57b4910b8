package subconscious

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ponder/internal/textkit"
	"ponder/mode/internal/lookup"
)

const (
	maxShown     = 24
	maxShownSize = 3600 // bytes with frames
	maxContent   = 400  // bytes of one observation
	maxLabel     = 100
)

const longestLabel = "o00"

type labelledObservation struct {
	label string
	frame string
	SeenObservation
}

// labelObservations selects the observations that fit a prompt and labels them, oldest first. It drops low
// levels first, then older ones. It depends on seen alone, so that an answer is read with the same
// labels.
func labelObservations(seen []SeenObservation) (shown []labelledObservation, left []SeenObservation) {
	order := make([]int, len(seen))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(seen[b].Level, seen[a].Level), cmp.Compare(seen[b].Seq, seen[a].Seq))
	})
	size := 0
	for _, i := range order {
		l := labelledObservation{frame: formatObservation(longestLabel, seen[i]), SeenObservation: seen[i]}
		if len(shown) == maxShown || size+len(l.frame)+1 > maxShownSize {
			left = append(left, seen[i])
			continue
		}
		size += len(l.frame) + 1
		shown = append(shown, l)
	}
	slices.SortStableFunc(shown, func(a, b labelledObservation) int { return cmp.Compare(a.Seq, b.Seq) })
	for i := range shown {
		shown[i].label = fmt.Sprintf("o%d", i+1)
		shown[i].frame = formatObservation(shown[i].label, shown[i].SeenObservation)
	}
	return shown, left
}

// formatObservation returns an observation between marks that its content cannot close.
func formatObservation(label string, o SeenObservation) string {
	var b strings.Builder
	b.WriteString("<observation id=" + label)
	writeAttribute(&b, "sensor", o.Sensor, maxName)
	writeAttribute(&b, "subject", lookup.SourceName(o.Subject), maxLabel)
	writeAttribute(&b, "state", o.State, maxName)
	if o.Level > 0 {
		fmt.Fprintf(&b, " level=%d", min(o.Level, 10))
	}
	if !o.At.IsZero() {
		writeAttribute(&b, "seen", formatStamp(o.At), maxName)
	}
	if !o.Due.IsZero() {
		writeAttribute(&b, "due", formatStamp(o.Due), maxName)
	}
	writeAttribute(&b, "source", lookup.SourceName(o.Source), maxLabel)
	if o.Untrusted {
		b.WriteString(` written-by="strangers"`)
	}
	b.WriteString(">" + sanitizeLine(o.Content, maxContent) + "</observation>")
	return b.String()
}

func writeAttribute(b *strings.Builder, name, value string, size int) {
	if value = strings.ReplaceAll(sanitizeLine(value, size), `"`, "'"); value != "" {
		fmt.Fprintf(b, ` %s="%s"`, name, value)
	}
}

// bracketEscaper replaces angle brackets in quoted text, so that it cannot contain marks.
var bracketEscaper = strings.NewReplacer("<", "‹", ">", "›", "＜", "‹", "＞", "›", "﹤", "‹", "﹥", "›")

// sanitizeLine returns s as one line of at most size bytes that cannot close its frame.
func sanitizeLine(s string, size int) string {
	return textkit.TruncateBytes(bracketEscaper.Replace(textkit.VisibleLine(s, 4*size)), size)
}

func formatStamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04Z") }

func countOmitted(left []SeenObservation) string {
	counts := make(map[string]int)
	for _, o := range left {
		counts[sanitizeLine(sensorKind(o.Sensor), maxName)]++
	}
	kinds := make([]string, 0, len(counts))
	for _, k := range sortedNames(counts) {
		kinds = append(kinds, fmt.Sprintf("%d of %s", counts[k], k))
	}
	return strings.Join(kinds, ", ")
}
