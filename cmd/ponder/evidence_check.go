package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/app"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/web"
	"ponder/store/sqlite"
	webtool "ponder/tool/web"
)

// A footing is whether a quote still stands in what it is from.
type footing string

// The standings.
const (
	standsExactly footing = "exact"   // at its place
	standsThere   footing = "there"   // somewhere in it
	standsApart   footing = "apart"   // in parts, in another order
	notThere      footing = "changed" // not any more
	sourceGone    footing = "gone"
	notKept       footing = "not kept" // so that nobody can tell
	inSearch      footing = "search"   // in what a search had of a page that was not kept
	inSearchOnly  footing = "unlike"   // in what a search had of a page, and not in the page as it was kept
	earlierThread footing = "session"  // it is what another session concluded
	userSays      footing = "user"     // it is what the user held to be true
)

func (s footing) broken() bool { return s == notThere || s == sourceGone }

func (s footing) says() string {
	return map[footing]string{
		standsExactly: "it stands in the original, word for word", standsThere: "it stands in the original",
		standsApart: "its parts stand in the original, in another order",
		inSearch:    "it is as the search had it; the page itself was not kept", inSearchOnly: "it is as the search had it, but NOT so in the page that was kept",
		notThere: "it is NOT in the original any more", sourceGone: "the original is gone", notKept: "no original was kept to check it against",
		earlierThread: "an earlier session concluded it", userSays: "the user said it",
	}[s]
}

// A checker looks quotes up in what they are from.
type checker struct {
	archive *archive.Archive // nil if there is none
	shelf   *app.LibraryHandle
	texts   map[string]string // of originals, by hash
	answers map[string]bool   // originals that are what a search had of a page, by hash
	read    *web.Fetcher
}

// checker returns one for a database. It does not close it.
func (a *cli) checker(ctx context.Context, store *sqlite.Store) *checker {
	c := &checker{texts: make(map[string]string)}
	if kept, err := archive.Open(ctx, store.SQL()); err == nil {
		c.archive = kept
		if f, err := a.WebFetcher(kept); err == nil {
			c.read = f
		}
	}
	if s, err := a.LibraryIn(ctx, store); err == nil {
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
		return c.kept(ctx, e)
	}
	if strings.Contains(e.Source, "://") {
		state, _ := c.inCopies(ctx, e)
		return state
	}
	return inFile(e)
}

// maxCopies is how many copies of a page are looked at, the newest first.
const maxCopies = 5

// kept looks a quote up in the original that was kept. What a search had of a page
// speaks for itself only, so that the copies of that page are looked at first.
func (c *checker) kept(ctx context.Context, e ponder.Evidence) footing {
	state := c.inOriginal(ctx, e)
	if !c.answers[e.Original] {
		return state
	}
	in, some := c.inCopies(ctx, e)
	switch {
	case in != notKept:
		return in
	case state.broken() || state == notKept:
		return state
	case some:
		return inSearchOnly
	}
	return inSearch
}

// inCopies looks up a quote of which it is not known what it was taken from, such as what
// a search engine had of a page, in the copies of that page, and reports whether there are
// any.
func (c *checker) inCopies(ctx context.Context, e ponder.Evidence) (state footing, some bool) {
	state = notKept
	for _, hash := range c.copies(ctx, e) {
		text, err := c.text(ctx, hash)
		if err != nil || c.answers[hash] {
			continue
		}
		some = true
		switch parts(text, e.Content) {
		case standsThere:
			return standsThere, true
		case standsApart:
			state = standsApart
		}
	}
	return state, some
}

// copies returns the hashes of the copies of the page that evidence is of.
func (c *checker) copies(ctx context.Context, e ponder.Evidence) (list []string) {
	if c.archive == nil || c.read == nil {
		return nil
	}
	for _, source := range []string{e.Source, e.URL} {
		if source == "" {
			continue
		}
		kept, err := c.archive.Copies(ctx, source)
		if err != nil {
			continue
		}
		for _, at := range kept[:min(len(kept), maxCopies)] {
			if !slices.Contains(list, at.Hash) {
				list = append(list, at.Hash)
			}
		}
	}
	return list
}

// ellipsis is what stands where something is left out of a quote.
var ellipsis = regexp.MustCompile(`\[?(?:…|\.\.\.)\]?`)

// parts looks up a quote of which something may be left out: all that stands between
// is to be in the text, word for word.
func parts(text, quote string) footing {
	text, quote = spaced(text), spaced(quote)
	if quote == "" {
		return notThere
	}
	if strings.Contains(text, quote) {
		return standsThere
	}
	state, at, some := standsThere, 0, false
	for _, part := range ellipsis.Split(quote, -1) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		some = true
		if i := strings.Index(text[at:], part); i >= 0 {
			at += i + len(part)
		} else if strings.Contains(text, part) {
			state = standsApart
		} else {
			return notThere
		}
	}
	if !some {
		return notThere
	}
	return state
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
	if own, err := strconv.Unquote(`"` + path + `"`); err == nil && !isThere(path) {
		path = own // see document.Legible
	}
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
	text, err := c.text(ctx, e.Original)
	switch {
	case errors.Is(err, archive.ErrNone):
		return notKept
	case err != nil:
		return notThere
	case e.Start >= 0 && e.End <= len(text) && e.Start < e.End && text[e.Start:e.End] == e.Content:
		return standsExactly
	case strings.Contains(spaced(text), spaced(e.Content)):
		return standsThere
	}
	return notThere
}

// text returns the text of an original that was kept. It is archive.ErrNone if there is
// none.
func (c *checker) text(ctx context.Context, hash string) (string, error) {
	if c.read == nil {
		return "", archive.ErrNone
	}
	if text, ok := c.texts[hash]; ok {
		return text, nil
	}
	page, err := c.read.Archived(ctx, hash)
	if err != nil {
		return "", err
	}
	if strings.HasPrefix(page.URL, app.SearchAnswer) {
		if c.answers == nil {
			c.answers = make(map[string]bool)
		}
		c.answers[hash] = true
	}
	c.texts[hash] = webtool.Document(page).Text
	return c.texts[hash], nil
}

// placeOf returns the id of a range in a text of which the beginning of the hash
// is known.
func placeOf(hash string, start, end int) string { return fmt.Sprintf("%s:%d-%d", hash, start, end) }
