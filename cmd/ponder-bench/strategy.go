package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ponder/llm"
)

// A strategy spends at most budget calls on the question of a world, the last one on the answer.
// It knows only what the model says.
type strategy struct {
	name string
	run  func(ctx context.Context, t *thinker, budget int) error
}

// strategies are the compared strategies. All use the same model, and each call counts.
var strategies = []strategy{
	{"session", sessionStrategy(1)},
	{"session, 4 foci", sessionStrategy(4)},
	{"fixed rounds", fixedRounds},
	{"breadth by depth", breadthByDepth},
	{"the model decides", modelDecides},
}

// A transcript is the state of a simple strategy: it keeps everything, because all fits into the
// prompt.
type transcript struct {
	*thinker
	thoughts       []string
	asked          []string
	remainingCalls int // remaining calls
}

// Schemas of simple strategies.
var (
	thoughtForm  = &llm.Schema{Name: "thoughts", JSON: json.RawMessage(`{"properties":{"thoughts":{}}}`)}
	decideForm   = &llm.Schema{Name: "step", JSON: json.RawMessage(`{"properties":{"thoughts":{},"next":{},"stop":{}}}`)}
	questionForm = &llm.Schema{Name: "questions", JSON: json.RawMessage(`{"properties":{"questions":{}}}`)}
	answerForm   = &llm.Schema{Name: "answer", JSON: json.RawMessage(`{"properties":{"answer":{}}}`)}
)

func (t *transcript) askModel(ctx context.Context, form *llm.Schema, focus, want string, to any) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The question: %s\n", t.question)
	for _, text := range t.thoughts {
		fmt.Fprintf(&b, "- %s\n", text)
	}
	for _, text := range t.asked {
		fmt.Fprintf(&b, "Asked: %s\n", text)
	}
	fmt.Fprintf(&b, "Focus: %s\n%s\n", focus, want)
	t.remainingCalls--
	resp, err := llm.Collect(t.Generate(ctx, &llm.Request{Messages: []llm.Message{llm.Say(llm.User, b.String())}, Schema: form}))
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(resp.Message.Text()), to)
}

func (t *transcript) askThoughts(ctx context.Context, form *llm.Schema, focus string) (a thoughtsReply, err error) {
	if err := t.askModel(ctx, form, focus, "Give distinct new thoughts about it.", &a); err != nil {
		return a, err
	}
	for _, th := range a.Thoughts {
		t.thoughts = append(t.thoughts, th.Thought)
	}
	return a, nil
}

func (t *transcript) askAnswer(ctx context.Context) error {
	return t.askModel(ctx, answerForm, "", "Give the answer.", new(summaryReply))
}

// fixedRounds repeats the question itself.
func fixedRounds(ctx context.Context, m *thinker, budget int) error {
	t := &transcript{thinker: m, remainingCalls: budget}
	for t.remainingCalls > 1 {
		if _, err := t.askThoughts(ctx, thoughtForm, m.question); err != nil {
			return err
		}
	}
	return t.askAnswer(ctx)
}

// modelDecides lets the model choose the next focus or stop after each thought.
func modelDecides(ctx context.Context, m *thinker, budget int) error {
	t := &transcript{thinker: m, remainingCalls: budget}
	for focus := m.question; t.remainingCalls > 1; {
		a, err := t.askThoughts(ctx, decideForm, focus)
		if err != nil {
			return err
		}
		if a.Stop {
			break
		}
		focus = a.Next
		t.asked = append(t.asked, focus)
	}
	return t.askAnswer(ctx)
}

// breadthByDepth requests a number of questions, explores each once, and repeats with half as many
// below each, level by level, as open deep-research programs do. The numbers are the smallest that
// use the budget.
func breadthByDepth(ctx context.Context, m *thinker, budget int) error {
	t := &transcript{thinker: m, remainingCalls: budget}
	breadth, depth := 3, 1
	for treeCalls(breadth, depth) < budget-1 {
		breadth, depth = breadth+1, min(depth+1, maxDepth)
	}
	level := []string{m.question}
	for ; depth > 0 && len(level) > 0; breadth, depth = (breadth+1)/2, depth-1 {
		var below []string
		for _, focus := range level {
			next, err := t.exploreQuestions(ctx, focus, breadth)
			if err != nil {
				return err
			}
			below = append(below, next...)
		}
		level = below
	}
	return t.askAnswer(ctx)
}

func treeCalls(breadth, depth int) int {
	if depth == 0 {
		return 0
	}
	return 1 + breadth*(1+treeCalls((breadth+1)/2, depth-1))
}

// exploreQuestions requests follow-up questions and thinks about each while calls remain. It returns the
// explored questions.
func (t *transcript) exploreQuestions(ctx context.Context, focus string, breadth int) (next []string, err error) {
	if t.remainingCalls < 3 {
		return nil, nil
	}
	var a questionsReply
	if err := t.askModel(ctx, questionForm, focus, fmt.Sprintf("Which questions follow? Give up to %d.", breadth), &a); err != nil {
		return nil, err
	}
	for _, q := range a.Questions {
		if slices.Contains(t.asked, q.Question) || t.remainingCalls < 2 {
			continue
		}
		t.asked, next = append(t.asked, q.Question), append(next, q.Question)
		if _, err := t.askThoughts(ctx, thoughtForm, q.Question); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// oracleCurve returns the maximal share of importance found after each call. A call finds at most
// maxFacts facts of one question, the oracle knows their places, and the last call is the answer.
func oracleCurve(w *world, budget int) (found []float64) {
	var gains []float64
	for _, n := range w.nodes {
		var weights []float64
		for _, f := range n.facts {
			weights = append(weights, w.facts[f].weight)
		}
		slices.Sort(weights)
		slices.Reverse(weights)
		for part := range slices.Chunk(weights, maxFacts) {
			sum := 0.0
			for _, x := range part {
				sum += x
			}
			gains = append(gains, sum)
		}
	}
	slices.Sort(gains)
	slices.Reverse(gains)
	found = make([]float64, budget+1)
	for i := 1; i <= budget; i++ {
		found[i] = found[i-1]
		if i <= len(gains) && i < budget {
			found[i] += gains[i-1]
		}
	}
	return found
}
