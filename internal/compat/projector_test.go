package compat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ponder"
	"ponder/llm"
	"ponder/mode/chat"
	"ponder/mode/research"
)

type client struct {
	text     string
	replaced int
}

func (c *client) readParts(list []Part) {
	for _, p := range list {
		if p.Kind != Text {
			continue
		}
		if p.Again {
			c.text, c.replaced = "", c.replaced+1
		}
		c.text += p.Text
	}
}

// For all turns and lost deltas, the final text equals the log. Text is retracted only after a retry of a
// model.
func TestChatProjectorProperty(t *testing.T) {
	words := []string{"a", " b", "\n", "  ", "é", "日本", " c.", "\n\nd", "**e**", ""}
	for seed := range uint64(3000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		said := func() (pieces []string) {
			for range rnd.IntN(8) {
				pieces = append(pieces, words[rnd.IntN(len(words))])
			}
			return pieces
		}
		g := &lateTurn{t: newChatProjector("evt_5", 5, false, false), seq: 5, rnd: rnd}
		var want []string
		clean := true
		for round := 1; round <= 1+rnd.IntN(3); round++ {
			key := fmt.Sprintf("turn-5-%d", round)
			for attempt := 1; ; attempt++ {
				g.addEvent(key+fmt.Sprintf("#%d", attempt), ponder.CallStarted{Model: "test/model"})
				g.applyLate() // the hub guarantees this order
				text := said()
				fails, lossy, offset := rnd.IntN(4) == 0 && attempt < 3, rnd.IntN(4) == 0, 0
				for i, piece := range text {
					if fails && i == len(text)-1 {
						break
					}
					for times := 1 + rnd.IntN(5)/4; times > 0 && (!lossy || rnd.IntN(3) > 0); times-- { // sometimes duplicated
						g.addPiece(ponder.Delta{Run: "run_1", Key: key, Attempt: attempt, Offset: offset, Delta: llm.Delta{Text: piece}})
					}
					offset += len(piece)
				}
				if !fails {
					g.addEvent(key+fmt.Sprintf("#%d", attempt), ponder.CallFinished{Model: "test/model"})
					if all := strings.TrimSpace(strings.Join(text, "")); all != "" {
						want = append(want, all)
						g.addEvent(fmt.Sprintf("say-5-%d/1.1", round), ponder.AssistantMessage{Content: all, Model: "test/model"})
					}
					break
				}
				clean = false
				g.addEvent(key+fmt.Sprintf("#%d", attempt), ponder.CallFinished{Model: "test/model", Outcome: ponder.Outcome{Error: "broken"}})
			}
		}
		g.addEvent("end-5/1.1", ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_5"})
		g.applyLate()
		g.readParts(g.t.close())
		if all := strings.Join(want, "\n\n"); g.text != all {
			t.Fatalf("seed %d: %q, not %q", seed, g.text, all)
		}
		if over, _ := g.t.isOver(); !over || clean && g.replaced > 0 {
			t.Fatalf("seed %d: over %v, replaced %d times", seed, over, g.replaced)
		}
	}
}

// A lateTurn is a turn whose events arrive late, in order.
type lateTurn struct {
	client
	t    *chatProjector
	seq  ponder.Seq
	rnd  *rand.Rand
	late []ponder.Event
}

func (g *lateTurn) addEvent(cause string, b ponder.Body) {
	g.seq++
	g.late = append(g.late, ponder.Event{Seq: g.seq, Run: "run_1", Cause: cause, Body: b})
	if g.rnd.IntN(2) == 0 {
		g.applyLate()
	}
}

func (g *lateTurn) addPiece(d ponder.Delta) {
	if g.rnd.IntN(4) == 0 {
		g.applyLate()
	}
	g.readParts(g.t.applyDelta(d))
}

func (g *lateTurn) applyLate() {
	for _, ev := range g.late {
		g.readParts(g.t.applyEvent(ev))
	}
	g.late = nil
}

const canary = "CANARY-7f3"

// No part contains text of an internal event.
func TestLeaks(t *testing.T) {
	inner := []ponder.Event{
		{Run: "run_1", Cause: "turn-1-1#1", Body: ponder.CallStarted{Model: "test/model", Mode: "chat"}},
		{Run: "run_1", Cause: "think-1-1/1.1", Internal: true, Body: ponder.Thought{Content: canary, Kind: "think"}},
		{Run: "run_1", Internal: true, Body: ponder.InnerMonologue{Content: canary, Reason: canary}},
		{Run: "run_1", Internal: true, Body: ponder.Observation{Content: canary, Sensor: "subconscious"}},
		{Run: "run_1", Cause: "use-1-1-0#1", Internal: true, Body: ponder.ToolCall{Name: "web_search", Args: json.RawMessage(`{"query":"` + canary + `"}`)}},
		{Run: "run_1", Cause: "use-1-1-0#1", Internal: true, Body: ponder.ToolResult{Name: "web_search", Result: `{"results":[{"url":"` + canary + `"}]}`}},
		{Run: "run_1", Internal: true, Body: ponder.Evidence{Content: canary, ID: "e1", Source: canary}},
		{Run: "run_1", Internal: true, Body: ponder.Progress{Content: canary, Stage: "note", Label: canary}},
		{Run: "run_1", Internal: true, Body: ponder.Synthesis{Content: canary}},
		{Run: "run_1", Internal: true, Body: ponder.Summary{Content: canary}},
		{Run: "run_1", Cause: "turn-1-1#1", Body: ponder.CallFinished{Model: "test/model", Outcome: ponder.Outcome{Error: canary}}},
		{Run: "run_1", Internal: true, Cause: "end-1/1.1", Body: ponder.Progress{Stage: chat.TurnEnded, Ref: "evt_1", Refused: true, Content: canary}},
		{Run: "run_1", Body: ponder.RunFinished{Status: ponder.Completed, Answer: "That is all."}},
	}
	for name, make := range map[string]func() (projector, string){
		"chat":     func() (projector, string) { return newChatProjector("evt_1", 1, false, false), chat.Name },
		"research": func() (projector, string) { return newThinkProjector(research.Name), research.Name },
	} {
		t.Run(name, func(t *testing.T) {
			p, mode := make()
			var all []Part
			all = append(all, p.applyEvent(ponder.Event{Seq: 2, Run: "run_1", Body: ponder.RunStarted{Mode: mode, Input: "Why?"}})...)
			for i, ev := range inner {
				ev.Seq = ponder.Seq(3 + i)
				all = append(all, p.applyEvent(ev.Stamp("thr_1", ev.Seq, ev.Time))...)
				for _, key := range []string{"muse-1", "summed-1", "plan", "turn-9-1", "write-1"} {
					all = append(all, p.applyDelta(ponder.Delta{Run: "run_1", Key: key, Attempt: 1, Delta: llm.Delta{Text: canary}})...)
				}
				all = append(all, p.applyDelta(ponder.Delta{Run: "run_1/muse-1", Key: "turn-1-1", Attempt: 1, Delta: llm.Delta{Text: canary}})...)
			}
			all = append(all, p.close()...)
			end := p.endState()
			js, err := json.Marshal(append(all, Part{Kind: Ended, End: &end}))
			if err != nil || strings.Contains(string(js), canary) {
				t.Errorf("%s (%v)", js, err)
			}
			if over, _ := p.isOver(); !over {
				t.Error("it is not over")
			}
		})
	}
}

func TestTranscript(t *testing.T) {
	list := []llm.Message{llm.Say(System, "Be short."), llm.Say(llm.User, " Why? "), llm.Say(llm.Assistant, ""), llm.Say("other", "é"+strings.Repeat("x", 50))}
	if got, want := renderTranscript(list, 1000), "system: Be short.\n\nuser: Why?\n\nother: é"+strings.Repeat("x", 50); got != want {
		t.Errorf("%q, not %q", got, want)
	}
	for most := range 80 {
		got := renderTranscript(list, most)
		if len(got) > most+len("other: … ") || strings.ToValidUTF8(got, "") != got {
			t.Errorf("of %d bytes: %d, %q", most, len(got), got)
		}
	}
}

func TestPlain(t *testing.T) {
	if got := Plain("a\x1b[31m\tb\u202e\u2066\u2028\n日本é"); got != "a[31m\tb\n日本é" {
		t.Errorf("%q", got)
	}
}
