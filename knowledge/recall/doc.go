// Package recall is the Library: what a user had Ponder remember, and how it is
// found again. It needs no server and no model; with a model that embeds texts it
// also finds what is said in other words.
//
// An [Item] is a memory, a document, a post, a journal note or a finished thread.
// [Library.Remember] keeps items that are given; [Library.Ingest] keeps files and
// folders and follows them: what did not change is not read again, what is gone
// is forgotten. [Library.IngestReader] and [Library.IngestPage] keep what is read
// from elsewhere. [Library.Search] finds, [Library.Read] shows what stands around
// a place, [Library.Check] says whether a quote is still in the stored original,
// [Library.PersonaContext] puts together what a persona knows of a question. What
// can wait, merging and embedding, is done by [Library.Tend].
//
// The way of a file: it is read and parsed (package document), taken apart into
// entries (rows.go, turns.go, journal.go; a whole document is one), each entry is
// cut into passages (passage.go) and prepared for the index (recall/index), on as
// many processors as there are. One transaction then writes what belongs together
// (commit.go): items, passages, postings, the original (package archive) and the
// state of the file. A file of many entries takes several; each entry is whole in
// one of them, so a search never finds half a document, and a process that is
// killed at any moment goes on where it was when the same paths are given again.
//
// The way of a search: recall/query understands the text; its class picks
// strategies (strategy.go); passages found by words and by meaning are fused
// (fuse.go), what says the same is shown once (same.go), the quote is the sentence
// of the passage that answers best (quote.go).
//
// It keeps the tables recall_item, recall_file, recall_earlier, recall_persona and
// recall_number;
// schema/ says what they mean. A place of a quote is that of document.Place: the
// beginning of the SHA-256 of the item's text, and a range of bytes in it.
//
// Whatever is remembered is foreign: lengths and counts are bounded, and a text
// is never taken for anything but a text.
package recall
