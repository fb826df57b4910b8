package main

import (
	"math"
	"regexp"
	"slices"
	"strconv"
)

type candidate struct {
	edge
	hint float64
}

// nextQuestions returns the new questions that follow from the prompt, or from the focus if there is
// one, best first.
func (r *promptView) nextQuestions() (list []candidate) {
	taken := slices.Clone(r.asked)
	for at := range r.nodes {
		if !r.open[at] || r.node > 0 && at != r.node && !r.hasSchemaField("next") {
			continue
		}
		for _, e := range r.nodes[at].edges {
			if !taken[e.to] {
				taken[e.to] = true
				list = append(list, candidate{e, r.nodes[e.to].hint + callNoise*r.NormFloat64()})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int { return int(math.Copysign(1, b.hint-a.hint)) })
	return list
}

// raiseQuestions raises as many questions as the prompt allows.
func (r *promptView) raiseQuestions() (a questionsReply) {
	r.kind, a.Questions = "questions", []questionReply{}
	limit := 3
	if m := countPattern.FindStringSubmatch(r.text); m != nil {
		limit, _ = strconv.Atoi(m[1])
	}
	for _, c := range r.nextQuestions() {
		if len(a.Questions) == limit {
			break
		}
		at, wording := c.to, c.wording
		if again := r.IntN(len(r.nodes)); r.Float64() < repeatChance && r.asked[again] {
			at, wording = again, r.IntN(2)
		}
		a.Questions = append(a.Questions, questionReply{r.nodes[at].asks[wording], hintPriority(c.hint), "It may explain more."})
	}
	if r.hasSchemaField("ranked") {
		a.Ranked = r.rankQuestions()
	}
	return a
}

var (
	countPattern        = regexp.MustCompile(`up to (\d{1,2})\b`)
	openQuestionPattern = regexp.MustCompile(`\[(q\d+)[^\]]*?(\d+)\] (.*)`)
)

// rankQuestions estimates the value of the open questions. Noise decreases with knowledge.
func (r *promptView) rankQuestions() (list []rankReply) {
	known := 0.0
	for f, seen := range r.seen {
		if seen {
			known += r.world.facts[f].weight
		}
	}
	for _, m := range openQuestionPattern.FindAllStringSubmatch(r.text, -1) {
		at := r.findNode(m[3])
		if at < 0 {
			continue
		}
		n := r.nodes[at]
		hint := n.hint + min(1, 2*known)*(r.importanceRank(n.worth)-n.hint)/2 + callNoise*r.NormFloat64()
		was, _ := strconv.Atoi(m[2])
		if p := hintPriority(hint); p-was >= 2 || was-p >= 2 {
			list = append(list, rankReply{m[1], p})
		}
	}
	return list
}

// importanceRank returns the share of nodes with a lower value.
func (w *world) importanceRank(worth float64) float64 {
	less := 0
	for _, n := range w.nodes {
		if n.worth < worth {
			less++
		}
	}
	return float64(less) / float64(len(w.nodes))
}

// hintPriority converts a hint to a priority from 1 to 10.
func hintPriority(hint float64) int { return int(math.Round(min(10, max(1, 1+9*hint)))) }

// chooseNext chooses the next question or stops.
func (r *promptView) chooseNext(a *thoughtsReply) {
	chance := 0.02
	if len(r.callResult.facts) == 0 {
		chance = 0.10
	}
	list := r.nextQuestions()
	if len(list) == 0 || r.Float64() < chance {
		a.Stop = true
		return
	}
	a.Next = r.nodes[list[0].to].asks[list[0].wording]
}
