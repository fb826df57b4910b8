package claim

import (
	"fmt"
	"strings"
	"testing"
)

func manyQuotes(n int) (list []Quote) {
	for i := range n {
		var b strings.Builder
		for k := range 10 {
			fmt.Fprintf(&b, "In %d the town of Arlen%d had %d people, who grew %d tonnes of wheat and sold most of it to Count%dy. ", 1900+k, i, 1000*k+i, 7*k, i%7)
		}
		list = append(list, Quote{ID: fmt.Sprintf("e%d", i+1), Text: b.String(), Context: "Towns of the north"})
	}
	return list
}

func BenchmarkNewCorpus(b *testing.B) {
	quotes := manyQuotes(60)
	for b.Loop() {
		NewCorpus(quotes)
	}
}

func BenchmarkVerify(b *testing.B) {
	c := NewCorpus(manyQuotes(60))
	s := Sentence{Text: "In 1904 the town of Arlen17 had 4,017 people and grew 28 tonnes of wheat, most of which was sold to Count3y."}
	for b.Loop() {
		c.Verify(s)
	}
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("It is red [e1]. The **second** is blue [e2, e3].\n\n- An item of a list, e.g. this one.\n", 50)
	for b.Loop() {
		Split(text)
	}
}
