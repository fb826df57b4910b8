package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A languageLoad holds conversations in each client protocol, with native ones for comparison.
type languageLoad struct {
	talks, turns         int           // complete responses
	streams, streamTurns int           // conversations and turns as streams
	between              time.Duration // delay between pieces of a stream
}

// languageScenario measures the cost of a protocol relative to the native API, with the same turns
// and model.
func languageScenario(l languageLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		whole, err := l.measureWhole(ctx)
		if err != nil {
			return nil, err
		}
		streamed, err := l.measureStreamed(ctx)
		if err != nil {
			return nil, err
		}
		return append(append(whole, streamed...), figure{Name: "load of the machine", Value: machineLoad()}), nil
	}
}

// A turnPair is a turn of a protocol with its native counterpart.
type turnPair struct{ native, own turnResult }

// Pauses between turns separate their costs. A streamed turn includes its CPU time and needs a
// longer pause.
const (
	pauseWhole  = 20 * time.Millisecond
	pauseStream = 100 * time.Millisecond
)

// measurePairs holds conversations in each protocol with native counterparts and returns the pairs
// by protocol and turn. It finishes a conversation before it changes the protocol, so that CPU
// caches are warm for both sides, and alternates which side and protocol comes first.
func measurePairs(ctx context.Context, s *serveProcess, talks, turns int, stream bool) (pairs [][][]turnPair, err error) {
	pairs = make([][][]turnPair, len(protocols))
	for i := range pairs {
		pairs[i] = make([][]turnPair, turns)
	}
	for i := range talks {
		for j := range protocols {
			lang := (i + j) % len(protocols)
			if lang == 0 || stream && !protocols[lang].streams {
				continue
			}
			var held [2]dialogue
			for k, name := range []string{"native", "own"} {
				held[k] = dialogue{serveProcess: s, chat: fmt.Sprintf("%d-%d-%t", i, lang, stream), history: []string{fmt.Sprintf("What comes after %d%c, %s?", i, 'a'+lang, name)}}
			}
			for n := range turns {
				var both [2]turnResult
				for k := range both {
					k = (k + i + n) % len(both)
					t := &held[k]
					if both[k], err = t.runTurn(ctx, protocols[lang*k], stream); err != nil {
						return nil, fmt.Errorf("%s, turn %d: %w", protocols[lang].name, n, err)
					}
					t.history = append(t.history, expectedAnswer(stream), fmt.Sprintf("And what comes after %d?", n))
				}
				pairs[lang][n] = append(pairs[lang][n], turnPair{both[0], both[1]})
			}
		}
	}
	return pairs, nil
}

// measureWhole measures complete responses.
func (l languageLoad) measureWhole(ctx context.Context) (figures []figure, err error) {
	s, err := startServe(ctx, languageSim(shortAnswer, 0))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	pairs, err := measurePairs(ctx, s, l.talks, l.turns, false)
	if err != nil {
		return nil, err
	}
	if err := s.checkThreadCount(ctx, 2*l.talks*(len(protocols)-1)); err != nil {
		return nil, err
	}
	took := func(h turnResult) time.Duration { return h.took }
	var first, later []turnPair
	for i, t := range protocols {
		if i == 0 {
			continue
		}
		own := slices.Concat(pairs[i][1:]...)
		first, later = append(first, pairs[i][0]...), append(later, own...)
		figures = append(figures,
			figure{Name: t.name + ": a turn, added to the native one beside it, p50", Value: addedLatency(own, took), Unit: "ms", Goal: 0.2},
			figure{Name: t.name + ": the first turn, likewise", Value: addedLatency(pairs[i][0], took), Unit: "ms"})
	}
	return append([]figure{
		{Name: "native: a turn, p50", Value: nativeLatency(later, took), Unit: "ms"},
		{Name: "native: a conversation and its first turn, p50", Value: nativeLatency(first, took), Unit: "ms"},
	}, figures...), nil
}

// addedLatency returns the overhead over native turns, p50 in ms.
func addedLatency(list []turnPair, of func(turnResult) time.Duration) float64 {
	var all []time.Duration
	for _, b := range list {
		all = append(all, of(b.own)-of(b.native))
	}
	return quantileMillis(all, 0.5)
}

// nativeLatency returns the duration of native turns, p50 in ms.
func nativeLatency(list []turnPair, of func(turnResult) time.Duration) float64 {
	var all []time.Duration
	for _, b := range list {
		all = append(all, of(b.native))
	}
	return quantileMillis(all, 0.5)
}

// measureStreamed measures the CPU time of the server per streamed turn, including the work after the
// response.
func (l languageLoad) measureStreamed(ctx context.Context) (figures []figure, err error) {
	s, err := startServe(ctx, languageSim(longAnswer, l.between))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	pairs, err := measurePairs(ctx, s, l.streams, l.streamTurns, true)
	if err != nil {
		return nil, err
	}
	took, cpu := func(h turnResult) time.Duration { return h.took }, func(h turnResult) time.Duration { return h.cpu }
	var all []turnPair
	for i, t := range protocols {
		if !t.streams || i == 0 {
			continue
		}
		own := slices.Concat(pairs[i][1:]...)
		all = append(all, own...)
		figures = append(figures,
			figure{Name: t.name + ": CPU of a streamed event, beyond that of the native turn, p50", Value: 1000 * addedLatency(own, cpu) / float64(own[0].own.events), Unit: "µs", Goal: 20},
			figure{Name: t.name + ": events of a streamed turn", Value: float64(own[0].own.events)},
			figure{Name: t.name + ": a streamed turn, added to the native one beside it, p50", Value: addedLatency(own, took), Unit: "ms"})
	}
	return append([]figure{
		{Name: "native: CPU of the server for a streamed turn, p50", Value: nativeLatency(all, cpu), Unit: "ms"},
		{Name: "native: events of a streamed turn", Value: float64(all[0].native.events)},
		{Name: "native: a streamed turn, p50", Value: nativeLatency(all, took), Unit: "ms"},
	}, figures...), nil
}

// checkThreadCount checks that each conversation is one thread.
func (s *serveProcess) checkThreadCount(ctx context.Context, want int) error {
	text, err := s.fetchText(ctx, "/api/threads?kind=conversation&limit=200")
	if err != nil {
		return err
	}
	var list struct {
		Count int `json:"thread_count"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return err
	}
	if list.Count != want {
		return errors.New("a server did not continue its conversations")
	}
	return nil
}
