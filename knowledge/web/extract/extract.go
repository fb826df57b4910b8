// Package extract takes the main text out of a web page: what the author wrote,
// without menus, teasers and notices, with who wrote it and when.
//
// [Article] bounds the page (bound.go), since it may be anything: too long, too
// deep, made to take forever. Then two libraries read it (read.go), each in its own way.
// The reading of the first is the text, without its captions and without the blocks at its
// ends that the second does not have (choose.go). render.go writes it as Markdown and as
// plain text. meta.go reads the head of the page, and date.go the dates in its body.
//
// A page that the libraries do not get done with in time, break on, or find next to
// nothing in, is read by the plain rules of plain.go, which go through it once.
//
// The package keeps nothing and needs no network. All it returns is as hostile as
// the page: bounded and free of control characters, but not to be obeyed.
package extract

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"codeberg.org/readeck/go-readability/v2"
	distiller "github.com/markusmobius/go-domdistiller"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"

	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

// Bounds of what is read and returned.
const (
	MaxPage = 10 << 20         // bytes of a page; what follows is left out
	timeout = 10 * time.Second // for the libraries
	maxName = 500              // bytes of a title, an author, a site
	maxSays = 2000             // bytes of a description
	maxLink = 2048             // bytes of an address
	maxOut  = 16 << 20         // bytes of Markdown
)

// ErrNoText says that a page has no text to read. What it says of itself is
// returned nevertheless.
var ErrNoText = errors.New("page has no text")

// A Content is what a page says.
type Content struct {
	Title, Author, Site, Description string

	// Language is an ISO 639-1 code, or "": the one of the text if it is long
	// enough to tell, or else the one the page names.
	Language string

	Published time.Time // zero if the page does not say; often to the day only
	Canonical string    // the address that the page says is its own, or ""

	Markdown string // the main text with its headings, lists, tables and links
	Text     string // the same as plain text, a line for each block
	Links    []Link // of the main text, in order, each address once

	Plain     bool // read by plain rules, since the libraries found next to nothing or failed
	Truncated bool // the page goes on where this ends
}

// A Link is an absolute http or https address in a text.
type Link struct{ URL, Text string }

// Article returns the main text of a page, whose links are relative to its
// address. A page that is not UTF-8 is decoded as it says it is encoded.
//
// It takes time in proportion to the page and never more than some ten seconds,
// and may be called concurrently. The only error is ErrNoText, or an address that
// is none.
func Article(page []byte, address string) (Content, error) {
	base, err := url.Parse(address)
	if err != nil {
		return Content{}, fmt.Errorf("address of page: %w", errors.Unwrap(err))
	}
	text, cut := decode(page)
	b := bound(text)
	about := b.about.in(base)
	c, ok := Content{}, false
	if !b.large {
		c, ok = read(b.page, about, timeout)
	}
	if !ok || len(c.Text) < minTelling {
		c = c.or(plain(b.page, about))
	}
	c.Truncated = cut || c.Truncated
	c.Canonical = about.canonical
	c = c.tidy()
	if c.Text == "" {
		return c, ErrNoText
	}
	return c, nil
}

// or returns the text of another reading, and what this one knows of the page. A
// few words are often the wrong ones, or some of them twice.
func (c Content) or(p Content) Content {
	c.Text, c.Markdown, c.Links, c.Plain = p.Text, p.Markdown, nil, true
	first(&c.Title, p.Title)
	first(&c.Author, p.Author)
	first(&c.Site, p.Site)
	first(&c.Description, p.Description)
	if c.Published.IsZero() {
		c.Published = p.Published
	}
	c.Language = p.Language
	return c
}

// decode returns a page as UTF-8, and whether it was too long. A page that is
// UTF-8 is taken for it, whatever it says.
func decode(page []byte) (string, bool) {
	cut := len(page) > MaxPage
	page = page[:min(len(page), MaxPage)]
	if cut {
		page = whole(page)
	}
	if !utf8.Valid(page) {
		e, _, _ := charset.DetermineEncoding(page, "")
		if out, err := e.NewDecoder().Bytes(page); err == nil {
			page = out[:min(len(out), 2*MaxPage)]
		}
	}
	page = bytes.ReplaceAll(page, []byte{0}, nil)
	return strings.ToValidUTF8(string(page), "\uFFFD"), cut
}

// whole returns a text without the part of a letter at its end.
func whole(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// tidy bounds what the page says of itself.
func (c Content) tidy() Content {
	c.Title, c.Author, c.Site = textkit.PrefixLine(c.Title, maxName), textkit.PrefixLine(c.Author, maxName), textkit.PrefixLine(c.Site, maxName)
	c.Description = textkit.PrefixLine(c.Description, maxSays)
	if y := c.Published.Year(); y < 1970 || y > 9999 {
		c.Published = time.Time{}
	}
	if len(c.Language) != 2 {
		c.Language = ""
	}
	return c
}

// read reads a page with the libraries, and reports whether they managed. They
// can't be stopped: one that takes too long goes on by itself until it is done
// with a page that bound made small enough.
func read(page string, a about, most time.Duration) (Content, bool) {
	done := make(chan Content, 1)
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // the libraries are not ours, nor is the page
		if c, err := libraries(page, a); err == nil {
			done <- c
		}
	}()
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case c, ok := <-done:
		return c, ok && c.Text != ""
	case <-t.C:
		return Content{}, false
	}
}

