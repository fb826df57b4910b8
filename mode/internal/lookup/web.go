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
func ReadResults(js string, limit int) (list []Hit) {
	var in lookup.WebFound
	if !lookup.Decode(js, &in) {
		return nil
	}
	for _, r := range in.Results[:min(len(in.Results), 2*limit)] {
		if Address(r.URL) != "" && len(list) < limit {
			list = append(list, snippetHit(r))
		}
	}
	return list
}

// CacheAge returns the age in seconds of the oldest cached answer in a web search result; 0 if none.
func CacheAge(js string) int {
	var in lookup.WebFound
	if !lookup.Decode(js, &in) {
		return 0
	}
	return max(0, in.Age)
}

// snippetHit returns a result as a hit. The quote is its own text: its offset in the page is unknown.
func snippetHit(r lookup.WebResult) Hit {
	h := Hit{Source: r.URL, Title: r.Title, Score: r.Score, Kind: "page", URL: r.URL, Untrusted: true, Original: r.Original, Provider: r.Provider}
	h.Author, h.Published, h.Cluster, h.Voices, h.Quality = r.Author, r.Published, r.Cluster, r.Voices, r.Quality
	h.Quote = strings.TrimSuffix(textkit.Line(r.Snippet, maxSnippet), "…")
	h.ID, h.End, h.Hash = "web:"+HashText(r.URL)[:16], len(h.Quote), HashText(h.Quote)
	return normalizeDates(h)
}

// ReadPassages parses at most most passages of the page of search result r. r fills missing
// metadata.
func ReadPassages(js string, r Hit, limit int) []Hit {
	in := lookup.Page{Title: r.Title, Fetched: r.Fetched}
	in.Known = lookup.Known{Author: r.Author, Published: r.Published, Cluster: r.Cluster, Quality: r.Quality}
	if !lookup.Decode(js, &in) {
		return nil
	}
	list := readHits(in.Hits, limit)
	for i := range list {
		h := &list[i]
		h.Source, h.URL, h.Provider, h.Kind, h.Untrusted = r.URL, r.URL, r.Provider, "page", true
		h.Author, h.Published, h.Fetched, h.Original = in.Author, in.Published, in.Fetched, in.Original
		h.Cluster, h.Voices, h.Quality = in.Cluster, in.Voices, in.Quality
		h.Title = cmp.Or(h.Title, in.Title)
		*h = normalizeDates(*h)
	}
	return list
}

// HashText returns the SHA-256 of text in hex.
func HashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
