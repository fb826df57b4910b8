package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Measure is what a comparison is by.
type Measure string

// The measures.
const (
	ByChecks Measure = "checks" // share of right answers
	ByJudge  Measure = "judge"  // share of pairs won, less share lost
)

// A Finding is what a comparison comes to.
type Finding string

// The findings.
const (
	Better       Finding = "better"
	Worse        Finding = "worse"
	NoDifference Finding = "no difference" // the interval includes zero
	Unclear      Finding = "unclear"       // it does not, but chance may well have done it
)

// A Comparison is the difference between a variant and the baseline. Differences
// are of means over questions, each the mean of its samples.
type Comparison struct {
	Variant    string   `json:"variant"`
	Against    string   `json:"against"`
	By         Measure  `json:"by"`
	Questions  int      `json:"questions"`      // that both have answers to
	Up         int      `json:"questions_up"`   // in favour of the variant
	Down       int      `json:"questions_down"` // in favour of the baseline
	Difference float64  `json:"difference"`
	Interval   Interval `json:"interval"`
	P          float64  `json:"p"`
	Adjusted   float64  `json:"p_adjusted"`                 // for the number of comparisons, by Holm
	Needed     int      `json:"questions_needed,omitempty"` // to see a difference of this size; zero: there is none
	Seeable    float64  `json:"seeable_difference"`         // that so many questions would show
	Finding    Finding  `json:"finding"`
}

// compare compares all variants with the baseline.
func (x Experiment) compare(by Measure, items []Item) (list []Comparison) {
	var ps []float64
	for i, name := range x.Variants {
		xs := differences(by, items, i)
		if i == 0 || len(xs) == 0 {
			continue
		}
		c := Comparison{Variant: name, Against: x.Variants[0], By: by, Questions: len(xs), Difference: Mean(xs),
			Interval: Bootstrap(xs, x.Seed), P: SignFlip(xs, x.Seed), Needed: Needed(xs), Seeable: Seeable(xs)}
		for _, d := range xs {
			if d > 0 {
				c.Up++
			} else if d < 0 {
				c.Down++
			}
		}
		list, ps = append(list, c), append(ps, c.P)
	}
	for i, p := range Holm(ps) {
		list[i].Adjusted = p
		list[i].Finding = list[i].find()
	}
	return list
}

// differences returns those of a variant, question by question.
func differences(by Measure, items []Item, variant int) (xs []float64) {
	for _, it := range items {
		switch {
		case by == ByJudge && it.Preferred[variant] != nil:
			xs = append(xs, *it.Preferred[variant])
		case by == ByChecks && it.Right[0] != nil && it.Right[variant] != nil:
			xs = append(xs, *it.Right[variant]-*it.Right[0])
		}
	}
	return xs
}

// find says what a comparison comes to.
func (c Comparison) find() Finding {
	switch {
	case c.Interval.Zero():
		return NoDifference
	case c.Adjusted >= level:
		return Unclear
	case c.Difference > 0:
		return Better
	}
	return Worse
}

// Says returns what a comparison comes to, in words.
func (c Comparison) Says() string {
	text := fmt.Sprintf("%s (95 %%: %s to %s, p = %s)", Points(c.Difference), signed(c.Interval.Low), signed(c.Interval.High), pOf(c.P))
	switch c.Finding {
	case Better, Worse:
		return text + ": " + string(c.Finding) + "."
	case Unclear:
		return text + fmt.Sprintf(": unclear. The interval does not include zero, but with %s chance does as much (p = %s%s); ask more questions.",
			questions(c.Questions), pOf(c.Adjusted), c.adjustment())
	}
	text += ": no difference, for the interval includes zero. "
	if c.Up == 0 && c.Down == 0 {
		return text + fmt.Sprintf("They came out the same on each of %s.", questions(c.Questions))
	}
	if c.Needed > 0 {
		text += fmt.Sprintf("If a difference of this size is real, it takes about %s to see it. ", questions(c.Needed))
	}
	if c.Seeable > 0 && c.Seeable < 1 {
		text += fmt.Sprintf("With %s, one of %s or more would most likely have been seen.", questions(c.Questions), strings.TrimPrefix(Points(c.Seeable), "+"))
	} else {
		text += fmt.Sprintf("There were %s, too few to see any but the largest.", questions(c.Questions))
	}
	return strings.TrimSpace(text)
}

func (c Comparison) adjustment() string {
	if c.Adjusted == c.P {
		return ""
	}
	return " for all comparisons"
}

func questions(n int) string {
	if n == 1 {
		return "1 question"
	}
	if n >= 1e9 {
		return "more than a billion questions"
	}
	return strconv.Itoa(n) + " questions"
}

// Points writes a difference of shares as percentage points.
func Points(d float64) string {
	if text := signed(d); text == "+1" || text == "-1" {
		return text + " point"
	}
	return signed(d) + " points"
}

// signed writes a difference of shares in hundredths, with its sign. What is not
// zero is not shown as zero.
func signed(d float64) string {
	v := 100 * d
	switch {
	case math.Abs(v) < 1e-9:
		return "0"
	case math.Abs(v) < 10 && math.Abs(v-math.Round(v)) > 0.05:
		return fmt.Sprintf("%+.1f", v)
	}
	return fmt.Sprintf("%+.0f", v)
}

func pOf(p float64) string {
	if p < 0.001 {
		return "less than 0.001"
	}
	return fmt.Sprintf("%.2g", p)
}
