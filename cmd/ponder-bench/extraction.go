package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"codeberg.org/readeck/go-readability/v2"

	"ponder/knowledge/web/extract"
)

// A page is a page of scrapinghub's article-extraction-benchmark with its labelled article text.
type page struct {
	url, want string
	html      []byte
}

// measureExtraction measures the F1 of four-word shingles of the extracted main text, as the benchmark
// does, also for the underlying library.
func measureExtraction(context.Context) ([]figure, error) {
	pages, err := readPages()
	if err != nil {
		return nil, err
	}
	var ours, library scoreSum
	var took, theirs time.Duration
	for _, p := range pages {
		began := time.Now()
		c, err := extract.Article(p.html, p.url)
		took += time.Since(began)
		if err != nil {
			c.Text = "" // counts as nothing found
		}
		ours.addPage(p.want, c.Text)
		began = time.Now()
		library.addPage(p.want, extractByLibrary(p))
		theirs += time.Since(began)
	}
	n := float64(len(pages))
	return []figure{
		{Name: "F1", Value: ours.meanF1(), Goal: 0.960, Minimum: true},
		{Name: "F1 of the library alone", Value: library.meanF1()},
		{Name: "time of a page", Value: took.Seconds() * 1000 / n, Unit: "ms"},
		{Name: "time of a page in the library alone", Value: theirs.Seconds() * 1000 / n, Unit: "ms"},
	}, nil
}

func extractByLibrary(p page) string {
	u, err := url.Parse(p.url)
	if err != nil {
		return ""
	}
	var text strings.Builder
	if r, err := readability.FromReader(bytes.NewReader(p.html), u); err != nil || r.RenderText(&text) != nil {
		return ""
	}
	return text.String()
}

func readPages() (list []page, err error) {
	dir, err := requireData("extraction")
	if err != nil {
		return nil, err
	}
	js, err := os.ReadFile(filepath.Join(dir, "ground-truth.json"))
	if err != nil {
		return nil, err
	}
	var all map[string]struct {
		Body string `json:"articleBody"`
		URL  string `json:"url"`
	}
	if err := json.Unmarshal(js, &all); err != nil {
		return nil, err
	}
	for id, truth := range all {
		packed, err := os.ReadFile(filepath.Join(dir, "html", id+".html.gz"))
		if err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		html, err := io.ReadAll(z)
		if err != nil {
			return nil, err
		}
		list = append(list, page{truth.URL, truth.Body, html})
	}
	return list, nil
}

type scoreSum struct{ precision, recall, found, wanted float64 }

func (m *scoreSum) addPage(want, got string) {
	a, b := countShingles(want), countShingles(got)
	hit, all, have := 0.0, 0.0, 0.0
	for s, n := range a {
		hit += float64(min(n, b[s]))
		all += float64(n)
	}
	for _, n := range b {
		have += float64(n)
	}
	if have > 0 {
		m.found++
		m.precision += hit / have
	}
	if all > 0 {
		m.wanted++
		m.recall += hit / all
	}
}

func (m *scoreSum) meanF1() float64 {
	p, r := m.precision/max(1, m.found), m.recall/max(1, m.wanted)
	return 2 * p * r / (p + r)
}

// countShingles counts runs of four words, or words in shorter texts.
func countShingles(text string) map[string]int {
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	n := min(4, len(words))
	counts := make(map[string]int)
	for i := 0; n > 0 && i+n <= len(words); i++ {
		counts[strings.Join(words[i:i+n], " ")]++
	}
	return counts
}
