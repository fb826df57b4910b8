package httpapi

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/stream"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/store/memory"
)

func longAnswer(req *llm.Request) (llm.Message, error) {
	const text = "So it is \"salt\".\nRivers carry salt to the sea, the sun takes the water away, and the wind brings it back as rain. " +
		"Vents on the floor add more, and clay holds some of it for a long time. What stays is hardly ever lost."
	if req.Schema == nil { // the final answer
		return llm.Say(llm.Assistant, text), nil
	}
	form := map[string]any{"thoughts": []map[string]any{{"thought": "Thoughts come as events.", "type": "insight", "confidence": 0.5}}}
	if name := req.Schema.Name; name == "synthesis" {
		form = map[string]any{"confidence": 0.5, "insights": []string{"it is salt"}, name: text}
	}
	js, err := json.Marshal(form)
	return llm.Say(llm.Assistant, string(js)), err
}

// A session stream has only deltas of the answer: no thoughts, JSON or raw output.
func TestSessionDeltas(t *testing.T) {
	for _, raw := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { sessionDeltas(t, raw) })
	}
}

func sessionDeltas(t *testing.T, raw bool) {
	store, m, writings := memory.New(), slowModel(), session.TextStreams{}
	m.Deltas, m.Answer = 40, longAnswer
	hub := stream.New(store)
	mind, err := engine.New(engine.Config{
		Store: store, Modes: []ponder.Mode{session.New()}, Logger: slog.New(slog.DiscardHandler), Models: enginetest.Models(m, ponder.Price{}),
		OnDelta: func(d ponder.Delta) {
			if shown, ok := writings.Extract(d); raw {
				hub.Delta(d)
			} else if ok {
				hub.Delta(shown)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := mind.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer mind.Close(t.Context())
	d := &testAPI{store, New(t.Context(), Config{Store: store, Hub: hub, Guard: guardOf(), Logger: slog.New(slog.DiscardHandler)})}
	start := ponder.RunStarted{Mode: session.Name, Input: "What is the sea?", Budget: ponder.Budget{Time: 3 * time.Minute}}
	if err := store.Create(t.Context(), ponder.Thread{ID: "thr_1", Kind: ponder.KindSession, Owner: "local"}, ponder.Event{Run: "run_1", Body: start}); err != nil {
		t.Fatal(err)
	}
	go mind.Work(t.Context(), "thr_1")
	code, frames := d.watchStream(t.Context(), "/api/thinking/thr_1/stream", 0, 0)
	if code != 200 {
		t.Fatalf("%d", code)
	}
	wrote := make(map[string]string)
	for _, f := range frames {
		if f.name != deltaEvent {
			continue
		}
		var p stream.Piece
		if err := json.Unmarshal([]byte(f.data), &p); err != nil || f.id != 0 || p.Run != "run_1" {
			t.Errorf("%+v (%v)", f, err)
		}
		wrote[p.Key] += p.Text
	}
	if raw {
		if len(wrote) > 0 {
			t.Errorf("raw pieces are sent: %q", wrote)
		}
		return
	}
	sums, keys := 0, len(wrote)
	for ev, err := range store.Events(t.Context(), "thr_1", 0) {
		if b, ok := ev.Body.(ponder.Synthesis); ok && err == nil {
			sums++
			for key, text := range wrote {
				if session.IsShown(key) && strings.TrimSpace(text) == b.Content {
					delete(wrote, key)
					break
				}
			}
		}
	}
	if len(wrote) > 0 || sums < 1 || keys != sums {
		t.Errorf("%d syntheses; and this was written too: %q", sums, wrote)
	}
}
