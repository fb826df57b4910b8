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

// A thinker is a model that knows a world as a real one would know its subject:
// it has no memory, so what it says depends on the request alone. It says the
// facts of the question in focus that it does not see in the prompt, and fills up
// with what is there already; it raises the questions that follow from what it
// sees, and takes noisy hints for their priorities; it sums up what it sees. Asked
// for thoughts and questions at once, it gives both.
//
// It reads a request as little as can be: what is wanted, by the names in the
// schema; the focus, as the question in the last line that has the word in it; and
// which sentences, names and questions of the world stand there.
type thinker struct {
	*world
	mu    sync.Mutex
	calls []told
}

// A told is what a call came to.
type told struct {
	kind  string // thoughts, questions, synthesis or answer
	node  int    // in focus
	facts []int  // said, of those that the prompt did not have
	shown []int  // in the text of a synthesis or answer
}

// What a model says at a time.
const (
	mostFacts    = 3 // in a call
	leastSaid    = 3 // thoughts, with those that say nothing new
	shownFacts   = 14
	wandering    = 0.4  // chance that a call on a question that has no more to tell finds a fact below it
	lazyQuestion = 0.15 // chance that a question is one that was asked, in other words
	longRemark   = 40   // bytes beside a question in its line, which then are what was learned of it
	callNoise    = 0.1  // standard deviation of a hint from call to call
	sureNoise    = 0.04 // of a confidence
)

// Name implements [llm.Model].
func (t *thinker) Name() string { return "sim/world" }

// Generate implements [llm.Model].
func (t *thinker) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		r := t.read(req)
		var answer any
		switch {
		case r.wants("thoughts"):
			answer = r.thoughts()
		case r.wants("questions"):
			answer = r.questions()
		default:
			answer = r.summary()
		}
		js, err := json.Marshal(answer)
		if err != nil {
			yield(llm.Delta{}, err)
			return
		}
		t.mu.Lock()
		t.calls = append(t.calls, r.told)
		t.mu.Unlock()
		yield(llm.Delta{Done: &llm.Response{
			Message: llm.Say(llm.Assistant, string(js)), Finish: llm.FinishStop, Model: t.Name(), Usage: llm.Usage{Input: len(r.text) / 4, Output: len(js) / 4},
		}}, nil)
	}
}

// A reading is a request as the thinker understands it.
type reading struct {
	*world
	*rand.Rand
	told
	schema string
	text   string
	seen   []bool // facts that the prompt has
	asked  []bool // questions that it has
	open   []bool // questions that something was said about
}

func (t *thinker) read(req *llm.Request) *reading {
	var text strings.Builder
	for _, m := range req.Messages {
		text.WriteString(m.Text())
		text.WriteByte('\n')
	}
	r := &reading{world: t.world, text: text.String(), seen: make([]bool, len(t.facts)), asked: make([]bool, len(t.nodes)), open: make([]bool, len(t.nodes))}
	r.Rand = t.random(r.text)
	if req.Schema != nil {
		r.schema = string(req.Schema.JSON)
	}
	for i, f := range t.facts {
		r.seen[i] = strings.Contains(r.text, f.name)
	}
	r.open[0] = true
	for line := range strings.Lines(r.text) {
		r.notice(strings.TrimSpace(line))
		if at := r.nodeIn(line); at >= 0 && strings.Contains(strings.ToLower(line), "focus") {
			r.node = at
		}
	}
	return r
}

// notice notes which questions a line has, and of which of them it says something.
func (r *reading) notice(line string) {
	for i := range r.nodes {
		n := &r.nodes[i]
		if !strings.Contains(line, n.name) {
			continue
		}
		rest := strings.ReplaceAll(strings.ReplaceAll(line, n.asks[0], ""), n.asks[1], "")
		r.asked[i] = r.asked[i] || len(rest) < len(line)
		r.open[i] = r.open[i] || strings.Contains(rest, n.name) || len(rest) < len(line) && len(rest) > longRemark
	}
}

// nodeIn returns the node whose question stands in a line, or -1.
func (r *reading) nodeIn(line string) int {
	for i := len(r.nodes) - 1; i >= 0; i-- {
		if asks := r.nodes[i].asks; strings.Contains(line, asks[0]) || strings.Contains(line, asks[1]) {
			return i
		}
	}
	return -1
}

// wants reports whether the schema of the answer has a property.
func (r *reading) wants(name string) bool { return strings.Contains(r.schema, `"`+name+`":`) }
