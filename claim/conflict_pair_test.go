package claim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConflictsOfTwo has quotes by two voices, and the conflict between them without a
// question; "" if there is none.
func TestConflictsOfTwo(t *testing.T) {
	for _, c := range []struct{ name, one, other, want string }{
		{"a place in another", "Velm in Kansas has 9,000 inhabitants.", "Velm, the seat of Arn County, has 41,000 inhabitants.", ""},
		{"a place in another, with a comma", "Velm in Kansas has 9,000 inhabitants.", "Velm, Ohio, has 41,000 inhabitants.", ""},
		{"a place in the same", "Velm in Kansas has 9,000 inhabitants.", "Velm, Kansas, has 41,000 inhabitants.", "population: 41,000 x1 | 9,000 x1"},
		{"a month is no place", "Velm in May had 9,000 inhabitants.", "Velm, Ohio, had 41,000 inhabitants.", "population: 41,000 x1 | 9,000 x1"},
		{"people of two callings", "Jay Arn, a painter, was born in 1950.", "Jay Arn, the Swedish surgeon, was born in 1923.", ""},
		{"people of one calling", "Jay Arn, a painter, was born in 1950.", "Jay Arn, the Swedish painter, was born in 1923.", "born: 1923 x1 | 1950 x1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, quotes := range [][]Quote{said(c.one, c.other), said(c.other, c.one)} {
				if diff := cmp.Diff(c.want, strings.Join(shown(Conflicts(quotes)), "; ")); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			}
		})
	}
}
