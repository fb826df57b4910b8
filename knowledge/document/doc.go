// Package document finds passages in what a user has: folders of notes,
// documents, pages. It reads files into memory, knows the place of every
// sentence, and ranks sentences against a question, with no model, server or
// network.
//
// The way of a file: [Scan] walks folders and lists what is worth reading;
// [Listing.Load] reads it; a [Format] takes it apart into blocks (headings,
// paragraphs, items, rows, code), or into several documents (the messages of a
// mailbox, the posts of a table); a [Document] is the normalised text made of
// the blocks, with byte ranges of pages, sections and sentences in it; a [Collection]
// is documents with an index: it answers [Collection.Search] with sentences,
// [Collection.Rank] with documents, and [Collection.KeyTerms] says what a text is
// about. [Load] does all of it.
//
// A quote is a byte range of the text of a document, and the text has a hash:
// [Document.Verify] says whether a quote is really there. The text depends on
// nothing but the bytes of the file and this version of the package. [Read] makes
// documents of bytes alone, and [Typed] of what came with a media type.
//
// Ranking is BM25 on sentences, helped by the passage, the headings and the
// neighbours of a sentence. Words are compared without case and accents, by
// their English stem; scripts that do not space words, by pairs of letters. The
// index is posting lists in the form of a segment: per term, the numbers of the
// sentences as differences, each with its frequency.
//
// What is read is foreign: sizes, counts and depth are bounded, special files
// are never opened, links that lead out of the named folders are not followed.
// Archives are bounded in what they unpack to, and PDFs are read by an engine in
// a box of its own, which starts with the first of them and is ended when a file
// takes too long.
//
// Stored: what the engine was compiled to, in ponder/wasm of the cache folder of
// the user. It can be removed at any time.
package document
