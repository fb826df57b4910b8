package main

import (
	"fmt"
	"math"
	"slices"
)

// Outputs of a thinker in the schemas of its callers.
type (
	thoughtsReply struct {
		Thoughts  []thoughtReply  `json:"thoughts"`
		Settled   bool            `json:"settled,omitempty"`
		Questions []questionReply `json:"questions,omitempty"`
		Next      string          `json:"next,omitempty"`
		Stop      bool            `json:"stop,omitempty"`
	}
	thoughtReply struct {
		Thought    string  `json:"thought"`
		Type       string  `json:"type"`
		Confidence float64 `json:"confidence"`
		Importance float64 `json:"importance"`
	}
	questionsReply struct {
		Questions []questionReply `json:"questions"`
		Ranked    []rankReply     `json:"ranked,omitempty"`
	}
	questionReply struct {
		Question string `json:"question"`
		Priority int    `json:"priority"`
		Why      string `json:"why"`
	}
	rankReply struct {
		ID       string `json:"id"`
		Priority int    `json:"priority"`
	}
	summaryReply struct {
		Synthesis  string   `json:"synthesis,omitempty"`
		Answer     string   `json:"answer,omitempty"`
		Insights   []string `json:"insights"`
		Confidence float64  `json:"confidence"`
		Remaining  []string `json:"remaining"`
	}
)

// makeThoughts returns thoughts about the focus; if the model decides, also the next focus.
func (r *promptView) makeThoughts() (a thoughtsReply) {
	r.kind = "thoughts"
	r.findFacts()
	for _, f := range r.callResult.facts {
		sure := 0.6 + 0.35*r.Float64()
		if len(r.world.facts) == 1 {
			sure = 0.97
		}
		a.Thoughts = append(a.Thoughts, thoughtReply{r.wordFact(f), "insight", sure, r.estimateImportance(f)})
	}
	if len(r.world.facts) == 1 && len(a.Thoughts) == 1 {
		a.Settled = r.settles && r.hasSchemaField("settled")
	} else {
		r.padThoughts(&a)
	}
	if r.hasSchemaField("next") {
		r.chooseNext(&a)
	}
	if r.hasSchemaField("questions") {
		for _, f := range r.callResult.facts {
			r.open[r.world.facts[f].node] = true
		}
		a.Questions = r.raiseQuestions().Questions
		r.kind = "thoughts"
	}
	return a
}

// findFacts finds facts that the prompt lacks.
func (r *promptView) findFacts() {
	at := r.node
	for range maxDepth {
		for _, f := range r.nodes[at].facts {
			if !r.seen[f] && len(r.callResult.facts) < maxFacts {
				r.callResult.facts = append(r.callResult.facts, f)
			}
		}
		if at != r.node {
			r.callResult.facts = r.callResult.facts[:min(1, len(r.callResult.facts))]
		}
		if len(r.callResult.facts) > 0 || len(r.nodes[at].edges) == 0 || r.style != styleMixed || r.Float64() > wanderChance {
			return
		}
		at = r.nodes[at].edges[r.IntN(len(r.nodes[at].edges))].to
	}
}

// padThoughts adds thoughts without new facts.
func (r *promptView) padThoughts(a *thoughtsReply) {
	var known []int
	for f, seen := range r.seen {
		if seen {
			known = append(known, f)
		}
	}
	for len(a.Thoughts) < minThoughts {
		again := thoughtReply{Type: "insight", Confidence: 0.7 + 0.2*r.Float64(), Importance: 0.5}
		dice := r.Float64()
		switch {
		case len(known) == 0 || r.style == styleVague || r.style == styleMixed && (dice < 0.4 || r.nodes[r.node].dead):
			again.Thought = capitalizeFirst(fmt.Sprintf(vagueForms[r.IntN(len(vagueForms))], r.nodes[r.node].subject))
			again.Type, again.Confidence, again.Importance = "exploration", 0.1+0.2*r.Float64(), 0.1+0.2*r.Float64()
		case r.style == styleVerbatim:
			again.Thought = r.world.facts[known[r.IntN(len(known))]].wordings[0]
		case r.style == styleMixed && dice < 0.6 && len(known) > 1:
			i := r.IntN(len(known) - 1)
			again.Thought = fmt.Sprintf("Both hold: %s, and %s.", embeddedClause(r.wordFact(known[i])), embeddedClause(r.wordFact(known[i+1])))
			again.Type, again.Confidence = "connection", 0.5
		default:
			again.Thought = r.wordFact(known[r.IntN(len(known))])
		}
		a.Thoughts = append(a.Thoughts, again)
	}
}

func (r *promptView) wordFact(f int) string {
	says := r.world.facts[f].wordings
	if r.style == styleVerbatim {
		return says[0]
	}
	return says[r.IntN(len(says))]
}

// estimateImportance returns the model's estimate of a fact's importance.
func (r *promptView) estimateImportance(f int) float64 {
	share := r.world.facts[f].weight * float64(len(r.world.facts)) / 3
	return math.Round(100*min(1, max(0.05, share+0.1*r.NormFloat64()))) / 100
}

func (r *promptView) makeSummary() (a summaryReply) {
	var known []int
	sure := 0.0
	for f, seen := range r.seen {
		if seen {
			known = append(known, f)
			sure += r.world.facts[f].weight
		}
	}
	slices.SortStableFunc(known, func(a, b int) int { return int(math.Copysign(1, r.world.facts[b].weight-r.world.facts[a].weight)) })
	r.kind = "answer"
	if r.hasSchemaField("synthesis") {
		r.kind, known = "synthesis", known[:min(len(known), shownFacts)]
	}
	r.shown = known
	text := "This is what is known:"
	for _, f := range known {
		text += " " + r.wordFact(f)
	}
	a = summaryReply{Insights: []string{}, Remaining: []string{}, Confidence: math.Round(100*min(0.99, max(0.01, sure+sureNoise*r.NormFloat64()))) / 100}
	if r.kind == "answer" {
		a.Answer = text
	} else {
		a.Synthesis = text
	}
	return a
}
