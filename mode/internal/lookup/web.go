package lookup

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/lookup"
)

// ReadResults reads the result of a search of the web, as far as it can be read:
// at most most pages, with their snippets for quotes.
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

// Age returns how many seconds the oldest answer was kept that the result of a search
// of the web is made of; 0 if none was.
func Age(js string) int {
	var in lookup.WebFound
	if !lookup.Decode(js, &in) {
		return 0
	}
	return max(0, in.Age)
}

// snippet returns a result with its snippet as its quote: a text of its own, for its place
// in the page is not known.
func snippet(r lookup.WebResult) Hit {
	h := Hit{Source: r.URL, Title: r.Title, Score: r.Score, Kind: "page", URL: r.URL, Untrusted: true, Original: r.Original, Provider: r.Provider}
	h.Author, h.Published, h.Cluster, h.Voices, h.Quality = r.Author, r.Published, r.Cluster, r.Voices, r.Quality
	h.Quote = strings.TrimSuffix(textkit.Line(r.Snippet, maxSnippet), "…")
	h.ID, h.End, h.Hash = "web:"+Sum(r.URL)[:16], len(h.Quote), Sum(h.Quote)
	return dated(h)
}

// ReadPassages reads what was found in a page that a search had as r, at most
// most passages. What the page does not say of itself, the search may have said.
func ReadPassages(js string, r Hit, most int) []Hit {
	in := lookup.Page{Title: r.Title, Fetched: r.Fetched} // Voices, Provider and Original are of the snippet
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

// Sum returns the SHA-256 of a text, in hex.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
