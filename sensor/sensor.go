// Package sensor says what a sensor is: something that looks at a part of the outside
// world and tells what has changed there.
//
// A sensor is a value. It reads and never writes, in bounded time and space, and knows
// nothing of the log: it is given the cursor up to which it has read, and returns what
// is new and the next cursor. The same cursor and the same world give the same
// observations, so that a look that was not kept can be made again.
package sensor

import (
	"context"
	"encoding/json"
	"time"

	"ponder"
)

// A Sensor looks at a part of the world.
type Sensor struct {
	// Name says which it is, as it is configured: a kind, or a kind and a name of the
	// user's ("mail", "feed:news"). Roles read sensors by their kind.
	Name string

	// Look returns what has changed since the cursor, the oldest first, and the next
	// cursor. A nil cursor is that of the first look, which says what is worth saying of
	// the world as it stands, and not all that is there. A cursor that cannot be read
	// is taken for nil. Where nothing has changed there is no observation, and the
	// cursor is the same bytes, so that nothing need be stored.
	//
	// Of an observation it sets Content (one or two sentences), Subject, State, and
	// what else is known; never Sensor or Cursor. Subject and State together name a
	// distinct state of the world: the same two are never told twice unless it has
	// changed in between. It returns at most MaxLook of them, and leaves the rest for
	// the next look.
	//
	// It must return soon after ctx is done. An error says in a line what to do about
	// it, and never has a password in it.
	Look func(ctx context.Context, now time.Time, cursor json.RawMessage) ([]ponder.Observation, json.RawMessage, error)

	// Close, if set, gives up what Look holds.
	Close func() error
}

// Bounds of sensors.
const (
	MaxLook    = 50               // observations of a look
	MaxText    = 600              // bytes of the Content of one
	MaxSubject = 200              // bytes
	MaxCursor  = 128 << 10        // bytes
	Patience   = 20 * time.Second // that a look may take
)
