package storerules

import (
	"fmt"
	"slices"

	"ponder"
)

// NormalizeSeqs returns the seqs sorted and without duplicates. It returns ErrNoEvent if a thread
// with the head does not have one.
func NormalizeSeqs(seqs []ponder.Seq, head ponder.Seq) ([]ponder.Seq, error) {
	seqs = slices.Compact(slices.Sorted(slices.Values(seqs)))
	for _, seq := range seqs {
		if seq < 1 || seq > head {
			return nil, fmt.Errorf("event %d: %w", seq, ponder.ErrNoEvent)
		}
	}
	return seqs, nil
}

// HasRequest reports whether an event starts or ends a call. The request of the call is then
// erased with it.
func HasRequest(ev ponder.Event) bool {
	switch ev.Body.(type) {
	case ponder.CallStarted, ponder.CallFinished:
		return ev.Run != "" && ev.Cause != ""
	}
	return false
}

// TitleAfterErase returns the title of a thread after ev was erased.
func TitleAfterErase(title string, ev ponder.Event) string {
	if b, ok := ev.Body.(ponder.TitleGenerated); ok && b.Content == title {
		return ""
	}
	return title
}
