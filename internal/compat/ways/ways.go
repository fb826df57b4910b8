// Package ways offers Ponder's ways of thinking to the protocols of agents (A2A, ACP, AG-UI): their names and
// options, commands that steer work, approvals, and contexts, in which several pieces of work follow each other.
//
// ways.go has the ways, options.go the options of a request and command.go the commands, which steer.go applies.
// approval.go finds and answers questions of Ponder. context.go places work in a context. mind.go renders the
// subconscious.
package ways

import (
	"strings"

	"ponder/internal/compat"
	"ponder/internal/toolname"
)

// A Way is a way of thinking.
type Way struct {
	ID, Name string
	Doc      string         // one sentence for users
	Kind     compat.JobKind // empty: the subconscious, which is no job
	Effort   string         // default
	Example  string
}

// The ways, by time scale.
var (
	Think = Way{
		toolname.Think, "Think", "Answer in a conversation that Ponder keeps. The model can think before it answers.",
		compat.Chat, "", "Why is the sky blue?",
	}
	DeepThink = Way{
		toolname.DeepThink, "Deep think", "Answer in a conversation, after a slower model has reflected on it.",
		compat.Chat, "high", "Which assumptions of our plan are weak?",
	}
	Research = Way{
		"research", "Research", "Search memory and web in rounds, and write a report with citations. Takes minutes.",
		compat.Research, "", "When will the ozone layer recover?",
	}
	Session = Way{
		"session", "Session", "Think about one question for minutes to hours: explore, raise questions, and sum up.",
		compat.Session, "", "Should we move the archive to another country?",
	}
	Subconscious = Way{
		"subconscious", "Subconscious", "Show the entries that Ponder noticed between questions, or let it look around now.",
		"", "", "What is on your mind?",
	}
)

// All returns the ways.
func All() []Way { return []Way{Think, DeepThink, Research, Session, Subconscious} }

// FindWay returns the way of an id. Case and hyphens do not matter.
func FindWay(id string) (Way, bool) {
	id = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(id)), "-", "_")
	for _, w := range All() {
		if w.ID == id {
			return w, true
		}
	}
	return Way{}, false
}

// WayOf returns the way of a kind of job.
func WayOf(kind compat.JobKind) Way {
	for _, w := range All() {
		if w.Kind == kind {
			return w
		}
	}
	return Think
}
