package eval

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/report"
	"ponder/internal/textkit"
)

func (r Report) Rows() [][]string {
	rows := [][]string{{"VARIANT", "ANSWERS", "RIGHT", "95 %", "WORDS", "TIME", "90 % IN", "CALLS", "TOKENS", "COST"}}
	for _, v := range r.Variants {
		right, within := "-", "-"
		if v.Right != nil {
			right, within = percentText(*v.Right), fmt.Sprintf("%.0f to %.0f", 100*v.Interval.Low, 100*v.Interval.High)
		}
		answers := textkit.Number(v.Answers)
		if v.Failed > 0 {
			answers += fmt.Sprintf(" (%d failed)", v.Failed)
		}
		rows = append(rows, []string{v.Name, answers, right, within, fmt.Sprintf("%.0f", v.Words), durationText(v.Median), durationText(v.P90),
			fmt.Sprintf("%.1f", v.Mean.Calls), textkit.Number(int(v.Mean.Tokens)), costText(v)})
	}
	return rows
}

func costText(v Variant) string {
	if usd := v.Mean.USD; usd > 0 && usd < 0.001 && v.Sum.Unpriced == 0 {
		return "$" + strconv.FormatFloat(usd, 'f', 1-int(math.Floor(math.Log10(usd))), 64)
	}
	return strings.TrimPrefix(report.USD(v.Mean.USD, v.Sum.Tokens, v.Sum.Calls, v.Sum.Unpriced), "cost ")
}

func percentText(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func durationText(s float64) string {
	d := textkit.Seconds(s)
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return textkit.Clock(d)
}

func (r Report) Summaries() (list []string) {
	for i, v := range r.Variants {
		if i == 0 {
			continue
		}
		text := fmt.Sprintf("\n%s against %s\n", textkit.OneLine(v.Name), textkit.OneLine(r.Variants[0].Name))
		for _, c := range r.Comparisons {
			if c.Variant == v.Name {
				text += "  " + comparisonText(c) + "\n"
			}
		}
		if ratio := ratioText(v, r.Variants[0]); ratio != "" {
			text += "  " + ratio + "\n"
		}
		list = append(list, text)
	}
	return list
}

func comparisonText(c Comparison) string {
	if c.By == ByJudge {
		return "Judged: " + c.Summary()
	}
	return "Right: " + c.Summary()
}

func ratioText(v, base Variant) string {
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

func (e *Runner) Remarks(r Report) (list []string) {
	if j := r.Judged; j != nil {
		text := fmt.Sprintf("Judge %s: %s, of which %s because the verdict changed with the order; %s of its choices are the first answer. It used %s: %s.",
			e.Plan.Judge, textkit.Count(j.Pairs, "pair", "pairs"), textkit.Number(j.Inconsistent)+" count as a tie", percentText(j.First), textkit.Count(j.Sum.Calls, "call", "calls"),
			strings.TrimPrefix(report.USD(j.Sum.USD, j.Sum.Tokens, j.Sum.Calls, j.Sum.Unpriced), "cost "))
		if j.Pairs == 0 {
			text = fmt.Sprintf("Judge %s gave no verdict on any pair. See its cost with `ponder usage`.", e.Plan.Judge)
		}
		list = append(list, text)
		if e.judgesItself() {
			list = append(list, "The judge also wrote answers, and models prefer their own words: use another judge.")
		}
	}
	for i, v := range r.Variants {
		if text := shortfallText(e.Plan.Strategies[i].Kind, v); text != "" {
			list = append(list, text)
		}
	}
	if n := e.Missing(); n > 0 {
		list = append(list, textkit.Count(n, "answer is", "answers are")+" missing and excluded.")
	}
	if slices.ContainsFunc(r.Variants, func(v Variant) bool { return v.Failed > 0 }) {
		list = append(list, "Failed answers are excluded; run the same command to retry them.")
	}
	if n := r.Questions; n < 20 {
		list = append(list, textkit.Count(n, "question shows", "questions show")+" large differences only.")
	}
	return list
}

func shortfallText(kind string, v Variant) string {
	switch {
	case v.Answers == 0:
		return ""
	case kind == KindThink && v.Thoughts == 0:
		return textkit.OneLine(v.Name) + ": the model stored no thought, so this compares only the prompts."
	case kind == KindDeep && v.Reflections < 1:
		return fmt.Sprintf("%s: only %s of the answers had a reflection; the others failed (see `ponder thread show ID --internal`).", textkit.OneLine(v.Name), percentText(v.Reflections))
	}
	return ""
}

func (e *Runner) judgesItself() bool {
	return slices.ContainsFunc(e.Plan.Strategies, func(v Strategy) bool {
		return slices.ContainsFunc(v.Models, func(name string) bool {
			return strings.TrimSuffix(name, ":latest") == strings.TrimSuffix(e.Plan.Judge, ":latest")
		})
	})
}

func (e *Runner) Markdown(r Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: does thinking help?\n\n", cellText(filepath.Base(e.Plan.File)))
	fmt.Fprintf(&b, "%s, %s each. Intervals are 95 %% bootstrap intervals over questions (seed %d). Words, time, calls, tokens and cost are per answer.\n\n",
		textkit.Count(r.Questions, "question", "questions"), textkit.Count(r.Samples, "sample", "samples"), r.Seed)
	mdTable(&b, r.Rows())
	for _, text := range r.Summaries() {
		head, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
		fmt.Fprintf(&b, "\n## %s\n", cellText(head))
		for line := range strings.Lines(rest) {
			fmt.Fprintf(&b, "\n%s\n", cellText(line))
		}
	}
	if remarks := e.Remarks(r); remarks != nil {
		b.WriteString("\n## Remarks\n\n")
		for _, line := range remarks {
			fmt.Fprintf(&b, "- %s\n", cellText(line))
		}
	}
	b.WriteString("\n## Models\n\n")
	for _, v := range e.Plan.Strategies {
		fmt.Fprintf(&b, "- %s: %s\n", cellText(v.Name), cellText(strings.Join(v.Models, ", ")))
	}
	fmt.Fprintf(&b, "\n## Questions\n\nShare of right answers; in brackets the judge's mean preference, from -1 (%s) to +1 (the variant).\n\n", cellText(r.Variants[0].Name))
	mdTable(&b, r.itemRows())
	return b.String()
}

func (r Report) itemRows() [][]string {
	head := []string{"Question"}
	for _, v := range r.Variants {
		head = append(head, v.Name)
	}
	rows := [][]string{head}
	for _, it := range r.Items {
		row := []string{it.ID}
		for i := range r.Variants {
			text := "-"
			if it.Right[i] != nil {
				text = percentText(*it.Right[i])
			}
			if it.Preferred[i] != nil {
				text += fmt.Sprintf(" (%+.1f)", *it.Preferred[i])
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows
}

func mdTable(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		for _, text := range row {
			b.WriteString("| " + cellText(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

func cellText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`).Replace(textkit.OneLine(text))
}
