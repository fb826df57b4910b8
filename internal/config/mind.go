package config

import (
	"errors"
	"fmt"
	"maps"
	"net/mail"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ponder/internal/textkit"
)

// Mind says how the subconscious is kept. What is not set is as the constants below say.
type Mind struct {
	Every        Duration          `toml:"every"`          // between ticks; [MindEvery]
	Cooldown     Duration          `toml:"cooldown"`       // between escalations; [MindCooldown]
	TokensPerDay *int              `toml:"tokens_per_day"` // at most, of all models together; [MindTokens]; 0: no model is asked
	CostPerDay   *float64          `toml:"cost_per_day"`   // US dollars at most; [MindDollars]; 0: only models that are free
	Quiet        Hours             `toml:"quiet"`          // when nobody is told anything; [MindQuiet]
	Night        Hours             `toml:"night"`          // when it rests; [MindNight]
	Feed         *bool             `toml:"feed"`           // conversations and sessions are told what is on its mind; yes if nil
	Roles        string            `toml:"roles"`          // folder with roles as Markdown; see [Config.MindRoles]
	Web          bool              `toml:"web"`            // roles may have something looked up in the web
	Models       map[string]Chain  `toml:"models"`         // by role, and "escalation" for decisions
	Sensors      Sensors           `toml:"sensors"`
	Notify       Notify            `toml:"notify"`
	Actions      map[string]Action `toml:"actions"` // by name; see [ThinkAbout]
}

// What holds where nothing is set.
const (
	MindEvery    = 5 * time.Minute
	MindCooldown = 15 * time.Minute
	MindTokens   = 200_000
	MindDollars  = 0.50
	MindQuiet    = Hours("22:00-07:00")
	MindNight    = Hours("00:00-06:00")
)

// The least and the most time between two ticks.
const (
	leastEvery = time.Second
	mostEvery  = 24 * time.Hour
)

// Decisions is the name in [Mind.Models] of the model that decides about escalations.
const Decisions = "escalation"

// Tokens returns how many tokens a day may cost.
func (m Mind) Tokens() int {
	if m.TokensPerDay == nil {
		return MindTokens
	}
	return *m.TokensPerDay
}

// Dollars returns what a day may cost, in US dollars.
func (m Mind) Dollars() float64 {
	if m.CostPerDay == nil {
		return MindDollars
	}
	return *m.CostPerDay
}

// Feeds reports whether conversations and sessions are told what is on its mind.
func (m Mind) Feeds() bool { return m.Feed == nil || *m.Feed }

// QuietHours returns when nobody is told anything.
func (m Mind) QuietHours() Hours { return orHours(m.Quiet, MindQuiet) }

// NightHours returns when the subconscious rests.
func (m Mind) NightHours() Hours { return orHours(m.Night, MindNight) }

func orHours(h, otherwise Hours) Hours {
	if h == "" {
		return otherwise
	}
	return h
}

// MindRoles returns the folder with the roles that the user has added: "mind" beside
// the user's file unless they say otherwise. It need not be there.
func (c *Config) MindRoles() string {
	if c.Mind.Roles == "" {
		return filepath.Join(filepath.Dir(c.File), "mind")
	}
	return c.Path(c.Mind.Roles)
}

// Path returns a path that a setting has, with the home folder in place of a "~".
func (c *Config) Path(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok || path == "~" {
		return filepath.Join(c.env("HOME"), rest)
	}
	return path
}

// Secret returns what the environment has under a name that a setting has. It is an
// error if the name is set and the variable is not.
func (c *Config) Secret(variable string) (Secret, error) {
	if variable == "" {
		return "", nil
	}
	if v := c.env(variable); v != "" {
		return Secret(v), nil
	}
	return "", fmt.Errorf("%s %w: export it, or name another variable", variable, ErrNotSet)
}

// ErrNotSet is in the error of a variable that a setting names, and that is not set.
var ErrNotSet = errors.New("is not set")

// Hours are a part of each day, in local time: "22:00-07:00". "off" is none of it.
type Hours string

// NoHours are none.
const NoHours Hours = "off"

