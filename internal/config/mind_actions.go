package config

import "time"

// ThinkAbout is the name in [Mind.Actions] of the action that begins a thinking session.
// It is there unless it is off; of its table, only off and per_day count.
const ThinkAbout = "think_about"

// What holds of actions where nothing is set, and the most that can be.
const (
	ActionsPerDay  = 5 // runs of a command
	SessionsPerDay = 2
	ActionLimit    = 30 * time.Second // that a command may take
)

// An Action is something that the subconscious may do of its own accord: a command of
// the user's.
type Action struct {
	Off     bool     `toml:"off"`
	Doc     string   `toml:"doc"`     // what it does and when to use it, for the model
	Command []string `toml:"command"` // the program and its arguments; no shell reads them
	Args    []string `toml:"args"`    // names of texts that the model writes: each is an argument behind those of Command
	Stdin   bool     `toml:"stdin"`   // the last of Args is given on standard input instead
	PerDay  *int     `toml:"per_day"` // at most so often in a day; [ActionsPerDay], or [SessionsPerDay]
	Dir     string   `toml:"dir"`     // where it runs
	Env     []string `toml:"env"`     // names of variables that it is given, beside PATH, HOME and LANG
	Limit   Duration `toml:"limit"`   // of time; at most, and if zero, [ActionLimit]
}

// Most returns how often an action may be done in a day; otherwise is what holds if
// nothing is set.
func (a Action) Most(otherwise int) int {
	if a.PerDay == nil {
		return otherwise
	}
	return *a.PerDay
}

// actionKeys are the settings of an action.
func actionKeys() []Key {
	return []Key{
		{"doc", "what it does, and when to use it", text}, {"command", "a program and its arguments", list},
		{"args", "names of texts that the model writes, such as text", list}, {"stdin", "the last of these goes to standard input: true or false", boolean},
		{"per_day", "at most so often in a day", count}, {"dir", "folder that it runs in", text},
		{"env", "names of variables that it is given", variables}, {"limit", "time that it may take, like 10s", span},
	}
}
