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
	//go:embed mind.md
	mindRules string
	//go:embed raised.md
	raisedRules string
)

const (
	mindMark   = "[at the back of your mind — not spoken aloud]"
	raisedMark = "[inner monologue — not spoken aloud]"
)

// observed applies an observation: a user's request for a reflection, or a background note. Others
// are ignored.
func (s *state) observed(ev ponder.Event, b ponder.Observation) {
	if b.Sensor == DeepAsked {
		s.Deep.asked(ev)
	} else if n, ok := background.Of(ev); ok {
		s.Mind = background.With(s.Mind, n)
	}
}

func (s *state) mind(t Turn) string {
	var background, raised []background.Note
	for _, n := range s.Mind {
		switch {
		case n.Seq >= s.begins(t):
		case n.Raised():
			raised = append(raised, n)
		default:
			background = append(background, n)
		}
	}
	var b strings.Builder
	frame(&b, mindMark, mindRules, "background", background)
	frame(&b, raisedMark, raisedRules, "raised", raised)
	return b.String()
}

func frame(b *strings.Builder, mark, rules, name string, list []background.Note) {
	if len(list) > 0 {
		b.WriteString(mark + "\n" + strings.TrimSpace(rules) + "\n<" + name + ">\n" + background.Lines(list, lookup.Tame) + "</" + name + ">\n\n")
	}
}

// minded drops notes shown with the ending turn. A note that the user must be told stays until a
// turn with it is answered.
func (s *state) minded(t Turn, used bool) {
	if len(s.Mind) == 0 {
		return
	}
	before := s.begins(t)
	s.Mind = slices.DeleteFunc(slices.Clone(s.Mind), func(n background.Note) bool { return n.Seq < before && (used || !n.Raised()) })
}
