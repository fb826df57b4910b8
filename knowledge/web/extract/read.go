package extract

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/markusmobius/go-domdistiller"
	"golang.org/x/net/html"

	"ponder/internal/textkit/lexical"
)

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
