package compat

import (
	"cmp"
	"strconv"
	"strings"

	"ponder"
	"ponder/internal/stream"
	"ponder/llm"
)

// Rounds make one text of what a model writes in several calls: of pieces as they are
// heard, as far as they were heard from the beginning of their call, and else of what is
// in the log. While a call writes, other parts wait, so that a text stands at the place of
// its call however it is read.
type rounds struct {
	ask     string // begins the keys of the calls; a number follows
	prose   Prose
	settle  int                   // the newest round that is in the log
	begun   map[string]ponder.Seq // by key: where the newest attempt begins
	held    []stream.Piece        // of calls that are not known to have begun
	still   map[string]bool       // by key: the newest attempt has ended
	deafTo  ponder.Seq            // of calls that began up to here, not all was heard
	seen    ponder.Seq            // the newest event
	open    string                // the key of the call that writes
	behind  []Part                // that wait until it has
	voice   cutter                // of the text
	mind    map[string]*musing    // by key
	usage   llm.Usage
	model   string
	models  []string // of whom the newest round was asked
	finish  llm.Finish
	trouble llm.Class // of the newest call, if it failed for good
	text    string    // of all rounds
}

// A musing is a model's own reasoning in a call.
type musing struct {
	said []byte // so far
	deaf bool   // it is being said anew, and told from the log
	over bool   // the text has begun
	cut  cutter
}

// maxHeld is how many pieces wait at most.
const maxHeld = 1000

func newRounds(ask string, deaf ponder.Seq) *rounds {
	return &rounds{ask: ask, deafTo: deaf, begun: make(map[string]ponder.Seq), still: make(map[string]bool), mind: make(map[string]*musing)}
}

// number returns the number of a round from the key of its call.
func (r *rounds) number(key string) (int, bool) {
	rest, ok := strings.CutPrefix(key, r.ask)
	n, err := strconv.Atoi(rest)
	return n, ok && err == nil && n > 0
}

// keyOf returns the key of the action that an event is of.
func keyOf(ev ponder.Event) string {
	key, _, _ := strings.Cut(ev.Cause, "/")
	key, _, _ = strings.Cut(key, "#")
	return key
}

// started takes in that a round begins, or begins anew.
func (r *rounds) started(seq ponder.Seq, key, model string) (list []Part) {
	r.asked(model)
	if r.begun[key] != 0 {
		r.prose.Again(key)
		r.musing(key).deaf = true
	}
	r.begun[key], r.open = seq, key
	delete(r.still, key)
	held := r.held
	r.held = nil
	for _, p := range held {
		list = append(list, r.piece(p)...)
	}
	return list
}

func (r *rounds) asked(model string) {
	if model != "" {
		r.models = []string{model}
	}
}

// finished takes in what a call has come to. A call that said nothing is closed.
func (r *rounds) finished(key string, b ponder.CallFinished) (list []Part) {
	r.still[key], r.trouble = true, troubleOf(b)
	if b.Error != "" {
		r.prose.Again(key)
		if b.RetryAt.IsZero() {
			list = r.release()
		}
		return list
	}
	r.usage = addUsage(r.usage, b.Usage)
	r.model, r.finish = b.Model, b.Finish
	list = r.reasoned(key, b.Message)
	if strings.TrimSpace(b.Message.Text()) == "" {
		list = append(list, r.release()...)
	}
	return list
}

// troubleOf returns the class of the error of a call that is not made again.
func troubleOf(b ponder.CallFinished) llm.Class {
	if b.Error == "" || !b.RetryAt.IsZero() || b.Dropped || b.Refused {
		return ""
	}
	return cmp.Or(b.Class, llm.Transient)
}

// addUsage returns the sum.
func addUsage(a, b llm.Usage) llm.Usage {
	a.Input, a.CacheRead, a.CacheWrite = a.Input+b.Input, a.CacheRead+b.CacheRead, a.CacheWrite+b.CacheWrite
	a.Output, a.Reasoning, a.Estimated = a.Output+b.Output, a.Reasoning+b.Reasoning, a.Estimated || b.Estimated
	return a
}

