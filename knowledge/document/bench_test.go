package document

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

type prose struct {
	rand *rand.Rand
	zipf *rand.Zipf
}

func newProse(seed uint64) *prose {
	r := rand.New(rand.NewPCG(seed, 1))
	return &prose{r, rand.NewZipf(r, 1.1, 8, 60_000)}
}

func (p *prose) randomWord() string {
	n := p.zipf.Uint64()
	var b strings.Builder
	for n = n*7 + 3; n > 0; n /= 60 {
		b.WriteByte("bcdfghklmnprstvz"[n%60%16])
		b.WriteByte("aeiouy"[n%60/10])
	}
	return b.String()
}

func (p *prose) randomSentence() string {
	words := make([]string, 6+p.rand.IntN(20))
	for i := range words {
		words[i] = p.randomWord()
	}
	words[0] = strings.ToUpper(words[0][:1]) + words[0][1:]
	return strings.Join(words, " ") + "."
}

func (p *prose) randomPage(bytes int) string {
	var b strings.Builder
	for b.Len() < bytes {
		fmt.Fprintf(&b, "## %s\n\n", strings.TrimSuffix(p.randomSentence(), "."))
		for range 3 {
			for range 4 {
				b.WriteString(p.randomSentence() + " ")
			}
			b.WriteString("\n\n")
		}
	}
	return b.String()
}

func writePages(b *testing.B, bytes int) string {
	b.Helper()
	dir := b.TempDir()
	p := newProse(1)
	for i := range bytes / 20_000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("page-%05d.md", i)), []byte(p.randomPage(20_000)), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

func BenchmarkLoad20MB(b *testing.B) {
	dir := writePages(b, 20_000_000)
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		c, _, err := Load(context.Background(), []string{dir}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(c.Sentences()), "sentences")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		runtime.KeepAlive(c)
	}
}

func BenchmarkSearch200k(b *testing.B) {
	p := newProse(1)
	var docs []*Document
	for n := 0; n < 200_000; {
		d := NewDocument(fmt.Sprint(n), "page", Markdown(p.randomPage(20_000)))
		n += len(d.Sentences)
		docs = append(docs, d)
	}
	c := NewCollection(docs)
	questions := make([]string, 64)
	for i := range questions {
		questions[i] = strings.Join(strings.Fields(p.randomSentence())[:5], " ")
	}
	for i := 0; b.Loop(); i++ {
		c.Search(questions[i%len(questions)], 10, SearchOptions{Diversity: 0.3})
	}
}
