package subconscious

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/racetest"
	"ponder/llm"
)

// anyAnswer is a deterministic arbitrary answer.
func anyAnswer(seed uint64, name string, req *llm.Request) (llm.Message, error) {
	h := fnv.New64()
	fmt.Fprint(h, name, len(req.Messages))
	if len(req.Tools) > 0 { // the question contains the time
		return anyDecision(rand.New(rand.NewPCG(seed, h.Sum64())))
	}
	fmt.Fprint(h, req.Messages[len(req.Messages)-1].Text())
	rng := rand.New(rand.NewPCG(seed, h.Sum64()))
	switch rng.IntN(8) {
	case 0:
		return llm.Message{}, &llm.Error{Class: llm.Auth, Message: "key rejected"}
	case 1:
		return llm.Say(llm.Assistant, []string{"", "No.", "\x00\xff\u202e", strings.Repeat("[", 500), `{"findings":`, "NOTHING"}[rng.IntN(6)]), nil
	case 2:
		return callTool("remember", map[string]string{"text": "x"}), nil
	case 3:
		return llm.Say(llm.Assistant, none), nil
	}
	var list []any
	for range rng.IntN(6) {
		list = append(list, map[string]any{
			"type": "anomaly", "summary": fmt.Sprintf("Thing %d has changed.", rng.IntN(30)), "importance": rng.IntN(12),
			"rests_on": []string{fmt.Sprintf("o%d", rng.IntN(6))}, "reinforces": []string{fmt.Sprintf("e%d", rng.IntN(9))},
		})
	}
	js, err := json.Marshal(map[string]any{"findings": list, "escalate": rng.IntN(2) == 0, "reason": "why not",
		"hints": []any{map[string]string{"role": []string{"watcher", "oracle", "nobody"}[rng.IntN(3)], "look_for": fmt.Sprint("that ", rng.IntN(9))}}})
	return llm.Say(llm.Assistant, string(js)), err
}

func anyDecision(rng *rand.Rand) (llm.Message, error) {
	switch rng.IntN(9) {
	case 0:
		return llm.Message{}, &llm.Error{Class: llm.Auth, Message: "key rejected"}
	case 1, 2:
		return llm.Say(llm.Assistant, "Well."), nil
	case 3:
		return callTool(messageTool, []int{7}), nil
	case 4:
		return callTool(dismissTool, map[string]string{"reason": "so"}), nil
	case 5:
		return callTool("rm", map[string]string{"path": "/"}), nil
	case 6:
		return joinCalls(callTool(rememberTool, map[string]string{"text": "a"}), callMessage("Told.")), nil
	}
	return callTool(rememberTool, map[string]string{"text": "b"}), nil
}

// anyWorld returns random observations and models for a seed.
func anyWorld(seed uint64) (crashScenario, *rand.Rand) {
	rng := rand.New(rand.NewPCG(seed, 7))
	c := crashScenario{name: fmt.Sprint("seed ", seed), tools: []ponder.Tool{newRememberTool(nil)}, models: func() map[ponder.Role]*fakeModel {
		models := make(map[ponder.Role]*fakeModel)
		roles := []ponder.Role{ponder.Frontier}
		for _, r := range DefaultRoles() {
			roles = append(roles, ModelOf(r.Name))
		}
		for i, role := range roles {
			takes := time.Duration(i+1) * time.Second
			if (seed+uint64(i))%9 == 0 {
				takes = time.Hour
			}
			models[role] = &fakeModel{name: "test/" + string(role), takes: takes, answer: func(req *llm.Request) (llm.Message, error) { return anyAnswer(seed, string(role), req) }}
		}
		return models
	}}
	for n := range 1 + rng.IntN(6) {
		c.seen = append(c.seen, ponder.Observation{
			Sensor: []string{"mail", "system", "own", "calendar"}[rng.IntN(4)], Subject: fmt.Sprint("thing ", n), State: "new", Level: rng.IntN(11),
			Content: fmt.Sprintf("Thing %d has changed.", rng.IntN(30)), Untrusted: seed%2 == 0 && rng.IntN(2) == 0, Source: fmt.Sprint("s", n),
		})
	}
	return c, rng
}