// ParseHours reads hours.
func ParseHours(v string) (Hours, error) {
	v = strings.TrimSpace(v)
	if strings.EqualFold(v, string(NoHours)) {
		return NoHours, nil
	}
	h := Hours(v)
	from, to, err := h.ends()
	if err != nil {
		return "", err
	}
	if from == to {
		return "", fmt.Errorf("%q begins when it ends: write off for never, or 00:00-24:00 for always", textkit.Truncate(v, 20))
	}
	return h, nil
}

// UnmarshalText reads hours.
func (h *Hours) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHours(string(text))
	return err
}

// Ends returns when the hours begin and end, since midnight by the clock; they may end
// on the next day. None are zero and zero.
func (h Hours) Ends() (from, to time.Duration) {
	from, to, err := h.ends()
	if err != nil {
		return 0, 0
	}
	return from, to
}

var errHours = errors.New("hours are written like 22:00-07:00; off is never")

func (h Hours) ends() (from, to time.Duration, err error) {
	a, b, ok := strings.Cut(string(h), "-")
	if !ok {
		return 0, 0, fmt.Errorf("%q: %w", textkit.Truncate(string(h), 20), errHours)
	}
	if from, err = clock(a); err == nil {
		to, err = clock(b)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%q: %w", textkit.Truncate(string(h), 20), errHours)
	}
	return from, to, nil
}

// clock reads "07:30" as the time since midnight, up to 24:00.
func clock(text string) (time.Duration, error) {
	text = strings.TrimSpace(text)
	if text == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, err
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// Contain reports whether a time is in the hours, by its own clock.
func (h Hours) Contain(t time.Time) bool {
	from, to := h.Ends()
	at := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
	if from <= to {
		return from <= at && at < to
	}
	return at >= from || at < to
}

// A mindPart is what a project's file may say of the subconscious.
type mindPart struct {
	Models       map[string]Chain `toml:"models"`
	TokensPerDay *int             `toml:"tokens_per_day"`
	CostPerDay   *float64         `toml:"cost_per_day"`
}

func (m Mind) part() mindPart { return mindPart{maps.Clone(m.Models), m.TokensPerDay, m.CostPerDay} }

func (m *Mind) setPart(p mindPart) {
	m.Models, m.TokensPerDay, m.CostPerDay = p.Models, p.TokensPerDay, p.CostPerDay
}

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

// maxParts is how many parts a list may have.
const maxParts = 100

// list reads text with commas between.
func list(v string) (string, error) { return listOf(v, text) }

// listOf reads values with commas between.
func listOf(v string, read func(string) (string, error)) (string, error) {
	var all []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		literal, err := read(part)
		if err != nil {
			return "", err
		}
		all = append(all, literal)
	}
	if len(all) > maxParts {
		return "", fmt.Errorf("has %d parts, and may have %d", len(all), maxParts)
	}
	return "[" + strings.Join(all, ", ") + "]", nil
}

// address reads an address of mail.
func address(v string) (string, error) {
	if a, err := mail.ParseAddress(v); err != nil || len(v) > maxHost || strings.ContainsAny(a.Address, "\r\n") {
		return "", fmt.Errorf("%q is no address such as anna@example.org", textkit.Truncate(v, 40))
	}
	return quote(v), nil
}

func variables(v string) (string, error) { return listOf(v, variable) }

func addresses(v string) (string, error) { return listOf(v, address) }

// calendarLink reads an address, which may be one for calendars.
func calendarLink(v string) (string, error) {
	if rest, ok := strings.CutPrefix(v, "webcal:"); ok {
		_, err := link("https:" + rest)
		return quote(v), err
	}
	return link(v)
}

// hostPort reads the name of a host, perhaps with a port.
func hostPort(v string) (string, error) {
	name, port, ported := strings.Cut(v, ":")
	n, err := strconv.Atoi(port)
	if name == "" || len(v) > maxHost || strings.ContainsAny(v, " /@?#\\\"") || ported && (err != nil || n < 1 || n > 65535) {
		return "", fmt.Errorf("%q is no server such as imap.example.org or imap.example.org:993", textkit.Truncate(v, 40))
	}
	return quote(v), nil
}
