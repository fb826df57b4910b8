package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ponder"
)

// windowHits returns hits of one search with their passages. Their scores fall.
func windowHits(search string, n int, source func(i int) string) string {
	var hits []any
	for i := range n {
		quote := fmt.Sprintf("Sentence %d of search %s.", i, search)
		hits = append(hits, map[string]any{
			"id": fmt.Sprintf("%s-%d", search, i), "kind": "file", "source": source(i), "title": "T" + search, "section": "S", "quote": quote, "start": 0, "end": len(quote), "hash": "aa",
			"score": 0.9/float64(len(search)) - 0.02*float64(i), "published": "2024-05-01T00:00:00Z", "context": fmt.Sprintf("Text before %s-%d. %s The next sentence of %s-%d has the answer.", search, i, quote, search, i),
		})
	}
	return mustJSON(map[string]any{"hits": hits})
}

// The best passages for the question and those of pinned sources are in every synthesis and in the
// answer, though no thought cites them.
func TestBestEvidenceIsCarried(t *testing.T) {
	looks := 0
	d := newDriver(t, "What is the answer?", Options{Docs: []string{"/docs"}, SynthesisInterval: 40, ToTheEnd: true}, 5*time.Minute, func(a ponder.Action) ponder.Body {
		if do, ok := a.(ponder.Do); ok {
			looks++
			return ponder.ToolResult{Name: do.Tool, Result: windowHits(strings.Repeat("x", looks), 6, func(i int) string {
				if i == 5 {
					return "/docs/pinned.md"
				}
				return fmt.Sprintf("/docs/%d-%d.md", looks, i)
			})}
		}
		return curiousAnswer(a)
	})
	d.inputs = map[int]ponder.Body{3: newSteer(ponder.PinSource, "", ponder.SteerArgs{Source: "/docs/pinned.md"})}
	d.runToEnd()
	syntheses := 0
	for _, a := range d.actions {
		c, ok := a.(ponder.Call)
		if what, _ := stepOf(keyOf(a)); !ok || what != synthesis && what != final {
			continue
		}
		syntheses++
		text := c.Request.Messages[0].Text()
		for i := range 5 {
			if want := fmt.Sprintf("(Tx, S, of 2024-05-01) Text before x-%d. Sentence %d of search x. The next sentence of x-%d has the answer.", i, i, i); !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", c.Key, want, text)
			}
		}
		if n := strings.Count(text, "Sentence 5 of search "); n < 2 {
			t.Errorf("%s has %d passages of the pinned source:\n%s", c.Key, n, text)
		}
		if strings.Contains(text, "Sentence 1 of search xxx.") {
			t.Errorf("%s has a passage that nothing needs:\n%s", c.Key, text)
		}
	}
	if syntheses < 3 {
		t.Errorf("%d syntheses and answers", syntheses)
	}
}

// Of overlapping passages, the text is shown once, and every quote has its id.
func TestOverlapIsShownOnce(t *testing.T) {
	const one, two, three, four = "The harbour was built by the monks in 1310.", "It silted up within a hundred years.", "The trade then moved to the northern bank.", "No ship has entered it since the year 1502."
	hit := func(id, quote, context string) map[string]any {
		return map[string]any{"id": id, "kind": "file", "source": "/docs/a.md", "title": "Harbour", "quote": quote, "start": 0, "end": len(quote), "hash": "aa", "score": 0.8, "context": context}
	}
	d := newDriver(t, "What became of the harbour?", Options{Docs: []string{"/docs"}}, 25*time.Second, func(a ponder.Action) ponder.Body {
		if do, ok := a.(ponder.Do); ok {
			return ponder.ToolResult{Name: do.Tool, Result: mustJSON(map[string]any{"hits": []any{
				hit("a", two, one+" "+two+" "+three), hit("b", three, two+" "+three+" "+four), hit("c", one, one+" "+two),
			}})}
		}
		return textAnswer(`{"thoughts":[{"thought":"No ship entered after 1502 [e2].","type":"insight","confidence":0.7,"cites":["e2"]}]}`)
	}).runToEnd()
	for _, key := range []string{"thoughts-1", "final"} {
		text := d.callByKey(key).Request.Messages[0].Text()
		want := "[e1] (Harbour) " + one + " " + two + " " + three + "\n[e2] (from the passage [e1]) " + three + " … " + four + "\n[e3] (from the passage [e1]) " + one + "\n"
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks\n%s\nin\n%s", key, want, text)
		}
	}
	for _, n := range bodiesOf[ponder.SystemNote](d) {
		t.Errorf("note %q", n.Content)
	}
	for _, b := range bodiesOf[ponder.Evidence](d) {
		if b.Content != one && b.Content != two && b.Content != three {
			t.Errorf("evidence %q is no exact sentence", b.Content)
		}
	}
}

// State and prompts stay bounded for long passages that are all cited.
func TestEvidenceIsBounded(t *testing.T) {
	r := newReader()
	d := newDriver(t, "What is the sea?", Options{Docs: []string{"/docs"}, SynthesisInterval: 1e6, ToTheEnd: true}, time.Hour, func(a ponder.Action) ponder.Body {
		if do, ok := a.(ponder.Do); ok {
			return r.search(do)
		}
		text := a.(ponder.Call).Request.Messages[0].Text()
		answer := r.answerAction(a)
		if what, _ := stepOf(keyOf(a)); what != thoughts {
			return answer
		}
		return textAnswer(mustJSON(map[string]any{"thoughts": []any{map[string]any{"thought": r.text(300), "type": "insight", "confidence": 0.6, "cites": evidenceID.FindAllString(text, -1)}}}))
	})
	d.quick = true
	d.runToEnd()
	s := d.state.(*state)
	stored := 0
	for i := range s.Evidence {
		stored += s.Evidence[i].storedSize()
	}
	if js, err := json.Marshal(s); err != nil || len(s.Evidence) > maxEvidence || stored > maxStored || len(js) > 512<<10 {
		t.Errorf("%d passages, %d bytes of them, %d of the state, %v", len(s.Evidence), stored, len(js), err)
	}
	if sizes, _ := promptSizes(d); len(sizes) < 100 || sizes[len(sizes)-1] > 64<<10 {
		t.Errorf("%d prompts, the last has %d bytes", len(sizes), sizes[len(sizes)-1])
	}
}
