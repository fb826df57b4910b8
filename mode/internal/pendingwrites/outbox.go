// Package pendingwrites keeps the Writes that a mode has decided and not yet seen in the log.
package pendingwrites

import (
	"encoding/json"
	"slices"
	"strings"

	"ponder"
)

// Note is a pending Write. It is requested until its last event is seen, so that a log cut inside
// it is completed.
type Note struct {
	Key    string `json:"key"`
	Bodies Bodies `json:"bodies"`
}

// Action returns the Write.
func (n Note) Action() ponder.Action { return ponder.Write{Key: n.Key, Bodies: n.Bodies} }

// Bodies encode as the events they become.
type Bodies []ponder.Body

// MarshalJSON implements [json.Marshaler].
func (b Bodies) MarshalJSON() ([]byte, error) {
	evs := make([]ponder.Event, len(b))
	for i := range b {
		evs[i].Body = b[i]
	}
	return json.Marshal(evs)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *Bodies) UnmarshalJSON(js []byte) error {
	var evs []ponder.Event
	if err := json.Unmarshal(js, &evs); err != nil {
		return err
	}
	*b = make(Bodies, len(evs))
	for i := range evs {
		(*b)[i] = evs[i].Body
	}
	return nil
}

// IsLastEvent reports whether cause is that of a Write's last event.
func IsLastEvent(cause string) bool {
	_, part, _ := strings.Cut(cause, "/")
	i, n, ok := strings.Cut(part, ".")
	return ok && i == n
}

// RemoveCompleted removes the note that an event with this cause completed; nil if none is left.
func RemoveCompleted(notes []Note, cause string) []Note {
	key, _, _ := strings.Cut(cause, "/")
	if len(notes) == 1 && notes[0].Key == key {
		return nil
	}
	notes = slices.DeleteFunc(slices.Clone(notes), func(n Note) bool { return n.Key == key })
	if len(notes) == 0 {
		return nil
	}
	return notes
}
