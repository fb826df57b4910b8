package subconscious

import (
	_ "embed"
	"slices"
	"strings"
	"time"

	"ponder"
)

// A Role is one of the minds that look.
type Role struct {
	Name     string              // "watcher": letters, digits and dashes
	Doc      string              // what it looks for, in a line
	Prompt   string              // its template, in Markdown: see prompts/
	Reads    []string            // kinds of sensors; "*": all; "due": whatever has a date
	Category Category            // that its findings go to, unless their type says otherwise
	Types    map[string]Category // by type of finding
	Every    time.Duration       // its own pace: it is run that often though nothing is new; zero: never
	Looks    Looks               // where what it wants looked up is looked up
	Unaided  bool                // it has no model: rules find what they can
}

// What Reads may have beside kinds of sensors.
const (
	readsAll = "*"
	readsDue = "due"
)

// deliverySensor is the sensor of what users were told.
const deliverySensor = "delivery"

// sensorKind returns the kind of a sensor's name: "feed" of "feed:news".
func sensorKind(sensor string) string {
	kind, _, _ := strings.Cut(sensor, ":")
	return kind
}

// Sees reports whether a role is shown an observation. What users or conversations were
// told by the subconscious is shown to none: it would find itself. What was looked up is
// shown to the role that wanted it.
func (r Role) Sees(o ponder.Observation) bool {
	kind := sensorKind(o.Sensor)
	switch kind {
	case deliverySensor, Name:
		return false
	case LookUpKind:
		return o.Sensor == LookUpSensor(r.Name)
	}
	return slices.ContainsFunc(r.Reads, func(reads string) bool {
		return reads == readsAll || reads == kind || reads == o.Sensor || reads == readsDue && !o.Due.IsZero()
	})
}

// The prompts of the roles.
var (
	//go:embed prompts/watcher.md
	watcherPrompt string
	//go:embed prompts/librarian.md
	librarianPrompt string
	//go:embed prompts/oracle.md
	oraclePrompt string
	//go:embed prompts/dreamer.md
	dreamerPrompt string
)

// The names of the roles that there are without any configuration.
const (
	watcher   = "watcher"
	librarian = "librarian"
	oracle    = "oracle"
	dreamer   = "dreamer"
)

// DefaultRoles are the four that there are without any configuration.
func DefaultRoles() []Role {
	return []Role{
		{
			Name: watcher, Doc: "The environment: mail, calendar, files, the machine, feeds and repositories; what is new and what is odd.",
			Prompt: watcherPrompt, Category: ActiveThreads,
			Reads: []string{"mail", "calendar", "files", "system", "feed", "git", "command"},
			Types: map[string]Category{"observation": ActiveThreads, "anomaly": ActiveThreads, "pattern": Patterns},
		},
		{
			Name: librarian, Doc: "Memory and conversations: what returns, what was forgotten, what belongs together, what has gone quiet.",
			Prompt: librarianPrompt, Category: Patterns,
			Reads: []string{"own"}, Looks: LooksMemory,
			Types: map[string]Category{"pattern": Patterns, "promise": ActiveThreads, "forgotten": ActiveThreads, "connection": Patterns, "stale": ActiveThreads},
		},
		{
			Name: oracle, Doc: "What is coming: the calendar, deadlines, and what patterns lead to.",
			Prompt: oraclePrompt, Category: ActiveThreads,
			Reads: []string{"calendar", readsDue}, Looks: LooksMemory,
			Types: map[string]Category{"upcoming": ActiveThreads, "preparation": ActiveThreads, "risk": ActiveThreads},
		},
		{
			Name: dreamer, Doc: "Everything: unexpected connections, ideas, questions, challenges.",
			Prompt: dreamerPrompt, Category: Hunches,
			Reads: []string{readsAll}, Looks: LooksWeb,
			Types: map[string]Category{"idea": Hunches, "connection": Hunches, "question": Hunches, "challenge": Hunches},
		},
	}
}

// typeOrder has the types of findings; those that say least come first.
var typeOrder = []string{
	"observation", "anomaly", "pattern", "upcoming", "preparation", "risk",
	"idea", "question", "challenge", "promise", "forgotten", "stale", "connection",
}

// types returns the types of findings that a role gives, the one that it gives where
// it names none first.
func (r Role) types() []string {
	list := make([]string, 0, len(r.Types))
	for t := range r.Types {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b string) int {
		if d := r.typeRank(a) - r.typeRank(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if len(list) == 0 {
		return []string{typeOrder[0]}
	}
	return list
}

// typeRank orders types: those of the role's own category first.
func (r Role) typeRank(t string) int {
	rank := slices.Index(typeOrder, t)
	if rank < 0 {
		rank = len(typeOrder)
	}
	if r.Types[t] != r.Category {
		rank += 2 * len(typeOrder)
	}
	return rank
}
