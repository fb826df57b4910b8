package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ponder/client"
	"ponder/llm"
	"ponder/llm/llmtest"
	"ponder/llm/openai"
)

// A turnLoad is conversations over HTTP, one turn at a time.
type turnLoad struct {
	conversations, turns int
	first, between       time.Duration // delays of the model, to the first token and between tokens
}

// turnScenario measures what HTTP adds to the first token. After each turn it calls the model
// directly in this process through the same adapter.
func turnScenario(l turnLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		s, err := startServe(ctx, llmtest.SimConfig{Seed: 1, Chunks: 8, FirstToken: llmtest.Delay{Mean: l.first}, Token: llmtest.Delay{Mean: l.between}})
		if err != nil {
			return nil, err
		}
		defer s.stop()
		model := openai.New(openai.Config{Name: "sim", BaseURL: s.sim + "/v1", Key: "any"}).Model("fast")
		relay, err := startChild(ctx, "-relay", relayConfig{Model: s.sim, Dir: s.dir})
		if err != nil {
			return nil, err
		}
		defer relay.stop()
		var turns, calls, added, handed []time.Duration
		for i := range l.conversations {
			t, err := s.Open(ctx, fmt.Sprintf("conversation %d", i), "")
			if err != nil {
				return nil, err
			}
			var direct, handing []llm.Message // the same conversation without a server, and through the relay
			for n := range l.turns {
				text := fmt.Sprintf("What comes after %d in conversation %d?", n, i)
				turn, err := s.measureFirstToken(ctx, string(t.ID), text)
				if err != nil {
					return nil, err
				}
				direct = append(direct, llm.Say(llm.User, text))
				call, said, err := modelFirstToken(ctx, model, direct)
				if err != nil {
					return nil, err
				}
				direct = append(direct, said)
				handing = append(handing, llm.Say(llm.User, text))
				hand, said, err := relayFirstToken(ctx, relay.base, handing)
				if err != nil {
					return nil, err
				}
				handing = append(handing, said)
				if i > 0 { // the first turn opens connections
					turns, calls, added, handed = append(turns, turn), append(calls, call), append(added, turn-call), append(handed, hand)
				}
			}
		}
		turn, call, hand := quantileMillis(turns, 0.5), quantileMillis(calls, 0.5), quantileMillis(handed, 0.5)
		return []figure{
			{Name: "first token of a turn, added to that of a call, p50", Value: turn - call, Unit: "ms", Goal: 2},
			{Name: "the ideal: added by a server that writes once and hands on, p50", Value: hand - call, Unit: "ms"},
			{Name: "added to the call beside it, p90", Value: quantileMillis(added, 0.9), Unit: "ms"},
			{Name: "first token of a turn, p50", Value: turn, Unit: "ms"},
			{Name: "first token of a call, p50", Value: call, Unit: "ms"},
			{Name: "the disk alone: a durable write of 8 KiB, p50", Value: syncTime(), Unit: "ms"},
			{Name: "turns", Value: float64(len(turns))},
		}, nil
	}
}

// measureFirstToken returns the time to the first token of a turn and waits for its end.
func (s *serveProcess) measureFirstToken(ctx context.Context, id, text string) (time.Duration, error) {
	began, first := time.Now(), time.Duration(0)
	for u, err := range s.StreamReply(ctx, id, client.Message{Content: text}) {
		switch {
		case err != nil:
			return 0, err
		case u.Piece != nil && first == 0:
			first = time.Since(began)
		case u.Turn != nil && u.Turn.Error != "":
			return 0, errors.New(u.Turn.Error)
		}
	}
	if first == 0 {
		return 0, errors.New("a turn had no deltas")
	}
	return first, nil
}

// modelFirstToken returns the time to the first token of a model call, and the answer.
func modelFirstToken(ctx context.Context, m llm.Model, said []llm.Message) (first time.Duration, answer llm.Message, err error) {
	began := time.Now()
	for d, err := range m.Generate(ctx, &llm.Request{Messages: said, MaxTokens: 1000}) {
		if err != nil {
			return 0, answer, err
		}
		if d.Text != "" && first == 0 {
			first = time.Since(began)
		}
		if d.Done != nil {
			answer = d.Done.Message
		}
	}
	return first, answer, nil
}
