package web

import (
	"ponder/internal/textkit"
	"ponder/knowledge/document"
	"ponder/knowledge/lookup"
	fetching "ponder/knowledge/web"
)

// Limits on passages.
const (
	maxLabel  = 200 // bytes of a title, a section, an author
	maxWord   = 40  // bytes of a language
	maxTopics = 4
	minScore  = 0.3 // of the best hit
	diversity = 0.3
)

// Document returns the text of a page in which its passages have their places: the Markdown
// without marks. An archived page gives the same text again.
func Document(p *fetching.Page) *document.Document { return newDocument(p.Final, p.Title, p.Markdown) }

func newDocument(url, title, markdown string) *document.Document {
	return document.NewDocument(url, title, document.Markdown(textkit.Visible(markdown)))
}

// findPassages returns the sentences of a page that are relevant to a query, the best first.
// Their places are in the text of Document, which the hash names.
func findPassages(url, title, markdown, query string, n int) []lookup.Hit {
	if n <= 0 {
		n = defaultPassages
	}
	docs := document.NewCollection([]*document.Document{newDocument(url, title, markdown)})
	var hits []lookup.Hit
	for _, h := range docs.Search(query, min(n, maxPassages), document.SearchOptions{MinRelativeScore: minScore, Diversity: diversity}) {
		hits = append(hits, lookup.Hit{
			ID: h.ID(), Source: url, Title: title, Section: textkit.VisibleLine(h.Section(), maxLabel), Quote: h.Quote, Start: h.Start, End: h.End,
			Hash: h.Document.Hash, Score: roundScore(h.Score), Terms: append([]string{}, h.Terms...),
			Topics: append([]string{}, docs.Topics(h, query, maxTopics)...), Context: h.Context(),
		})
	}
	return hits
}

func roundScore(x float64) float64 { return float64(int(x*1000)) / 1000 }

// scoreResults returns the relevance of each result to a query, from 0 to 1. It is the best score
// of the title and the sentences of the snippet.
func scoreResults(query string, results []Result) []float64 {
	docs := make([]*document.Document, len(results))
	at := make(map[*document.Document]int)
	for i, r := range results {
		docs[i] = document.NewDocument(r.URL, r.Title, document.Content{Blocks: []document.Block{{Text: r.Title}, {Text: r.Snippet}}})
		at[docs[i]] = i
	}
	list := make([]float64, len(results))
	for i := range list {
		list[i] = minResult
	}
	c := document.NewCollection(docs)
	for _, h := range c.Search(query, 4*len(results), document.SearchOptions{}) {
		if i := at[h.Document]; h.Score > list[i] {
			list[i] = roundScore(h.Score)
		}
	}
	return list
}

// minResult is the score of a result without a word of the query.
const minResult = 0.1