// reasoned returns what is left to be told of the reasoning of a call: that which came
// before its text.
func (r *rounds) reasoned(key string, m llm.Message) (list []Part) {
	var whole string
	for _, p := range m.Parts {
		if p.Text != "" {
			break
		}
		whole += p.Reasoning
	}
	one := r.musing(key)
	if !one.over {
		rest, _ := strings.CutPrefix(whole, string(one.said)) // if it is another one, all of it is told
		list = r.muse(one, key, rest)
	}
	one.over = true
	return append(list, mused(key, one.cut.end())...)
}

func (r *rounds) musing(key string) *musing {
	if r.mind[key] == nil {
		r.mind[key] = &musing{}
	}
	return r.mind[key]
}

func (r *rounds) muse(one *musing, key, text string) []Part {
	one.said = append(one.said, text...)
	return mused(key, one.cut.add(text))
}

func mused(key string, texts []string) (list []Part) {
	for _, text := range texts {
		list = append(list, Part{Kind: Reasoning, Item: key, Text: text})
	}
	return list
}

// said takes in what the log has of a round.
func (r *rounds) said(n int, text string) []Part {
	r.settle = max(r.settle, n)
	key := r.ask + strconv.Itoa(n)
	more, again := r.prose.Settle(key, text)
	list := r.tell(key, more, again)
	for _, piece := range r.voice.end() {
		list = append(list, Part{Kind: Text, Item: key, Text: piece, Models: r.models})
	}
	r.text = string(r.prose.sent)
	list = append(list, Part{Kind: TextEnd, Item: key, Text: strings.TrimSpace(text)})
	return append(list, r.release()...)
}

// tell adds to the text of a round.
func (r *rounds) tell(key, text string, again bool) (list []Part) {
	if again {
		r.voice = cutter{}
	}
	for _, piece := range r.voice.add(text) {
		list = append(list, Part{Kind: Text, Item: key, Text: piece, Again: again, Models: r.models})
		again = false
	}
	if again && len(r.voice.rest) > 0 {
		list = append(list, Part{Kind: Text, Item: key, Text: string(r.voice.rest), Again: true, Models: r.models})
		r.voice = cutter{}
	}
	return list
}

// piece takes in what a model writes at the moment.
func (r *rounds) piece(p stream.Piece) []Part {
	n, ok := r.number(p.Key)
	if !ok || n <= r.settle || r.still[p.Key] || p.Run.Parent() != "" {
		return nil
	}
	begun, known := r.begun[p.Key]
	switch {
	case known && begun <= r.deafTo:
		return nil
	case !known:
		if r.held = append(r.held, p); len(r.held) > maxHeld {
			r.held = nil
			r.missed()
		}
		return nil
	}
	r.open = p.Key
	one := r.musing(p.Key)
	if p.Text == "" {
		if one.over || one.deaf {
			return nil
		}
		return r.muse(one, p.Key, p.Reasoning)
	}
	one.over = true
	list := mused(p.Key, one.cut.end())
	return append(list, r.tell(p.Key, r.prose.Hear(p.Key, p.Text), false)...)
}

// missed says that pieces were lost: of what goes on now, not all was heard.
func (r *rounds) missed() {
	r.deafTo, r.held = max(r.deafTo, r.seen, 1), nil
	r.prose.Miss()
}

// beside returns parts of other events, now or once the call that writes has written.
func (r *rounds) beside(list []Part) []Part {
	if r.open == "" {
		return list
	}
	r.behind = append(r.behind, list...)
	return nil
}

// release says that no call writes, and returns the parts that have waited.
func (r *rounds) release() []Part {
	list := r.behind
	r.open, r.behind = "", nil
	return list
}

// close returns what is left when there is no more: what was heard and came to nothing is
// taken back.
func (r *rounds) close() (list []Part) {
	if r.prose.Dangling() {
		key := r.open
		list = append(list, Part{Kind: Text, Item: key, Text: r.prose.Settled(), Again: true, Models: r.models})
	}
	r.voice = cutter{}
	return append(list, r.release()...)
}
