package recall_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder/knowledge/recall"
)

// zipf makes texts with the word frequencies of a language.
type zipf struct {
	rnd *rand.Rand
	z   *rand.Zipf
}

func newZipf(seed uint64) *zipf {
	rnd := rand.New(rand.NewPCG(seed, 7))
	return &zipf{rnd, rand.NewZipf(rnd, 1.1, 4, 80_000)}
}

func (z *zipf) nextWord() string {
	const letters = "etaoinshrdlucmfwypvbgk"
	n := z.z.Uint64() + 30
	var b []byte
	for n > 0 {
		b = append(b, letters[n%uint64(len(letters))])
		n /= uint64(len(letters))
	}
	return string(b)
}

func (z *zipf) writeSentence(b *strings.Builder) {
	for i := range 8 + z.rnd.IntN(14) {
		w := z.nextWord()
		if i == 0 {
			w = strings.ToUpper(w[:1]) + w[1:]
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(w)
	}
	b.WriteByte('.')
}

// writeCorpus makes a folder of notes with about that many passages.
func writeCorpus(t testing.TB, passages int) string {
	z := newZipf(1)
	dir := t.TempDir()
	for n := 0; n*30 < passages; n++ {
		var b strings.Builder
		for range 30 {
			fmt.Fprintf(&b, "## %s %s\n\n", z.nextWord(), z.nextWord())
			for range 6 {
				z.writeSentence(&b)
				b.WriteByte(' ')
			}
			b.WriteString("\n\n")
		}
		path := filepath.Join(dir, fmt.Sprint(n%100), fmt.Sprint(n, ".md"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func BenchmarkIngest(b *testing.B) {
	dir := writeCorpus(b, 30_000)
	for b.Loop() {
		r := newRig(b)
		began := time.Now()
		report := r.ingestPaths(recall.IngestOptions{}, dir)
		b.ReportMetric(float64(report.Passages)/time.Since(began).Seconds(), "passages/s")
		b.ReportMetric(float64(report.Passages), "passages")
	}
}

func BenchmarkSearch(b *testing.B) {
	dir := writeCorpus(b, 60_000)
	r := newRig(b)
	r.ingestPaths(recall.IngestOptions{}, dir)
	if err := r.WaitIndexed(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	z := newZipf(2)
	var took []time.Duration
	for b.Loop() {
		q := fmt.Sprintf("what is %s %s %s", z.nextWord(), z.nextWord(), z.nextWord())
		began := time.Now()
		r.searchText(q, recall.SearchOptions{})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
