// Package extract returns the main text of a web page, without menus, teasers and
// notices, and its author and date.
//
// [Article] first bounds the page (bound.go), which may be hostile. Then two libraries
// read it. The first provides the text; captions are removed, and blocks at its ends
// that the second lacks. render.go writes Markdown and plain text, meta.go reads the
// head, and date.go finds dates in the body.
//
// If the libraries take too long, fail, or find next to nothing, the simple reader in
// render.go takes over.
//
// Results are untrusted, but bounded and without control characters.
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

const (
	MaxPage = 10 << 20         // bytes of a page; the rest is ignored
	timeout = 10 * time.Second // for the libraries
	maxName = 500              // bytes of a title, an author, a site
	maxSays = 2000
	maxLink = 2048
	maxOut  = 16 << 20
)

// ErrNoText reports a page without text. Metadata are returned anyway.
var ErrNoText = errors.New("page has no text")

type Content struct {
	Title, Author, Site, Description string

	// Language is an ISO 639-1 code, or "": detected in long texts, or declared.
	Language string

	Published time.Time // zero if unknown; often only the day
	Canonical string    // the page's own address, or ""

	Markdown string // main text with headings, lists, tables and links
	Text     string // plain text, a line per block
	Links    []Link // in order, each once

	Plain     bool // read by simple rules
	Truncated bool // cut at a bound
}

// A Link is an absolute http or https address.
type Link struct{ URL, Text string }

// Article returns the main text of a page at an address. It decodes pages that are not
// UTF-8 as declared. It takes linear time, at most about ten seconds, and is safe for
// concurrent use. Errors are ErrNoText and an invalid address.
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

// or replaces the text by that of p and fills missing metadata. A few words are often
// the wrong ones.
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

// decode reports whether the page was too long. Valid UTF-8 overrides the declaration.
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

// read reports success. Libraries cannot be stopped; after a timeout they finish in the
// background, since bound limits the page.
func read(page string, a about, most time.Duration) (Content, bool) {
	done := make(chan Content, 1)
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // third-party code on untrusted pages
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

// libraries may panic.
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

// A reading is a library's main text.
type reading struct {
	tree   *html.Node
	blocks []block
	size   int
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

// about prefers the head's metadata. The title is the library's, since heads often
// append the site's name. day is the one in the body.
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

var separator = regexp.MustCompile(`^\s+[-–—|/·•:»«]\s`)

// minTelling is the least text for detecting a language, in bytes.
const minTelling = 200

// Thresholds for comparing readings. Half and double of each give similar results.
const (
	shingle   = 4   // words
	supported = 0.5 // share of a block's shingles in the other reading
	kept      = 0.5 // share of a reading that must remain
	asLong    = 0.8 // ratio of lengths of equal texts
)

// choose drops blocks at the ends of main that judge lacks, since readings err there.
func choose(main, judge reading) *html.Node {
	switch {
	case main.size == 0:
		return judge.tree
	case len(main.blocks) == 1 && len(judge.blocks) > 1 && alike(main.size, judge.size):
		return judge.tree // the same text, but divided
	}
	trim(main, shingles(judge.blocks))
	return main.tree
}

func alike(a, b int) bool {
	return float64(min(a, b)) > asLong*float64(max(a, b))
}

// trim drops blocks at both ends that judge lacks, unless too little remains.
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

func backed(b block, judge map[string]int) bool {
	n, of := 0, shingles([]block{b})
	for s := range of {
		if judge[s] > 0 {
			n++
		}
	}
	return float64(n) > supported*float64(len(of))
}

// shingles counts runs of words; a shorter text is one run.
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
