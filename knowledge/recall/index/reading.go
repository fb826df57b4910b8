package index

import (
	"strings"
	"sync"

	"ponder/internal/textkit/lexical"
)

// A reading is what a word is indexed by.
type reading struct {
	stem string
	form string // marked; "" if it is the stem
	stop bool
}

// Readings remember the readings of words, which take longer to make than to
// find again. They are safe for concurrent use.
type readings struct {
	mu    sync.RWMutex
	langs map[lexical.Language]map[string]reading
}

// maxReadings is how many words of a language are remembered. Then it begins
// anew.
const maxReadings = 100_000

func newReadings() *readings { return &readings{langs: map[lexical.Language]map[string]reading{}} }

func (r *readings) read(word string, lang lexical.Language) reading {
	r.mu.RLock()
	out, ok := r.langs[lang][word]
	r.mu.RUnlock()
	if ok {
		return out
	}
	word = strings.Clone(word) // not the text around it
	out = newReading(word, lang)
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.langs[lang]
	if known == nil || len(known) >= maxReadings {
		known = map[string]reading{}
		r.langs[lang] = known
	}
	known[word] = out
	return out
}

func newReading(word string, lang lexical.Language) reading {
	folded := lexical.Fold(word)
	out := reading{stem: stemOf(word, lang), stop: lexical.Stop(folded, lang)}
	if out.stem != folded {
		out.form = formMark + folded
	}
	return out
}
