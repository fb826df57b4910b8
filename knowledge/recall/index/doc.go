// Package index finds passages of documents by their words, with tables of its
// own in a database that it shares with others.
//
// Documents are cut into passages by whoever adds them ([Index.Add]), in the
// caller's transaction: they are found when that commits, all or none. A
// [Query] has words, phrases and a filter; [Index.Search] ranks passages by BM25.
// The words of the title, of names, of the heading and of who speaks count as if
// the passage said them. [Index.Merge], called now and then, keeps the index
// small and fast beside all that.
//
// # What is found
//
// Words are compared by their stems in the language of the document; those of a
// query are stemmed in each language that the index has, and a stem counts only
// in documents of its language. Scripts without spaces are compared by pairs of
// letters, and Chinese ones also by letters alone. Stop words are indexed, and
// left out of a query that has other words. A prefix stands for the words, as
// they were written, that begin so; a phrase is looked for in the texts of the
// best 2,000 passages that have all its words, and is not found across two.
// A word that no passage has which the filter lets through is, if wished, taken
// for the nearest: one mistake in words of four to seven letters, two in longer
// ones, and two letters that changed places are one.
//
// Counts are exact: what was removed is in no average and in no frequency, so
// that scores do not depend on what was merged when. The filter does not change
// them.
//
// # Relevance
//
// A passage of average length that has each word of the query once has an ideal
// score: the sum of the words' weights and rarities. The relevance of a hit is
// 1 - exp(-score/ideal). It does not depend on how many or how rare the words are:
// 0.63 is as good as having said each word once, 0.39 half of them by rarity, and
// beyond 0.8 words stand there repeatedly or the passages around have them too. A
// word that nobody wrote is the rarest, and a query of such has hits of little
// relevance. The share of the whole document in scores is taken out, and of words
// that feedback adds half are expected.
//
// # Stored format
//
// A batch of documents is a segment: its documents, its terms and their postings,
// as rows of index_blob. A segment is written once. Merging writes a new one in
// the place of several, in many short transactions; it is seen when the last of
// them commits, and what a crash leaves of it is deleted by a later Merge.
// Numbers are uvarints, signed ones zigzag, and strings behind their length.
//
// Documents (kind 0, one text in rows of 32 KiB): for each, a byte of flags
// (1 owner, 2 kind, 4 tags, 8 language as the one before); the differences from
// the one before of its id, the number of its first passage and its date in
// microseconds; source; owner, kind, language and tags where they differ; the
// number of passages, and of each twice its words, plus 1 if somebody says it.
// Numbers of passages are relative to the segment's first.
//
// Terms (kind 1): each row begins with where the postings of its first term
// begin. For each term in order: bytes in common with the one before on the row,
// the rest, twice the number of passages that have it, plus 1 if the term was
// written so, and the bytes of its postings with padding. A term that begins
// with the byte 1 is a word as it was written, without case and accents, where
// that is not its stem.
//
// Postings (kind 2, one text in rows of 8 KiB): for each passage, by its place in
// the segment, twice the distance from the one before, plus 1 if a byte with the
// frequency follows, which else is 1.
//
// Removing deletes the rows with text at once, marks the documents in the
// segment's bits of dead ones, and notes their terms in index_purge. Merge takes
// them out of postings and terms: then nothing is left of them. index_state has a
// version that each change counts up, by which those who search notice what
// others, in this process or not, have done.
package index
