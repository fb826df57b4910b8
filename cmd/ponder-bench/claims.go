package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/knowledge/claim"
)

// claimsMinimum is the required AUROC; a comparison of words alone reaches 0.75.
const claimsMinimum = 0.80

// A sourcedClaim is a claim in an encyclopedia with the cited page and human labels.
type sourcedClaim struct {
	Label    string
	Claim    string
	Evidence []string // sentences of the page
}

// measureClaims measures without a model how well supported claims are recognised, and altered ones.
func measureClaims(context.Context) ([]figure, error) {
	file, err := requireData("claims", "wice-claim-dev.jsonl")
	if err != nil {
		return nil, err
	}
	m := claimMeter{rng: rand.New(rand.NewPCG(1, 2)), changed: make(map[string]int), caught: make(map[string]int)}
	err = eachLine(file, func(line []byte) error {
		var c sourcedClaim
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		m.measureClaim(c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	figures := []figure{
		{Name: "AUROC of supported v rest", Value: areaUnderROC(m.scores, m.positive), Goal: claimsMinimum, Minimum: true},
	}
	for _, kind := range []string{"number", "date", "name", "negation"} {
		figures = append(figures, figure{Name: "noticed, another " + kind, Value: 100 * float64(m.caught[kind]) / float64(m.changed[kind]), Unit: "%", Goal: 95, Minimum: true})
	}
	return append(figures,
		figure{Name: "supported claims that were changed", Value: float64(m.changedCount())},
		figure{Name: "a claim with quotes already read, p50", Value: 1000 * quantileMillis(m.took, 0.5), Unit: "µs"},
		figure{Name: "reading quotes, per quote", Value: 1000 * toMillis(m.reading) / float64(m.quotes), Unit: "µs"},
	), nil
}

type claimMeter struct {
	rng      *rand.Rand
	scores   []float64
	positive []bool
	changed  map[string]int
	caught   map[string]int
	took     []time.Duration
	reading  time.Duration
	quotes   int
}

func (m *claimMeter) changedCount() (n int) {
	for _, k := range m.changed {
		n += k
	}
	return n
}

func (m *claimMeter) measureClaim(c sourcedClaim) {
	quotes := c.splitQuotes()
	began := time.Now()
	corpus := claim.NewCorpus(quotes)
	m.reading += time.Since(began)
	m.quotes += len(quotes)
	began = time.Now()
	f := corpus.Verify(claim.Sentence{Text: c.Claim, Factual: true})
	m.took = append(m.took, time.Since(began))
	m.scores = append(m.scores, f.Score)
	m.positive = append(m.positive, c.Label == "supported")
	if c.Label != "supported" || f.Verdict != claim.Supported {
		return
	}
	for kind, texts := range alterClaim(c.Claim, m.rng) {
		for _, text := range texts {
			m.changed[kind]++
			if corpus.Verify(claim.Sentence{Text: text, Factual: true}).Verdict != claim.Supported {
				m.caught[kind]++
			}
		}
	}
}

// splitQuotes returns quotes of eight sentences with an overlap of two.
func (c sourcedClaim) splitQuotes() (list []claim.Quote) {
	var title string
	var lines []string
	for _, e := range c.Evidence {
		if rest, ok := strings.CutPrefix(e, "(meta data) "); ok {
			title += strings.TrimPrefix(rest, "TITLE: ") + "\n"
			continue
		}
		lines = append(lines, e)
	}
	for i := 0; i < len(lines); i += 6 {
		end := min(len(lines), i+8)
		list = append(list, claim.Quote{ID: "e" + strconv.Itoa(len(list)+1), Text: strings.Join(lines[i:end], "\n"), Context: title})
	}
	return list
}

var (
	someYear   = regexp.MustCompile(`\b(1[89]|20)\d\d\b`)
	someMonth  = regexp.MustCompile(`\b(January|February|April|June|July|August|September|October|November|December)\b`)
	someNumber = regexp.MustCompile(`\b[1-9]\d{0,2}(,\d{3})*\b`)
	someName   = regexp.MustCompile(`[a-z,] ([A-Z][a-z]{3,})\b`)
	someVerb   = regexp.MustCompile(`\b(is|was|were|are|has|had|will|can|did|would)\b`)
	someNot    = regexp.MustCompile(`\b(not|no|never|none|neither|nor|without)\b`)
)

// alterClaim returns altered claims by kind of change.
func alterClaim(text string, rng *rand.Rand) map[string][]string {
	out := make(map[string][]string)
	add := func(kind string, from, to int, with string) {
		out[kind] = append(out[kind], text[:from]+with+text[to:])
	}
	for _, at := range someYear.FindAllStringIndex(text, -1) {
		n, _ := strconv.Atoi(text[at[0]:at[1]])
		add("date", at[0], at[1], strconv.Itoa(n-1-rng.IntN(9)))
	}
	for _, at := range someMonth.FindAllStringIndex(text, -1) {
		add("date", at[0], at[1], "March")
	}
	for _, at := range someNumber.FindAllStringIndex(text, -1) {
		if !someYear.MatchString(text[at[0]:at[1]]) {
			n, _ := strconv.Atoi(strings.ReplaceAll(text[at[0]:at[1]], ",", ""))
			add("number", at[0], at[1], strconv.Itoa(n+1+n/3+rng.IntN(3)))
		}
	}
	for _, at := range someName.FindAllStringSubmatchIndex(text, -1) {
		if !someMonth.MatchString(text[at[2]:at[3]]) {
			add("name", at[2], at[3], []string{"Okonkwo", "Tromsø", "Vektor", "Delgado"}[rng.IntN(4)])
		}
	}
	if at := someVerb.FindStringIndex(text); at != nil && !someNot.MatchString(text) {
		add("negation", at[0], at[1], text[at[0]:at[1]]+" not")
	}
	return out
}

// areaUnderROC returns the probability that a positive sample scores higher than a negative one.
func areaUnderROC(scores []float64, positive []bool) float64 {
	var yes, no []float64
	for i, s := range scores {
		if positive[i] {
			yes = append(yes, s)
		} else {
			no = append(no, s)
		}
	}
	slices.Sort(no)
	sum := 0.0
	for _, s := range yes {
		below, _ := slices.BinarySearch(no, s)
		above := below
		for above < len(no) && no[above] == s {
			above++
		}
		sum += float64(below) + float64(above-below)/2
	}
	return sum / float64(len(yes)) / float64(len(no))
}
