package tokens

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"
)

// The texts and IDs are those of tiktoken's documentation and tests.
func TestDecode(t *testing.T) {
	for want, ids := range map[string][]int{
		"": nil, "hello world": {15339, 1917}, "hello <|endoftext|>": {15339, 220, 100257},
		"tiktoken is great!": {83, 1609, 5963, 374, 2294, 0},
		"お誕生日おめでとう":          {33334, 45918, 243, 21990, 9080, 33334, 62004, 16556, 78699},
		"\uFFFD":             {45918}, // part of a character
	} {
		if got, _, ok := Decode(ids); !ok || got != want && want != "\uFFFD" || want == "\uFFFD" && got == "" {
			t.Errorf("%v: %q, want %q", ids, got, want)
		}
	}
	for _, id := range []int{-1, size, 100277, 1 << 40} {
		if text, at, ok := Decode([]int{15339, id}); ok || at != 1 {
			t.Errorf("%d: %q, at %d", id, text, at)
		}
	}
}

// The vocabulary is complete: rebuilt in tiktoken's format, it has the published checksum.
func TestVocabulary(t *testing.T) {
	starts, all := vocabulary()
	h := sha256.New()
	for id := range size {
		fmt.Fprintf(h, "%s %d\n", base64.StdEncoding.EncodeToString(all[starts[id]:starts[id+1]]), id)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7" {
		t.Errorf("checksum %s", got)
	}
}
