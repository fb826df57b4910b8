package storerules

import (
	"fmt"
	"slices"

	"ponder"
)

// Places returns numbers of events in order, each once, or ErrNoEvent if one is
// not in a thread with that head.
func Places(seqs []ponder.Seq, head ponder.Seq) ([]ponder.Seq, error) {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	for _, seq := range seqs {
		if seq < 1 || seq > head {
			return nil, fmt.Errorf("event %d: %w", seq, ponder.ErrNoEvent)
		}
	}
	return seqs, nil
}

// Asked reports whether an event is an end of a call, so that the request of its
// run and cause is erased with it.
func Asked(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.CallFinished:
		return ev.Run != "" && ev.Cause != ""
	}
	return false
}

// Untitled returns the title of a thread after an event of it was erased.
func Untitled(title string, ev ponder.Event) string {
	if b, ok := ev.Body.(ponder.TitleGenerated); ok && b.Content == title {
		return ""
	}
	return title
}
