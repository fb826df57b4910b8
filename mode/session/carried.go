package session

import (
	"cmp"
	"slices"
)

// isCarried reports whether later prompts have the passage.
func (e *evidence) isCarried() bool { return e.Cited || e.Earlier || e.Kept }

// shedEvidence drops passages that later prompts do not need. It keeps those that are cited or pinned,
// the best for the user's question, and those that another refers to.
func (s *state) shedEvidence() {
	s.Evidence = slices.Clone(s.Evidence)
	if !s.Unaided {
		s.markKept()
	}
	s.Evidence = slices.DeleteFunc(s.Evidence, func(e evidence) bool { return !e.isCarried() })
	for len(s.Evidence) > maxEvidence {
		worst := slices.MinFunc(s.Evidence, func(a, b evidence) int { return -compareScore(a, b) })
		s.Evidence = slices.DeleteFunc(s.Evidence, func(e evidence) bool { return e.N == worst.N })
	}
	s.placeEvidence(false)
	s.limitStored()
	if len(s.Evidence) == 0 {
		s.Evidence = nil
	}
}

// markKept marks the uncited passages to keep.
func (s *state) markKept() {
	var best []*evidence
	for i := range s.Evidence {
		e := &s.Evidence[i]
		if e.Kept = false; !e.isCarried() {
			e.Kept = slices.ContainsFunc(s.Pinned, e.isFrom)
		}
		if e.Question == "" && !e.isCarried() && e.isQuotable() {
			best = append(best, e)
		}
	}
	slices.SortStableFunc(best, func(a, b *evidence) int { return compareScore(*a, *b) })
	size := 0
	for _, e := range best[:min(len(best), maxBest)] {
		if size += e.shownSize(asPassage); size <= maxBestBytes {
			e.Kept = true
		}
	}
	for i := len(s.Evidence) - 1; i >= 0; i-- { // references point back
		e := &s.Evidence[i]
		if at := s.findEvidence(e.Within); at >= 0 && e.isCarried() && !s.Evidence[at].isCarried() {
			s.Evidence[at].Kept = true
		}
	}
}

func (s *state) findEvidence(id string) int {
	return slices.IndexFunc(s.Evidence, func(e evidence) bool { return id != "" && e.id() == id })
}

// place says how prompts show a carried passage.
type place int

const (
	unplaced place = iota
	asPassage
	asSentence
	hidden
)

// placeEvidence places the new carried passages: as passages while there is room, then as sentences, so
// that the text before them stays. With again it places all of them again, the best first. The list
// must be owned by the state.
func (s *state) placeEvidence(again bool) {
	room, sentences := maxShownBytes>>s.Shrinks, maxSentenceBytes>>s.Shrinks
	if again {
		room, sentences = room*6/10, sentences*6/10
	}
	var list []*evidence
	for i := range s.Evidence {
		switch e := &s.Evidence[i]; {
		case !e.isCarried():
		case again || e.Place == unplaced:
			list = append(list, e)
		case e.Place == asPassage:
			room -= e.shownSize(asPassage)
		case e.Place == asSentence:
			sentences -= e.shownSize(asSentence)
		}
	}
	if again {
		slices.SortStableFunc(list, s.compareEvidence)
	}
	for _, e := range list {
		switch passage, sentence := e.shownSize(asPassage), e.shownSize(asSentence); {
		case passage <= room:
			e.Place, room = asPassage, room-passage
		case sentence <= sentences:
			e.Place, sentences = asSentence, sentences-sentence
		case !again:
			s.placeEvidence(true)
			return
		default:
			e.Place = hidden
		}
	}
}

// compareEvidence orders passages by their worth for prompts: pinned ones, those for the user's question,
// and others, each by score.
func (s *state) compareEvidence(a, b *evidence) int {
	rank := func(e *evidence) int {
		switch {
		case slices.ContainsFunc(s.Pinned, e.isFrom):
			return 0
		case e.Question == "" || e.Earlier:
			return 1
		}
		return 2
	}
	return cmp.Or(rank(a)-rank(b), compareScore(*a, *b))
}

// shownSize returns about how many bytes a prompt needs for the passage.
func (e *evidence) shownSize(p place) int {
	if p == asSentence {
		return len(e.Quote) + len(e.Title) + len(e.Section) + 20
	}
	return len(e.passageText()) + len(e.Title) + len(e.Section) + 20
}

// limitStored drops the text around the least worthy quotes if the state would become too large. The
// list must be owned by the state.
func (s *state) limitStored() {
	stored := 0
	for i := range s.Evidence {
		stored += s.Evidence[i].storedSize()
	}
	if stored <= maxStored {
		return
	}
	list := make([]*evidence, len(s.Evidence))
	for i := range s.Evidence {
		list[i] = &s.Evidence[i]
	}
	slices.SortStableFunc(list, s.compareEvidence)
	for _, e := range slices.Backward(list) {
		if stored <= maxStored {
			return
		}
		stored -= len(e.Context) + len(e.Rest)
		e.Context, e.Rest = "", ""
	}
}

func (e *evidence) storedSize() int { return len(e.Quote) + len(e.Context) + len(e.Rest) }

func compareScore(a, b evidence) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	}
	return a.N - b.N
}
