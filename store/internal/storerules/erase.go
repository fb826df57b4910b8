package storerules

import (
	"fmt"
	"slices"

	"ponder"
)

// Places returns the seqs sorted and without duplicates. It returns ErrNoEvent if a thread
// with the head does not have one.
func Places(seqs []ponder.Seq, head ponder.Seq) ([]ponder.Seq, error) {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	for _, seq := range seqs {
		if seq < 1 || seq > head {
			return nil, fmt.Errorf("event %d: %w", seq, ponder.ErrNoEvent)
		}
	}
	return seqs, nil
}

// Asked reports whether an event starts or ends a call. The request of the call is then
// erased with it.
func Asked(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.CallFinished:
		return ev.Run != "" && ev.Cause != ""
	}
	return false
}

// Untitled returns the title of a thread after ev was erased.
func Untitled(title string, ev ponder.Event) string {
	if b, ok := ev.Body.(ponder.TitleGenerated); ok && b.Content == title {
		return ""
	}
	return title
}
