package extract

import (
	"ponder/internal/textkit"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// plain reads a page as it comes: what is not a script, a menu or a margin, with
// its headings and items. It builds no tree.
func plain(page string, a about) Content {
	c := Content{Title: a.title, Author: a.author, Site: a.site, Description: a.description, Language: a.language, Published: a.published, Plain: true}
	first(&c.Title, a.heading)
	for _, drop := range []map[atom.Atom]bool{furniture, nil} {
		p := plainReader{z: html.NewTokenizer(strings.NewReader(page)), drop: drop}
		p.z.SetMaxBuf(2 * MaxPage)
		p.read()
		c.Text, c.Markdown = strings.TrimSpace(textkit.Visible(textkit.Prefix(p.text.String(), maxOut))), strings.TrimSpace(textkit.Visible(textkit.Prefix(p.markdown.String(), maxOut)))
		if len(c.Text) >= minTelling {
			break
		}
	}
	return c
}

// furniture is what stands around the text of a page.
var furniture = set(atom.Nav, atom.Footer, atom.Aside, atom.Form, atom.Menu)

type plainReader struct {
	z    *html.Tokenizer
	drop map[atom.Atom]bool

	text, markdown strings.Builder

	open   strings.Builder // of the block that is being read
	prefix string          // that its kind has in Markdown
	skip   atom.Atom       // the element that is left out, and how often it is open
	depth  int
}

func (p *plainReader) read() {
	for {
		switch p.z.Next() {
		case html.ErrorToken:
			p.flush()
			return
		case html.TextToken:
			if p.skip == 0 && p.open.Len() < maxOut {
				p.open.Write(p.z.Text())
			}
		case html.StartTagToken:
			name, _ := p.z.TagName()
			p.start(atom.Lookup(name))
		case html.SelfClosingTagToken:
			name, _ := p.z.TagName()
			if tag := atom.Lookup(name); !inText[tag] && p.skip == 0 {
				p.flush()
			}
		case html.EndTagToken:
			name, _ := p.z.TagName()
			p.end(atom.Lookup(name))
		}
	}
}

func (p *plainReader) start(tag atom.Atom) {
	switch {
	case p.skip != 0:
		if tag == p.skip {
			p.depth++
		}
		return
	case unseen[tag] && tag != atom.Head || p.drop[tag]:
		p.skip, p.depth = tag, 1
	}
	if inText[tag] {
		return
	}
	p.flush()
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.prefix = strings.Repeat("#", int(tag.String()[1]-'0')) + " "
	case atom.Li, atom.Dd:
		p.prefix = "- "
	}
}

func (p *plainReader) end(tag atom.Atom) {
	if p.skip != 0 {
		if tag == p.skip {
			if p.depth--; p.depth == 0 {
				p.skip = 0
			}
		}
		return
	}
	if !inText[tag] {
		p.flush()
	}
}

// flush ends the open block.
func (p *plainReader) flush() {
	text := strings.Join(strings.Fields(p.open.String()), " ")
	prefix := p.prefix
	p.open.Reset()
	p.prefix = ""
	if text == "" || p.text.Len() > maxOut {
		return
	}
	p.text.WriteString(text + "\n")
	p.markdown.WriteString(prefix + text + "\n\n")
}
