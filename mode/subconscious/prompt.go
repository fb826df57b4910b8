package subconscious

import (
	"time"

	"ponder/llm"
)

// Prompt returns what a role is asked about what it has not seen yet, the oldest first.
func Prompt(role Role, s State, seen []Seen, now time.Time) llm.Request { return llm.Request{} }

// ParseReport reads what a role answered to its [Prompt] about the same observations.
func ParseReport(role Role, answer string, seen []Seen, s State) (Report, error) {
	return Report{Role: role.Name}, nil
}

// Find is what a role finds without a model.
func Find(role Role, s State, seen []Seen, now time.Time) Report {
	return Report{Role: role.Name, Unaided: true}
}

// DefaultRoles are the four that there are without any configuration.
func DefaultRoles() []Role { return nil }

// ReadRole reads a role from a Markdown file with front matter.
func ReadRole(name string, file []byte) (Role, error) { return Role{}, nil }
