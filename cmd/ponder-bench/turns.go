package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ponder"
	"ponder/engine"
	"ponder/internal/placement"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/llm/openai"
	"ponder/mode/chat"
	"ponder/mode/deep"
	"ponder/store/sqlite"
)

// A talkLoad is many concurrent conversations on one database. It measures the time that each turn
// adds to the model's own.
type talkLoad struct {
	conversations int
	turns         int           // per conversation
	first         time.Duration // to the first token
	between       time.Duration // between tokens
	pause         time.Duration // mean time between turns
}

// talkScenario measures the overhead of turns, without reflections and with one in each conversation.
func talkScenario(l talkLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) (all []figure, err error) {
		for _, with := range []struct {
			name      string
			deepAfter int
		}{{"", 0}, {", reflections on all", 1}} {
			t, err := l.measureTurns(ctx, with.deepAfter)
			if err != nil {
				return nil, err
			}
			all = append(all,
				figure{Name: "first token, added, p50" + with.name, Value: quantileMillis(t.first, 0.5), Unit: "ms", Goal: 2},
				figure{Name: "first token, added, p99" + with.name, Value: quantileMillis(t.first, 0.99), Unit: "ms", Goal: 15},
				figure{Name: "last token, added, p50" + with.name, Value: quantileMillis(t.last, 0.5), Unit: "ms", Goal: 2},
				figure{Name: "last token, added, p99" + with.name, Value: quantileMillis(t.last, 0.99), Unit: "ms", Goal: 15},
				figure{Name: "end of the turn in the log, added, p50" + with.name, Value: quantileMillis(t.ended, 0.5), Unit: "ms"},
				figure{Name: "CPU of a turn" + with.name, Value: toMillis(t.cpu) / float64(max(1, len(t.ended))), Unit: "ms"},
				figure{Name: "turns" + with.name, Value: float64(len(t.first))},
				figure{Name: "reflections" + with.name, Value: float64(t.deep)},
			)
		}
		return all, nil
	}
}

// A talkMeter measures the overhead of turns.
type talkMeter struct {
	mu      sync.Mutex
	saidAt  map[ponder.ThreadID]time.Time // of the newest message
	shownAt map[ponder.ThreadID]time.Time // of the newest token of its answer
	first   []time.Duration
	last    []time.Duration
	ended   []time.Duration
	cpu     time.Duration
	deep    int
	calls   map[string]*talkCall // by thread of the request
}

// A talkCall holds the times of the newest call in a conversation.
type talkCall struct{ began, first, last, done time.Time }

type timedModel struct {
	llm.Model
	meter *talkMeter
}

// Generate implements [llm.Model].
func (m timedModel) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		c := &talkCall{began: time.Now()}
		m.meter.mu.Lock()
		m.meter.calls[requestSession(req)] = c
		m.meter.mu.Unlock()
		for d, err := range m.Model.Generate(ctx, req) {
			now := time.Now()
			m.meter.mu.Lock()
			if d.Text != "" {
				c.last = now
				if c.first.IsZero() {
					c.first = now
				}
			}
			c.done = now
			m.meter.mu.Unlock()
			if !yield(d, err) {
				return
			}
		}
	}
}

