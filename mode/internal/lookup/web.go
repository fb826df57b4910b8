package lookup

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
)

// ReadResults parses at most most web search results, with snippets as quotes.
func ReadResults(js string, most int) (list []Hit) {
	var in lookup.WebFound
	if !lookup.Decode(js, &in) {
		return nil
	}
	for _, r := range in.Results[:min(len(in.Results), 2*most)] {
		if Address(r.URL) != "" && len(list) < most {
			list = append(list, snippet(r))
		}
	}
	return list
}

// Age returns the age in seconds of the oldest cached answer in a web search result; 0 if none.
func Age(js string) int {
	var in lookup.WebFound
	if !lookup.Decode(js, &in) {
		return 0
	}
	return max(0, in.Age)
}

// snippet returns a result as a hit. The quote is its own text: its offset in the page is unknown.
func snippet(r lookup.WebResult) Hit {
	h := Hit{Source: r.URL, Title: r.Title, Score: r.Score, Kind: "page", URL: r.URL, Untrusted: true, Original: r.Original, Provider: r.Provider}
	h.Author, h.Published, h.Cluster, h.Voices, h.Quality = r.Author, r.Published, r.Cluster, r.Voices, r.Quality
	h.Quote = strings.TrimSuffix(textkit.Line(r.Snippet, maxSnippet), "…")
	h.ID, h.End, h.Hash = "web:"+Sum(r.URL)[:16], len(h.Quote), Sum(h.Quote)
	return dated(h)
}

// ReadPassages parses at most most passages of the page of search result r. r fills missing
// metadata.
func ReadPassages(js string, r Hit, most int) []Hit {
	in := lookup.Page{Title: r.Title, Fetched: r.Fetched}
	in.Known = lookup.Known{Author: r.Author, Published: r.Published, Cluster: r.Cluster, Quality: r.Quality}
	if !lookup.Decode(js, &in) {
		return nil
	}
	list := readHits(in.Hits, most)
	for i := range list {
		h := &list[i]
		h.Source, h.URL, h.Provider, h.Kind, h.Untrusted = r.URL, r.URL, r.Provider, "page", true
		h.Author, h.Published, h.Fetched, h.Original = in.Author, in.Published, in.Fetched, in.Original
		h.Cluster, h.Voices, h.Quality = in.Cluster, in.Voices, in.Quality
		h.Title = cmp.Or(h.Title, in.Title)
		*h = dated(*h)
	}
	return list
}

// Sum returns the SHA-256 of text in hex.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