// libraries reads a page. It may panic.
func libraries(page string, a about) (Content, error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return Content{}, fmt.Errorf("parse page: %w", err)
	}
	day := publicationDay(doc, a.page)
	clean(doc, a.page)
	p := readability.NewParser()
	p.KeepClasses = true // for isPicture
	article, err := p.ParseDocument(doc, a.page)
	if err != nil {
		return Content{}, fmt.Errorf("read page: %w", err)
	}
	main, judge := newReading(article.Node), reading{}
	if got, err := distiller.Apply(doc, &distiller.Options{OriginalURL: a.page, SkipPagination: true}); err == nil && got != nil {
		judge = newReading(got.Node)
	}
	c := render(choose(main, judge), a)
	c.about(a, article, day)
	return c, nil
}

// A reading is what one library takes for the main text: the tree, and its blocks.
type reading struct {
	tree   *html.Node
	blocks []block
	size   int // bytes of the blocks
}

func newReading(tree *html.Node) reading {
	r := reading{tree: tree}
	if tree != nil {
		removePictures(tree)
		r.blocks = blocks(tree)
	}
	for _, b := range r.blocks {
		r.size += len(b.text)
	}
	return r
}

// about adds the author, the dates and the like: those of the head of the page first, but
// the library's title, because heads often have the name of the site in it too. day is the
// day that the body of the page names, if any.
func (c *Content) about(a about, article readability.Article, day time.Time) {
	c.Title, c.Author, c.Site, c.Description = article.Title(), article.Byline(), article.SiteName(), a.description
	first(&c.Title, a.title)
	first(&c.Title, a.heading)
	if rest, ok := strings.CutPrefix(c.Title, a.heading); ok && a.heading != "" && separator.MatchString(rest) {
		c.Title = a.heading
	}
	first(&c.Author, a.author)
	first(&c.Site, a.site)
	first(&c.Site, strings.TrimPrefix(a.page.Host, "www."))
	c.Published = a.published
	if t, err := article.PublishedTime(); err == nil && c.Published.IsZero() {
		c.Published = t.UTC()
	}
	if c.Published.IsZero() {
		c.Published = day
	}
	if c.Language = a.language; len(c.Text) >= minTelling || a.language == "" {
		if lang, _ := lexical.Detect(c.Text); lang != "" {
			c.Language = string(lang)
		}
	}
}

// separator matches what follows the title of a text in the title of a page.
var separator = regexp.MustCompile(`^\s+[-–—|/·•:»«]\s`)

// minTelling is how many bytes of text tell which language they are in.
const minTelling = 200

// What it takes to believe a reading. None of it is sensitive: half and double of
// each does nearly as well.
const (
	shingle   = 4   // words that are compared at once
	supported = 0.5 // share of the shingles of a block that another reading has
	kept      = 0.5 // share of a reading that must be left when its ends are cut
	asLong    = 0.8 // share of each other's length that two readings of one text have
)

// choose returns the tree of the main text: that of main without the blocks at its ends
// that judge does not have, since readings go wrong above and below a text.
func choose(main, judge reading) *html.Node {
	switch {
	case main.size == 0:
		return judge.tree
	case len(main.blocks) == 1 && len(judge.blocks) > 1 && alike(main.size, judge.size):
		return judge.tree // the same text, in its parts
	}
	trim(main, shingles(judge.blocks))
	return main.tree
}

// alike reports whether two readings can be of one text, by their sizes.
func alike(a, b int) bool {
	return float64(min(a, b)) > asLong*float64(max(a, b))
}

// trim removes the blocks at both ends of a reading that judge does not have, unless too
// little would stay.
func trim(r reading, judge map[string]int) {
	i, j, size := 0, len(r.blocks), r.size
	for ; i < j && !backed(r.blocks[i], judge); i++ {
		size -= len(r.blocks[i].text)
	}
	for ; j > i && !backed(r.blocks[j-1], judge); j-- {
		size -= len(r.blocks[j-1].text)
	}
	if float64(size) <= kept*float64(r.size) {
		return
	}
	for k, b := range r.blocks {
		if k < i || k >= j {
			b.remove()
		}
	}
}

// backed reports whether judge has most of a block.
func backed(b block, judge map[string]int) bool {
	n, of := 0, shingles([]block{b})
	for s := range of {
		if judge[s] > 0 {
			n++
		}
	}
	return float64(n) > supported*float64(len(of))
}

// shingles returns how often each run of words is in a text. A text of fewer
// words is one.
func shingles(list []block) map[string]int {
	var all []string
	for _, b := range list {
		all = append(all, words(b.text)...)
	}
	m := make(map[string]int, len(all))
	for i := 0; i < max(1, len(all)-shingle+1) && len(all) > 0; i++ {
		m[strings.Join(all[i:min(i+shingle, len(all))], " ")]++
	}
	return m
}