func (l talkLoad) measureTurns(ctx context.Context, deepAfter int) (*talkMeter, error) {
	base, stop, err := startSim(ctx, llmtest.SimConfig{
		Seed: 1, Chunks: 8, FirstToken: llmtest.Delay{Mean: l.first, Jitter: 0.5}, Token: llmtest.Delay{Mean: l.between},
	})
	if err != nil {
		return nil, err
	}
	defer stop()
	dir, err := os.MkdirTemp("", "ponder-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "bench.db"))
	if err != nil {
		return nil, err
	}
	defer store.Close()
	m := &talkMeter{saidAt: make(map[ponder.ThreadID]time.Time), shownAt: make(map[ponder.ThreadID]time.Time), calls: make(map[string]*talkCall)}
	provider := openai.New(openai.Config{Name: "sim", BaseURL: base + "/v1", Key: "any"})
	price := ponder.Price{Source: ponder.PriceTable, Input: 1, Output: 4}
	slow := []ponder.Model{{Model: provider.Model("slow"), Price: price}}
	node := placement.CurrentNode()
	mind, err := engine.New(engine.Config{
		Store: store, Node: node, Logger: slog.New(slog.DiscardHandler), OnDelta: m.recordDelta,
		Modes: []ponder.Mode{chat.New(chat.Options{Deep: true, DeepAfter: deepAfter, DeepPerHour: 1000}), deep.New(deep.Options{PerHour: 1000})},
		Models: map[ponder.Role][]ponder.Model{
			ponder.Fast: {{Model: timedModel{provider.Model("fast"), m}, Price: price}}, ponder.Slow: slow, ponder.Cheap: slow,
		},
	})
	if err != nil {
		return nil, err
	}
	if err := mind.Open(ctx); err != nil {
		return nil, err
	}
	defer mind.Close(context.WithoutCancel(ctx))
	p, err := placement.Open(ctx, placement.Config{Store: store, DB: store.DB(), Node: node, Work: mind.Work, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer p.Close(context.WithoutCancel(ctx))
	errs, before := make([]error, l.conversations), cpuTime()
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = l.runConversation(ctx, m, store, p, i) })
	}
	wg.Wait()
	m.cpu = cpuTime() - before
	return m, errors.Join(errs...)
}

// recordDelta records the arrival of tokens.
func (m *talkMeter) recordDelta(d ponder.Delta) {
	if d.Text == "" {
		return
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.calls[string(d.Thread)]
	said := m.saidAt[d.Thread]
	if c == nil || c.began.Before(said) {
		return // a reflection
	}
	if m.shownAt[d.Thread].Before(said) {
		m.first = append(m.first, now.Sub(said)-c.first.Sub(c.began))
	}
	m.shownAt[d.Thread] = now
}

// runConversation holds one conversation. A turn ends when its answer is in the log.
func (l talkLoad) runConversation(ctx context.Context, m *talkMeter, store *sqlite.Store, p *placement.Placement, i int) error {
	id := ponder.ThreadID(fmt.Sprintf("thr_%06d", i))
	if err := store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindConversation}); err != nil {
		return err
	}
	events, lost := followEvents(ctx, store, id)
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	for n := range l.turns {
		time.Sleep(time.Duration(rng.Float64() * 2 * float64(l.pause)))
		said := time.Now()
		m.mu.Lock()
		m.saidAt[id] = said
		m.mu.Unlock()
		text := fmt.Sprintf("#%s# What comes after %d?", id, n)
		if _, err := store.Append(ctx, id, 0, ponder.Event{Body: ponder.UserMessage{Content: text}}); err != nil {
			return err
		}
		if err := p.Start(ctx, id); err != nil {
			return err
		}
		for answered := false; !answered; {
			select {
			case ev := <-events:
				switch ev.Body.(type) {
				case ponder.AssistantMessage:
					answered = true
				case ponder.InnerMonologue:
					m.mu.Lock()
					m.deep++
					m.mu.Unlock()
				}
			case err := <-lost:
				return err
			}
		}
		now := time.Now()
		m.mu.Lock()
		c := m.calls[string(id)]
		m.last = append(m.last, m.shownAt[id].Sub(said)-c.last.Sub(c.began))
		m.ended = append(m.ended, now.Sub(said)-c.done.Sub(c.began))
		m.mu.Unlock()
	}
	return nil
}

// followEvents sends the events of a thread as they arrive.
func followEvents(ctx context.Context, log ponder.Log, id ponder.ThreadID) (<-chan ponder.Event, <-chan error) {
	events, lost := make(chan ponder.Event), make(chan error, 1)
	go func() {
		for ev, err := range ponder.Follow(ctx, log, id, 0) {
			if err != nil {
				lost <- err
				return
			}
			events <- ev
		}
	}()
	return events, lost
}
