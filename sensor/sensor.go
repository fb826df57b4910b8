// Package sensor defines sensors. A sensor observes a part of the outside world and reports
// changes.
//
// A sensor is a value. It only reads, within bounded time and space, and does not know the log.
// Its input is a cursor, its output the new observations and the next cursor. The same cursor and
// world give the same observations, so that a caller can repeat a look whose result was lost.
package sensor

import (
	"context"
	"encoding/json"
	"time"

	"ponder"
)

// A Sensor observes a part of the world.
type Sensor struct {
	// Name is the configured name: a kind, or a kind with a user's name ("mail", "feed:news").
	// Roles select sensors by kind.
	Name string

	// Look returns the changes since the cursor, oldest first, and the next cursor. A nil or
	// unreadable cursor means the first look, which reports only the notable part of the current
	// state. Without changes there are no observations, and the next cursor has the same bytes, so
	// that the caller need not store it.
	//
	// Look sets Content (one or two sentences), Subject, State and other known fields of an
	// observation, but not Sensor or Cursor. Subject and State identify a state of the world. Look
	// reports a state again only after it changed. It returns at most MaxLook observations and
	// leaves the rest for the next look.
	//
	// Look returns soon after ctx ends. An error is one line with the remedy and contains no
	// password.
	Look func(ctx context.Context, now time.Time, cursor json.RawMessage) ([]ponder.Observation, json.RawMessage, error)

	// Close, if set, releases resources of Look.
	Close func() error
}

// Limits.
const (
	MaxLook     = 50               // observations per look
	MaxText     = 600              // bytes of Content
	MaxSubject  = 200              // bytes
	MaxCursor   = 128 << 10        // bytes
	LookTimeout = 20 * time.Second // duration of a look
)
