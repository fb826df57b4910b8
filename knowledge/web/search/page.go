package search

import (
	"path"
	"strings"

	"ponder/internal/textkit"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// simple returns what reads a page of that name by simple rules.
func simple(name string) func(page []byte, address string) (Page, error) {
	ext := strings.ToLower(path.Ext(name))
	return func(page []byte, _ string) (Page, error) {
		raw := strings.ToValidUTF8(string(page), "\uFFFD")
		if ext == ".txt" || ext == ".md" || ext == ".markdown" {
			title, _, _ := strings.Cut(strings.TrimSpace(raw), "\n")
			return Page{Title: strings.TrimLeft(title, "# "), Text: raw}, nil
		}
		return readHTML(raw), nil
	}
}

// readHTML reads tags as they come and builds no tree.
func readHTML(raw string) Page {
	var p Page
	var text strings.Builder
	var skip atom.Atom
	depth := 0
	title := false
	z := html.NewTokenizer(strings.NewReader(raw))
	z.SetMaxBuf(maxFile)
	for {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			p.Text = strings.TrimSpace(text.String())
			return p
		case html.TextToken:
			if title && p.Title == "" {
				p.Title = textkit.PrefixLine(string(z.Text()), maxTitle)
			} else if skip == 0 && !title {
				text.Write(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			p.head(t)
			title = t.DataAtom == atom.Title
			switch {
			case skip != 0 && t.DataAtom == skip && kind == html.StartTagToken:
				depth++
			case skip == 0 && left[t.DataAtom] && kind == html.StartTagToken:
				skip, depth = t.DataAtom, 1
			case blockTags[t.DataAtom]:
				text.WriteString("\n")
			}
		case html.EndTagToken:
			t := z.Token()
			title = false
			if t.DataAtom == skip && skip != 0 {
				if depth--; depth == 0 {
					skip = 0
				}
			} else if blockTags[t.DataAtom] {
				text.WriteString("\n")
			}
		}
	}
}

// head reads what a page says of itself.
func (p *Page) head(t html.Token) {
	get := func(key string) string {
		for _, a := range t.Attr {
			if a.Key == key {
				return a.Val
			}
		}
		return ""
	}
	switch t.DataAtom {
	case atom.Link:
		if strings.EqualFold(get("rel"), "canonical") && p.own == "" {
			p.own = get("href")
		}
	case atom.Meta:
		switch strings.ToLower(get("name") + get("property")) {
		case "author":
			p.Author = get("content")
		case "date", "article:published_time", "dc.date":
			if t := textkit.ParseDate(get("content")); p.Published.IsZero() {
				p.Published = t
			}
		}
	}
}

var (
	left = map[atom.Atom]bool{atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true,
		atom.Nav: true, atom.Footer: true, atom.Aside: true, atom.Form: true, atom.Iframe: true}
	blockTags = map[atom.Atom]bool{atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.H1: true, atom.H2: true, atom.H3: true,
		atom.H4: true, atom.H5: true, atom.H6: true, atom.Tr: true, atom.Td: true, atom.Th: true, atom.Section: true, atom.Article: true,
		atom.Blockquote: true, atom.Pre: true, atom.Dt: true, atom.Dd: true, atom.Ul: true, atom.Ol: true, atom.Table: true}
)
