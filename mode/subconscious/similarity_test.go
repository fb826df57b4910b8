package subconscious

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"
)

type pair struct {
	A, B, Label string
	Held        bool
}

func readPairs(t testing.TB) (list []pair) {
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

// TestPairs measures the labelled pairs. It prints failures only of the half that is not held out.
func TestPairs(t *testing.T) {
	for _, half := range []struct {
		name string
		held bool
	}{{"build", false}, {"held", true}} {
		t.Run(half.name, func(t *testing.T) {
			var right, merged, wanted, near int
			for _, p := range readPairs(t) {
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

func TestSameFinding(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"The disk is nearly full.", "the disk is nearly full", true},
		{"The server is up again.", "The server is not up again.", false},
		{"The server isn't reachable.", "The server is not reachable.", true},
		{"The shop is closed on Monday.", "On Monday the shop is not open.", true},
		{"The call is at 4 pm.", "The call is at 16:00.", true},
		{"The call is at 4 pm.", "The call is at 4 am.", false},
		{"The call is on Monday.", "The call is on Tuesday.", false},
		{"Rent rose to 1,200 euros.", "Rent rose to 1200 euros.", true},
		{"Rent rose to 1,200 euros.", "Rent rose to 1,300 euros.", false},
		{"New mail from Anna.", "New mail from Bob.", false},
		{"Service nginx failed.", "Service caddy failed.", false},
		{"Festplatte ist fast voll.", "Die Festplatte ist fast voll.", true},
		{"Die Rechnung ist bezahlt.", "Die Rechnung ist nicht bezahlt.", false},
		{"", "", true},
		{"!", "?", false},
	} {
		if got := SameFinding(tt.a, tt.b); got != tt.want {
			t.Errorf("SameFinding(%q, %q) = %v", tt.a, tt.b, got)
		}
	}
}

// TestSameByModel checks that a semantic comparison cannot override a conflict.
func TestSameByModel(t *testing.T) {
	r := newReader(func(a, b string) bool { return true })
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"The disk is nearly full.", "Storage runs out.", true},
		{"The disk is 91% full.", "Storage is 95% used.", false},
		{"The disk is not full.", "Storage has run out.", false},
		{"Anna waits.", "The patience of Bob and of Carla.", true},
		{"A mail from Anna waits.", "A letter of Bob.", false},
	} {
		if got := r.isSame(r.phraseOf(tt.a), r.phraseOf(tt.b)); got != tt.want {
			t.Errorf("%q, %q: %v", tt.a, tt.b, got)
		}
	}
}

func FuzzSameFinding(f *testing.F) {
	f.Add("The call is at 4 pm.", "The call is at 16:00.")
	f.Add("1,200.5 isn't", "\x1b[2J12:61 \xff n't's")
	f.Fuzz(func(t *testing.T, a, b string) {
		if SameFinding(a, b) != SameFinding(b, a) || !SameFinding(a, a) {
			t.Errorf("%q, %q", a, b)
		}
	})
}
