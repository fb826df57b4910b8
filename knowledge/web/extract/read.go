package extract

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-shiori/dom"
	"github.com/go-shiori/go-readability"
	"github.com/markusmobius/go-domdistiller"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
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
	clean(doc, a.page)
	links := linked(doc)
	r := readings(doc, a.page)
	tree := choose(r)
	if tree != nil {
		relink(tree, links)
	}
	c := render(tree, a)
	c.about(a, r.meta)
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
		r.blocks = blocks(tree)
	}
	for _, b := range r.blocks {
		r.size += len(b.text)
	}
	return r
}

// readingsOf holds the readings of a page.
type readingsOf struct {
	main, other reading   // what may be taken
	judges      []reading // what they are compared with
	meta        trafilatura.Metadata
}

// readings reads a page in each way.
func readings(doc *html.Node, page *url.URL) (r readingsOf) {
	o := trafilatura.Options{OriginalURL: page, ExcludeComments: true, HtmlDateMode: trafilatura.Fast}
	if got, err := trafilatura.ExtractDocument(doc, o); err == nil {
		r.main, r.meta = newReading(got.ContentNode), got.Metadata
	}
	var read, distilled *html.Node
	if got, err := readability.FromDocument(dom.Clone(doc, true), page); err == nil {
		read = got.Node
	}
	if got, err := distiller.Apply(dom.Clone(doc, true), &distiller.Options{OriginalURL: page, SkipPagination: true}); err == nil && got != nil {
		distilled = got.Node
	}
	r.judges = []reading{newReading(read), newReading(distilled)}
	o.EnableFallback, o.HtmlDateMode = true, trafilatura.Disabled
	o.FallbackCandidates = &trafilatura.FallbackCandidates{Readability: copied(read), Distiller: copied(distilled)}
	if got, err := trafilatura.ExtractDocument(doc, o); err == nil {
		r.other = newReading(got.ContentNode)
	}
	return r
}

func copied(n *html.Node) *html.Node {
	if n == nil {
		return nil
	}
	return dom.Clone(n, true)
}

// about adds what is known of a page. What its head says goes before what the
// library found, but for the title, where heads often have more than that.
func (c *Content) about(a about, m trafilatura.Metadata) {
	c.Title, c.Author, c.Site, c.Description = m.Title, m.Author, m.Sitename, m.Description
	first(&c.Title, a.title)
	first(&c.Title, a.heading)
	first(&c.Author, a.author)
	first(&c.Site, a.site)
	first(&c.Description, a.description)
	if c.Published = a.published; c.Published.IsZero() {
		c.Published = m.Date.UTC()
	}
	if c.Language = m.Language; len(c.Text) < minTelling && a.language != "" {
		c.Language = a.language
	}
}

// minTelling is how many bytes of text tell which language they are in.
const minTelling = 200