// For any answers, ticks end, merges and decisions happen once, and untrusted text causes no
// action.
func TestAnyWorld(t *testing.T) {
	raised, acted := 0, 0
	for seed := range uint64(24) {
		synctest.Test(t, func(t *testing.T) {
			c, rng := anyWorld(seed)
			b := newBench(t, c.o, nil, c.models(), c.tools...)
			for range 3 {
				c.runScenario(b)
				time.Sleep(time.Duration(rng.IntN(40)) * time.Minute)
				ticks := len(b.foldView().Ticks)
				due, why := b.foldView().Due(b.o, time.Now())
				if b.runTick(TickInput{}, ponder.Budget{}); due != (len(b.foldView().Ticks) > ticks) {
					t.Errorf("%s: due %v, %s; but there are %d ticks, and were %d", c.name, due, why, len(b.foldView().Ticks), ticks)
				}
				b.runDecisions()
			}
			v := b.foldView()
			if len(v.Undecided) != 0 || len(bodiesOf[ponder.Escalation](b.Events())) != 2*len(v.Decided) {
				t.Errorf("%s: %d undecided, %d decided", c.name, len(v.Undecided), len(v.Decided))
			}
			for i, tick := range v.Ticks {
				if tick.Number != i+1 {
					t.Errorf("%s: tick %d is the %dth", c.name, tick.Number, i+1)
				}
			}
			for _, ev := range v.Decided {
				e := ev.Body.(ponder.Escalation)
				if raised++; e.Outcome == Remembered {
					acted++
				}
				if e.Untrusted && (e.Outcome == Remembered || e.Outcome == Messaged && !strings.Contains(e.Content, "ext from strangers")) {
					t.Errorf("%s: %+v", c.name, e)
				}
			}
			if len(bodiesOf[ponder.ToolCall](b.Events())) > 0 && !v.facts.Exposed.IsZero() && v.facts.Exposed.Before(firstTool(b)) {
				t.Errorf("%s: a tool was used though strangers had written", c.name)
			}
		})
	}
	if raised < 15 || acted == 0 {
		t.Errorf("%d escalations, %d remembered: this tests nothing", raised, acted)
	}
}

func firstTool(b *testBench) time.Time {
	for _, ev := range b.Events() {
		if _, ok := ev.Body.(ponder.ToolCall); ok {
			return ev.Time
		}
	}
	return time.Time{}
}

func TestCutAnyWorld(t *testing.T) {
	for seed := uint64(0); seed < 4; seed += uint64(racetest.Stride(2)) {
		synctest.Test(t, func(t *testing.T) {
			c, _ := anyWorld(seed)
			checkCrashes(t, c)
		})
	}
}

func FuzzDecision(f *testing.F) {
	f.Add("remember", `{"text":"x"}`, "words", true)
	f.Add("message_user", `{"text":7}`, "", false)
	f.Add("rm", "[", "\x00\xff", true)
	f.Fuzz(func(t *testing.T, tool, input, said string, untrusted bool) {
		start := ponder.Run{ID: "run_1", Mode: DecideMode, Input: "esc_1-1", Started: dawn}
		var s ponder.State = newDecision(Options{Roles: DefaultRoles()}, start, newKnowledge())
		s = s.Apply(ponder.Event{Seq: 1, Time: dawn, Run: "run_0", Body: ponder.Escalation{ID: "esc_1-1", Content: said, Reason: input, Untrusted: untrusted}})
		for n := range 40 {
			for _, a := range s.Next(ponder.Moment{}) {
				switch a := a.(type) {
				case ponder.Call:
					m := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Text: said}, {Call: &llm.ToolCall{ID: "c", Name: tool, Input: json.RawMessage(input)}}}}
					s = s.Apply(ponder.Event{Run: start.ID, Cause: a.Key + "#1", Body: ponder.CallFinished{Message: m, Model: "test/model"}})
				case ponder.Do:
					if untrusted || a.Tool != rememberTool {
						t.Fatalf("%s is used", a.Tool)
					}
					s = s.Apply(ponder.Event{Run: start.ID, Cause: a.Key + "#1", Body: ponder.ToolResult{Name: a.Tool, Result: said}})
				case ponder.Write:
					e, ok := a.Bodies[0].(ponder.Escalation)
					if !ok || e.Outcome == "" || e.Content == "" || strings.ContainsAny(e.Content, "\x00\x1b") {
						t.Fatalf("%+v", a.Bodies)
					}
					return
				}
			}
			if n > 30 {
				t.Fatal("it is never decided")
			}
		}
	})
}
