package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A languageLoad is conversations that are held in each language of other clients and,
// turn by turn beside each of them, in the native API.
type languageLoad struct {
	talks, turns   int           // requests that are answered as a whole
	streams, heard int           // conversations and their turns, as streams
	between        time.Duration // pieces of a streamed answer
}

// servedLanguages measures what a language costs beside the native API: the same turns of
// the same model, in conversations as long.
func servedLanguages(l languageLoad) func(context.Context) ([]figure, error) {
	return func(ctx context.Context) ([]figure, error) {
		whole, err := l.whole(ctx)
		if err != nil {
			return nil, err
		}
		streamed, err := l.streamed(ctx)
		if err != nil {
			return nil, err
		}
		return append(append(whole, streamed...), figure{Name: "load of the machine", Value: machineLoad()}), nil
	}
}

// A beside is a turn of a language, and the native one beside it.
type beside struct{ native, own heard }

// How long nothing is asked between two turns: what comes behind one is not part of
// the next. A streamed turn has its own CPU in it, and rests longer.
const (
	restWhole  = 20 * time.Millisecond
	restStream = 100 * time.Millisecond
)

// talking holds conversations in each language, and native ones beside them, and returns
// the pairs of turns of each by the number of the turn. A conversation is held to its end
// before one in another language begins, so that neither of a pair is what a processor has
// not done for longer; which one of it comes first takes its turns, and so does which
// language does.
func talking(ctx context.Context, s *served, talks, turns int, stream bool) (pairs [][][]beside, err error) {
	pairs = make([][][]beside, len(tongues))
	for i := range pairs {
		pairs[i] = make([][]beside, turns)
	}
	for i := range talks {
		for j := range tongues {
			lang := (i + j) % len(tongues)
			if lang == 0 || stream && !tongues[lang].streams {
				continue
			}
			var held [2]dialogue
			for k, name := range []string{"native", "own"} {
				held[k] = dialogue{served: s, chat: fmt.Sprintf("%d-%d-%t", i, lang, stream), said: []string{fmt.Sprintf("What comes after %d%c, %s?", i, 'a'+lang, name)}}
			}
			for n := range turns {
				var both [2]heard
				for k := range both {
					k = (k + i + n) % len(both)
					t := &held[k]
					if both[k], err = t.turn(ctx, tongues[lang*k], stream); err != nil {
						return nil, fmt.Errorf("%s, turn %d: %w", tongues[lang].name, n, err)
					}
					t.said = append(t.said, answerOf(stream), fmt.Sprintf("And what comes after %d?", n))
				}
				pairs[lang][n] = append(pairs[lang][n], beside{both[0], both[1]})
			}
		}
	}
	return pairs, nil
}

// whole measures requests that are answered as a whole.
func (l languageLoad) whole(ctx context.Context) (figures []figure, err error) {
	s, err := startServe(ctx, languageSim(shortAnswer, 0))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	pairs, err := talking(ctx, s, l.talks, l.turns, false)
	if err != nil {
		return nil, err
	}
	if err := s.oneEach(ctx, 2*l.talks*(len(tongues)-1)); err != nil {
		return nil, err
	}
	took := func(h heard) time.Duration { return h.took }
	var first, later []beside
	for i, t := range tongues {
		if i == 0 {
			continue
		}
		own := slices.Concat(pairs[i][1:]...)
		first, later = append(first, pairs[i][0]...), append(later, own...)
		figures = append(figures,
			figure{Name: t.name + ": a turn, added to the native one beside it, p50", Value: added(own, took), Unit: "ms", Goal: 0.2},
			figure{Name: t.name + ": the first turn, likewise", Value: added(pairs[i][0], took), Unit: "ms"})
	}
	return append([]figure{
		{Name: "native: a turn, p50", Value: native(later, took), Unit: "ms"},
		{Name: "native: a conversation and its first turn, p50", Value: native(first, took), Unit: "ms"},
	}, figures...), nil
}

// added returns what a language adds to the native turns beside its own, p50 in ms.
func added(list []beside, of func(heard) time.Duration) float64 {
	var all []time.Duration
	for _, b := range list {
		all = append(all, of(b.own)-of(b.native))
	}
	return quantile(all, 0.5)
}

// native returns what native turns take, p50 in ms.
func native(list []beside, of func(heard) time.Duration) float64 {
	var all []time.Duration
	for _, b := range list {
		all = append(all, of(b.native))
	}
	return quantile(all, 0.5)
}

// streamed measures what is streamed: the CPU of the server for a turn, and what comes
// behind it.
func (l languageLoad) streamed(ctx context.Context) (figures []figure, err error) {
	s, err := startServe(ctx, languageSim(longAnswer, l.between))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	pairs, err := talking(ctx, s, l.streams, l.heard, true)
	if err != nil {
		return nil, err
	}
	took, cpu := func(h heard) time.Duration { return h.took }, func(h heard) time.Duration { return h.cpu }
	var all []beside
	for i, t := range tongues {
		if !t.streams || i == 0 {
			continue
		}
		own := slices.Concat(pairs[i][1:]...)
		all = append(all, own...)
		figures = append(figures,
			figure{Name: t.name + ": CPU of a streamed event, beyond that of the native turn, p50", Value: 1000 * added(own, cpu) / float64(own[0].own.events), Unit: "µs", Goal: 20},
			figure{Name: t.name + ": events of a streamed turn", Value: float64(own[0].own.events)},
			figure{Name: t.name + ": a streamed turn, added to the native one beside it, p50", Value: added(own, took), Unit: "ms"})
	}
	return append([]figure{
		{Name: "native: CPU of the server for a streamed turn, p50", Value: native(all, cpu), Unit: "ms"},
		{Name: "native: events of a streamed turn", Value: float64(all[0].native.events)},
		{Name: "native: a streamed turn, p50", Value: native(all, took), Unit: "ms"},
	}, figures...), nil
}

// oneEach checks that each conversation is one.
func (s *served) oneEach(ctx context.Context, want int) error {
	text, err := s.plainly(ctx, "/api/threads?kind=conversation&limit=200")
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
		return errors.New("conversations were not gone on with")
	}
	return nil
}
