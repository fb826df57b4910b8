package lexical

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

type memo struct {
	word, stem string
	lang       Language
}

// memos caches stems by hash. Texts repeat words so often that most look-ups hit, and stemming is
// much slower.
var memos [1 << 14]atomic.Pointer[memo]

var memoSeed = maphash.MakeSeed()

func cachedStem(word string, lang Language, stem func(string) string) string {
	place := &memos[maphash.String(memoSeed, word)%uint64(len(memos))]
	if m := place.Load(); m != nil && m.word == word && m.lang == lang {
		return m.stem
	}
	word = strings.Clone(word) // word may be part of a long text
	m := &memo{word: word, stem: stem(word), lang: lang}
	place.Store(m)
	return m.stem
}
