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

// Mind configures the subconscious. Unset values are the constants below.
type Mind struct {
	Every        Duration          `toml:"every"`
	Cooldown     Duration          `toml:"cooldown"`
	TokensPerDay *int              `toml:"tokens_per_day"` // of all models; [MindTokens]; 0: no models
	CostPerDay   *float64          `toml:"cost_per_day"`   // US dollars; [MindDollars]; 0: only free models
	Quiet        Hours             `toml:"quiet"`          // no notifications; [MindQuiet]
	Night        Hours             `toml:"night"`          // no ticks; [MindNight]
	Feed         *bool             `toml:"feed"`           // inform conversations and sessions; nil: yes
	Roles        string            `toml:"roles"`          // folder of Markdown roles; see [Config.MindRoles]
	Web          bool              `toml:"web"`            // roles may search the web
	Models       map[string]Chain  `toml:"models"`
	Sensors      Sensors           `toml:"sensors"`
	Notify       Notify            `toml:"notify"`
	Actions      map[string]Action `toml:"actions"`
}

const (
	MindEvery    = 5 * time.Minute
	MindCooldown = 15 * time.Minute
	MindTokens   = 200_000
	MindDollars  = 0.50
	MindQuiet    = Hours("22:00-07:00")
	MindNight    = Hours("00:00-06:00")
)

// Range of Every.
const (
	minEvery = time.Second
	maxEvery = 24 * time.Hour
)

const Decisions = "escalation"

func (m Mind) Tokens() int {
	if m.TokensPerDay == nil {
		return MindTokens
	}
	return *m.TokensPerDay
}

func (m Mind) Dollars() float64 {
	if m.CostPerDay == nil {
		return MindDollars
	}
	return *m.CostPerDay
}

func (m Mind) Feeds() bool { return m.Feed == nil || *m.Feed }

func (m Mind) QuietHours() Hours { return hoursOr(m.Quiet, MindQuiet) }

func (m Mind) NightHours() Hours { return hoursOr(m.Night, MindNight) }

func hoursOr(h, otherwise Hours) Hours {
	if h == "" {
		return otherwise
	}
	return h
}

// MindRoles returns the folder of the user's roles, by default "mind" beside the user's file.
// It may not exist.
func (c *Config) MindRoles() string {
	if c.Mind.Roles == "" {
		return filepath.Join(filepath.Dir(c.File), "mind")
	}
	return c.Path(c.Mind.Roles)
}

// Path expands "~" in a path of a setting.
func (c *Config) Path(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok || path == "~" {
		return filepath.Join(c.env("HOME"), rest)
	}
	return path
}

// Secret returns a variable that a setting names. It is an error if that is unset.
func (c *Config) Secret(variable string) (Secret, error) {
	if variable == "" {
		return "", nil
	}
	if v := c.env(variable); v != "" {
		return Secret(v), nil
	}
	return "", fmt.Errorf("%s %w: export it, or use another variable", variable, ErrNotSet)
}

// ErrNotSet is the cause for a named variable that is unset.
var ErrNotSet = errors.New("is not set")

// Hours are a daily interval in local time: "22:00-07:00", or "off".
type Hours string

const NoHours Hours = "off"

func ParseHours(v string) (Hours, error) {
	v = strings.TrimSpace(v)
	if strings.EqualFold(v, string(NoHours)) {
		return NoHours, nil
	}
	h := Hours(v)
	from, to, err := h.parseEnds()
	if err != nil {
		return "", err
	}
	if from == to {
		return "", fmt.Errorf("%q starts and ends at the same time: use off for never, or 00:00-24:00 for always", textkit.Truncate(v, 20))
	}
	return h, nil
}

func (h *Hours) UnmarshalText(text []byte) (err error) {
	*h, err = ParseHours(string(text))
	return err
}

// Ends returns the interval since midnight; to may be on the next day. [NoHours] is zero and
// zero.
func (h Hours) Ends() (from, to time.Duration) {
	from, to, err := h.parseEnds()
	if err != nil {
		return 0, 0
	}
	return from, to
}

var errHours = errors.New("use hours such as 22:00-07:00, or off for never")

func (h Hours) parseEnds() (from, to time.Duration, err error) {
	a, b, ok := strings.Cut(string(h), "-")
	if !ok {
		return 0, 0, fmt.Errorf("%q: %w", textkit.Truncate(string(h), 20), errHours)
	}
	if from, err = parseClock(a); err == nil {
		to, err = parseClock(b)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%q: %w", textkit.Truncate(string(h), 20), errHours)
	}
	return from, to, nil
}

