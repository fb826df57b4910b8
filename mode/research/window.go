package research

import (
	"ponder"
	"ponder/llm"
)

// minPack is the least evidence of a request, in bytes. Below it, requests have no tools.
const minPack = 600

// packLimit returns the bytes of evidence in a request.
func (s *state) packLimit() int {
	limit := maxPack
	if s.SmallContext {
		limit = smallPack
	}
	if s.Pack > 0 {
		limit = min(limit, s.Pack)
	}
	return limit
}

// shrinkEvidence shortens later requests after the model refused req as too long, first their evidence,
// then their tools. It reports whether it could, and tells the user the first time.
func (s *state) shrinkEvidence(req llm.Request, o ponder.Outcome) bool {
	if o.Class != llm.TooLong || s.Bare {
		return false
	}
	size, room, limit := req.Size(), o.Room, s.packLimit()
	if room <= 0 || room >= size {
		room = size * 3 / 4
	}
	if s.Pack == 0 {
		s.notifyUser(stageNote, "Less evidence", "The evidence exceeds the model's context; using only the best of it.")
	}
	if next := len(s.evidencePack()) - (size - room); next >= minPack {
		s.Pack = min(next, limit*9/10)
		return true
	}
	s.Pack, s.Bare = minPack, true
	return true
}
