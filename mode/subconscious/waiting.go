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

// all is the seq limit of readers without a limit.
const all = math.MaxInt64

// unread returns a role's unshown observations up to seq upto, oldest first, and how many are lost
// by age. It treats times in the future, after a clock was set back, as new.
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

func (k knowledge) waits(r Role, s Seen) bool {
	if s.Seq <= k.State.Aside.Read[r.Name] {
		if _, left := slices.BinarySearch(k.Left[r.Name], s.Seq); !left {
			return false
		}
	}
	return r.Sees(s.Observation)
}

// byTurns orders observations for display: a few of each sensor in turn, so that none can hide
// others. Within a sensor, trusted ones come first, then higher levels, then older ones (newer ones
// if newest).
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

func strangersLast(a, b Seen) int {
	switch {
	case a.Untrusted == b.Untrusted:
		return 0
	case b.Untrusted:
		return -1
	}
	return 1
}

// shownOf splits waiting observations into shown, oldest first, and left. A model's share must fit
// its prompt.
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

// leftOf returns the sorted seqs of postponed observations and how many exceed the limit and are
// lost.
func leftOf(left []Seen) (seqs []int64, lost int) {
	left = byTurns(left, true)
	for _, s := range left[:min(len(left), maxWaiting)] {
		seqs = append(seqs, s.Seq)
	}
	slices.Sort(seqs)
	return seqs, len(left) - len(seqs)
}
