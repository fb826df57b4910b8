package session

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/llm"
	"ponder/llm/anthropic"
	"ponder/llm/llmtest"
)

// reader answers like a model that reads: thoughts of usual length that cite passages of the prompt, and
// questions. Its library has windows of usual length.
type reader struct {
	rng   *rand.Rand
	words []string
	n     int
}

func newReader() *reader {
	return &reader{rng: rand.New(rand.NewPCG(1, 2)), words: strings.Fields("river stone engine ledger harbour signal copper garden winter thread lantern mirror valley anchor pepper canvas")}
}

func (r *reader) text(bytes int) string {
	var b strings.Builder
	for b.Len() < bytes {
		r.n++
		fmt.Fprintf(&b, "%s%d %s ", r.words[r.rng.IntN(len(r.words))], r.n, r.words[r.rng.IntN(len(r.words))])
	}
	return strings.TrimSpace(b.String()) + "."
}

func (r *reader) answerAction(a ponder.Action) ponder.Body {
	if do, ok := a.(ponder.Do); ok {
		return r.search(do)
	}
	c := a.(ponder.Call)
	text := c.Request.Messages[0].Text()
	switch what, _ := stepOf(c.Key); what {
	case questions:
		return textAnswer(mustJSON(map[string]any{"questions": []any{map[string]any{"question": r.text(60) + "?", "priority": 5, "why": "It helps."}}}))
	case synthesis:
		return textAnswer(mustJSON(map[string]any{"synthesis": r.text(600), "insights": []string{r.text(80)}, "confidence": 0.6, "remaining": []string{r.text(60)}}))
	case final:
		return textAnswer(r.text(900) + "\n\nCONFIDENCE: 0.7\nINSIGHTS:\n- " + r.text(80) + "\nREMAINING:\n- " + r.text(60))
	}
	var list, asked []any
	for range 4 {
		list = append(list, map[string]any{"thought": r.text(220), "type": "insight", "confidence": 0.4 + 0.5*r.rng.Float64(), "importance": 0.5, "cites": r.cite(text)})
	}
	for range 2 {
		asked = append(asked, map[string]any{"question": r.text(60) + "?", "priority": 1 + r.rng.IntN(10), "why": "It helps."})
	}
	return textAnswer(mustJSON(map[string]any{"thoughts": list, "questions": asked}))
}

// cite returns an id of the newest passages of a prompt, in three of four thoughts.
func (r *reader) cite(text string) (ids []string) {
	all := evidenceID.FindAllString(text[strings.LastIndex(text, "<passages>")+1:], -1)
	if len(all) > 0 && r.rng.IntN(4) > 0 && strings.Contains(text, "<passages>") {
		ids = append(ids, all[r.rng.IntN(len(all))])
	}
	return ids
}

// search returns hits whose scores fall with the number of known ones.
func (r *reader) search(do ponder.Do) ponder.Body {
	var in struct {
		Limit   int
		Exclude []string
	}
	if err := json.Unmarshal(do.Args, &in); err != nil {
		return ponder.ToolResult{Outcome: ponder.Outcome{Error: err.Error()}}
	}
	var hits []any
	for i := range min(in.Limit, 6) {
		before, quote, after := r.text(400), r.text(150), r.text(400)
		hits = append(hits, map[string]any{
			"id": fmt.Sprint("h", r.n), "kind": "file", "source": fmt.Sprintf("/docs/%d.md", r.rng.IntN(20)), "title": r.text(20), "section": r.text(20), "quote": quote, "start": 0, "end": len(quote), "hash": "aa",
			"score": 0.75 - 0.1*float64(i) - 0.002*float64(len(in.Exclude)), "context": before + " " + quote + " " + after,
		})
	}
	return ponder.ToolResult{Name: do.Tool, Result: mustJSON(map[string]any{"hits": hits})}
}

func mustJSON(v any) string {
	js, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(js)
}

// promptSizes returns the bytes of each prompt of a session, and of the prefix that it shares with the
// one before.
func promptSizes(d *driver) (sizes, shared []int) {
	before := ""
	for _, a := range d.actions {
		c, ok := a.(ponder.Call)
		if !ok {
			continue
		}
		text := c.Request.System + "\x00"
		for _, m := range c.Request.Messages {
			text += m.Text() + "\x00"
		}
		n := 0
		for n < min(len(text), len(before)) && text[n] == before[n] {
			n++
		}
		sizes, shared, before = append(sizes, len(text)), append(shared, n), text
	}
	return sizes, shared
}

