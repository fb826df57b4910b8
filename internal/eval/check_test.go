package eval

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestChecks(t *testing.T) {
	for name, c := range map[string]struct {
		check       string
		holds, fail []string
	}{
		"contains":         {`{"contains":"New York"}`, []string{"It is new\n york."}, []string{"It is York.", ""}},
		"contains all":     {`{"contains":["red","blue"]}`, []string{"Blue and red"}, []string{"red"}},
		"does not contain": {`{"not_contains":["maybe","perhaps"]}`, []string{"Yes.", ""}, []string{"Perhaps."}},
		"regex":            {`{"regex":"(?m)^B\\b"}`, []string{"So:\nB"}, []string{"AB", "b"}},
		"number":           {`{"number":42}`, []string{"42", "It is 6*7 = 42.", "**42.0**", "Answer: 42 (not 41)", "42 %"}, []string{"41", "none", "42 or 43", "6 * 7", "40–44"}},
		"a range":          {`{"number":42,"tolerance":2}`, []string{"40–44", "between 41 and 43"}, []string{"40–45", "0 to 100"}},
		"a percentage":     {`{"number":0.25}`, []string{"25 %", "0.25", "1/4", "25 percent"}, []string{"25"}},
		"a million":        {`{"number":3500000}`, []string{"3.5 million", "3,500,000", "$3.5M"}, []string{"3.5"}},
		"near":             {`{"number":3.14,"tolerance":0.01}`, []string{"3.1416", "3.13"}, []string{"3.16"}},
		"a share":          {`{"number":-200,"tolerance":"1%"}`, []string{"-198", "−202"}, []string{"-197", "200"}},
		"decimals":         {`{"number":0.3,"tolerance":0.1}`, []string{"0.4", "0.2"}, []string{"0.41"}},
		"one of":           {`{"one_of":["Paris","the capital of France"]}`, []string{"PARIS!", "It is the  capital of france"}, []string{"Parisian", "London"}},
		"one of a sign":    {`{"one_of":["+"]}`, []string{"a + b"}, []string{"a - b"}},
		"schema": {`{"json_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`,
			[]string{`{"n":1}`, "Here:\n```json\n{\"n\": 2}\n```"}, []string{`{"m":1}`, "n is 1", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var check Check
			if err := json.Unmarshal([]byte(c.check), &check); err != nil {
				t.Fatal(err)
			}
			for _, answer := range c.holds {
				if !check.Holds(answer) {
					t.Errorf("does not hold of %q", answer)
				}
			}
			for _, answer := range c.fail {
				if check.Holds(answer) {
					t.Errorf("holds of %q", answer)
				}
			}
		})
	}
}

