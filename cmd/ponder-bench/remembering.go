package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"ponder/internal/fileio"
	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/knowledge/recall/vector"
)

// A textGenerator generates texts with a natural frequency of words: word n has a share of about 1/n, and
// the most frequent words are those of English.
type textGenerator struct {
	rnd  *rand.Rand
	zipf *rand.Zipf
}

func newTextGenerator(seed uint64) *textGenerator {
	rnd := rand.New(rand.NewPCG(seed, 7))
	return &textGenerator{rnd, rand.NewZipf(rnd, 1.1, 4, 80_000)}
}

func (p *textGenerator) nextWord() string {
	const letters = "etaoinshrdlucmfwypvbgk"
	n := p.zipf.Uint64()
	if n < uint64(len(commonWords)) {
		return commonWords[n]
	}
	var b []byte
	for n += 30; n > 0; n /= uint64(len(letters)) {
		b = append(b, letters[n%uint64(len(letters))])
	}
	return string(b)
}

// commonWords are the most frequent words.
var commonWords = strings.Fields(`the of and to in a is that for it was on with as are be this at from by an or have not which but had were been
	has their they would who more will if there can what when so about out its them than some could these then`)

func (p *textGenerator) nextSentence() string {
	words := make([]string, 8+p.rnd.IntN(14))
	for i := range words {
		words[i] = p.nextWord()
	}
	text := strings.Join(words, " ")
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// Sizes of the folder.
const (
	perFile   = 30 // passages per file
	sentences = 6  // sentences per passage
	queries   = 400
	hybridDim = 384
)

// writeFolder writes notes with about so many passages.
func writeFolder(dir string, from, to int, p *textGenerator) error {
	for n := from; n < to; n++ {
		var b strings.Builder
		for range perFile {
			fmt.Fprintf(&b, "## %s %s\n\n", p.nextWord(), p.nextWord())
			for range sentences {
				b.WriteString(p.nextSentence() + " ")
			}
			b.WriteString("\n\n")
		}
		path := filepath.Join(dir, fmt.Sprint(n%100), fmt.Sprint(n, ".md"))
		err := errors.Join(fileio.MakeStateDir(filepath.Dir(path)), fileio.WriteState(path, []byte(b.String())))
		if err != nil {
			return err
		}
	}
	return nil
}

// libraryScenario measures the library end to end: it imports a folder and runs queries during and
// after the import, then with vectors.
func libraryScenario(passages int) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		dir, err := os.MkdirTemp("", "ponder-bench-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		files := passages / perFile
		if err := writeFolder(dir, 0, files, newTextGenerator(1)); err != nil {
			return nil, err
		}
		db, remove, err := newDatabase(ctx)
		if err != nil {
			return nil, err
		}
		defer remove()
		kept, err := archive.Open(ctx, db)
		if err != nil {
			return nil, err
		}
		lib, err := recall.Open(ctx, recall.Config{DB: db, Archive: kept})
		if err != nil {
			return nil, err
		}
		figures, err := measureImport(ctx, lib, dir)
		if err != nil {
			return nil, err
		}
		alone, err := measureSearch(ctx, lib, nil)
		if err != nil {
			return nil, err
		}
		figures = append(figures,
			figure{Name: "search by words, p50", Value: percentileMillis(alone, 50), Unit: "ms", Goal: 5},
			figure{Name: "search by words, p99", Value: percentileMillis(alone, 99), Unit: "ms", Goal: 25},
			figure{Name: "resident memory", Value: residentMiB(), Unit: "MiB", Goal: 512})
		embedded, err := recall.Open(ctx, recall.Config{DB: db, Archive: kept, Embedder: vector.Embedder{Model: "bench/dense", Embed: embedWords}})
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := embedded.WaitIndexed(ctx, nil); err != nil {
			return nil, err
		}
		figures = append(figures, figure{Name: "passages embedded per second", Value: float64(passages) / time.Since(began).Seconds()})
		if _, err := embedded.Search(ctx, "the first search reads the vectors", recall.SearchOptions{}); err != nil {
			return nil, err
		}
		both, err := measureSearch(ctx, embedded, nil)
		if err != nil {
			return nil, err
		}
		return append(figures,
			figure{Name: "search by words and vectors, p50", Value: percentileMillis(both, 50), Unit: "ms", Goal: 15},
			figure{Name: "search by words and vectors, p99", Value: percentileMillis(both, 99), Unit: "ms"},
			figure{Name: "resident memory with vectors", Value: residentMiB(), Unit: "MiB", Goal: 512}), nil
	}
}

// measureImport imports a folder during queries, then again unchanged.
func measureImport(ctx context.Context, lib *recall.Library, dir string) ([]figure, error) {
	began := time.Now()
	stop, result := make(chan struct{}), make(chan error, 1)
	var meanwhile []time.Duration
	var wg sync.WaitGroup
	wg.Go(func() {
		list, err := measureSearch(ctx, lib, stop)
		meanwhile = list
		result <- err
	})
	report, err := lib.Ingest(ctx, []string{dir}, recall.IngestOptions{})
	took := time.Since(began)
	close(stop)
	wg.Wait()
	if err := errors.Join(err, <-result); err != nil {
		return nil, err
	}
	if err := lib.WaitIndexed(ctx, nil); err != nil {
		return nil, err
	}
	began = time.Now()
	again, err := lib.Ingest(ctx, []string{dir}, recall.IngestOptions{})
	if err != nil {
		return nil, err
	}
	if again.Added+again.Changed > 0 {
		return nil, fmt.Errorf("%d unchanged files were read again", again.Added+again.Changed)
	}
	return []figure{
		{Name: "passages", Value: float64(report.Passages)},
		{Name: "passages stored per second", Value: float64(report.Passages) / took.Seconds(), Goal: 5000, Minimum: true},
		{Name: "search during the import, p50", Value: percentileMillis(meanwhile, 50), Unit: "ms", Goal: 25},
		{Name: "search during the import, p99", Value: percentileMillis(meanwhile, 99), Unit: "ms"},
		{Name: "time to detect no changes", Value: time.Since(began).Seconds(), Unit: "s"},
	}, nil
}

// measureSearch runs queries, until stop is closed if set, and returns their durations.
func measureSearch(ctx context.Context, lib *recall.Library, stop <-chan struct{}) (took []time.Duration, err error) {
	p := newTextGenerator(2)
	for n := 0; stop != nil || n < queries; n++ {
		if stop != nil {
			select {
			case <-stop:
				return took, nil
			case <-time.After(50 * time.Millisecond): // like a user
			}
		}
		q := fmt.Sprintf("what is %s %s %s", p.nextWord(), p.nextWord(), p.nextWord())
		began := time.Now()
		if _, err := lib.Search(ctx, q, recall.SearchOptions{}); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// percentileMillis returns a percentile in milliseconds.
func percentileMillis(took []time.Duration, percent int) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(len(took)-1, len(took)*percent/100)].Seconds() * 1000
}

// embedWords is an embedder from words alone, without meaning and at no cost.
func embedWords(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, hybridDim)
		h := uint64(14695981039346656037)
		for j := range len(text) {
			h = (h ^ uint64(text[j])) * 1099511628211
			if text[j] == ' ' {
				v[h%hybridDim] += float32(int(h>>40&1)*2 - 1)
			}
		}
		v[h%hybridDim]++
		out[i] = v
	}
	return out, nil
}

// residentMiB returns the resident memory of the process in MiB.
func residentMiB() float64 {
	runtime.GC()
	return residentBytes() / (1 << 20)
}
