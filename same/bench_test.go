package same

import (
	"fmt"
	"testing"
	"unsafe"
)

// many returns n different texts, made of those of the build half.
func many(b *testing.B, n int) (list []Text) {
	of := texts(b)
	for i := range n {
		list = append(list, Of(fmt.Sprintf("%s %s In year %d.", of[i%len(of)], of[(i*7+3)%len(of)], i)))
	}
	return list
}

func BenchmarkOf(b *testing.B) {
	list := texts(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Of(list[i%len(list)])
	}
}

func BenchmarkCompare(b *testing.B) {
	x, y := Of("Because the cache is never emptied, users see old prices after a release."), Of("After a release users see old prices, because the cache is never emptied.")
	b.ReportAllocs()
	for b.Loop() {
		x.Compare(y)
	}
}

// BenchmarkNearest looks for a text that no other of 5,000 is near.
func BenchmarkNearest(b *testing.B) {
	list := many(b, 5_000)
	t := Of("Since nobody prunes the index, shoppers keep seeing old prices once a release is out.")
	size := 0
	for _, t := range list {
		size += int(unsafe.Sizeof(t)) + cap(t.terms)*int(unsafe.Sizeof(term{}))
	}
	b.ReportAllocs()
	for b.Loop() {
		Nearest(list, t)
	}
	b.ReportMetric(float64(size)/float64(len(list)), "B/text")
}

// BenchmarkNearestAlike looks for it among texts that all have half of its words.
func BenchmarkNearestAlike(b *testing.B) {
	var list []Text
	for i := range 5_000 {
		list = append(list, Of(fmt.Sprintf("Old prices are seen after release %d because cache %d is never emptied by shop %d.", i, i%7, i%11)))
	}
	t := Of("Because the cache is never emptied, users see old prices after a release.")
	b.ReportAllocs()
	for b.Loop() {
		Nearest(list, t)
	}
}
