package eval

import "slices"

type Answer struct {
	Question    string   `json:"question"`
	Variant     string   `json:"variant"`
	Sample      int      `json:"sample"`
	Thread      string   `json:"thread_id,omitempty"`
	Failed      string   `json:"failed,omitempty"` // error without an answer
	Text        string   `json:"answer,omitempty"`
	Right       *bool    `json:"right,omitempty"` // nil: unchecked
	Missed      []string `json:"missed,omitempty"`
	Thoughts    int      `json:"thoughts,omitempty"`
	Reflections int      `json:"reflections,omitempty"`
	Words       int      `json:"words"`
	Cost
}

type Cost struct {
	Seconds  float64 `json:"seconds"`
	Calls    int     `json:"calls"`
	Tokens   int     `json:"tokens"`
	USD      float64 `json:"usd"`
	Unpriced int     `json:"unpriced_calls,omitempty"`
}

type Rates struct {
	Seconds float64 `json:"seconds"`
	Calls   float64 `json:"calls"`
	Tokens  float64 `json:"tokens"`
	USD     float64 `json:"usd"`
}

func (c Cost) Add(d Cost) Cost {
	return Cost{c.Seconds + d.Seconds, c.Calls + d.Calls, c.Tokens + d.Tokens, c.USD + d.USD, c.Unpriced + d.Unpriced}
}

// A Verdict is the comparison of a variant with the baseline, in both orders.
type Verdict struct {
	Question   string    `json:"question"`
	Variant    string    `json:"variant"`
	Against    string    `json:"against"`
	Sample     int       `json:"sample"`
	Straight   Judgement `json:"straight"` // the baseline is first
	Swapped    Judgement `json:"swapped"`  // the baseline is second
	Outcome    int       `json:"outcome"`  // 1: the variant is better; -1: worse
	Consistent bool      `json:"consistent"`
	Cost
}

type Experiment struct {
	Questions []Question
	Variants  []string // the first is the baseline
	Samples   int
	Answers   []Answer
	Verdicts  []Verdict
	Seed      uint64
}

type Report struct {
	Questions   int           `json:"questions"`
	Samples     int           `json:"samples"`
	Seed        uint64        `json:"seed"`
	Variants    []Variant     `json:"variants"`
	Comparisons []Comparison  `json:"comparisons"`
	Judged      *JudgeSummary `json:"judged,omitempty"`
	Items       []Item        `json:"items"`
}

type Variant struct {
	Name        string    `json:"variant"`
	Answers     int       `json:"answers"`
	Failed      int       `json:"failed,omitempty"`
	Checked     int       `json:"checked_questions,omitempty"`
	Right       *float64  `json:"right,omitempty"`
	Interval    *Interval `json:"right_interval,omitempty"`
	Median      float64   `json:"median_seconds"`
	P90         float64   `json:"p90_seconds"`
	Words       float64   `json:"words"`
	Thoughts    float64   `json:"thoughts"`
	Reflections float64   `json:"reflections"`
	Mean        Rates     `json:"mean"`
	Sum         Cost      `json:"sum"`
}

type JudgeSummary struct {
	Pairs        int     `json:"pairs"`
	Inconsistent int     `json:"inconsistent"` // changed with the order
	First        float64 `json:"first_place"`  // share of choices of the first answer; 0.5 without any
	Sum          Cost    `json:"sum"`
}

type Item struct {
	ID        string     `json:"id"`
	Right     []*float64 `json:"right"`     // share of samples; may be nil
	Preferred []*float64 `json:"preferred"` // mean outcome against the baseline; may be nil
}

// Report evaluates the experiment. A comparison includes the questions that both variants
// answered.
func (x Experiment) Report() Report {
	r := Report{Questions: len(x.Questions), Samples: x.Samples, Seed: x.Seed, Items: x.buildItems()}
	for i, name := range x.Variants {
		r.Variants = append(r.Variants, x.buildVariant(i, name, r.Items))
	}
	r.Comparisons = slices.Concat(x.compareVariants(ByChecks, r.Items), x.compareVariants(ByJudge, r.Items))
	if len(x.Verdicts) > 0 {
		r.Judged = x.buildJudged()
	}
	return r
}