func TestFindQuantity(t *testing.T) {
	for text, want := range map[string]float64{
		// equations and calculations
		"6 * 7 = 42":                          42,
		"The answer is 6 * 7 = 42":            42,
		"Answer: **6 × 7 = 42**.":             42,
		"The answer is (6 * 7) = 42 apples.":  42,
		"Answer: 6 apples * 7 = 42 apples":    42,
		"The answer is 42 = 6 * 7":            42,
		"42 = 6 × 7":                          42,
		"Answer: 6 times 7 is 42":             42,
		"Answer: 6*7 = 36 + 6 = 42, not 41":   42,
		"The answer is 6 * 7, so 42":          42,
		"Answer: x^2 = 9, so x = 3":           3,
		"$3.50 + $1.25 = $4.75":               4.75,
		`\boxed{6 \times 7 = 42}`:             42,
		`The result is $6 \cdot 7 = 42$`:      42,
		"6 * (3 + 4) = 42":                    42,
		"10 - 3 = 7":                          7,
		"2**3 = 8":                            8,
		"The answer is 4, since 2 + 2 = 4, 9": 4,
		"Answer: 12. The check 2 * 3 = 6":     12,
		// the place of the result
		"Answer: $12\nChecked 3 times.":        12,
		"## Answer\n\n42\n\nI read 3 sources.": 42,
		"**Answer:**\n**42**\n2 steps":         42,
		"the answer is about 10 of 20":         10,
		`so \boxed{17} and 5`:                  17,
		"#### 18":                              18,
		"The answer is: none.\nIn all 6":       6,
		"Die Antwort ist 8, nicht 9":           8,
		"The answer is not 41 but 42":          42,
		"It is 42 (not 41).":                   42,
		"(42)":                                 42,
		"It is 42 [1] [2, 3].":                 42,
		"It is 42, rather than 41":             42,
		"So 85 out of 100 passed":              85,
		"1. Add.\n2. The sum is 42":            42,
		"The sum is 42:\n1. add\n2. check":     42,
		"1, 2, 3":                              3,
		"1,2,3":                                3,
		"It grew from 3 to 5":                  5,
		// spellings
		"12,345.5 people":               12345.5,
		"1,234,567":                     1234567,
		"1.234.567 Menschen":            1234567,
		"1.234,5":                       1234.5,
		"1’000 or so":                   1000,
		"299 792 458 m/s":               299792458,
		"it is 1,5":                     1.5,
		"0,125":                         0.125,
		"−7":                            -7,
		"-$5":                           -5,
		"$-5":                           -5,
		"2.5e3":                         2500,
		"3 × 10^8 m/s":                  3e8,
		`about \(6.02 \times 10^{23}\)`: 6.02e23,
		"10^6":                          1e6,
		".5":                            0.5,
		"$3.50":                         3.5,
		"~42km":                         42,
		"12 m^2":                        12,
		"12 m²":                         12,
		"_42_":                          42,
		"3/4":                           0.75,
		`\frac{3}{4}`:                   0.75,
		"1 1/2 cups":                    1.5,
		"H2O has 3":                     3,
		"3 of H2O":                      3,
	} {
		if q, ok := findQuantity(text); !ok || q.low != want || q.high != want {
			t.Errorf("findQuantity(%q) = %v, %t; want %v", text, q, ok, want)
		}
	}
	for _, text := range []string{"", "none", "H2O", "- , .", "6 * 7", "The answer is 2^10", "x_1 and y^2", "3/0"} {
		if q, ok := findQuantity(text); ok {
			t.Errorf("findQuantity(%q) = %v", text, q)
		}
	}
}

func TestQuantityOfRange(t *testing.T) {
	for text, want := range map[string]quantity{
		"40–44":                           {40, 44, 1},
		"40 km to 44 km":                  {40, 44, 1},
		"The answer is between 40 and 44": {40, 44, 1},
		"42 or 43":                        {42, 43, 1},
		"1 to 2 million":                  {1, 2, 1e6},
		"3.5 million people":              {3.5, 3.5, 1e6},
		"about 25 %":                      {25, 25, 0.01},
		"5 percent":                       {5, 5, 0.01},
		"$10k":                            {10, 10, 1000},
	} {
		if q, ok := findQuantity(text); !ok || q != want {
			t.Errorf("findQuantity(%q) = %v, %t; want %v", text, q, ok, want)
		}
	}
}

func FuzzFindQuantity(f *testing.F) {
	f.Add("The answer is 6 * 7 = 42")
	f.Add("1,2,3 − 1.234,5/7 %")
	f.Fuzz(func(t *testing.T, text string) {
		if q, ok := findQuantity(text); ok && !(q.low <= q.high) {
			t.Errorf("%q: %v", text, q)
		}
	})
}

func TestRight(t *testing.T) {
	contains := Check{contains: []string{"a"}}
	not := Check{not: []string{"b"}}
	long := "a reference that goes on for so long that nobody would say it in just these words"
	for name, c := range map[string]struct {
		q      Question
		answer string
		scored bool
		failed []string
	}{
		"nothing to check": {Question{}, "a", false, nil},
		"all hold":         {Question{Checks: []Check{contains, not}}, "a", true, nil},
		"one does not":     {Question{Checks: []Check{contains, not}}, "ab", true, []string{"not_contains"}},
		"a reference":      {Question{Reference: []string{"x", "the town"}}, "It's The Town.", true, nil},
		"another":          {Question{Reference: []string{"x"}}, "xy", true, []string{"reference"}},
		"a long one":       {Question{Reference: []string{long}}, "no", false, nil},
		"checks go before": {Question{Reference: []string{"x"}, Checks: []Check{contains}}, "a", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			right, failed := c.q.Right(c.answer)
			if right != (len(c.failed) == 0) || !slices.Equal(failed, c.failed) || c.q.Scored() != c.scored {
				t.Errorf("right %t, failed %v, scored %t", right, failed, c.q.Scored())
			}
		})
	}
}
