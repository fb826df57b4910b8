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
	"ponder/internal/textkit"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
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