func (x Experiment) buildItems() []Item {
	at, variants := make(map[string]int), make(map[string]int)
	items := make([]Item, len(x.Questions))
	right, preferred := make([][][]float64, len(items)), make([][][]float64, len(items))
	for i, name := range x.Variants {
		variants[name] = i
	}
	for i, q := range x.Questions {
		at[q.ID] = i
		right[i], preferred[i] = make([][]float64, len(x.Variants)), make([][]float64, len(x.Variants))
	}
	for _, a := range x.Answers {
		i, known := at[a.Question]
		if v, ok := variants[a.Variant]; ok && known && a.Failed == "" && a.Right != nil {
			right[i][v] = append(right[i][v], rightShare(*a.Right))
		}
	}
	for _, o := range x.Verdicts {
		i, known := at[o.Question]
		if v, ok := variants[o.Variant]; ok && known {
			preferred[i][v] = append(preferred[i][v], float64(o.Outcome))
		}
	}
	for i, q := range x.Questions {
		items[i] = Item{q.ID, listMeans(right[i]), listMeans(preferred[i])}
	}
	return items
}

func rightShare(right bool) float64 {
	if right {
		return 1
	}
	return 0
}

func listMeans(lists [][]float64) []*float64 {
	out := make([]*float64, len(lists))
	for i, xs := range lists {
		if len(xs) > 0 {
			out[i] = new(Mean(xs))
		}
	}
	return out
}

func (x Experiment) buildVariant(i int, name string, items []Item) Variant {
	v := Variant{Name: name}
	var times, shares []float64
	for _, a := range x.Answers {
		switch {
		case a.Variant != name:
		case a.Failed != "":
			v.Failed++
			v.Sum = v.Sum.Add(a.Cost)
		default:
			v.Answers++
			v.Sum = v.Sum.Add(a.Cost)
			v.Words += float64(a.Words)
			v.Thoughts += float64(a.Thoughts)
			v.Reflections += float64(a.Reflections)
			times = append(times, a.Seconds)
		}
	}
	for _, it := range items {
		if it.Right[i] != nil {
			shares = append(shares, *it.Right[i])
		}
	}
	if v.Checked = len(shares); v.Checked > 0 {
		v.Right, v.Interval = new(Mean(shares)), new(shareInterval(shares, x.Seed))
	}
	slices.Sort(times)
	v.Median, v.P90 = sortedQuantile(times, 0.5), sortedQuantile(times, 0.9)
	n := float64(max(1, v.Answers))
	v.Words, v.Thoughts, v.Reflections = v.Words/n, v.Thoughts/n, v.Reflections/n
	all := float64(max(1, v.Answers+v.Failed))
	v.Mean = Rates{v.Sum.Seconds / all, float64(v.Sum.Calls) / all, float64(v.Sum.Tokens) / all, v.Sum.USD / all}
	return v
}

// shareInterval returns the interval of a mean of shares. If all are 0 or all are 1, the bootstrap
// has no spread, and it uses Wilson's interval.
func shareInterval(xs []float64, seed uint64) Interval {
	i, n := Bootstrap(xs, seed), float64(len(xs))
	switch m := Mean(xs); m {
	case 0:
		i.High = z975 * z975 / (n + z975*z975)
	case 1:
		i.Low = n / (n + z975*z975)
	}
	return i
}

func (x Experiment) buildJudged() *JudgeSummary {
	j, chosen, first := &JudgeSummary{Pairs: len(x.Verdicts), First: 0.5}, 0, 0
	for _, v := range x.Verdicts {
		j.Sum = j.Sum.Add(v.Cost)
		if !v.Consistent {
			j.Inconsistent++
		}
		for _, c := range []Choice{v.Straight.Better, v.Swapped.Better} {
			if c != Tie {
				chosen++
			}
			if c == First {
				first++
			}
		}
	}
	if chosen > 0 {
		j.First = float64(first) / float64(chosen)
	}
	return j
}
