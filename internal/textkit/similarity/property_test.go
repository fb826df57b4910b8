package similarity

import (
	"slices"
	"strings"
	"testing"

	"ponder/internal/racetest"
)

func buildTexts(t testing.TB) (list []string) {
	for _, p := range loadPairs(t) {
		if p.Split == "build" {
			list = append(list, p.A, p.B)
		}
	}
	return list
}

func TestSymmetric(t *testing.T) {
	list := buildTexts(t)
	of := make([]Text, len(list))
	for i, s := range list {
		of[i] = Parse(s)
	}
	for i := range of {
		for j := range i {
			if a, b := of[i].Compare(of[j]), of[j].Compare(of[i]); a != b {
				t.Errorf("%s and %s: %q, %q", a, b, list[i], list[j])
			}
		}
	}
}

func TestReflexive(t *testing.T) {
	long := strings.Repeat("All work and no play. ", 10_000)
	for _, s := range append(buildTexts(t), "x", "7", "the", "of the and", "not", "?a", "не", "猫", "ราคา", long) {
		if v := Parse(s).Compare(Parse(s)); v != Same {
			t.Errorf("%.60q is %s as itself", s, v)
		}
		if v := Parse(s).Compare(Parse("  " + strings.ToUpper(s) + " ")); v != Same && !strings.ContainsAny(s, "ßı") {
			t.Errorf("%.60q is %s in capitals", s, v)
		}
	}
	for _, s := range []string{"", " ", "!?", "...", "\xff"} {
		if v := Parse(s).Compare(Parse(s)); v != Different {
			t.Errorf("%q has no content and is %s", s, v)
		}
	}
	if v := Parse(long).Compare(Parse(long + "No.")); v != Different {
		t.Errorf("a long text and a longer one are %s", v)
	}
}

// changedTexts returns variants of s with another meaning, by one inserted or changed word.
func changedTexts(s string) (list []string) {
	w := strings.Fields(s)
	put := func(i, n int, word string) {
		list = append(list, strings.Join(append(append(append([]string{}, w[:i]...), word), w[i+n:]...), " "))
	}
	for i := range w {
		put(i, 0, "not")
		put(i, 0, "never")
		put(i, 0, "without")
		for j, r := range w[i] {
			if r >= '0' && r <= '9' {
				put(i, 1, w[i][:j]+string('0'+(r-'0'+1)%10)+w[i][j+1:])
				put(i, 1, w[i][:j]+"1"+w[i][j:])
			}
		}
		for _, pair := range antonyms {
			if bare := strings.ToLower(strings.Trim(w[i], ".,;?!")); bare == pair[0] || bare == pair[1] {
				put(i, 1, pair[0])
				put(i, 1, pair[1])
				list = deleteSame(list, s)
			}
		}
	}
	return list
}

func deleteSame(list []string, s string) (out []string) {
	plain := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return strings.ContainsRune(" .,;?!", r) }), " ")
	}
	for _, l := range list {
		if plain(l) != plain(s) {
			out = append(out, l)
		}
	}
	return out
}

var antonyms = [][2]string{{"increases", "reduces"}, {"more", "less"}, {"many", "few"}, {"most", "few"}, {"before", "after"}, {"always", "never"},
	{"improves", "worsens"}, {"fewer", "more"}, {"higher", "lower"}, {"fell", "rose"}, {"risen", "fallen"}, {"all", "some"}, {"every", "no"}, {"hot", "cold"},
	{"faster", "slower"}, {"good", "bad"}, {"optimistic", "pessimistic"}, {"easy", "difficult"}, {"near", "far"}, {"large", "small"}, {"north", "south"},
	{"encourage", "discourage"}, {"safe", "unsafe"}, {"valid", "invalid"}, {"first", "last"}, {"beginning", "end"}, {"with", "without"}, {"minutes", "hours"}, {"night", "day"}}

// TestChangedTexts inserts a negation at every place and changes every number and antonym; no result may
// be Same.
func TestChangedTexts(t *testing.T) {
	n := 0
	for _, s := range buildTexts(t) {
		of := Parse(s)
		for _, o := range changedTexts(s) {
			n++
			if v := of.Compare(Parse(o)); v == Same {
				t.Errorf("same:\n\t%s\n\t%s", s, o)
			}
		}
	}
	t.Log(n, "texts")
}

// TestCrossed compares texts of different pairs. None may be Same, unless labelled pairs connect
// them.
func TestCrossed(t *testing.T) {
	for _, split := range []string{"build", "held"} {
		t.Run(split, func(t *testing.T) {
			group := map[string]string{}
			root := func(s string) string {
				for group[s] != "" {
					s = group[s]
				}
				return s
			}
			var list []string
			for _, p := range loadPairs(t) {
				if p.Split != split {
					continue
				}
				list = append(list, p.A, p.B)
				if a, b := root(p.A), root(p.B); p.Label == "same" && a != b {
					group[a] = b
				}
			}
			of := make([]Text, len(list))
			for i, s := range list {
				of[i] = Parse(s)
			}
			all, merged := 0, 0
			for i := range list {
				for j := range i {
					if root(list[i]) == root(list[j]) {
						continue
					}
					all++
					if of[i].Compare(of[j]) == Same {
						merged++
						if split == "build" {
							t.Logf("same:\n\t%s\n\t%s", list[i], list[j])
						}
					}
				}
			}
			t.Logf("%d of %d merged", merged, all)
			if merged > all/5_000 {
				t.Errorf("%d of %d merged", merged, all)
			}
		})
	}
}

// containsReference is a simple reference implementation of Within.
func containsReference(t, o Text, share float64) bool {
	if t.weight == 0 || t.truncated || o.truncated {
		return false
	}
	both := int(t.weight)
	for _, m := range t.terms {
		if slices.ContainsFunc(o.terms, func(n term) bool { return n.id == m.id }) {
			continue
		}
		if both -= int(m.weight); float64(both)/float64(t.weight) < share || m.is&(amount|decisive) != 0 || m.weight == weightName {
			return false
		}
	}
	return true
}

func TestWithinReference(t *testing.T) {
	racetest.Skip(t, "pure functions, with thousands of cases")
	var of []Text
	for _, s := range buildTexts(t) {
		of = append(of, Parse(s), Parse(s+" "+s[len(s)/2:]))
	}
	for i, x := range of {
		for j, y := range of {
			for _, share := range []float64{0.1, 0.5, 0.8, 1} {
				if got, want := x.IsContainedIn(y, share), containsReference(x, y, share); got != want {
					t.Errorf("text %d within text %d to %.1f: %v, want %v", i, j, share, got, want)
				}
			}
		}
	}
}

// TestExceedsLimit checks that the cheap test exceedsLimit agrees with the full comparison.
func TestExceedsLimit(t *testing.T) {
	var of []Text
	for _, s := range buildTexts(t) {
		of = append(of, Parse(s), Parse(s[:len(s)/2]+s[len(s)/3:]))
	}
	n := 0
	for i := range of {
		for j := range of {
			x, y := &of[i], &of[j]
			if x.prefixed || y.prefixed || !x.exceedsLimit(y.idBits) {
				continue
			}
			n++
			p := pair{a: x, b: y}
			if v := p.verdict(); v != Different {
				t.Errorf("text %d is beyond text %d, and %s", i, j, v)
			}
		}
	}
	t.Log(n, "pairs")
}
