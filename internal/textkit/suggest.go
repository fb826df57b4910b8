package textkit

import (
	"strings"
)

// Suggest returns "did you mean x? " for the candidate nearest to a word, or "" if none is near.
func Suggest(word string, candidates []string) string {
	best, least := "", 1+len(strings.Trim(word, "-"))/3
	for _, c := range candidates {
		d := editDistance(strings.ToLower(word), c)
		if len(strings.Trim(word, "-")) > 2 && strings.HasPrefix(c, strings.ToLower(word)) {
			d = 0
		}
		if d <= least && (best == "" || d < least) {
			best, least = c, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "? "
}

// editDistance counts the insertions, deletions, replacements and swaps of neighbours that turn a into
// b.
func editDistance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range len(b) + 1 {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
