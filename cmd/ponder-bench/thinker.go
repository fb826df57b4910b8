package main

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"

	"ponder/llm"
)

// A thinker is a model that knows a world as a real model knows its subject. It is stateless: its
// output depends on the request alone. It states facts of the focused question that are missing in
// the prompt, padded with known ones; raises follow-up questions with noisy priorities; and
// summarises the prompt. It can return thoughts and questions at once.
//
// It reads as little of a request as possible: the wanted output by the schema's property names,
// the focus as the question in the last line with that word, and the sentences, names and
// questions of the world that occur.
type thinker struct {
	*world
	mu    sync.Mutex
	calls []callResult
}

type callResult struct {
	kind  string // thoughts, questions, synthesis or answer
	node  int    // focus
	facts []int  // stated facts that the prompt lacked
	shown []int  // facts in a synthesis or answer
}

// Limits and probabilities of the model's output.
const (
	maxFacts       = 3 // new facts per call
	minThoughts    = 3 // thoughts per call, including repetitions
	shownFacts     = 14
	wanderChance   = 0.4  // chance that a call on an exhausted question finds a fact below it
	repeatChance   = 0.15 // chance that a question repeats an earlier one in other words
	minRemarkBytes = 40   // bytes besides a question in its line that count as knowledge about it
	callNoise      = 0.1  // standard deviation of a hint between calls
	sureNoise      = 0.04 // of a confidence
)

// Name implements [llm.Model].
func (t *thinker) Name() string { return "sim/world" }

// Generate implements [llm.Model].
func (t *thinker) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		r := t.readPrompt(req)
		var answer any
		switch {
		case r.hasSchemaField("thoughts"):
			answer = r.makeThoughts()
		case r.hasSchemaField("questions"):
			answer = r.raiseQuestions()
		default:
			answer = r.makeSummary()
		}
		js, err := json.Marshal(answer)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		t.mu.Lock()
		t.calls = append(t.calls, r.callResult)
		t.mu.Unlock()
		yield(llm.Delta{Done: &llm.Response{
			Message: llm.Say(llm.Assistant, string(js)), Finish: llm.FinishStop, Model: t.Name(), Usage: llm.Usage{Input: len(r.text) / 4, Output: len(js) / 4},
		}}, nil)
	}
}

// A promptView is a request as the thinker interprets it.
type promptView struct {
	*world
	*rand.Rand
	callResult
	schema string
	text   string
	seen   []bool // facts in the prompt
	asked  []bool // questions in the prompt
	open   []bool // questions about which the prompt says something
}

func (t *thinker) readPrompt(req *llm.Request) *promptView {
	var text strings.Builder
	for _, m := range req.Messages {
		text.WriteString(m.Text())
		text.WriteByte('\n')
	}
	r := &promptView{world: t.world, text: text.String(), seen: make([]bool, len(t.facts)), asked: make([]bool, len(t.nodes)), open: make([]bool, len(t.nodes))}
	r.Rand = t.textRandom(r.text)
	if req.Schema != nil {
		r.schema = string(req.Schema.JSON)
	}
	for i, f := range t.facts {
		r.seen[i] = strings.Contains(r.text, f.name)
	}
	r.open[0] = true
	for line := range strings.Lines(r.text) {
		r.noteQuestions(strings.TrimSpace(line))
		if at := r.findNode(line); at >= 0 && strings.Contains(strings.ToLower(line), "focus") {
			r.node = at
		}
	}
	return r
}

// noteQuestions records the questions in a line and whether it says something about them.
func (r *promptView) noteQuestions(line string) {
	for i := range r.nodes {
		n := &r.nodes[i]
		if !strings.Contains(line, n.name) {
			continue
		}
		rest := strings.ReplaceAll(strings.ReplaceAll(line, n.asks[0], ""), n.asks[1], "")
		r.asked[i] = r.asked[i] || len(rest) < len(line)
		r.open[i] = r.open[i] || strings.Contains(rest, n.name) || len(rest) < len(line) && (len(rest) > minRemarkBytes || strings.HasPrefix(rest, "Thoughts on "))
	}
}

// findNode returns the node whose question a line contains, or -1.
func (r *promptView) findNode(line string) int {
	for i := len(r.nodes) - 1; i >= 0; i-- {
		if asks := r.nodes[i].asks; strings.Contains(line, asks[0]) || strings.Contains(line, asks[1]) {
			return i
		}
	}
	return -1
}

func (r *promptView) hasSchemaField(name string) bool {
	return strings.Contains(r.schema, `"`+name+`":`)
}
