package lookup

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"ponder/internal/textkit"
	"strings"
)

// ReadResults reads the result of a search of the web, as far as it can be read:
// at most most pages, with their snippets for quotes.
func ReadResults(js string, most int) (list []Hit) {
	var raw struct{ Results []json.RawMessage }
	if json.Unmarshal([]byte(js), &raw) != nil {
		return nil
	}
	for _, one := range raw.Results[:min(len(raw.Results), 2*most)] {
		var r struct {
			Hit
			Snippet string `json:"snippet"`
		}
		if json.Unmarshal(one, &r) != nil || Address(r.URL) == "" || len(list) == most {
			continue
		}
		list = append(list, snippet(r.Hit, r.Snippet))
	}
	return list
}

// Age returns how many seconds the oldest answer was kept that the result of a search
// of the web is made of; 0 if none was.
func Age(js string) int {
	var raw struct {
		Age int `json:"kept_seconds"`
	}
	if json.Unmarshal([]byte(js), &raw) != nil {
		return 0
	}
	return max(0, raw.Age)
}

// snippet returns a result with its snippet for a quote: a text of its own, for
// where it stands in the page is not known.
func snippet(h Hit, s string) Hit {
	h.Quote = strings.TrimSuffix(textkit.TruncateBytes(textkit.OneLine(s), maxSnippet), "…")
	h.ID, h.Source, h.Start, h.End, h.Hash = "web:"+Sum(h.URL)[:16], h.URL, 0, len(h.Quote), Sum(h.Quote)
	h.Terms, h.Context, h.Section = h.Terms[:min(len(h.Terms), maxTerms)], "", ""
	h.Kind, h.Untrusted = "page", true
	h.date()
	return h
}

// ReadPassages reads what was found in a page that a search had as r, at most
// most passages. What the page does not say of itself, the search may have said.
func ReadPassages(js string, r Hit, most int) []Hit {
	own := r.Origin
	own.Provider, own.Voices, own.Original = "", 0, "" // which are of the snippet
	known := struct {
		Title string
		Origin
	}{r.Title, own}
	if json.Unmarshal([]byte(js), &known) != nil {
		return nil
	}
	list := ReadFound(js, most).Hits
	for i := range list {
		h, at := &list[i], list[i].Page
		h.Origin = known.Origin
		h.Source, h.URL, h.Page, h.Provider = r.URL, r.URL, at, r.Provider
		h.Kind, h.Untrusted = "page", true
		h.date()
		if h.Title == "" {
			h.Title = known.Title
		}
	}
	return list
}

// Sum returns the SHA-256 of a text, in hex.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
