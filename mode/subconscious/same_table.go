package subconscious

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed same_words.txt
var sameWords string

// A table is what is known of words.
type table struct {
	stop  map[string]bool
	not   map[string]bool
	void  map[string]bool
	same  map[string]string // what a word stands for
	sides map[string][]side // of opposites, by stem
}

// A side is one of two opposites.
type side struct {
	pair  int
	right bool
}

var knownWords = sync.OnceValue(func() *table { return readTable(sameWords) })

func readTable(file string) *table {
	t := &table{stop: make(map[string]bool), not: make(map[string]bool), void: make(map[string]bool), same: make(map[string]string), sides: make(map[string][]side)}
	pair := 0
	for line := range strings.Lines(file) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		list := strings.Fields(rest)
		switch kind {
		case "stop", "not", "void":
			m := map[string]map[string]bool{"stop": t.stop, "not": t.not, "void": t.void}[kind]
			for _, w := range list {
				m[w] = true
			}
		case "same":
			for _, w := range list {
				t.same[w], t.same[stem(w)] = stem(list[0]), stem(list[0])
			}
		case "anti":
			left, right, _ := strings.Cut(rest, "|")
			t.side(pair, false, strings.Fields(left))
			t.side(pair, true, strings.Fields(right))
			pair++
		}
	}
	return t
}

// side notes the words of one of two opposites.
func (t *table) side(pair int, right bool, list []string) {
	for _, w := range list {
		t.sides[w] = append(t.sides[w], side{pair, right})
	}
}

// known returns what a word in small letters is compared by.
func (t *table) known(w string) string {
	if s, ok := t.same[w]; ok {
		return s
	}
	short := stem(w)
	if s, ok := t.same[short]; ok {
		return s
	}
	return short
}

// endings are what is cut of English words, and most others, the longest first.
var endings = []string{"ations", "ation", "ments", "ment", "ings", "ing", "ions", "ion", "ies", "ers", "ed", "es", "er", "ly", "en", "s", "e", "y"}

// stemLetters is how many letters of a stem are compared.
const stemLetters = 7

// stem returns what is compared of a word in small letters: its beginning without
// an ending. It is coarse, and made to be quick.
func stem(w string) string {
	for _, end := range endings {
		if len(w) >= len(end)+3 && strings.HasSuffix(w, end) {
			w = w[:len(w)-len(end)]
			if n := len(w); n > 3 && w[n-1] == w[n-2] && w[n-1] != 's' && w[n-1] != 'l' {
				w = w[:n-1] // "stopped"
			}
			break
		}
	}
	if len(w) > 3 && (w[len(w)-1] == 'e' || w[len(w)-1] == 'y' || w[len(w)-1] == 'i') {
		w = w[:len(w)-1]
	}
	return w[:min(len(w), stemLetters)]
}
