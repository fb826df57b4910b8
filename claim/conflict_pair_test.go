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
		{"within a margin", "Mount Adra is 3,280 ± 4 metres high.", "Mount Adra is 3,283 metres high.", ""},
		{"within a margin with units", "Mount Adra is 3,280 m ± 4 m high.", "Mount Adra is 3,283 metres high.", ""},
		{"within a share", "Mount Adra is 3,280 m ± 1% high.", "Mount Adra is 3,300 metres high.", ""},
		{"beyond a margin", "Mount Adra is 3,280 plus or minus 4 metres high.", "Mount Adra is 3,310 metres high.", "height m: 3,280 plus or minus 4 metres x1 | 3,310 metres x1"},
		{"within a range", "Mount Adra is 3,200 to 3,300 metres high.", "Mount Adra is 3,280 metres high.", ""},
		{"beyond a range", "Mount Adra is 3,200–3,300 metres high.", "Mount Adra is 3,680 metres high.", "height m: 3,200–3,300 metres x1 | 3,680 metres x1"},
		{"metres that differ a little", "The Sarn Trough is 7,935 metres deep.", "The Sarn Trough is 7,984 metres deep.", "depth m: 7,935 metres x1 | 7,984 metres x1"},
		{"a metre that was cut", "The Sarn Trough is 7,935 metres deep.", "The Sarn Trough is 7,935.8 metres deep.", ""},
		{"a little, in other units", "The Sarn Trough is 7,935 metres deep.", "The Sarn Trough is 26,000 feet deep.", ""},
		{"a part of it", "Revenue of Velm Steel in Asia was $3 billion in 2021.", "Revenue of Velm Steel was $8 billion in 2021.", ""},
		{"the same part of it", "Revenue of Velm Steel in Asia was $3 billion in 2021.", "Revenue of Velm Steel in Asia was $8 billion in 2021.", "revenue 2021 USD: $3 billion x1 | $8 billion x1"},
		{"employees somewhere", "Velm Steel employs 900 people in the Netherlands.", "Velm Steel employs 7,000 people.", ""},
		{"statements of other places", "Filters reduce noise in offices.", "Filters do not reduce noise outdoors.", ""},
		{"statements of other people", "The vaccine protects against fever among infants.", "The vaccine does not protect against fever among nurses.", ""},
		{"statements of one place", "Filters reduce noise in offices.", "Filters do not reduce noise in offices.", "statement: Filters do not reduce noise in offices. x1 | Filters reduce noise in offices. x1"},
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
