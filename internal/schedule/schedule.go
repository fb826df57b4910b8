// Package schedule decides when a scheduled research runs. It runs nothing itself.
//
// A [Schedule] is stored as JSON. A time that passed while no process ran is caught up once.
package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"ponder"
	"ponder/internal/textkit"
)

// Limits of the time between two runs.
const (
	MinEvery = 10 * time.Minute
	MaxEvery = 366 * 24 * time.Hour
)

// A Schedule is a question that is researched again and again.
type Schedule struct {
	ID       string        `json:"id"`
	Question string        `json:"question"`
	Title    string        `json:"title,omitempty"`
	Every    time.Duration `json:"every_ns"`
	Model    string        `json:"model,omitempty"`
	Persona  string        `json:"persona,omitempty"`
	Rounds   int           `json:"rounds,omitempty"`
	Docs     []string      `json:"docs,omitempty"`
	NoMemory bool          `json:"no_memory,omitempty"`
	NoWeb    bool          `json:"no_web,omitempty"`
	Budget   ponder.Budget `json:"budget,omitzero"`

	Notify []string `json:"notify,omitempty"`     // channels
	Answer bool     `json:"answer,omitempty"`     // the notice includes the answer
	Always bool     `json:"always,omitempty"`     // notify without changes too
	Tty    string   `json:"terminal,omitempty"`   // of the bell
	Token  string   `json:"token_name,omitempty"` // that pays for the runs

	Created time.Time       `json:"created_at"`
	Next    time.Time       `json:"next_at"`
	Last    ponder.ThreadID `json:"last,omitempty"` // the newest run
	Base    ponder.ThreadID `json:"base,omitempty"` // the newest run with an answer
	Runs    int             `json:"runs,omitempty"`
	Error   string          `json:"error,omitempty"` // why the last run did not start
}

// IsDue reports whether a run is due.
func (s Schedule) IsDue(now time.Time) bool { return !now.Before(s.Next) }

// Advance returns the schedule with the next run after now. Runs that were missed before now count as
// one.
func (s Schedule) Advance(now time.Time) Schedule {
	if s.Every <= 0 || now.Before(s.Next) {
		return s
	}
	s.Next = s.Next.Add((now.Sub(s.Next)/s.Every + 1) * s.Every)
	return s
}

// Started returns the schedule after an attempt to start a run.
func (s Schedule) Started(id ponder.ThreadID, err error) Schedule {
	if err != nil {
		const maxError = 300
		s.Error = textkit.Line(err.Error(), maxError)
		return s
	}
	s.Last, s.Error = id, ""
	s.Runs++
	return s
}

var units = map[byte]time.Duration{'d': 24 * time.Hour, 'w': 7 * 24 * time.Hour}

// ParseEvery parses a time between runs, such as 6h, 1d or 2w.
func ParseEvery(text string) (time.Duration, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	var d time.Duration
	var err error
	if unit := units[(" " + text)[len(text)]]; unit > 0 {
		var n int
		n, err = strconv.Atoi(text[:len(text)-1])
		if d = time.Duration(n) * unit; err == nil && (n < 1 || n > int(MaxEvery/unit)) {
			return 0, errors.New("the time must be from 10m to 366d")
		}
	} else {
		d, err = time.ParseDuration(text)
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a time: use a form such as 6h, 1d or 2w", textkit.Truncate(textkit.OneLine(text), 20))
	case d < MinEvery || d > MaxEvery:
		return 0, errors.New("the time must be from 10m to 366d")
	}
	return d, nil
}

// EveryText is the inverse of [ParseEvery].
func EveryText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d%(7*day) == 0:
		return strconv.Itoa(int(d/(7*day))) + "w"
	case d%day == 0:
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