// After the third call, a prefix cache of one slot has at least 80 percent of the prompts.
func TestPrefixesAreShared(t *testing.T) {
	for name, o := range map[string]Options{"without documents": {}, "with documents": {Docs: []string{"/docs"}}} {
		t.Run(name, func(t *testing.T) {
			o.SynthesisInterval, o.ToTheEnd = 1e6, true
			d := newDriver(t, "Why did the harbour of the valley lose its trade in the winter?", o, 200*time.Second, newReader().answerAction)
			d.takes = 10 * time.Second
			d.runToEnd()
			sizes, shared := promptSizes(d)
			if len(sizes) < 18 {
				t.Fatalf("%d calls", len(sizes))
			}
			all, cached := 0, 0
			for i := 3; i < len(sizes); i++ {
				all, cached = all+sizes[i], cached+shared[i]
			}
			t.Logf("%d calls, %d bytes of prompts, at most %d; %d percent cached after the third: sizes %v, shared %v", len(sizes), all, slices.Max(sizes), 100*cached/all, sizes, shared)
			if 100*cached < 80*all {
				t.Errorf("%d of %d bytes are shared with the prompt before", cached, all)
			}
		})
	}
}

// The calls of a session read most of their prompts from the cache of a provider with marks.
func TestPromptsAreReadFromCache(t *testing.T) {
	for name, o := range map[string]Options{"without documents": {}, "with documents": {Docs: []string{"/docs"}}} {
		t.Run(name, func(t *testing.T) {
			o.SynthesisInterval, o.ToTheEnd = 1e6, true
			d := newDriver(t, "Why did the harbour of the valley lose its trade in the winter?", o, 200*time.Second, newReader().answerAction)
			d.takes = 10 * time.Second
			d.runToEnd()
			m := anthropic.New(anthropic.Config{HTTP: &http.Client{Transport: new(llmtest.PromptCache)}, Key: "k"}).Model("claude-sonnet-4-5")
			var used llm.Usage
			calls := 0
			for _, a := range d.actions {
				c, ok := a.(ponder.Call)
				if !ok {
					continue
				}
				res, err := llm.Collect(m.Generate(t.Context(), &c.Request))
				if err != nil {
					t.Fatal(err)
				}
				if calls++; calls > 3 {
					used = used.Add(res.Usage)
				}
			}
			t.Logf("%d calls: %d bytes read, %d written, %d neither", calls, used.CacheRead, used.CacheWrite, used.Input)
			if all := used.Input + used.CacheRead + used.CacheWrite; calls < 18 || 100*used.CacheRead < 60*all {
				t.Errorf("%d calls: %d of %d bytes are read from the cache", calls, used.CacheRead, all)
			}
		})
	}
}

// The user's question is looked at from named perspectives, in turn.
func TestPerspectives(t *testing.T) {
	d := newDriver(t, "What is the sea?", Options{SynthesisInterval: 1e6, ToTheEnd: true}, 3*time.Minute, func(a ponder.Action) ponder.Body {
		if what, n := stepOf(keyOf(a)); what == questions {
			return textAnswer(`{"questions":[]}`)
		} else if what == thoughts {
			return textAnswer(fmt.Sprintf(`{"thoughts":[{"thought":"Matter number %d is so.","type":"insight","confidence":0.7}]}`, n*n*7919))
		}
		return defaultAnswer(a)
	}).runToEnd()
	n := 0
	for _, a := range d.actions {
		if what, _ := stepOf(keyOf(a)); what != thoughts {
			continue
		}
		text := a.(ponder.Call).Request.Messages[0].Text()
		for i, p := range perspectives {
			if strings.Contains(text, "Look at "+p+".\n") != (n > 0 && (n-1)%len(perspectives) == i) {
				t.Errorf("thoughts %d and perspective %d:\n%s", n+1, i, text)
			}
		}
		n++
	}
	if n < 7 {
		t.Errorf("%d rounds", n)
	}
}
