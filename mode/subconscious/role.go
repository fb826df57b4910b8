package subconscious

import (
	_ "embed"
	"slices"
	"strings"
	"time"

	"ponder"
)

// Role configures one of the roles that look at observations.
type Role struct {
	Name     string // letters, digits and dashes
	Doc      string
	Prompt   string   // a Markdown template; see prompts/
	Reads    []string // kinds of sensors; "*": all; "due": any observation with a due date
	Category Category
	Types    map[string]Category // by type of finding
	Every    time.Duration       // interval of runs without news; zero: none
	Looks    LookUpSource        // where its requests are looked up
	Unaided  bool                // rules instead of a model
}

const (
	readsAll = "*"
	readsDue = "due"
)

const deliverySensor = "delivery"

// sensorKind returns the kind of a sensor: "feed" for "feed:news".
func sensorKind(sensor string) string {
	kind, _, _ := strings.Cut(sensor, ":")
	return kind
}

// Sees reports whether a role is shown an observation. No role sees messages of the subconscious,
// to prevent feedback. Only the requesting role sees a look-up.
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

const (
	watcher   = "watcher"
	librarian = "librarian"
	oracle    = "oracle"
	dreamer   = "dreamer"
)

// DefaultRoles returns the four roles used without configuration.
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
			Reads: []string{"own"}, Looks: LookUpMemory,
			Types: map[string]Category{"pattern": Patterns, "promise": ActiveThreads, "forgotten": ActiveThreads, "connection": Patterns, "stale": ActiveThreads},
		},
		{
			Name: oracle, Doc: "What is coming: the calendar, deadlines, and what patterns lead to.",
			Prompt: oraclePrompt, Category: ActiveThreads,
			Reads: []string{"calendar", readsDue}, Looks: LookUpMemory,
			Types: map[string]Category{"upcoming": ActiveThreads, "preparation": ActiveThreads, "risk": ActiveThreads},
		},
		{
			Name: dreamer, Doc: "Everything: unexpected connections, ideas, questions, challenges.",
			Prompt: dreamerPrompt, Category: Hunches,
			Reads: []string{readsAll}, Looks: LookUpWeb,
			Types: map[string]Category{"idea": Hunches, "connection": Hunches, "question": Hunches, "challenge": Hunches},
		},
	}
}

// typeOrder lists types of findings, least specific first.
var typeOrder = []string{
	"observation", "anomaly", "pattern", "upcoming", "preparation", "risk",
	"idea", "question", "challenge", "promise", "forgotten", "stale", "connection",
}

func (r Role) sortedTypes() []string {
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

// typeRank ranks types of the role's own category first.
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
