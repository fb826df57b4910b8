package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ponder/llm"
)

// A thinker is a model that knows a world as a real one would know its subject:
// it has no memory, so what it says depends on the request alone. It says the
// facts of the question in focus that it does not see in the prompt, and fills up
// with what is there already; it raises the questions that follow from what it
// sees, and takes noisy hints for their priorities; it sums up what it sees.
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
	open   []bool // nodes that something was said about
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
	rest := r.text
	for i := range t.nodes {
		for _, ask := range t.nodes[i].asks {
			if strings.Contains(rest, ask) {
				r.asked[i], rest = true, strings.ReplaceAll(rest, ask, "")
			}
		}
		r.open[i] = i == 0 || strings.Contains(strings.ToLower(rest), strings.ToLower(t.nodes[i].subject))
	}
	for line := range strings.Lines(r.text) {
		if strings.Contains(strings.ToLower(line), "focus") {
			r.node = cmpFirst(r.nodeIn(line), r.node)
		}
	}
	return r
}

// cmpFirst returns a node that was found, or else the other.
func cmpFirst(at, other int) int {
	if at >= 0 {
		return at
	}
	return other
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

// What a thinker says, in the words of whoever asks.
type (
	sayThoughts struct {
		Thoughts []sayThought `json:"thoughts"`
		Settled  bool         `json:"settled,omitempty"`
		Next     string       `json:"next,omitempty"`
		Stop     bool         `json:"stop,omitempty"`
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

// thoughts thinks about the focus; in a loop of calls that lets the model decide,
// it also says what to look at next.
func (r *reading) thoughts() (a sayThoughts) {
	r.kind = "thoughts"
	r.find()
	for _, f := range r.told.facts {
		sure := 0.6 + 0.35*r.Float64()
		if r.settles || len(r.world.facts) == 1 {
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
	return a
}

// find looks for facts that the prompt does not have.
func (r *reading) find() {
	at := r.node
	for range mostDepth {
		for _, f := range r.nodes[at].facts {
			if !r.seen[f] && len(r.told.facts) < mostFacts {
				r.told.facts = append(r.told.facts, f)
			}
		}
		if at != r.node {
			r.told.facts = r.told.facts[:min(1, len(r.told.facts))]
		}
		if len(r.told.facts) > 0 || len(r.nodes[at].edges) == 0 || r.talk != mixed || r.Float64() > wandering {
			return
		}
		at = r.nodes[at].edges[r.IntN(len(r.nodes[at].edges))].to
	}
}

// fill adds thoughts that say nothing new.
func (r *reading) fill(a *sayThoughts) {
	var known []int
	for f, seen := range r.seen {
		if seen {
			known = append(known, f)
		}
	}
	for len(a.Thoughts) < leastSaid {
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

// say returns a fact in one of its wordings.
func (r *reading) say(f int) string {
	says := r.world.facts[f].says
	if r.talk == verbatim {
		return says[0]
	}
	return says[r.IntN(len(says))]
}

// importance returns what the model takes the importance of a fact for.
func (r *reading) importance(f int) float64 {
	share := r.world.facts[f].weight * float64(len(r.world.facts)) / 3
	return math.Round(100*min(1, max(0.05, share+0.1*r.NormFloat64()))) / 100
}

// A candidate is a question that could be raised.
type candidate struct {
	edge
	hint float64
}

// candidates returns the questions that follow from what the prompt has, or from
// the focus if it has one, and were not asked; the best first.
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

// rank says what the open questions are worth now. The more is known, the less
// noise is in that.
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

// rankOf returns the share of nodes that are worth less.
func (w *world) rankOf(worth float64) float64 {
	less := 0
	for _, n := range w.nodes {
		if n.worth < worth {
			less++
		}
	}
	return float64(less) / float64(len(w.nodes))
}

// priorityOf returns a hint as a number from 1 to 10.
func priorityOf(hint float64) int { return int(math.Round(min(10, max(1, 1+9*hint)))) }

// summary sums up what the prompt has.
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

// decide says which question to look at next, or that it is enough.
func (r *reading) decide(a *sayThoughts) {
	chance := 0.03
	if len(r.told.facts) == 0 {
		chance = 0.15
	}
	list := r.candidates()
	if len(list) == 0 || r.Float64() < chance {
		a.Stop = true
		return
	}
	a.Next = r.nodes[list[0].to].asks[list[0].wording]
}
