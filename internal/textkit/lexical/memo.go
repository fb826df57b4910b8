package lexical

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// A memo is a stem that was asked for lately.
type memo struct {
	word, stem string
	lang       Language
}

// memos has each at the place that its hash says. Texts repeat their words so much
// that most are there, and a stemmer takes many times as long.
var memos [1 << 14]atomic.Pointer[memo]

var memoSeed = maphash.MakeSeed()

// remembered returns what stem, which is pure, makes of a word.
func remembered(word string, lang Language, stem func(string) string) string {
	place := &memos[maphash.String(memoSeed, word)%uint64(len(memos))]
	if m := place.Load(); m != nil && m.word == word && m.lang == lang {
		return m.stem
	}
	word = strings.Clone(word) // it may be a piece of a long text
	m := &memo{word: word, stem: stem(word), lang: lang}
	place.Store(m)
	return m.stem
}
