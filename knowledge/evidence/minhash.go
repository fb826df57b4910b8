package evidence

import (
	"slices"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

const (
	hashes = 64
	run    = 3    // words
	sample = 1024 // runs
)

// A Signature is what texts are compared by for copies. The zero Signature is of a
// text without words, and like none. It takes 4 bytes more for each run of the text, up
// to 4 KiB.
type Signature struct {
	low   [hashes]uint32
	runs  []uint32 // the least hashes of runs, in order: all of them, up to so many
	words int
}

// Sign returns the signature of a text, of its first 32 KiB. It counts which runs of
// three words there are, in whatever case and between whatever signs; a text of fewer
// words is one run.
func Sign(text string) (s Signature) {
	text = textkit.Prefix(text, maxText)
	var low minima
	for i := range low {
		low[i] = ^uint64(0)
	}
	var last [run]uint64
	n := 0
	lexical.Tokens(text, func(t lexical.Token) {
		last[n%run] = sum(lexical.Fold(text[t.Start:t.End]))
		if n++; n >= run {
			h := shingle(last, n)
			low.add(h)
			s.runs = append(s.runs, uint32(h>>32))
		}
	})
	if n == 0 {
		return s
	}
	if n < run {
		h := shingle(last, n)
		low.add(h)
		s.runs = append(s.runs, uint32(h>>32))
	}
	for i, v := range low {
		s.low[i] = uint32(v >> 32)
	}
	slices.Sort(s.runs)
	s.runs = slices.Clip(slices.Compact(s.runs))
	if len(s.runs) > sample {
		s.runs = slices.Clone(s.runs[:sample])
	}
	s.words = n
	return s
}

// minima are the least values so far of each hash.
type minima [hashes]uint64

// add adds a shingle: hash i of it is the i-th of a sequence that begins with it.
func (m *minima) add(h uint64) {
	for i := range m {
		if v := mix(h + uint64(i+1)*0x9e3779b97f4a7c15); v < m[i] {
			m[i] = v
		}
	}
}

// Like returns the share of runs that two texts have in common, of all that either
// has, from 0 to 1 (Jaccard). It is an estimate: half of the time it is within 0.04.
func (s Signature) Like(o Signature) float64 {
	if s.words == 0 || o.words == 0 {
		return 0
	}
	n := 0
	for i := range s.low {
		if s.low[i] == o.low[i] {
			n++
		}
	}
	return float64(n) / hashes
}

// Within returns the share of the runs of the shorter text that the other has as well,
// from 0 to 1. It is exact for texts of up to 1,024 runs, and 0 if what is kept of them
// is too little to tell.
func (s Signature) Within(o Signature) float64 {
	if s.words > o.words {
		s, o = o, s
	}
	a, b := s.runs, o.runs
	if len(a) == sample || len(b) == sample { // compare below the hash up to which both are known
		last := ^uint32(0)
		for _, list := range [][]uint32{a, b} {
			if len(list) == sample {
				last = min(last, list[sample-1])
			}
		}
		if a, b = upTo(a, last), upTo(b, last); len(a) < leastRuns {
			return 0
		}
	}
	if len(a) == 0 {
		return 0
	}
	n := 0
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i] < b[k]:
			i++
		case a[i] > b[k]:
			k++
		default:
			i, k, n = i+1, k+1, n+1
		}
	}
	return float64(n) / float64(len(a))
}

func upTo(list []uint32, last uint32) []uint32 {
	n, found := slices.BinarySearch(list, last)
	if found {
		n++
	}
	return list[:n]
}

// How much of texts must be alike for them to be copies. With a fifth of the words
// changed a third is; of long texts on one subject next to nothing. Sentences may be
// alike though nobody copied, and one word may turn them round. Of a part that was cut
// out of a text nearly all must be in the text.
const (
	alikeLong   = 0.2 // of texts of longText words or more
	alikeShort  = 0.6 // of texts of shortText words or fewer, and between them in proportion
	withinLong  = 0.55
	withinShort = 0.8
	longText    = 80
	shortText   = 20
	leastRuns   = 8
)

// Copies reports whether one of two texts is a copy of the other or of a part of it,
// edited at most a little, or both are of a third.
func (s Signature) Copies(o Signature) bool {
	short := min(longText, max(shortText, min(s.words, o.words)))
	long := float64(short-shortText) / (longText - shortText)
	if s.Like(o) >= alikeShort-(alikeShort-alikeLong)*long {
		return true
	}
	return min(s.words, o.words) >= run && s.Within(o) >= withinShort-(withinShort-withinLong)*long
}

// shingle returns the hash of the last words, oldest first.
func shingle(last [run]uint64, n int) uint64 {
	var h uint64
	for i := max(0, n-run); i < n; i++ {
		h = mix(h*0x9e3779b97f4a7c15 + last[i%run])
	}
	return h
}

// sum is FNV-1a of 64 bits.
func sum(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// mix is the finalizer of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
