package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/internal/report"
	"ponder/knowledge/archive"
	"ponder/knowledge/document"
	"ponder/knowledge/web"
	"ponder/store/sqlite"
)

// A quote from a search result is checked against the page.
func TestQuotesOfASearch(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	put := func(source, text string) string {
		hash, err := kept.Put(t.Context(), archive.Original{Type: "text/markdown", Source: source, Fetched: time.Unix(1, 0), Bytes: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	put("https://sea.example/", "# Sea\n\nThe sea is deep. Boats are rare there. It has been measured… twice with ropes.\n")
	for _, tt := range []struct {
		name, source, quote string
		want                QuoteStatus
	}{
		{"a sentence", "https://sea.example/", "Boats are rare there.", QuoteFound},
		{"two sentences", "https://sea.example/", "The sea is deep. … It has been measured", QuoteFound},
		{"cut at the end", "https://sea.example/", "The sea is deep. Boats are ra…", QuoteFound},
		{"an ellipsis of the page", "https://sea.example/", "It has been measured… twice", QuoteFound},
		{"in another order", "https://sea.example/", "Boats are rare there. … The sea is deep.", QuoteReordered},
		{"a part is not there", "https://sea.example/", "The sea is deep. … Boats are many there.", QuoteOnlyInSearch},
		{"nothing but an ellipsis", "https://sea.example/", " … […] ... ", QuoteOnlyInSearch},
		{"a page that was not kept", "https://sky.example/", "The sky is high. … It is blue.", QuoteInSearch},
	} {
		c := &quoteChecker{archive: kept, fetcher: web.New(web.Options{Archive: kept}), texts: make(map[string]string)}
		e := ponder.Evidence{ID: "e1", Content: tt.quote, Source: tt.source, End: len(tt.quote), Original: put("search:"+tt.source, tt.quote)}
		if got := c.checkQuote(t.Context(), e); got != tt.want || got.Broken() || got.Describe() == "" {
			t.Errorf("%s: %q %q, want %q", tt.name, got, got.Describe(), tt.want)
		}
	}
}

// A file with an odd name is found again, and its source prints safely.
func TestQuotesOfOddNames(t *testing.T) {
	const text = "The sea is deep."
	for _, name := range []string{"a b.txt", "a\nb.txt", `a\nb.txt`, "\xff\xfe.txt"} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Logf("not here: %v", err) // some systems refuse such names
			continue
		}
		place := document.QuotePath(path)
		if got := inFile(ponder.Evidence{Source: place, Content: text, End: len(text)}); got != QuoteExact {
			t.Errorf("in %s it %q", place, got)
		}
	}
}

// A changed search result is reported.
func TestAlteredQuotesOfASearch(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "p.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	kept, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	hash, err := kept.Put(t.Context(), archive.Original{Type: "text/plain", Source: "search:https://sea.example/", Fetched: time.Unix(1, 0), Bytes: []byte("The sea is deep.")})
	if err != nil {
		t.Fatal(err)
	}
	c := &quoteChecker{archive: kept, fetcher: web.New(web.Options{Archive: kept}), texts: make(map[string]string)}
	e := asEvidence(report.Evidence{Quote: "The sea is shallow.", Source: "https://sea.example/", Original: hash})
	if got := c.checkQuote(t.Context(), e); got != QuoteChanged {
		t.Errorf("%q", got)
	}
}

func TestDifference(t *testing.T) {
	long := strings.Repeat("ü word ", 60)
	for _, tt := range []struct{ line, other, want string }{
		{"short 1", "short 2", "short 1"},
		{long, "else", long},
		{long + "12.8", long + "18.2", "…" + string([]rune(long)[len([]rune(long))-leadDifference+1:]) + "12.8"},
		{"", "x", ""},
	} {
		if got := fromDifference(tt.line, tt.other); got != tt.want {
			t.Errorf("%.20q: %q, want %q", tt.line, got, tt.want)
		}
	}
}
