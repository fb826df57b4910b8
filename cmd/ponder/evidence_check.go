package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"ponder"
	"ponder/archive"
	"ponder/document"
	"ponder/store/sqlite"
	webtool "ponder/tool/web"
	"ponder/web"
)

// A footing is whether a quote still stands in what it is from.
type footing string

// The standings.
const (
	standsExactly footing = "exact"   // at its place
	standsThere   footing = "there"   // somewhere in it
	notThere      footing = "changed" // not any more
	sourceGone    footing = "gone"
	notKept       footing = "not kept" // so that nobody can tell
	earlierThread footing = "session"  // it is what another session concluded
	userSays      footing = "user"     // it is what the user held to be true
)

func (s footing) broken() bool { return s == notThere || s == sourceGone }

func (s footing) says() string {
	return map[footing]string{
		standsExactly: "it stands in the original, word for word", standsThere: "it stands in the original",
		notThere: "it is NOT in the original any more", sourceGone: "the original is gone", notKept: "no original was kept to check it against",
		earlierThread: "an earlier session concluded it", userSays: "the user said it",
	}[s]
}

// A checker looks quotes up in what they are from.
type checker struct {
	archive *archive.Archive // nil if there is none
	shelf   *shelf
	texts   map[string]string // of originals, by hash
	read    *web.Fetcher
}

// checker returns one for a database. It does not close it.
func (a *app) checker(ctx context.Context, store *sqlite.Store) *checker {
	c := &checker{texts: make(map[string]string)}
	if kept, err := archive.Open(ctx, store.SQL()); err == nil {
		c.archive = kept
		if f, err := a.fetcher(kept); err == nil {
			c.read = f
		}
	}
	if s, err := a.shelfIn(ctx, store); err == nil {
		c.shelf = s
	}
	return c
}

// check returns how a quote stands.
func (c *checker) check(ctx context.Context, e ponder.Evidence) footing {
	if strings.HasPrefix(e.Source, "session:") || strings.HasPrefix(e.Source, "thread:") {
		return earlierThread
	}
	if e.Source == "user" && e.URL == "" {
		return userSays
	}
	if state, ok := c.remembered(ctx, e); ok {
		return state
	}
	if e.Original != "" {
		return c.inOriginal(ctx, e)
	}
	if strings.Contains(e.Source, "://") {
		return c.inCopies(ctx, e)
	}
	return inFile(e)
}

// maxCopies is how many copies of a page are looked at, the newest first.
const maxCopies = 5

// inCopies looks up a quote of which it is not known what it was taken from, such as what
// a search engine had of a page, in the copies of that page.
func (c *checker) inCopies(ctx context.Context, e ponder.Evidence) footing {
	if c.archive == nil {
		return notKept
	}
	copies, err := c.archive.Copies(ctx, e.Source)
	if err != nil {
		return notKept
	}
	for _, at := range copies[:min(len(copies), maxCopies)] {
		in := e
		in.Original = at.Hash
		if state := c.inOriginal(ctx, in); state == standsExactly || state == standsThere {
			return state
		}
	}
	return notKept
}

// remembered looks a quote up in what is remembered, if it is of that.
func (c *checker) remembered(ctx context.Context, e ponder.Evidence) (footing, bool) {
	if c.shelf == nil || len(e.Hash) < 12 {
		return "", false
	}
	got, err := c.shelf.Check(ctx, placeOf(e.Hash[:12], e.Start, e.End))
	switch {
	case err != nil || !got.There || got.Quote != e.Content:
		return "", false
	case got.Exact || !got.Original:
		return standsExactly, true
	}
	return standsThere, true
}

// inFile looks a quote up in a file.
func inFile(e ponder.Evidence) footing {
	path, part, _ := strings.Cut(e.Source, "#")
	raw, err := document.ReadFile(path, 256<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist), err != nil && !isThere(path):
		return sourceGone
	case err != nil:
		return notKept
	}
	found := notThere
	for d, err := range document.Read(path, raw, nil, true) {
		if err != nil || part != "" && d.Source != e.Source {
			continue
		}
		if d.Verify(e.Content, e.Start, e.End) {
			return standsExactly
		}
		if strings.Contains(spaced(d.Text), spaced(e.Content)) {
			found = standsThere
		}
	}
	return found
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// spaced returns a text with one space between its words.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

// inOriginal looks a quote up in the copy of a page that was kept.
func (c *checker) inOriginal(ctx context.Context, e ponder.Evidence) footing {
	if c.read == nil {
		return notKept
	}
	text, ok := c.texts[e.Original]
	if !ok {
		page, err := c.read.Archived(ctx, e.Original)
		if errors.Is(err, archive.ErrNone) {
			return notKept
		}
		if err != nil {
			return notThere
		}
		text = webtool.Document(page).Text
		c.texts[e.Original] = text
	}
	switch {
	case e.Start >= 0 && e.End <= len(text) && e.Start < e.End && text[e.Start:e.End] == e.Content:
		return standsExactly
	case strings.Contains(spaced(text), spaced(e.Content)):
		return standsThere
	}
	return notThere
}

// placeOf returns the id of a range in a text of which the beginning of the hash
// is known.
func placeOf(hash string, start, end int) string { return fmt.Sprintf("%s:%d-%d", hash, start, end) }
