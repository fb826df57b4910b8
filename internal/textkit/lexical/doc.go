// Package lexical analyses words: their positions ([Tokens], [Singles]), comparison forms ([Fold],
// [Stem]), stop words ([Stop]) and language ([Detect]).
//
// Word boundaries do not depend on the language. In scripts without spaces, each pair of adjacent
// letters is a word, in texts and queries alike. Stems are from Snowball.
//
// All functions are pure, accept any bytes and are safe for concurrent use. Indexes store the
// results, so that a change requires new indexes.
package lexical