// parseClock parses "07:30" as the time since midnight, up to 24:00.
func parseClock(text string) (time.Duration, error) {
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

// Contain reports whether t is in the hours, in t's location.
func (h Hours) Contain(t time.Time) bool {
	from, to := h.Ends()
	at := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
	if from <= to {
		return from <= at && at < to
	}
	return at >= from || at < to
}

type mindPart struct {
	Models       map[string]Chain `toml:"models"`
	TokensPerDay *int             `toml:"tokens_per_day"`
	CostPerDay   *float64         `toml:"cost_per_day"`
}

func (m Mind) projectPart() mindPart {
	return mindPart{maps.Clone(m.Models), m.TokensPerDay, m.CostPerDay}
}

func (m *Mind) setPart(p mindPart) {
	m.Models, m.TokensPerDay, m.CostPerDay = p.Models, p.TokensPerDay, p.CostPerDay
}

// ThinkAbout names the action in [Mind.Actions] that starts a session. It exists unless off;
// its table only uses off and per_day.
const ThinkAbout = "think_about"

// Defaults and limits of actions.
const (
	ActionsPerDay  = 5
	SessionsPerDay = 2
	ActionLimit    = 30 * time.Second
)

// An Action is a command of the user that the subconscious may run.
type Action struct {
	Off     bool     `toml:"off"`
	Doc     string   `toml:"doc"`
	Command []string `toml:"command"`
	Args    []string `toml:"args"`    // texts that the model writes, appended to Command
	Stdin   bool     `toml:"stdin"`   // pass the last of Args on standard input
	PerDay  *int     `toml:"per_day"` // daily limit; nil: [ActionsPerDay] or [SessionsPerDay]
	Dir     string   `toml:"dir"`
	Env     []string `toml:"env"`   // names of variables passed on, besides PATH, HOME and LANG
	Limit   Duration `toml:"limit"` // zero: [ActionLimit], the maximum
}

func (a Action) DailyLimit(otherwise int) int {
	if a.PerDay == nil {
		return otherwise
	}
	return *a.PerDay
}

func actionKeys() []Key {
	return []Key{
		{"doc", "what it does, and when to use it", textLiteral}, {"command", "a program and its arguments", listLiteral},
		{"args", "names of texts that the model writes, such as text", listLiteral}, {"stdin", "send the last text to standard input: true or false", boolLiteral},
		{"per_day", "maximum uses per day", countLiteral}, {"dir", "working folder", textLiteral},
		{"env", "names of variables to pass to the program", variablesLiteral}, {"limit", "maximum time of a run, such as 10s", durationLiteral},
	}
}

const maxParts = 100

func listLiteral(v string) (string, error) { return parseList(v, textLiteral) }

func parseList(v string, read func(string) (string, error)) (string, error) {
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
		return "", fmt.Errorf("has %d elements; the maximum is %d", len(all), maxParts)
	}
	return "[" + strings.Join(all, ", ") + "]", nil
}

func addressLiteral(v string) (string, error) {
	if a, err := mail.ParseAddress(v); err != nil || len(v) > maxHost || strings.ContainsAny(a.Address, "\r\n") {
		return "", fmt.Errorf("%q is not an address such as anna@example.org", textkit.Truncate(v, 40))
	}
	return quoteTOML(v), nil
}

func variablesLiteral(v string) (string, error) { return parseList(v, variableLiteral) }

func addressesLiteral(v string) (string, error) { return parseList(v, addressLiteral) }

func calendarLink(v string) (string, error) {
	if rest, ok := strings.CutPrefix(v, "webcal:"); ok {
		_, err := urlLiteral("https:" + rest)
		return quoteTOML(v), err
	}
	return urlLiteral(v)
}

func hostPort(v string) (string, error) {
	name, port, ported := strings.Cut(v, ":")
	n, err := strconv.Atoi(port)
	if name == "" || len(v) > maxHost || strings.ContainsAny(v, " /@?#\\\"") || ported && (err != nil || n < 1 || n > 65535) {
		return "", fmt.Errorf("%q is not a server such as imap.example.org or imap.example.org:993", textkit.Truncate(v, 40))
	}
	return quoteTOML(v), nil
}
