package similarity

import "testing"

func FuzzCompare(f *testing.F) {
	for _, p := range loadPairs(f) {
		if p.Split == "build" {
			f.Add(p.A, p.B)
		}
	}
	f.Add("1.2.3 -5 1,000,000.5e9 ½ ² ٣", "\xff\xfe a'b'c' 's n't --> C++ c# <>=")
	f.Add("A. B? C! D\nE…", "、。！？ー")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := Parse(a), Parse(b)
		v := x.Compare(y)
		if w := y.Compare(x); w != v {
			t.Errorf("%s and %s", v, w)
		}
		if x.sum != 0 && x.Compare(Parse(a)) != Same {
			t.Error("not the same as itself")
		}
		if x.sum == 0 && v != Different {
			t.Errorf("%s without content", v)
		}
		if len(x.terms) > maxTerms {
			t.Error("too much is kept")
		}
		if i, n := Nearest([]Text{y}, x); n != v || (i == 0) != (v != Different) {
			t.Errorf("nearest is %d, %s, not %s", i, n, v)
		}
	})
}
