package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/eval"
	"ponder/internal/tui"
)

// experiment returns what was measured, in the order of the plan.
func (e *evaluation) experiment() eval.Experiment {
	e.mu.Lock()
	defer e.mu.Unlock()
	x := eval.Experiment{Questions: e.plan.questions, Samples: e.plan.samples, Seed: e.plan.seed}
	for _, v := range e.plan.variants {
		x.Variants = append(x.Variants, v.name)
	}
	for _, q := range e.plan.questions {
		for _, name := range x.Variants {
			for s := 1; s <= e.plan.samples; s++ {
				if a, ok := e.answers[cell{q.ID, name, s}]; ok {
					x.Answers = append(x.Answers, a)
				}
				if v, ok := e.verdicts[cell{q.ID, name, s}]; ok {
					x.Verdicts = append(x.Verdicts, v)
				}
			}
		}
	}
	return x
}

// report prints what can be said, and writes it to the file that is wanted.
func (e *evaluation) report() error {
	r := e.experiment().Report()
	if e.plan.output != "" {
		if err := writeWhole(e.plan.output, []byte(e.markdown(r))); err != nil {
			return fmt.Errorf("write %s: %w", e.plan.output, err)
		}
		e.note("report written to %s", e.plan.output)
	}
	if e.flags.json {
		return e.object(struct {
			Type  string `json:"type"`
			Judge string `json:"judge,omitempty"`
			eval.Report
		}{"report", e.plan.judge, r})
	}
	e.table(variantRows(r))
	for _, line := range sayings(r) {
		e.printf("%s", line)
	}
	for _, line := range e.remarks(r) {
		e.printf("\n%s\n", line)
	}
	return nil
}

// variantRows returns how variants fared, as a table.
func variantRows(r eval.Report) [][]string {
	rows := [][]string{{"VARIANT", "ANSWERS", "RIGHT", "95 %", "WORDS", "TIME", "90 % IN", "CALLS", "TOKENS", "COST"}}
	for _, v := range r.Variants {
		right, within := "-", "-"
		if v.Right != nil {
			right, within = percent(*v.Right), fmt.Sprintf("%.0f to %.0f", 100*v.Interval.Low, 100*v.Interval.High)
		}
		answers := number(v.Answers)
		if v.Failed > 0 {
			answers += fmt.Sprintf(" (%d failed)", v.Failed)
		}
		rows = append(rows, []string{v.Name, answers, right, within, fmt.Sprintf("%.0f", v.Words), took(v.Median), took(v.P90),
			fmt.Sprintf("%.1f", v.Mean.Calls), number(int(v.Mean.Tokens)), small(v)})
	}
	return rows
}

// small returns the cost of an answer, which may be a small part of a cent.
func small(v eval.Variant) string {
	if usd := v.Mean.USD; usd > 0 && usd < 0.001 && v.Sum.Unpriced == 0 {
		return "$" + strconv.FormatFloat(usd, 'f', 1-int(math.Floor(math.Log10(usd))), 64)
	}
	return strings.TrimPrefix(usd(v.Mean.USD, v.Sum.Tokens, v.Sum.Calls, v.Sum.Unpriced), "cost ")
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// took writes seconds.
func took(s float64) string {
	d := seconds(s)
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return tui.Clock(d)
}

// sayings returns what the comparisons come to: a paragraph a variant.
func sayings(r eval.Report) (list []string) {
	for i, v := range r.Variants {
		if i == 0 {
			continue
		}
		text := fmt.Sprintf("\n%s against %s\n", oneLine(v.Name), oneLine(r.Variants[0].Name))
		for _, c := range r.Comparisons {
			if c.Variant == v.Name {
				text += "  " + comparedBy(c) + "\n"
			}
		}
		if ratio := ratios(v, r.Variants[0]); ratio != "" {
			text += "  " + ratio + "\n"
		}
		list = append(list, text)
	}
	return list
}

func comparedBy(c eval.Comparison) string {
	if c.By == eval.ByJudge {
		return "Judged: " + c.Says()
	}
	return "Right: " + c.Says()
}

// ratios says what a variant takes, against the baseline.
func ratios(v, base eval.Variant) string {
	var list []string
	for _, part := range []struct {
		what     string
		one, two float64
	}{{"the time", v.Mean.Seconds, base.Mean.Seconds}, {"the tokens", v.Mean.Tokens, base.Mean.Tokens}, {"the money", v.Mean.USD, base.Mean.USD}, {"the words", v.Words, base.Words}} {
		if part.one > 0 && part.two > 0 {
			list = append(list, fmt.Sprintf("%.1f times %s", part.one/part.two, part.what))
		}
	}
	if list == nil {
		return ""
	}
	return "Takes " + strings.Join(list, ", ") + "."
}

// remarks returns what else is to be known of a report.
func (e *evaluation) remarks(r eval.Report) (list []string) {
	if j := r.Judged; j != nil {
		text := fmt.Sprintf("Judge %s: %s, of which %s for it said otherwise when the order was swapped; of its choices, %s fell on the answer that stood first. It took %s: %s.",
			e.plan.judge, counted(j.Pairs, "pair", "pairs"), number(j.Inconsistent)+" count as a tie", percent(j.First), counted(j.Sum.Calls, "call", "calls"),
			strings.TrimPrefix(usd(j.Sum.USD, j.Sum.Tokens, j.Sum.Calls, j.Sum.Unpriced), "cost "))
		if j.Pairs == 0 {
			text = fmt.Sprintf("Judge %s gave no verdict on any pair: it never said which answer is better. What asking it cost is in `ponder usage`.", e.plan.judge)
		}
		list = append(list, text)
		if e.judgesItself() {
			list = append(list, "The judge is one of the models that answer. Models prefer their own words: another judge would say more.")
		}
	}
	for i, v := range r.Variants {
		if text := unthought(e.plan.variants[i].kind, v); text != "" {
			list = append(list, text)
		}
	}
	if n := e.missing(); n > 0 {
		list = append(list, counted(n, "answer is", "answers are")+" missing and left out.")
	}
	if slices.ContainsFunc(r.Variants, func(v eval.Variant) bool { return v.Failed > 0 }) {
		list = append(list, "Answers that failed are left out; the same command tries them again.")
	}
	if n := r.Questions; n < 20 {
		list = append(list, counted(n, "question shows", "questions show")+" large differences only.")
	}
	return list
}

// unthought says of a variant that it did not think as it could have.
func unthought(kind string, v eval.Variant) string {
	switch {
	case v.Answers == 0:
		return ""
	case kind == thinkKind && v.Thoughts == 0:
		return oneLine(v.Name) + ": the model put down no thought, so this compares the words of the prompt at most."
	case kind == deepKind && v.Mused < 1:
		return fmt.Sprintf("%s: only %s of the answers had a reflection; the others failed (see `ponder thread show ID --internal`).", oneLine(v.Name), percent(v.Mused))
	}
	return ""
}

// judgesItself reports whether the judge is a model that answers.
func (e *evaluation) judgesItself() bool {
	return slices.ContainsFunc(e.plan.variants, func(v variant) bool {
		return slices.ContainsFunc(v.models, func(name string) bool {
			return strings.TrimSuffix(name, ":latest") == strings.TrimSuffix(e.plan.judge, ":latest")
		})
	})
}
