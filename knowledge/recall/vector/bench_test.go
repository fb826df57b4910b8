package vector

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

func sqrt32(x float64) float32 { return float32(math.Sqrt(x)) }

// Kinds of vectors: random, and in clusters like those of texts.
var kinds = []struct {
	name string
	make func(length int) func(*rand.Rand) []float32
}{
	{"unstructured", func(length int) func(*rand.Rand) []float32 {
		return func(rng *rand.Rand) []float32 { return randomVector(rng, length) }
	}},
	{"clusters", func(length int) func(*rand.Rand) []float32 {
		centres := [][]float32{}
		for range 200 {
			centres = append(centres, randomVector(rand.New(rand.NewPCG(7, uint64(len(centres)))), length))
		}
		return func(rng *rand.Rand) []float32 {
			v, c := randomVector(rng, length), centres[rng.IntN(len(centres))]
			for i := range v {
				v[i] = c[i] + v[i]*0.5
			}
			return v
		}
	}},
}

// TestRecall compares Search with exact search.
func TestRecall(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			const length, queries, n = 384, 50, 10
			v := openVectors(t, newDatabase(t))
			of := kind.make(length)
			all := loadRandom(t, v, "m", 5000, length, of)
			rng, hit := rand.New(rand.NewPCG(8, 9)), 0
			for range queries {
				q := of(rng)
				got := foundPassages(t, v, "m", q, n, nil)
				for _, p := range exactNearest(all, q, n) {
					if slices.Contains(got, p) {
						hit++
					}
				}
			}
			if recall := float64(hit) / (queries * n); recall < 0.99 {
				t.Errorf("recall@%d is %.4f, want at least 0.99", n, recall)
			}
		})
	}
}

// BenchmarkSearch also measures memory and recall.
func BenchmarkSearch(b *testing.B) {
	for _, size := range []int{100_000, 200_000} {
		for _, kind := range kinds {
			b.Run(fmt.Sprintf("%d/%s", size, kind.name), func(b *testing.B) { benchmarkSearch(b, size, kind.make(384)) })
		}
	}
}

func benchmarkSearch(b *testing.B, size int, of func(*rand.Rand) []float32) {
	v := openVectors(b, newDatabase(b))
	all := loadRandom(b, v, "m", size, 384, of)
	rng := rand.New(rand.NewPCG(8, 9))
	queries := [][]float32{}
	right := [][]int64{}
	for range 40 {
		queries = append(queries, of(rng))
		right = append(right, exactNearest(all, queries[len(queries)-1], 10))
	}
	v = openVectors(b, v.db)
	all = nil
	before := heapBytes()
	start := time.Now()
	foundPassages(b, v, "m", queries[0], 10, nil)
	first := time.Since(start)
	memory := heapBytes() - before
	hit := 0
	for i, q := range queries {
		for _, p := range foundPassages(b, v, "m", q, 10, nil) {
			if slices.Contains(right[i], p) {
				hit++
			}
		}
	}
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		foundPassages(b, v, "m", queries[i%len(queries)], 10, nil)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[0])/1e6, "least-ms")
	b.ReportMetric(float64(took[len(took)/2])/1e6, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100])/1e6, "p99-ms")
	b.ReportMetric(float64(first)/1e6, "first-ms")
	b.ReportMetric(float64(memory)/(1<<20), "MiB")
	b.ReportMetric(float64(hit)/float64(10*len(queries)), "recall@10")
}

func BenchmarkPut(b *testing.B) {
	v, rng := openVectors(b, newDatabase(b)), rand.New(rand.NewPCG(1, 2))
	vectors := [][]float32{}
	for range fillBatch {
		vectors = append(vectors, randomVector(rng, 384))
	}
	first := int64(1)
	for b.Loop() {
		putVectors(b, v, "m", first, vectors...)
		first += fillBatch
	}
	b.ReportMetric(fillBatch*float64(b.N)/b.Elapsed().Seconds(), "vectors/s")
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkDots(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	codes, q, out := make([]byte, 64*384), scaleQuery(randomVector(rng, 384)), make([]int32, 64)
	for _, way := range []struct {
		name string
		dots func([]byte, []int16, []int32)
	}{{"dots", dotRows}, {"plain", dotsPlain}} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(int64(len(codes)))
			for b.Loop() {
				way.dots(codes, q, out)
			}
		})
	}
}
