package subconscious

import "time"

// A Role is one of the minds that look.
type Role struct {
	Name     string              // "watcher": letters, digits and dashes
	Doc      string              // what it looks for, in a line
	Prompt   string              // its template, in Markdown: see prompts/
	Reads    []string            // kinds of sensors, "*" for all
	Category Category            // that its findings go to, unless their type says otherwise
	Types    map[string]Category // by type of finding
	Every    time.Duration       // its own pace: it is run that often though nothing is new; zero: never
	Unaided  bool                // it has no model: rules find what they can
}
