package extract

import (
	"html"
	"net/url"
	"strings"
	"time"

	"ponder/internal/textkit"

	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

type about struct {
	title, heading, author, site, description string

	language, canonical, base string
	published                 time.Time

	within atom.Atom // open element: title or h1
	page   *url.URL  // base of links
}

func (a *about) tag(t nethtml.Token) {
	get := func(key string) string {
		for _, at := range t.Attr {
			if at.Key == key {
				return at.Val
			}
		}
		return ""
	}
	switch t.DataAtom {
	case atom.Html:
		first(&a.language, language(get("lang")))
	case atom.Base:
		first(&a.base, get("href"))
	case atom.Link:
		if strings.EqualFold(get("rel"), "canonical") {
			first(&a.canonical, get("href"))
		}
	case atom.Meta:
		a.meta(strings.ToLower(get("property")+get("name")+get("itemprop")), get("content"))
	case atom.Title, atom.H1:
		a.within = t.DataAtom
	}
}

// meta reads tags of Open Graph, Twitter, Dublin Core and HTML.
func (a *about) meta(name, content string) {
	switch name {
	case "og:title", "twitter:title", "dc.title":
		first(&a.title, content)
	case "author", "article:author", "dc.creator", "parsely-author":
		if !strings.Contains(content, "://") { // an author's page
			first(&a.author, content)
		}
	case "og:site_name", "application-name":
		first(&a.site, content)
	case "description", "og:description", "twitter:description", "dc.description":
		first(&a.description, content)
	case "article:published_time", "datepublished", "date", "dc.date", "dc.date.issued", "parsely-pub-date":
		if t := textkit.ParseDate(content); a.published.IsZero() {
			a.published = t
		}
	}
}

func (a *about) text(raw string) {
	switch a.within {
	case atom.Title, atom.H1:
		to := &a.title
		if a.within == atom.H1 {
			to = &a.heading
		}
		first(to, html.UnescapeString(textkit.Prefix(raw, 4*maxName)))
	}
}

func (a *about) end() { a.within = 0 }

func (a about) in(page *url.URL) about {
	a.page = page
	if u := resolve(page, a.base); u != nil {
		a.page = u
	}
	if u := resolve(a.page, a.canonical); u != nil {
		a.canonical = u.String()
	} else {
		a.canonical = ""
	}
	return a
}

func first(to *string, s string) {
	if *to == "" && !blank(s) && s != "undefined" && s != "null" {
		*to = s
	}
}

// resolve returns an absolute http or https address, or nil.
func resolve(base *url.URL, link string) *url.URL {
	link = strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, strings.TrimSpace(link))
	if link == "" || len(link) > maxLink {
		return nil
	}
	u, err := url.Parse(link)
	if err != nil {
		return nil
	}
	u = base.ResolveReference(u)
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil
	}
	return u
}

// language returns the ISO 639-1 code of a tag such as "en-GB", or "".
func language(tag string) string {
	code, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	code = strings.ToLower(strings.TrimSpace(code))
	if len(code) != 2 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return code
}
