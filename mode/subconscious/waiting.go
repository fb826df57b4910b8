package subconscious

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Bounds of what waits for a role.
const (
	maxWaiting = 256 // observations; beyond them what matters least is lost
	sensorTurn = 4   // observations of a sensor before it is the turn of the others
)

// all is the place up to which those read who go by all that there is.
const all = math.MaxInt64

// unread returns what of the news up to a place a role has not been shown, the oldest
// first, and how much of it is lost, for it is too old. What was seen later than now by
// a clock that has been set back since is as new as anything.
func (k knowledge) unread(r Role, at time.Time, upto int64) (list []Seen, lost int) {
	for _, s := range k.News {
		switch {
		case s.Seq > upto || !k.waits(r, s):
		case at.Sub(s.At) < newsAge:
			list = append(list, s)
		case k.State.Aside.Read[r.Name] > 0:
			lost++
		}
	}
	return list, lost
}

// waits reports whether a role has not been shown an observation that it sees.
func (k knowledge) waits(r Role, s Seen) bool {
	if s.Seq <= k.State.Aside.Read[r.Name] {
		if _, left := slices.BinarySearch(k.Left[r.Name], s.Seq); !left {
			return false
		}
	}
	return r.Sees(s.Observation)
}

// byTurns orders observations by how soon they are to be shown where not all can be at
// once: a few of each sensor in turn, of these what the owner's own sensors saw before
// what strangers wrote, what sensors make much of first, and then the oldest, or the
// newest. So no sensor, and nobody who writes a lot, hides what another saw.
func byTurns(list []Seen, newest bool) []Seen {
	list = slices.Clone(list)
	byLevel := func(a, b Seen) int {
		if newest {
			return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(b.Seq, a.Seq))
		}
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(a.Seq, b.Seq))
	}
	slices.SortStableFunc(list, byLevel)
	turn, count := make(map[string]int, len(list)), make(map[string]int)
	for _, s := range list {
		turn[s.ID] = count[s.Sensor] / sensorTurn
		count[s.Sensor]++
	}
	slices.SortStableFunc(list, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(turn[a.ID], turn[b.ID]), strangersLast(a, b), byLevel(a, b))
	})
	return list
}

// strangersLast compares two observations by who wrote them.
func strangersLast(a, b Seen) int {
	switch {
	case a.Untrusted == b.Untrusted:
		return 0
	case b.Untrusted:
		return -1
	}
	return 1
}

// shownOf splits what waits for a role: what it is shown now, the oldest first, and what
// has to wait on. A model is shown no more than its prompt has place for.
func shownOf(list []Seen, model bool) (shown, left []Seen) {
	size := 0
	for _, s := range byTurns(list, false) {
		n := len(frame(longestLabel, s)) + 1
		if len(shown) == maxNews || model && (len(shown) == maxShown || size+n > maxShownSize) {
			left = append(left, s)
			continue
		}
		size += n
		shown = append(shown, s)
	}
	slices.SortStableFunc(shown, func(a, b Seen) int { return cmp.Compare(a.Seq, b.Seq) })
	return shown, left
}

// leftOf returns the places of what waits on, in order, and how much of it is beyond
// what may wait, and so is lost.
func leftOf(left []Seen) (seqs []int64, lost int) {
	left = byTurns(left, true)
	for _, s := range left[:min(len(left), maxWaiting)] {
		seqs = append(seqs, s.Seq)
	}
	slices.Sort(seqs)
	return seqs, len(left) - len(seqs)
}
