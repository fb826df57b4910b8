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

// candidates returns the new questions that follow from the prompt, or from the focus if there is
// one, best first.
func (r *reading) candidates() (list []candidate) {
	taken := slices.Clone(r.asked)
	for at := range r.nodes {
		if !r.open[at] || r.node > 0 && at != r.node && !r.wants("next") {
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

// questions raises as many questions as the prompt allows.
func (r *reading) questions() (a sayQuestions) {
	r.kind, a.Questions = "questions", []sayQuestion{}
	most := 3
	if m := upTo.FindStringSubmatch(r.text); m != nil {
		most, _ = strconv.Atoi(m[1])
	}
	for _, c := range r.candidates() {
		if len(a.Questions) == most {
			break
		}
		at, wording := c.to, c.wording
		if again := r.IntN(len(r.nodes)); r.Float64() < lazyQuestion && r.asked[again] {
			at, wording = again, r.IntN(2)
		}
		a.Questions = append(a.Questions, sayQuestion{r.nodes[at].asks[wording], priorityOf(c.hint), "It may explain more."})
	}
	if r.wants("ranked") {
		a.Ranked = r.rank()
	}
	return a
}

var (
	upTo    = regexp.MustCompile(`up to (\d{1,2})\b`)
	openOne = regexp.MustCompile(`\[(q\d+)[^\]]*?(\d+)\] (.*)`)
)

// rank estimates the value of the open questions. Noise decreases with knowledge.
func (r *reading) rank() (list []sayRank) {
	known := 0.0
	for f, seen := range r.seen {
		if seen {
			known += r.world.facts[f].weight
		}
	}
	for _, m := range openOne.FindAllStringSubmatch(r.text, -1) {
		at := r.nodeIn(m[3])
		if at < 0 {
			continue
		}
		n := r.nodes[at]
		hint := n.hint + min(1, 2*known)*(r.rankOf(n.worth)-n.hint)/2 + callNoise*r.NormFloat64()
		was, _ := strconv.Atoi(m[2])
		if p := priorityOf(hint); p-was >= 2 || was-p >= 2 {
			list = append(list, sayRank{m[1], p})
		}
	}
	return list
}

// rankOf returns the share of nodes with a lower value.
func (w *world) rankOf(worth float64) float64 {
	less := 0
	for _, n := range w.nodes {
		if n.worth < worth {
			less++
		}
	}
	return float64(less) / float64(len(w.nodes))
}

// priorityOf converts a hint to a priority from 1 to 10.
func priorityOf(hint float64) int { return int(math.Round(min(10, max(1, 1+9*hint)))) }

// decide chooses the next question or stops.
func (r *reading) decide(a *sayThoughts) {
	chance := 0.02
	if len(r.callResult.facts) == 0 {
		chance = 0.10
	}
	list := r.candidates()
	if len(list) == 0 || r.Float64() < chance {
		a.Stop = true
		return
	}
	a.Next = r.nodes[list[0].to].asks[list[0].wording]
}
