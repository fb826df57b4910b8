// Package evidence says how good a piece of evidence is, and why: [Judge] looks at
// one, [Cluster] finds copies, [Corroborate] counts who says the same, and [Weight]
// makes one number of it.
//
// Nothing is hidden: each signal is a [ponder.Signal] with a sentence that says what
// was seen, and the weight follows from the signals alone. Signals are guesses from
// the outside. A good source may be wrong, so they say how much a claim is worth
// before it is checked, not whether it is true.
//
// # The signals
//
//	source         the kind of source, by its host (sources.txt) or by what kind of item it is
//	date           whether it is dated, and how old it is
//	author         whether somebody stands for it by name
//	directness     whether its words speak of its own work, or of what others say
//	transport      of a page: whether it came encrypted, so that nobody changed it on its way
//	advertising    only where its words sell something
//	addressed      only where its words are meant for a program that reads it
//	corroboration  how many independent sources say the same, or the opposite
//
// # The weight
//
// A weight is the product of 1 - s(1-v) over the signals, where v is the value of the
// signal and s the share that it may take away:
//
//	source 0.6   directness 0.3   corroboration 0.3   date 0.2   author 0.15
//	transport 0.05   advertising 0.5   addressed 0.8
//
// Signals of other names take nothing away. The shares are a choice, not a
// measurement.
//
// # Copies
//
// Texts are compared by runs of three words, with MinHash (Broder, 1997) of 64 hashes.
// Of a text of 80 words or more a fifth of the words may be changed; texts that merely
// share a subject have hardly a run in common. Of a sentence hardly a word may be
// changed, for sentences may be alike that nobody copied. TestCopies measures it.
//
// A part that was cut out of a text has little in common with all of it, so the runs of
// the shorter text that the other has count as well: of the least 1,024 hashes of each,
// more than half of those of a long part, and four in five of those of a sentence. What
// pages of one site have in common makes them copies only where it is most of the text:
// pass quotes, or the main text of pages. TestClustersOfArticles and TestClustersOfPassages
// measure precision and recall on copies that are cut, dated, signed and quoted otherwise.
//
// Everything is pure, deterministic, safe for concurrent use, and bounded: of a text
// the first 32 KiB are read.
package evidence
