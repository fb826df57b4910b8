package transcript

import (
	"fmt"
	"slices"
	"strings"

	"ponder"
	"ponder/internal/textkit"
)

// A SourceList folds a thread into the sources of untrusted text that its answers record.
type SourceList struct {
	Sources []ponder.UntrustedSource // the oldest first
}

// Apply folds the next event.
func (u *SourceList) Apply(ev ponder.Event) {
	b, ok := ev.Body.(ponder.AssistantMessage)
	if !ok {
		return
	}
	for _, s := range b.Untrusted {
		if !slices.Contains(u.Sources, s) {
			u.Sources = append(u.Sources, s)
		}
	}
}

// Text returns the sources as lines for users, or nothing.
func (u *SourceList) Text() string {
	if len(u.Sources) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Untrusted text in this conversation:\n")
	for _, s := range u.Sources {
		b.WriteString("  " + textkit.OneLine(textkit.Visible(s.Source)))
		if s.Seq > 0 {
			fmt.Fprintf(&b, " (event %d)", s.Seq)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
