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

type pageMetadata struct {
	title, heading, author, site, description string

	language, canonical, base string
	published                 time.Time

	openTag atom.Atom // open element: title or h1
	page    *url.URL  // base of links
}

func (a *pageMetadata) readTag(t nethtml.Token) {
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
		setIfEmpty(&a.language, languageCode(get("lang")))
	case atom.Base:
		setIfEmpty(&a.base, get("href"))
	case atom.Link:
		if strings.EqualFold(get("rel"), "canonical") {
			setIfEmpty(&a.canonical, get("href"))
		}
	case atom.Meta:
		a.readMeta(strings.ToLower(get("property")+get("name")+get("itemprop")), get("content"))
	case atom.Title, atom.H1:
		a.openTag = t.DataAtom
	}
}

// readMeta reads tags of Open Graph, Twitter, Dublin Core and HTML.
func (a *pageMetadata) readMeta(name, content string) {
	switch name {
	case "og:title", "twitter:title", "dc.title":
		setIfEmpty(&a.title, content)
	case "author", "article:author", "dc.creator", "parsely-author":
		if !strings.Contains(content, "://") { // an author's page
			setIfEmpty(&a.author, content)
		}
	case "og:site_name", "application-name":
		setIfEmpty(&a.site, content)
	case "description", "og:description", "twitter:description", "dc.description":
		setIfEmpty(&a.description, content)
	case "article:published_time", "datepublished", "date", "dc.date", "dc.date.issued", "parsely-pub-date":
		if t := textkit.ParseDate(content); a.published.IsZero() {
			a.published = t
		}
	}
}

func (a *pageMetadata) readText(raw string) {
	switch a.openTag {
	case atom.Title, atom.H1:
		to := &a.title
		if a.openTag == atom.H1 {
			to = &a.heading
		}
		setIfEmpty(to, html.UnescapeString(textkit.Prefix(raw, 4*maxName)))
	}
}

func (a *pageMetadata) endElement() { a.openTag = 0 }

func (a pageMetadata) resolveURLs(page *url.URL) pageMetadata {
	a.page = page
	if u := resolveURL(page, a.base); u != nil {
		a.page = u
	}
	if u := resolveURL(a.page, a.canonical); u != nil {
		a.canonical = u.String()
	} else {
		a.canonical = ""
	}
	return a
}

func setIfEmpty(to *string, s string) {
	if *to == "" && !isBlank(s) && s != "undefined" && s != "null" {
		*to = s
	}
}

// resolveURL returns an absolute http or https address, or nil.
func resolveURL(base *url.URL, link string) *url.URL {
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

// languageCode returns the ISO 639-1 code of a tag such as "en-GB", or "".
func languageCode(tag string) string {
	code, _, _ := strings.Cut(strings.ReplaceAll(tag, "_", "-"), "-")
	code = strings.ToLower(strings.TrimSpace(code))
	if len(code) != 2 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return code
}
