package chat

import (
	_ "embed" // for the prompts
	"slices"
	"strings"

	"ponder"
	"ponder/mode/internal/background"
	"ponder/mode/internal/lookup"
)

var (
	//go:embed prompts/mind.md
	mindRules string
	//go:embed prompts/raised.md
	raisedRules string
)

const (
	mindMark   = "[at the back of your mind — not spoken aloud]"
	raisedMark = "[inner monologue — not spoken aloud]"
)

// applyObservation applies an observation: a user's request for a reflection, or a background note. Others
// are ignored.
func (s *state) applyObservation(ev ponder.Event, b ponder.Observation) {
	if b.Sensor == DeepAsked {
		s.Deep.applyRequest(ev, s.opts.DeepPerHour)
	} else if n, ok := background.NoteFrom(ev); ok {
		s.Mind = background.AppendNote(s.Mind, n)
		s.Taint = s.Taint.AddEvent(ev)
	}
}

func (s *state) backgroundText(t Turn) string {
	var background, raised []background.Note
	for _, n := range s.Mind {
		switch {
		case n.Seq >= s.turnBegin(t):
		case n.IsEscalated():
			raised = append(raised, n)
		default:
			background = append(background, n)
		}
	}
	var b strings.Builder
	writeFrame(&b, mindMark, mindRules, "background", background)
	writeFrame(&b, raisedMark, raisedRules, "raised", raised)
	return b.String()
}

func writeFrame(b *strings.Builder, mark, rules, name string, list []background.Note) {
	if len(list) > 0 {
		b.WriteString(mark + "\n" + strings.TrimSpace(rules) + "\n<" + name + ">\n" + background.FormatLines(list, lookup.Sanitize) + "</" + name + ">\n\n")
	}
}

// dropShownNotes drops notes shown with the ending turn. A note that the user must be told stays until a
// turn with it is answered.
func (s *state) dropShownNotes(t Turn, used bool) {
	if len(s.Mind) == 0 {
		return
	}
	before := s.turnBegin(t)
	s.Mind = slices.DeleteFunc(slices.Clone(s.Mind), func(n background.Note) bool { return n.Seq < before && (used || !n.IsEscalated()) })
}
