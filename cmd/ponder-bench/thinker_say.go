package main

import (
	"fmt"
	"math"
	"slices"
)

// Outputs of a thinker in the schemas of its callers.
type (
	sayThoughts struct {
		Thoughts  []sayThought  `json:"thoughts"`
		Settled   bool          `json:"settled,omitempty"`
		Questions []sayQuestion `json:"questions,omitempty"`
		Next      string        `json:"next,omitempty"`
		Stop      bool          `json:"stop,omitempty"`
	}
	sayThought struct {
		Thought    string  `json:"thought"`
		Type       string  `json:"type"`
		Confidence float64 `json:"confidence"`
		Importance float64 `json:"importance"`
	}
	sayQuestions struct {
		Questions []sayQuestion `json:"questions"`
		Ranked    []sayRank     `json:"ranked,omitempty"`
	}
	sayQuestion struct {
		Question string `json:"question"`
		Priority int    `json:"priority"`
		Why      string `json:"why"`
	}
	sayRank struct {
		ID       string `json:"id"`
		Priority int    `json:"priority"`
	}
	saySummary struct {
		Synthesis  string   `json:"synthesis,omitempty"`
		Answer     string   `json:"answer,omitempty"`
		Insights   []string `json:"insights"`
		Confidence float64  `json:"confidence"`
		Remaining  []string `json:"remaining"`
	}
)

// thoughts returns thoughts about the focus; if the model decides, also the next focus.
func (r *reading) thoughts() (a sayThoughts) {
	r.kind = "thoughts"
	r.find()
	for _, f := range r.callResult.facts {
		sure := 0.6 + 0.35*r.Float64()
		if len(r.world.facts) == 1 {
			sure = 0.97
		}
		a.Thoughts = append(a.Thoughts, sayThought{r.say(f), "insight", sure, r.importance(f)})
	}
	if len(r.world.facts) == 1 && len(a.Thoughts) == 1 {
		a.Settled = r.settles && r.wants("settled")
	} else {
		r.fill(&a)
	}
	if r.wants("next") {
		r.decide(&a)
	}
	if r.wants("questions") {
		for _, f := range r.callResult.facts {
			r.open[r.world.facts[f].node] = true
		}
		a.Questions = r.questions().Questions
		r.kind = "thoughts"
	}
	return a
}

// find finds facts that the prompt lacks.
func (r *reading) find() {
	at := r.node
	for range mostDepth {
		for _, f := range r.nodes[at].facts {
			if !r.seen[f] && len(r.callResult.facts) < maxFacts {
				r.callResult.facts = append(r.callResult.facts, f)
			}
		}
		if at != r.node {
			r.callResult.facts = r.callResult.facts[:min(1, len(r.callResult.facts))]
		}
		if len(r.callResult.facts) > 0 || len(r.nodes[at].edges) == 0 || r.talk != mixed || r.Float64() > wandering {
			return
		}
		at = r.nodes[at].edges[r.IntN(len(r.nodes[at].edges))].to
	}
}

// fill adds thoughts without new facts.
func (r *reading) fill(a *sayThoughts) {
	var known []int
	for f, seen := range r.seen {
		if seen {
			known = append(known, f)
		}
	}
	for len(a.Thoughts) < minThoughts {
		again := sayThought{Type: "insight", Confidence: 0.7 + 0.2*r.Float64(), Importance: 0.5}
		dice := r.Float64()
		switch {
		case len(known) == 0 || r.talk == vague || r.talk == mixed && (dice < 0.4 || r.nodes[r.node].dead):
			again.Thought = sentence(fmt.Sprintf(vagueForms[r.IntN(len(vagueForms))], r.nodes[r.node].subject))
			again.Type, again.Confidence, again.Importance = "exploration", 0.1+0.2*r.Float64(), 0.1+0.2*r.Float64()
		case r.talk == verbatim:
			again.Thought = r.world.facts[known[r.IntN(len(known))]].says[0]
		case r.talk == mixed && dice < 0.6 && len(known) > 1:
			i := r.IntN(len(known) - 1)
			again.Thought = fmt.Sprintf("Both hold: %s, and %s.", clause(r.say(known[i])), clause(r.say(known[i+1])))
			again.Type, again.Confidence = "connection", 0.5
		default:
			again.Thought = r.say(known[r.IntN(len(known))])
		}
		a.Thoughts = append(a.Thoughts, again)
	}
}

func (r *reading) say(f int) string {
	says := r.world.facts[f].says
	if r.talk == verbatim {
		return says[0]
	}
	return says[r.IntN(len(says))]
}

// importance returns the model's estimate of a fact's importance.
func (r *reading) importance(f int) float64 {
	share := r.world.facts[f].weight * float64(len(r.world.facts)) / 3
	return math.Round(100*min(1, max(0.05, share+0.1*r.NormFloat64()))) / 100
}

func (r *reading) summary() (a saySummary) {
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
	if r.wants("synthesis") {
		r.kind, known = "synthesis", known[:min(len(known), shownFacts)]
	}
	r.shown = known
	text := "This is what is known:"
	for _, f := range known {
		text += " " + r.say(f)
	}
	a = saySummary{Insights: []string{}, Remaining: []string{}, Confidence: math.Round(100*min(0.99, max(0.01, sure+sureNoise*r.NormFloat64()))) / 100}
	if r.kind == "answer" {
		a.Answer = text
	} else {
		a.Synthesis = text
	}
	return a
}
