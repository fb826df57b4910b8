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

	"ponder/internal/guard"
	"ponder/internal/textkit"
	"ponder/internal/textkit/lexical"
)

const (
	MaxPage        = 10 << 20         // bytes of a page; the rest is ignored
	timeout        = 10 * time.Second // for the libraries
	maxName        = 500              // bytes of a title, an author, a site
	maxDescription = 2000
	maxLink        = 2048
	maxOut         = 16 << 20
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
// concurrent use. Errors are ErrNoText, an invalid address, and a panic of the parser.
func Article(page []byte, address string) (Content, error) {
	return guard.Call(func() (Content, error) { return readArticle(page, address) })
}

func readArticle(page []byte, address string) (Content, error) {
	base, err := url.Parse(address)
	if err != nil {
		return Content{}, fmt.Errorf("parse page address: %w", errors.Unwrap(err))
	}
	text, cut := decodePage(page)
	b := boundPage(text)
	about := b.metadata.resolveURLs(base)
	c, ok := Content{}, false
	if !b.large {
		c, ok = readWithTimeout(b.page, about, timeout)
	}
	if !ok || len(c.Text) < minDetectText {
		c = c.withFallback(readPlain(b.page, about))
	}
	c.Truncated = cut || c.Truncated
	c.Canonical = about.canonical
	c = c.cleanMetadata()
	if c.Text == "" {
		return c, ErrNoText
	}
	return c, nil
}

// withFallback replaces the text by that of p and fills missing metadata. A few words are often
// the wrong ones.
func (c Content) withFallback(p Content) Content {
	c.Text, c.Markdown, c.Links, c.Plain = p.Text, p.Markdown, nil, true
	setIfEmpty(&c.Title, p.Title)
	setIfEmpty(&c.Author, p.Author)
	setIfEmpty(&c.Site, p.Site)
	setIfEmpty(&c.Description, p.Description)
	if c.Published.IsZero() {
		c.Published = p.Published
	}
	c.Language = p.Language
	return c
}

// decodePage reports whether the page was too long. Valid UTF-8 overrides the declaration.
func decodePage(page []byte) (string, bool) {
	cut := len(page) > MaxPage
	page = page[:min(len(page), MaxPage)]
	if cut {
		page = trimPartialRune(page)
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

func trimPartialRune(b []byte) []byte {
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

func (c Content) cleanMetadata() Content {
	c.Title, c.Author, c.Site = textkit.PrefixLine(c.Title, maxName), textkit.PrefixLine(c.Author, maxName), textkit.PrefixLine(c.Site, maxName)
	c.Description = textkit.PrefixLine(c.Description, maxDescription)
	if y := c.Published.Year(); y < 1970 || y > 9999 {
		c.Published = time.Time{}
	}
	if len(c.Language) != 2 {
		c.Language = ""
	}
	return c
}

// readWithTimeout reports success. Libraries cannot be stopped; after a timeout they finish in the
// background, since bound limits the page.
func readWithTimeout(page string, a pageMetadata, most time.Duration) (Content, bool) {
	done := make(chan Content, 1)
	go func() {
		defer close(done)
		if c, err := guard.Call(func() (Content, error) { return readWithLibraries(page, a) }); err == nil {
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

// readWithLibraries may panic.
func readWithLibraries(page string, a pageMetadata) (Content, error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return Content{}, fmt.Errorf("parse page: %w", err)
	}
	day := publicationDay(doc, a.page)
	cleanTree(doc, a.page)
	p := readability.NewParser()
	p.KeepClasses = true // for isPicture
	article, err := p.ParseDocument(doc, a.page)
	if err != nil {
		return Content{}, fmt.Errorf("read page: %w", err)
	}
	main, judge := newMainText(article.Node), mainText{}
	if got, err := distiller.Apply(doc, &distiller.Options{OriginalURL: a.page, SkipPagination: true}); err == nil && got != nil {
		judge = newMainText(got.Node)
	}
	c := renderTree(chooseTree(main, judge), a)
	c.setMetadata(a, article, day)
	return c, nil
}

// A mainText is a library's main text.
type mainText struct {
	tree   *html.Node
	blocks []block
	size   int
}

func newMainText(tree *html.Node) mainText {
	r := mainText{tree: tree}
	if tree != nil {
		removePictures(tree)
		r.blocks = findBlocks(tree)
	}
	for _, b := range r.blocks {
		r.size += len(b.text)
	}
	return r
}

// setMetadata prefers the head's metadata. The title is the library's, since heads often
// append the site's name. day is the one in the body.
func (c *Content) setMetadata(a pageMetadata, article readability.Article, day time.Time) {
	c.Title, c.Author, c.Site, c.Description = article.Title(), article.Byline(), article.SiteName(), a.description
	setIfEmpty(&c.Title, a.title)
	setIfEmpty(&c.Title, a.heading)
	if rest, ok := strings.CutPrefix(c.Title, a.heading); ok && a.heading != "" && separator.MatchString(rest) {
		c.Title = a.heading
	}
	setIfEmpty(&c.Author, a.author)
	setIfEmpty(&c.Site, a.site)
	setIfEmpty(&c.Site, strings.TrimPrefix(a.page.Host, "www."))
	c.Published = a.published
	if t, err := article.PublishedTime(); err == nil && c.Published.IsZero() {
		c.Published = t.UTC()
	}
	if c.Published.IsZero() {
		c.Published = day
	}
	if c.Language = a.language; len(c.Text) >= minDetectText || a.language == "" {
		if lang, _ := lexical.Detect(c.Text); lang != "" {
			c.Language = string(lang)
		}
	}
}

var separator = regexp.MustCompile(`^\s+[-–—|/·•:»«]\s`)

// minDetectText is the least text for detecting a language, in bytes.
const minDetectText = 200

// Thresholds for comparing readings. Half and double of each give similar results.
const (
	shingle        = 4   // words
	minSupported   = 0.5 // share of a block's shingles in the other reading
	minKept        = 0.5 // share of a reading that must remain
	minLengthRatio = 0.8 // ratio of lengths of equal texts
)

// chooseTree drops blocks at the ends of main that judge lacks, since readings err there.
func chooseTree(main, judge mainText) *html.Node {
	switch {
	case main.size == 0:
		return judge.tree
	case len(main.blocks) == 1 && len(judge.blocks) > 1 && haveSimilarSize(main.size, judge.size):
		return judge.tree // the same text, but divided
	}
	trimEnds(main, countShingles(judge.blocks))
	return main.tree
}

func haveSimilarSize(a, b int) bool {
	return float64(min(a, b)) > minLengthRatio*float64(max(a, b))
}

// trimEnds drops blocks at both ends that judge lacks, unless too little remains.
func trimEnds(r mainText, judge map[string]int) {
	i, j, size := 0, len(r.blocks), r.size
	for ; i < j && !isBacked(r.blocks[i], judge); i++ {
		size -= len(r.blocks[i].text)
	}
	for ; j > i && !isBacked(r.blocks[j-1], judge); j-- {
		size -= len(r.blocks[j-1].text)
	}
	if float64(size) <= minKept*float64(r.size) {
		return
	}
	for k, b := range r.blocks {
		if k < i || k >= j {
			b.removeNodes()
		}
	}
}

func isBacked(b block, judge map[string]int) bool {
	n, of := 0, countShingles([]block{b})
	for s := range of {
		if judge[s] > 0 {
			n++
		}
	}
	return float64(n) > minSupported*float64(len(of))
}

// countShingles counts runs of words; a shorter text is one run.
func countShingles(list []block) map[string]int {
	var all []string
	for _, b := range list {
		all = append(all, splitWords(b.text)...)
	}
	m := make(map[string]int, len(all))
	for i := 0; i < max(1, len(all)-shingle+1) && len(all) > 0; i++ {
		m[strings.Join(all[i:min(i+shingle, len(all))], " ")]++
	}
	return m
}
