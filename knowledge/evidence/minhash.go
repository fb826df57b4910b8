package evidence

import (
	"slices"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

const (
	hashes   = 64
	runWords = 3    // words
	maxRuns  = 1024 // runs
)

// A Signature is the fingerprint of a text for copy detection. The zero Signature is
// of a text without words and matches none. It takes 4 bytes per run of the text, up
// to 4 KiB.
type Signature struct {
	low   [hashes]uint32
	runs  []uint32 // the least hashes of runs, ascending, at most sample
	words int
}

// Fingerprint returns the signature of the first 32 KiB of a text. It hashes runs of three
// folded words; a shorter text is one run.
func Fingerprint(text string) (s Signature) {
	text = textkit.Prefix(text, maxText)
	var low hashMinima
	for i := range low {
		low[i] = ^uint64(0)
	}
	var last [runWords]uint64
	n := 0
	lexical.Tokens(text, func(t lexical.Token) {
		last[n%runWords] = hashWord(lexical.Fold(text[t.Start:t.End]))
		if n++; n >= runWords {
			h := hashRun(last, n)
			low.add(h)
			s.runs = append(s.runs, uint32(h>>32))
		}
	})
	if n == 0 {
		return s
	}
	if n < runWords {
		h := hashRun(last, n)
		low.add(h)
		s.runs = append(s.runs, uint32(h>>32))
	}
	for i, v := range low {
		s.low[i] = uint32(v >> 32)
	}
	slices.Sort(s.runs)
	s.runs = slices.Clip(slices.Compact(s.runs))
	if len(s.runs) > maxRuns {
		s.runs = slices.Clone(s.runs[:maxRuns])
	}
	s.words = n
	return s
}

// A hashMinima holds the least value of each hash.
type hashMinima [hashes]uint64

// add updates the minima with the SplitMix64 sequence seeded with h.
func (m *hashMinima) add(h uint64) {
	for i := range m {
		if v := mixBits(h + uint64(i+1)*0x9e3779b97f4a7c15); v < m[i] {
			m[i] = v
		}
	}
}

// Similarity estimates the Jaccard similarity of the run sets, 0 to 1. Half of the estimates
// are within 0.04.
func (s Signature) Similarity(o Signature) float64 {
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

// Containment returns the fraction of the shorter text's runs that the other has, 0 to 1.
// It is exact up to 1,024 runs, and 0 if too few comparable hashes remain.
func (s Signature) Containment(o Signature) float64 {
	if s.words > o.words {
		s, o = o, s
	}
	a, b := s.runs, o.runs
	if len(a) == maxRuns || len(b) == maxRuns { // compare hashes that both sides would have kept
		last := ^uint32(0)
		for _, list := range [][]uint32{a, b} {
			if len(list) == maxRuns {
				last = min(last, list[maxRuns-1])
			}
		}
		if a, b = cutAfter(a, last), cutAfter(b, last); len(a) < minComparableRuns {
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

func cutAfter(list []uint32, last uint32) []uint32 {
	n, found := slices.BinarySearch(list, last)
	if found {
		n++
	}
	return list[:n]
}

// Thresholds of Copies. A text with a fifth of its words changed keeps a third of its
// runs. One word can reverse a sentence. An excerpt must be nearly complete in its
// source.
const (
	alikeLong         = 0.2 // from longText words
	alikeShort        = 0.6 // up to shortText words; linear in between
	withinLong        = 0.55
	withinShort       = 0.8
	longText          = 80
	shortText         = 20
	minComparableRuns = 8
)

// IsCopyOf reports whether two texts are a lightly edited copy or excerpt of each other,
// or of a third text.
func (s Signature) IsCopyOf(o Signature) bool {
	short := min(longText, max(shortText, min(s.words, o.words)))
	long := float64(short-shortText) / (longText - shortText)
	if s.Similarity(o) >= alikeShort-(alikeShort-alikeLong)*long {
		return true
	}
	return min(s.words, o.words) >= runWords && s.Containment(o) >= withinShort-(withinShort-withinLong)*long
}

func hashRun(last [runWords]uint64, n int) uint64 {
	var h uint64
	for i := max(0, n-runWords); i < n; i++ {
		h = mixBits(h*0x9e3779b97f4a7c15 + last[i%runWords])
	}
	return h
}

// hashWord is 64-bit FNV-1a.
func hashWord(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func mixBits(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
