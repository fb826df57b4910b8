package session

import (
	"testing"
	"unicode"
)

func TestDigitsOfAllScripts(t *testing.T) {
	n := 0
	for _, r := range unicode.Nd.R16 {
		n += checkDigits(t, rune(r.Lo), rune(r.Hi), int(r.Stride))
	}
	for _, r := range unicode.Nd.R32 {
		n += checkDigits(t, rune(r.Lo), rune(r.Hi), int(r.Stride))
	}
	if n < 600 {
		t.Errorf("%d digits, want all scripts", n)
	}
}

// checkDigits checks that a range has whole scripts, which digit relies on.
func checkDigits(t *testing.T, lo, hi rune, stride int) int {
	if n := int(hi-lo) + 1; stride != 1 || n%10 != 0 {
		t.Errorf("%U to %U: %d digits, stride %d", lo, hi, n, stride)
	}
	for r := lo; r <= hi; r++ {
		if got, want := digit(r), '0'+(r-lo)%10; got != want {
			t.Errorf("digit(%U) = %c, want %c", r, got, want)
		}
	}
	return int(hi-lo) + 1
}

func TestShare(t *testing.T) {
	for text, want := range map[string]float64{
		"": notGiven, "no": notGiven, "0": 0, "1": 1, "0.8": 0.8, "1.0": 1, "10": 1, "100": 1, "1000": 1, "0,75": 0.75, "80 %": 0.8, "75 percent": 0.75, "[0.8]": 0.8,
		"**0.9**": 0.9, "7 / 10": 0.7, "4/5": 0.8, "3/0": 0.3, "0.6-0.8": 0.6, "about 0.4": 0.4, "-1": 0, "1e9": 1, "９０％": 0.9, "۰٫۵": 0.5, "Medium": 0.5,
		"on a scale of 0 to 1, 0.8": 0.8, "[0.0-1.0]: 0.8": 0.8, "8 on a scale from 1 to 10": 0.8, "1.0 (of 0.0-1.0)": 1, "0-1": 0, "۰/۸": 0.8, "٠،٨": 0.8, "0·8": 0.8,
		"¾": 0.75, "–0.7": 0.7, "Given 3 sources, 0.75": 0.75, "4 of 5": 0.8, "8 von 10": 0.8, "0.8 of the cases": 0.8, "I would say 0.75, given 3 sources": 0.75, "5 Prozent": 0.05,
		"8/10 (80%)": 0.8, "> 0.9": 0.9, "0.8/1.0": 0.8, "Certainly not": 0.1, "Fairly low": 0.2, "Likely": 0.7, "高": 0.8, "hoch": 0.8, "Высокая": 0.8, "Moderately high": 0.65,
		"99999999999999999999999999999999999999999": 1, "a8b": 0.8, "0.333333333333": 0.333333333333, "(high)": 0.8, "3": 0.3,
	} {
		if got := share(text); got != want {
			t.Errorf("share(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestPriority(t *testing.T) {
	for text, want := range map[string]int{
		"": 5, "0": 1, "1": 1, "10": 10, "11": 10, "-5": 1, "7.4": 7, "7,6": 8, "8/10": 8, "1/20": 1, "90%": 9, "0.7": 7, "high": 8, "LOW": 2, "P2": 2, "८": 8,
		"9 - urgent": 9, "999999999999999999999999": 10,
	} {
		if got := priority(text); got != want {
			t.Errorf("priority(%q) = %d, want %d", text, got, want)
		}
	}
}
