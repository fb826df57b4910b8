package web

import (
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/lookup"
	fetching "ponder/knowledge/web"
)

// Bounds on passages.
const (
	maxLabel   = 200 // bytes of a title, a section, an author
	maxWord    = 40  // bytes of a language
	maxContext = 600 // bytes
	maxTopics  = 4
	leastScore = 0.3 // of the best hit
	diversity  = 0.3
)

// Document returns the text of a page that the places of its passages are in: that
// of its Markdown without marks. An archived page gives the same one again.
func Document(p *fetching.Page) *document.Document { return plain(p.Final, p.Title, p.Markdown) }

func plain(url, title, markdown string) *document.Document {
	return document.NewDocument(url, title, document.Markdown(textkit.Visible(markdown)))
}

// passages returns the sentences of a page that bear on a query, the best first. The place
// of each is in the text of the page without marks of Markdown, which its hash names.
func passages(url, title, markdown, query string, n int) []lookup.Hit {
	if n <= 0 {
		n = defaultPassages
	}
	docs := document.NewCollection([]*document.Document{plain(url, title, markdown)})
	var hits []lookup.Hit
	for _, h := range docs.Search(query, min(n, maxPassages), document.SearchOptions{Least: leastScore, Diversity: diversity}) {
		hits = append(hits, lookup.Hit{
			ID: h.ID(), Source: url, Title: title, Section: textkit.VisibleLine(h.Section(), maxLabel), Quote: h.Quote, Start: h.Start, End: h.End,
			Hash: h.Document.Hash, Score: rounded(h.Score), Terms: append([]string{}, h.Terms...),
			Topics: append([]string{}, docs.Topics(h, query, maxTopics)...), Context: around(h),
		})
	}
	return hits
}

// around returns the sentences before and after a hit.
func around(h document.Hit) string {
	before, after := h.Around()
	before, after = textkit.TruncateBytes(before, maxContext/2), textkit.TruncateBytes(after, maxContext/2)
	if before == "" || after == "" {
		return before + after
	}
	return before + " … " + after
}

func rounded(x float64) float64 { return float64(int(x*1000)) / 1000 }

// scores returns how well each result answers a query, from 0 to 1, as hits of pages
// are scored: by the best of its title and the sentences of its snippet.
func scores(query string, results []Result) []float64 {
	docs := make([]*document.Document, len(results))
	at := make(map[*document.Document]int)
	for i, r := range results {
		docs[i] = document.NewDocument(r.URL, r.Title, document.Content{Blocks: []document.Block{{Text: r.Title}, {Text: r.Snippet}}})
		at[docs[i]] = i
	}
	list := make([]float64, len(results))
	for i := range list {
		list[i] = leastResult
	}
	c := document.NewCollection(docs)
	for _, h := range c.Search(query, 4*len(results), document.SearchOptions{}) {
		if i := at[h.Document]; h.Score > list[i] {
			list[i] = rounded(h.Score)
		}
	}
	return list
}

// leastResult is the score of a result that has no word of the query: a search found
// it all the same.
const leastResult = 0.1
