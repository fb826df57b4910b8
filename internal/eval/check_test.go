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
		"number":           {`{"number":42}`, []string{"42", "It is 6*7 = 42.", "**42.0**", "Answer: 42 (not 41)"}, []string{"41", "none", "42 or 43"}},
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

func TestNumber(t *testing.T) {
	for text, want := range map[string]float64{
		"12,345.5 people":                     12345.5,
		"1’000 or so":                         1000,
		"from 3 to 5":                         5,
		"1, 2, 3":                             3,
		"it is 1,5":                           5, // two numbers: a comma groups three digits
		"−7":                                  -7,
		"7-3":                                 3,
		"2.5e3":                               2500,
		".5":                                  0.5,
		"$3.50":                               3.5,
		"The answer is 4, since 2 + 2 = 4, 9": 4,
		"Answer: $12\nChecked 3 times.":       12,
		"the answer is about 10 of 20":        10,
		`so \boxed{17} and 5`:                 17,
		"#### 18":                             18,
		"The answer is: none.\nIn all 6":      6,
		"Die Antwort ist 8, nicht 9":          8,
		"H2O has 3":                           3,
		"3 of H2O":                            3,
	} {
		if got, ok := Number(text); !ok || got != want {
			t.Errorf("Number(%q) = %v, %t; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "none", "H2O", "- , ."} {
		if got, ok := Number(text); ok {
			t.Errorf("Number(%q) = %v", text, got)
		}
	}
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
