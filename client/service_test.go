package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/engine/enginetest"
	"ponder/internal/app"
	"ponder/internal/httpapi"
	"ponder/internal/placement"
	"ponder/internal/stream"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/mode/chat"
	"ponder/mode/session"
)

// A fullService is a service with sessions and memory.
type fullService struct {
	service
	place    *placement.Placement
	memories []httpapi.Memory // newest first
	ticks    int
}

// serveSessions returns an API in a synctest bubble. Its model answers all questions with says.
func serveSessions(t *testing.T, says string) *testAPI {
	t.Helper()
	d := newTestAPI(t)
	model := &llmtest.Model{ID: "sim/slow", Latency: llmtest.Delay{Mean: 2 * time.Second}, Deltas: 5}
	if says != "" {
		model.Answer = func(*llm.Request) (llm.Message, error) { return llm.Say(llm.Assistant, says), nil }
	}
	d.hub = stream.New(d.store)
	mind, err := engine.New(engine.Config{
		Store: d.store, Modes: []ponder.Mode{session.New(), chat.New(chat.Options{})}, OnDelta: d.hub.Delta,
		Models: enginetest.Models(model, ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 5}), Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = mind.Open(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	h := &fullService{service: service{store: d.store}}
	h.place = placement.Memory(placement.Config{Store: d.store, Work: mind.Work, Logger: slog.New(slog.DiscardHandler)})
	d.openServer(t, h)
	t.Cleanup(func() {
		d.stop()
		for _, closeIt := range []func(context.Context) error{h.place.Close, mind.Close} {
			if err := closeIt(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	return d
}

func (h *fullService) Begin(ctx context.Context, owner string, id ponder.ThreadID, q httpapi.Start) error {
	if err := h.service.Begin(ctx, owner, id, q); err != nil {
		return err
	}
	return h.place.Start(ctx, id)
}

func (h *fullService) Go(ctx context.Context, id ponder.ThreadID, _ string) error {
	return h.place.Start(ctx, id)
}

func (h *fullService) Fork(ctx context.Context, owner string, from, id ponder.ThreadID, f httpapi.Fork) error {
	info, err := h.store.Thread(ctx, from)
	if err != nil {
		return err
	}
	inputs := f.Commands
	if f.Paused {
		inputs = append([]ponder.Event{{Body: ponder.RunPaused{Reason: "forked"}}}, inputs...)
	}
	to := ponder.Thread{ID: id, Owner: owner, Title: f.Title, Model: f.Model}
	return engine.Fork(ctx, h.store, from, cmp.Or(f.At, info.Head), to, inputs...)
}

func (h *fullService) Open(ctx context.Context, owner string, id ponder.ThreadID, c httpapi.Conversation) error {
	return h.store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindConversation, Owner: owner, Title: c.Title, Model: c.Model})
}

func (h *fullService) Say(ctx context.Context, in ponder.Info, key string, m httpapi.Message) (ponder.Event, error) {
	list, err := h.store.Append(ctx, in.ID, 0, ponder.Event{Cause: key, Body: m.UserMessage})
	if err != nil {
		return ponder.Event{}, err
	}
	return list[0], h.place.Start(ctx, in.ID)
}

func (h *fullService) Remember(_ context.Context, _ string, list ...httpapi.Memory) ([]httpapi.Memory, error) {
	for i := range list {
		list[i].ID, list[i].Created = fmt.Sprintf("mem_%d", len(h.memories)), time.Now()
		h.memories = slices.Insert(h.memories, 0, list[i])
	}
	return list, nil
}

func (h *fullService) Search(_ context.Context, _ string, q httpapi.Query) (hits []httpapi.Hit, err error) {
	for _, m := range h.memories {
		if strings.Contains(m.Text, q.Text) && (q.Limit == 0 || len(hits) < q.Limit) {
			hits = append(hits, httpapi.Hit{Memory: m, Quote: m.Text, Score: 0.5})
		}
	}
	return hits, nil
}

func (h *fullService) Memories(_ context.Context, _ string, q httpapi.Query, after string) ([]httpapi.Memory, error) {
	from := 1 + slices.IndexFunc(h.memories, func(m httpapi.Memory) bool { return m.ID == after })
	return h.memories[from:min(len(h.memories), from+q.Limit)], nil
}

func (h *fullService) Forget(_ context.Context, _, id string) error {
	n := len(h.memories)
	h.memories = slices.DeleteFunc(h.memories, func(m httpapi.Memory) bool { return m.ID == id })
	if len(h.memories) == n {
		return app.NotFoundf("", "nothing of that id is remembered")
	}
	return nil
}

// mindThread is the thread of the subconscious, which records ticks.
const mindThread ponder.ThreadID = "thr_mind"

func (h *fullService) Thread(string) ponder.ThreadID { return mindThread }

func (h *fullService) Mind(context.Context, string) (json.RawMessage, error) {
	return fmt.Appendf(nil, `{"ticks":%d}`, h.ticks), nil
}

func (h *fullService) Tick(ctx context.Context, owner string) (json.RawMessage, error) {
	if h.ticks++; h.ticks == 1 {
		if err := h.store.Create(ctx, ponder.Thread{ID: mindThread, Kind: ponder.KindSubconscious, Owner: owner}); err != nil {
			return nil, err
		}
	}
	_, err := h.store.Append(ctx, mindThread, 0, ponder.Event{Body: ponder.Observation{Sensor: "own", Content: fmt.Sprint("look ", h.ticks)}})
	return fmt.Appendf(nil, `{"ran":true,"observations":%d}`, h.ticks), err
}
