package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"ponder/knowledge/evidence"
)

// measureCopies measures pairwise precision and recall of grouping copies: whole articles, and passages
// of one to five sentences as in research.
func measureCopies(context.Context) ([]figure, error) {
	pages, err := readPages()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pages, func(a, b page) int { return strings.Compare(a.want, b.want) })
	c := copyGenerator{rand.New(rand.NewPCG(7, 8))}
	var list []figure
	for _, size := range []int{0, 1, 3, 5} {
		texts, of := c.makePieces(pages, size)
		began := time.Now()
		precision, recall := pairwiseScores(texts, of)
		took := time.Since(began)
		what := fmt.Sprintf("of passages of %d sentences", size)
		if size == 0 {
			what = "of articles"
		}
		list = append(list,
			figure{Name: "precision " + what, Value: precision, Goal: 0.95, Minimum: true},
			figure{Name: "recall " + what, Value: recall, Goal: 0.95, Minimum: true},
			figure{Name: fmt.Sprintf("time of %d texts %s", len(texts), what), Value: toMillis(took), Unit: "ms"})
	}
	return list, nil
}

// A copyGenerator creates the variants that republishing produces.
type copyGenerator struct{ *rand.Rand }

// makePieces returns texts and the numbers of their originals, -1 for none. The size is in sentences,
// 0 for whole articles.
func (c copyGenerator) makePieces(pages []page, size int) (texts []string, of []int) {
	add := func(i int, text string) { texts, of = append(texts, text), append(of, i) }
	for i, p := range pages {
		text := p.want
		if size > 0 {
			s := strings.SplitAfter(strings.Join(strings.Fields(text), " "), ". ")
			if len(s) < 2*size+2 {
				continue
			}
			at := c.IntN(len(s) - 2*size)
			text = strings.Join(s[at:at+size], "")
			add(-1, strings.Join(s[at+size:at+2*size], "")) // another part of the article is no copy
		} else {
			text = fmt.Sprintf("## The news\n\nOn %d March 20%02d.\n\n%s", 1+c.IntN(28), 10+c.IntN(15), text)
		}
		if n := len(strings.Fields(text)); n < 8 || size == 0 && n < 120 {
			continue
		}
		add(i, text)
		for _, copied := range c.makeVariants(text) {
			add(i, copied)
		}
	}
	return texts, of
}

// makeVariants returns copies that are truncated, signed, dated or quoted differently, and all
// combined.
func (c copyGenerator) makeVariants(text string) []string {
	all := strings.SplitAfter(text, " ")
	cut := strings.Join(all[:len(all)*(60+c.IntN(30))/100], "")
	head := strings.Join(all[:max(len(all)*8/10, min(len(all), 60))], "")
	if len(all) > 300 {
		head = strings.Join(all[:60], "")
	}
	quoted := strings.NewReplacer("“", `"`, "”", `"`, "’", "'", " — ", " - ", "...", "…").Replace(text)
	dated := strings.NewReplacer(" March 20", " März 20", "January ", "01/", "## The news", "## What happened").Replace(text)
	signed := "LONDON (AGENCY) — " + text + "\n\n(Reporting by Jane Doe)"
	dropped := text
	if p := strings.Split(text, "\n\n"); len(p) > 5 {
		k := 2 + c.IntN(len(p)-3)
		dropped = strings.Join(slices.Delete(p, k, k+1), "\n\n")
	}
	return []string{cut, head, quoted, dated, signed, dropped, "(AGENCY) " + strings.ReplaceAll(quoted[:len(quoted)*9/10], " March 20", " März 20")}
}

// pairwiseScores returns precision and recall over pairs of texts.
func pairwiseScores(texts []string, of []int) (precision, recall float64) {
	pieces := make([]evidence.Piece, len(texts))
	for i, text := range texts {
		pieces[i] = evidence.Piece{ID: fmt.Sprint(i), Text: text}
	}
	ids := evidence.Cluster(pieces)
	var right, wrong, missed float64
	for i := range ids {
		for k := range i {
			copied, joined := of[i] == of[k] && of[i] >= 0, ids[i] == ids[k]
			switch {
			case copied && joined:
				right++
			case copied:
				missed++
			case joined:
				wrong++
			}
		}
	}
	return right / max(1, right+wrong), right / max(1, right+missed)
}
