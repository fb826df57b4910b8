package similarity

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// TestCacheKeepsResults checks that concurrent use and cache eviction never change a result.
func TestCacheKeepsResults(t *testing.T) {
	list := buildTexts(t)[:200]
	want := make([]Text, len(list))
	for i, s := range list {
		want[i] = Parse(s)
	}
	read := cmp.AllowUnexported(Text{}, term{})
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i, s := range list {
				var b strings.Builder
				for j := range 100 {
					fmt.Fprintf(&b, "w%dx%dy%d ", n, i, j)
				}
				Parse(b.String())
				if got := Parse(s); !cmp.Equal(want[i], got, read) {
					t.Errorf("%q is read another way: %s", s, cmp.Diff(want[i], got, read))
				}
			}
		})
	}
	all.Wait()
}

func TestLongWordsAreNotCached(t *testing.T) {
	x := tables()
	long, short := []byte(strings.Repeat("x", maxCachedBytes+1)), []byte(strings.Repeat("x", maxCachedBytes))
	if first, second := x.lookup(long), x.lookup(long); first == second {
		t.Errorf("a word of %d bytes is kept", len(long))
	}
	if first, second := x.lookup(short), x.lookup(short); first != second {
		t.Errorf("a word of %d bytes is not kept", len(short))
	}
}

// TestFoldLetterwise compares letter-by-letter folding with folding of the whole word.
func TestFoldLetterwise(t *testing.T) {
	for _, w := range []string{"SCHÜLER", "Straße", "cœur", "naïve", "İstanbul", "ΛΌΓΟΣ", "ёлка", "Łódź", "ﬁne", "e\u0301te\u0323\u0301", "été’s", "ŉx", strings.Repeat("Ä", 60)} {
		var s scanner
		got := ""
		for _, token := range s.scan(w, true) {
			got += token.text + " "
		}
		form := []rune(norm.NFKC.String(w))
		head, tail := splitApostrophe([]byte(foldWord(string(form[:min(maxWord, len(form))]))))
		if want := strings.TrimSpace(string(head) + " " + string(tail)); strings.TrimSpace(got) != want {
			t.Errorf("%q is %q, not %q", w, got, want)
		}
	}
}
