package similarity

import (
	"strings"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	tests := []struct {
		name, a, b string
		want       Verdict
	}{
		{"percent", "It is 50%.", "It is 50 percent.", Same},
		{"half", "50% of pupils left.", "Half of pupils left.", Same},
		{"grouped digits", "1,000 pupils left.", "1000 pupils left.", Same},
		{"grouped by a space", "12 000 pupils left.", "12,000 pupils left.", Same},
		{"decimals", "Pupils walk 2.5 km.", "Pupils walk 25 km.", Opposite},
		{"units", "Pupils walk 2 km.", "Pupils walk 2000 m.", Same},
		{"other units", "Pupils wait 2 minutes.", "Pupils wait 2 hours.", Opposite},
		{"scales", "It cost 3 million euros.", "It cost 3,000,000 €.", Same},
		{"dozen", "Twelve pupils left.", "A dozen pupils left.", Same},
		{"years", "Pupils left in 1998.", "Pupils left in 1989.", Opposite},
		{"German digits", "Die Schule hat 1.000 Schüler.", "Die Schule hat 1000 Schüler.", Same},
		{"German decimals", "Die Schüler gehen 2,5 km weit.", "Die Schüler gehen 25 km weit.", Opposite},
		{"digits of another script", "٣ pupils left.", "3 pupils left.", Same},
		{"versions", "Version 1.2.3 leaks.", "Version 1.2.4 leaks.", Different},
		{"C++ is not C", "C++ has classes.", "C has classes.", Different},
		{"two negations", "The pupils can not say it is not so.", "The pupils can say it is so.", Different},
		{"prefix and negation", "The pupils are not reliable.", "The pupils are unreliable.", Same},
		{"negation elsewhere", "Results are inconsistent and tests are valid.", "Results are consistent and tests are not valid.", Different},
		{"comparison turned round", "Gold is heavier than iron.", "Iron is lighter than gold.", Different},
		{"comparison reversed", "Light is faster than sound.", "Sound is slower than light.", Same},
		{"statement and question", "Plants feel pain.", "Plants feel pain?", Different},
		{"full width", "ＡＩ ｈｅｌｐｓ ｐｕｐｉｌｓ", "AI helps pupils", Same},
		{"case", "PUPILS LEFT", "pupils left", Same},
		{"negation of another language", "Schüler lernen gern.", "Schüler lernen not gern.", Opposite},
		{"Russian", "Кошки едят рыбу.", "Кошки не едят рыбу.", Opposite},
		{"Korean", "고양이는 물을 마신다.", "개는 물을 마신다.", Different},
		{"nothing", "", "", Different},
		{"marks", "?!", "?!", Different},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Parse(test.a).Compare(Parse(test.b)); got != test.want {
				t.Errorf("%q and %q are %s, not %s", test.a, test.b, got, test.want)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	list := []Text{Parse("Dogs chase cats."), Parse("Cats sleep."), Parse("Dogs don't chase cats."), Parse("Cats are chased by dogs."), Parse("Cats eat fish.")}
	for _, test := range []struct {
		text string
		at   int
		want Verdict
	}{
		{"A dog chases a cat.", 3, Same},
		{"Cats never sleep.", 1, Opposite},
		{"Birds sing.", -1, Different},
	} {
		if at, v := Nearest(list, Parse(test.text)); at != test.at || v != test.want {
			t.Errorf("%s: %d, %s; want %d, %s", test.text, at, v, test.at, test.want)
		}
	}
}

// TestHuge checks that worst-case texts take bounded time.
func TestHuge(t *testing.T) {
	for _, s := range []string{"a ", "not ", "word, ", "猫", "'", "-", "1.", "9", "in order ", "é", "١"} {
		for _, n := range []int{maxBytes, 1 << 22} {
			start := time.Now()
			x := Parse(strings.Repeat(s, n/len(s)))
			x.Compare(x)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%d bytes of %q took %s", n, s, took)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	x, y := Parse("Dogs chase cats through the old town at night."), Parse("At night, cats are chased through the old town by dogs.")
	if n := testing.AllocsPerRun(100, func() { x.Compare(y) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestWithin(t *testing.T) {
	const fact = "The Lenta mill got 40 percent of its income from Borvala."
	for _, tt := range []struct {
		text  string
		share float64
		want  bool
	}{
		{fact, 1, true},
		{"40 percent of the income of the Lenta mill came from Borvala.", 0.8, true},
		{"50 percent of the income of the Lenta mill came from Borvala.", 0.01, false},
		{"40 percent of the income of the Lenta mill came from Kelmara.", 0.01, false},
		{"The Lenta mill burned down, and its owners left the valley.", 0.5, false},
		{"", 0, false},
	} {
		if got := Parse(tt.text).IsContainedIn(Parse(fact), tt.share); got != tt.want {
			t.Errorf("%q within the fact to %.2f: %v, want %v", tt.text, tt.share, got, tt.want)
		}
	}
}
