package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A languageLoad is conversations that are held in the native API and, turn by turn beside
// it, in each language of other clients.
type languageLoad struct {
	talks, turns   int           // requests that are answered as a whole
	streams, heard int           // conversations and their turns, as streams
	between        time.Duration // pieces of a streamed answer
}

// servedLanguages measures what a language costs beside the native API: the same turns of
// the same model, in conversations as long, whose requests take their turns.
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

// talking holds conversations, one turn of each language after the other, and hands each
// turn to took: of which language it is, and which turn. Which language comes first goes
// round.
func talking(ctx context.Context, s *served, talks, turns int, stream bool, took func(lang, turn int, h heard)) error {
	for i := range talks {
		list := make([]dialogue, len(tongues))
		for j := range list {
			list[j] = dialogue{served: s, chat: fmt.Sprintf("%d-%d-%t", i, j, stream), said: []string{fmt.Sprintf("What comes after %d%c?", i, 'a'+j)}}
		}
		for n := range turns {
			for j := range tongues {
				lang := (i + n + j) % len(tongues)
				t := &list[lang]
				h, err := t.turn(ctx, tongues[lang], stream)
				if err != nil {
					return fmt.Errorf("%s, turn %d: %w", tongues[lang].name, n, err)
				}
				took(lang, n, h)
				t.said = append(t.said, answerOf(stream), fmt.Sprintf("And what comes after %d?", n))
			}
		}
	}
	return nil
}

// whole measures requests that are answered as a whole.
func (l languageLoad) whole(ctx context.Context) (figures []figure, err error) {
	s, err := startServe(ctx, languageSim(shortAnswer, 0))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	first, later := make([][]time.Duration, len(tongues)), make([][]time.Duration, len(tongues))
	if err := talking(ctx, s, l.talks, l.turns, false, func(lang, turn int, h heard) {
		if turn == 0 {
			first[lang] = append(first[lang], h.took)
		} else {
			later[lang] = append(later[lang], h.took)
		}
	}); err != nil {
		return nil, err
	}
	if err := s.oneEach(ctx, l.talks*len(tongues)); err != nil {
		return nil, err
	}
	figures = append(figures,
		figure{Name: "native: a turn, p50", Value: quantile(later[0], 0.5), Unit: "ms"},
		figure{Name: "native: a conversation and its first turn, p50", Value: quantile(first[0], 0.5), Unit: "ms"})
	for i, t := range tongues[1:] {
		figures = append(figures,
			figure{Name: t.name + ": a turn, added to the native one beside it, p50", Value: quantile(minus(later[i+1], later[0]), 0.5), Unit: "ms", Goal: 0.2},
			figure{Name: t.name + ": the first turn, likewise", Value: quantile(minus(first[i+1], first[0]), 0.5), Unit: "ms"})
	}
	return figures, nil
}

// minus returns the differences, one by one.
func minus(a, b []time.Duration) (list []time.Duration) {
	for i := range a {
		list = append(list, a[i]-b[i])
	}
	return list
}

// streamed measures what is streamed: the CPU of the server, from a turn to the next.
func (l languageLoad) streamed(ctx context.Context) (figures []figure, err error) {
	s, err := startServe(ctx, languageSim(longAnswer, l.between))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	spent, events := make([]time.Duration, len(tongues)), make([]int, len(tongues))
	took := make([][]time.Duration, len(tongues))
	before := s.cpu()
	if err := talking(ctx, s, l.streams, l.heard, true, func(lang, turn int, h heard) {
		time.Sleep(100 * time.Millisecond) // what comes behind a turn is of the turn
		now := s.cpu()
		if turn > 0 {
			spent[lang] += now - before
			events[lang] += h.events
			took[lang] = append(took[lang], h.took)
		}
		before = s.cpu()
	}); err != nil {
		return nil, err
	}
	turns := float64(l.streams * (l.heard - 1))
	figures = append(figures,
		figure{Name: "native: CPU of the server for a streamed turn", Value: ms(spent[0]) / turns, Unit: "ms"},
		figure{Name: "native: events of a streamed turn", Value: float64(events[0]) / turns},
		figure{Name: "native: a streamed turn, p50", Value: quantile(took[0], 0.5), Unit: "ms"})
	for i, t := range tongues {
		if !t.streams || i == 0 {
			continue
		}
		figures = append(figures,
			figure{Name: t.name + ": CPU of a streamed event, beyond that of the native turn", Value: 1000 * ms(spent[i]-spent[0]) / float64(events[i]), Unit: "µs", Goal: 20},
			figure{Name: t.name + ": events of a streamed turn", Value: float64(events[i]) / turns},
			figure{Name: t.name + ": a streamed turn, added to the native one beside it, p50", Value: quantile(minus(took[i], took[0]), 0.5), Unit: "ms"})
	}
	return figures, nil
}

// oneEach checks that each conversation is one.
func (s *served) oneEach(ctx context.Context, want int) error {
	text, err := s.plainly(ctx, "/api/threads?kind=conversation&limit=100")
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
