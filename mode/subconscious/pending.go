package subconscious

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	maxWaiting = 256 // observations; the least important beyond are lost
	sensorTurn = 4   // observations of a sensor before the next sensor's turn
)

// noSeqLimit is the seq limit of readers without a limit.
const noSeqLimit = math.MaxInt64

// unreadObservations returns a role's unshown observations up to seq upto, oldest first, and how many are lost
// by age. It treats times in the future, after a clock was set back, as new.
func (k knowledge) unreadObservations(r Role, at time.Time, upto int64) (list []SeenObservation, lost int) {
	for _, s := range k.News {
		switch {
		case s.Seq > upto || !k.isWaiting(r, s):
		case at.Sub(s.At) < maxNewsAge:
			list = append(list, s)
		case k.State.Internal.Read[r.Name] > 0:
			lost++
		}
	}
	return list, lost
}

// recalledObservations returns the newest observations of the last two days that a role was shown
// before, marked as such.
func (k knowledge) recalledObservations(r Role, at time.Time) (list []SeenObservation) {
	for _, s := range k.News {
		if at.Sub(s.At) < maxNewsAge && r.recalls(s) && !k.isWaiting(r, s) {
			s.Again = true
			list = append(list, s)
		}
	}
	return lastN(list, maxShown)
}

func (r Role) recalls(s SeenObservation) bool { return r.Sees(s.Observation) && !isLookUp(s.Sensor) }

func (k knowledge) isWaiting(r Role, s SeenObservation) bool {
	if s.Seq <= k.State.Internal.Read[r.Name] {
		if _, left := slices.BinarySearch(k.Left[r.Name], s.Seq); !left {
			return false
		}
	}
	return r.Sees(s.Observation)
}

// interleaveSensors orders observations for display: a few of each sensor in turn, so that none can hide
// others. Within a sensor, trusted ones come first, then higher levels, then older ones (newer ones
// if newest).
func interleaveSensors(list []SeenObservation, newest bool) []SeenObservation {
	list = slices.Clone(list)
	byLevel := func(a, b SeenObservation) int {
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
	slices.SortStableFunc(list, func(a, b SeenObservation) int {
		return cmp.Or(cmp.Compare(turn[a.ID], turn[b.ID]), compareTrust(a, b), byLevel(a, b))
	})
	return list
}

func compareTrust(a, b SeenObservation) int {
	switch {
	case a.Untrusted == b.Untrusted:
		return 0
	case b.Untrusted:
		return -1
	}
	return 1
}

// splitShown splits waiting observations into shown, oldest first, and left. A model's share must fit
// its prompt.
func splitShown(list []SeenObservation, model bool) (shown, left []SeenObservation) {
	size := 0
	for _, s := range interleaveSensors(list, false) {
		n := len(formatObservation(longestLabel, s)) + 1
		if len(shown) == maxNews || model && (len(shown) == maxShown || size+n > maxShownSize) {
			left = append(left, s)
			continue
		}
		size += n
		shown = append(shown, s)
	}
	slices.SortStableFunc(shown, func(a, b SeenObservation) int { return cmp.Compare(a.Seq, b.Seq) })
	return shown, left
}

// postponedSeqs returns the sorted seqs of postponed observations and how many exceed the limit and are
// lost.
func postponedSeqs(left []SeenObservation) (seqs []int64, lost int) {
	left = interleaveSensors(left, true)
	for _, s := range left[:min(len(left), maxWaiting)] {
		seqs = append(seqs, s.Seq)
	}
	slices.Sort(seqs)
	return seqs, len(left) - len(seqs)
}
