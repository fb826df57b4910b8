package extract

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ponder/internal/racetest"
)

// dataDir returns a folder of benchmark data, or skips the test.
func dataDir(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "..", "shared", "data", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("benchmark data: %v", err)
	}
	return dir
}

type truth struct {
	ArticleBody string `json:"articleBody"`
	URL         string `json:"url"`
}

func eachPage(t testing.TB, f func(id string, want truth, page []byte)) {
	dir := dataDir(t, "extraction")
	b, err := os.ReadFile(filepath.Join(dir, "ground-truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]truth{}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for id, want := range all {
		f(id, want, readGzip(t, filepath.Join(dir, "html", id+".html.gz")))
	}
}

func readGzip(t testing.TB, name string) []byte {
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// tally computes precision and recall like the benchmark: over shingles of four words
// per page, then the mean.
type tally struct{ precision, recall, found, wanted float64 }

func (s *tally) addPage(want, got string) {
	a, b := countShingles([]block{{text: want}}), countShingles([]block{{text: got}})
	hit, all, have := 0.0, 0.0, 0.0
	for k, n := range a {
		hit += float64(min(n, b[k]))
		all += float64(n)
	}
	for _, n := range b {
		have += float64(n)
	}
	if have > 0 {
		s.found++
		s.precision += hit / have
	}
	if all > 0 {
		s.wanted++
		s.recall += hit / all
	}
}

func (s *tally) meanF1() (f1, precision, recall float64) {
	p, r := s.precision/s.found, s.recall/s.wanted
	return 2 * p * r / (p + r), p, r
}

// The library alone reaches 0.952.
func TestQuality(t *testing.T) {
	const least = 0.965
	racetest.Skip(t, "one page after another, 181 of them")
	var s tally
	var took time.Duration
	n, dated, authored := 0, 0, 0
	eachPage(t, func(id string, want truth, page []byte) {
		start := time.Now()
		c, err := Article(page, want.URL)
		took += time.Since(start)
		if err != nil || c.Title == "" || c.Plain {
			t.Errorf("%s: %v, title %q, plain %v", id, err, c.Title, c.Plain)
		}
		n++
		if !c.Published.IsZero() {
			dated++
		}
		if c.Author != "" {
			authored++
		}
		s.addPage(want.ArticleBody, c.Text)
	})
	f1, p, r := s.meanF1()
	t.Logf("F1 %.4f, precision %.4f, recall %.4f; %v a page; of %d pages %d with a date, %d with an author", f1, p, r, took/time.Duration(n), n, dated, authored)
	if f1 < least {
		t.Errorf("F1 is %.4f, want at least %.3f", f1, least)
	}
}

func BenchmarkArticle(b *testing.B) {
	var list []truth
	var raw [][]byte
	size := 0
	eachPage(b, func(_ string, want truth, page []byte) {
		list, raw, size = append(list, want), append(raw, page), size+len(page)
	})
	b.SetBytes(int64(size / len(raw)))
	for i := 0; b.Loop(); i++ {
		if _, err := Article(raw[i%len(raw)], list[i%len(raw)].URL); err != nil {
			b.Fatal(err)
		}
	}
}
