package document

import (
	"cmp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Names by which pages say who wrote them and when, and the same in properties.
var (
	authorNames = []string{"author", "article:author", "dc.creator", "dcterms.creator", "parsely-author", "sailthru.author", "citation_author"}
	dateNames   = []string{
		"article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created", "date", "pubdate", "publishdate",
		"parsely-pub-date", "sailthru.date", "citation_publication_date", "citation_date",
	}
)

// meta takes what an element says of the page.
func (p *pageReader) meta(tag atom.Atom, z *html.Tokenizer, more bool) {
	attrs := map[string]string{}
	for more {
		var key, val []byte
		if key, val, more = z.TagAttr(); len(val) <= maxMeta {
			attrs[string(key)] = string(val)
		}
	}
	if tag == atom.Html {
		p.about.Language = cmp.Or(p.about.Language, attrs["lang"], attrs["xml:lang"])
		return
	}
	name := strings.ToLower(cmp.Or(attrs["name"], attrs["property"], attrs["itemprop"]))
	value := oneLine(attrs["content"])
	for _, n := range authorNames {
		if n == name && p.about.Author == "" && !strings.HasPrefix(value, "http") && len(value) <= 200 {
			p.about.Author = value
		}
	}
	for _, n := range dateNames {
		if n == name && p.about.Published.IsZero() {
			p.about.Published = parseDate(value)
		}
	}
}
