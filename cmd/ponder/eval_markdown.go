package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"ponder/internal/eval"
)

// markdown returns a report as a document.
func (e *evaluation) markdown(r eval.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: does thinking help?\n\n", cellOf(filepath.Base(e.plan.file)))
	fmt.Fprintf(&b, "%s, %s each. Intervals are of 95 %%, from a bootstrap over questions (seed %d). What is taken is per answer.\n\n",
		counted(r.Questions, "question", "questions"), counted(r.Samples, "sample", "samples"), r.Seed)
	mdTable(&b, variantRows(r))
	for _, text := range sayings(r) {
		head, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
		fmt.Fprintf(&b, "\n## %s\n", cellOf(head))
		for line := range strings.Lines(rest) {
			fmt.Fprintf(&b, "\n%s\n", cellOf(line))
		}
	}
	if remarks := e.remarks(r); remarks != nil {
		b.WriteString("\n## Remarks\n\n")
		for _, line := range remarks {
			fmt.Fprintf(&b, "- %s\n", cellOf(line))
		}
	}
	b.WriteString("\n## Models\n\n")
	for _, v := range e.plan.variants {
		fmt.Fprintf(&b, "- %s: %s\n", cellOf(v.name), cellOf(strings.Join(v.models, ", ")))
	}
	fmt.Fprintf(&b, "\n## Questions\n\nThe share of right answers, and in brackets what the judge prefers on the whole: from -1, %s, to +1, the variant.\n\n", cellOf(r.Variants[0].Name))
	mdTable(&b, itemRows(r))
	return b.String()
}

// itemRows returns how each question went, as a table.
func itemRows(r eval.Report) [][]string {
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
				text = percent(*it.Right[i])
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

// mdTable writes a table.
func mdTable(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		for _, text := range row {
			b.WriteString("| " + cellOf(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
}

// cellOf returns a text as one line of Markdown that is nothing but text.
func cellOf(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`).Replace(oneLine(text))
}
