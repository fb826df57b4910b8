package similarity

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// makeTexts returns n different texts from those of the build half.
func makeTexts(b *testing.B, n int) (list []Text) {
	of := buildTexts(b)
	for i := range n {
		list = append(list, Parse(fmt.Sprintf("%s %s In year %d.", of[i%len(of)], of[(i*7+3)%len(of)], i)))
	}
	return list
}

func BenchmarkOf(b *testing.B) {
	list := buildTexts(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Parse(list[i%len(list)])
	}
}

// thoughts are texts of forty words.
var thoughts = []string{
	"Because the council never measured how many commuters use the old bridge, its plan to close the bridge for repairs in spring may cause long delays on the northern main road, and most shops near the market would lose customers.",
	"The first study found that pupils who sleep at least eight hours remember more of what they learned, but it compared only two schools, so its result doesn't show that longer sleep improves grades in other towns or other countries.",
	"If the company raises prices by 5% in March, small customers will probably leave for a cheaper rival, whereas large ones are bound by contracts until 2027 and can't easily change, so revenue should grow only slightly in this year.",
	"It seems that the parser fails on nested quotes since it counts brackets and ignores the escape character, which explains why the error appears only in longer files; a single test with one quoted bracket would confirm or refute this.",
}

// BenchmarkOfThought reads texts of forty cached words.
func BenchmarkOfThought(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Parse(thoughts[i%len(thoughts)])
	}
}

// BenchmarkOfNew reads texts of forty new words.
func BenchmarkOfNew(b *testing.B) {
	b.ReportAllocs()
	var text []byte
	for i := 0; b.Loop(); i++ {
		text = text[:0]
		for j := range 40 {
			text = fmt.Appendf(text, "%c%c%cing%cation ", 'a'+i%26, 'a'+i/26%26, 'a'+j%26, 'a'+i/676%26)
		}
		Parse(string(text))
	}
}

func BenchmarkCompare(b *testing.B) {
	x, y := Parse("Because the cache is never emptied, users see old prices after a release."), Parse("After a release users see old prices, because the cache is never emptied.")
	b.ReportAllocs()
	for b.Loop() {
		x.Compare(y)
	}
}

// BenchmarkNearest looks for a text without a match among 5,000.
func BenchmarkNearest(b *testing.B) {
	list := makeTexts(b, 5_000)
	t := Parse("Since nobody prunes the index, shoppers keep seeing old prices once a release is out.")
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

// BenchmarkNearestAlike compares with texts that share half of the words.
func BenchmarkNearestAlike(b *testing.B) {
	var list []Text
	for i := range 5_000 {
		list = append(list, Parse(fmt.Sprintf("Old prices are seen after release %d because cache %d is never emptied by shop %d.", i, i%7, i%11)))
	}
	t := Parse("Because the cache is never emptied, users see old prices after a release.")
	b.ReportAllocs()
	for b.Loop() {
		Nearest(list, t)
	}
}

// BenchmarkUnrelated compares unrelated texts.
func BenchmarkUnrelated(b *testing.B) {
	list := makeTexts(b, 1_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		list[i%1_000].Compare(list[(i*7+13)%1_000])
	}
}

// randomTexts returns 160 texts from the same 48 words.
func randomTexts() []Text {
	words := strings.Fields(`cache prices users release shop index server market bridge council road repair pupil school sleep grade
		parser quote error file test study town revenue customer contract rival company delay plan spring year
		the by from because not and is causes reduces improves more than with in every some 5% never`)
	random := rand.New(rand.NewPCG(1, 2))
	texts := make([]Text, 160)
	for i := range texts {
		list := make([]string, 30)
		for j := range list {
			list[j] = words[random.IntN(len(words))]
		}
		texts[i] = Parse(strings.Join(list, " ") + ".")
	}
	return texts
}

// BenchmarkNearestVocabulary looks for a text among 80 with the same words.
func BenchmarkNearestVocabulary(b *testing.B) {
	texts := randomTexts()
	list, others := texts[:80], texts[80:]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Nearest(list, others[i%80])
	}
}

// BenchmarkShuffled compares texts of the same words in different orders.
func BenchmarkShuffled(b *testing.B) {
	words := strings.Fields(thoughts[0])
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]Text, 80)
	for i := range list {
		random.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		list[i] = Parse(strings.Join(words, " "))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		list[i%80].Compare(list[(i*7+13)%80])
	}
}

// BenchmarkWithin calls Within on 80 texts with the same words.
func BenchmarkWithin(b *testing.B) {
	list := randomTexts()[:80]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for j := range list {
			if j != i%80 {
				list[i%80].IsContainedIn(list[j], 0.8)
			}
		}
	}
}
