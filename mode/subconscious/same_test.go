package subconscious

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

// A pair of testdata/pairs.jsonl is of findings that say the same, nearly the same with
// an opposite fact or another number, date or name, or something different.
type pair struct {
	A, B, Label string
	Held        bool
}

func pairs(t testing.TB) (list []pair) {
	t.Helper()
	f, err := os.Open("testdata/pairs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var p pair
		if err := json.Unmarshal(s.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

// TestPairs measures the labelled pairs. Those that fail are printed of the half that is
// not held: the other was written first, and is looked at as a whole only.
func TestPairs(t *testing.T) {
	for _, half := range []struct {
		name string
		held bool
	}{{"build", false}, {"held", true}} {
		t.Run(half.name, func(t *testing.T) {
			var right, merged, wanted, near int
			for _, p := range pairs(t) {
				if p.Held != half.held {
					continue
				}
				is, got := p.Label == "same", SameFinding(p.A, p.B)
				if SameFinding(p.B, p.A) != got {
					t.Errorf("not symmetric:\n\t%s\n\t%s", p.A, p.B)
				}
				switch {
				case is && got:
					right++
				case is != got && !p.Held:
					t.Logf("%v, but %s:\n\t%s\n\t%s", got, p.Label, p.A, p.B)
				}
				if is {
					wanted++
				}
				if got {
					merged++
				}
				if got && p.Label == "near" {
					near++
				}
			}
			precision, recall := float64(right)/float64(max(1, merged)), float64(right)/float64(wanted)
			t.Logf("precision %.3f, recall %.3f, %d nearly the same merged", precision, recall, near)
			if precision < 0.9 || recall < 0.9 {
				t.Errorf("precision %.3f, recall %.3f", precision, recall)
			}
		})
	}
}
