package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"ponder"
	"ponder/internal/config"
	"ponder/llm"
)

func vectorsAt(price ponder.Price, tokens int, asked *int, mu *sync.Mutex) VectorModel {
	return VectorModel{Name: "sim/vectors", Price: price, Embed: func(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
		mu.Lock()
		defer mu.Unlock()
		*asked++
		return make([][]float32, len(texts)), llm.Usage{Input: tokens * len(texts)}, nil
	}}
}

// Concurrent vector calls never overdraw the day, and leave no reservation.
func TestVectorsAreHeldBefore(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 0.5})
	price := ponder.Price{Source: ponder.PriceTable, Input: 100}
	var mu sync.Mutex
	asked, refused := 0, 0
	m := vectorsAt(price, 2000, &asked, &mu)
	text := strings.Repeat("a ", 2000) // 2016 tokens at most, 20 cents
	var all sync.WaitGroup
	for range 12 {
		s := l.Serve()
		all.Go(func() {
			_, _, err := s.embedFor(l.ctx, "anna", "anna", m, []string{text})
			if err != nil {
				l.checkRefused(OverBudget, err)
				mu.Lock()
				refused++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	s := l.Serve()
	if left := l.quotaLeft(s); left != 100_000 || asked != 2 || refused != 10 {
		t.Errorf("%d were made, %d is left, %d refused", asked, left, refused)
	}
	if sum := l.reservedCost(""); sum != 0 {
		t.Errorf("%d is reserved", sum)
	}
	before := asked
	_, _, err := s.embedFor(l.ctx, "anna", "anna", m, []string{text, text, text, text, text, text})
	l.checkRefused(OverBudget, err)
	if asked != before {
		t.Error("a batch that does not fit is made")
	}
	if _, _, err := s.embedFor(l.ctx, "ben", "", m, []string{text}); err != nil {
		t.Errorf("for a token without a limit: %v", err)
	}
	_, _, err = s.embedFor(l.ctx, "anna", "anna", vectorsAt(ponder.Price{Source: ponder.PriceUnknown}, 1, &asked, &mu), nil)
	l.checkRefused(OverBudget, err)
	if _, _, err := s.embedFor(l.ctx, "anna", "anna", vectorsAt(ponder.Price{Source: ponder.PriceLocal}, 1, &asked, &mu), nil); err != nil {
		t.Errorf("what costs nothing: %v", err)
	}
}

// Vectors without reported usage cost their maximum.
func TestCostOfVectors(t *testing.T) {
	m := VectorModel{Price: ponder.Price{Source: ponder.PriceTable, Input: 1}}
	said := int64(7)
	for name, tt := range map[string]struct {
		usage llm.Usage
		err   error
		cost  ponder.Money
	}{
		"said":       {llm.Usage{Input: 50, Cost: &said}, nil, 7},
		"used":       {llm.Usage{Input: 50}, nil, 50},
		"silent":     {llm.Usage{}, nil, 1000},
		"refused":    {llm.Usage{}, &llm.Error{Class: llm.BadRequest}, 0},
		"broken off": {llm.Usage{}, &llm.Error{Class: llm.Cancelled}, 1000},
		"in part":    {llm.Usage{Input: 20}, &llm.Error{Class: llm.Cancelled}, 20},
		"unknown":    {llm.Usage{}, errors.New("?"), 1000},
	} {
		if got := m.Cost(tt.usage, tt.err, 1000); got != tt.cost {
			t.Errorf("%s: %d, want %d", name, got, tt.cost)
		}
	}
}

func TestWhoPaysForVectors(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	s := l.Serve()
	s.Settings.Serve.Tokens["second"] = config.Token{Owner: "anna", Cost: 2}
	s.Settings.Serve.Tokens["free"] = config.Token{Owner: "ben"}
	s.Settings.Serve.Tokens["limited"] = config.Token{Owner: "ben", Cost: 1}
	for owner, want := range map[string]string{"anna": "[anna second]", "ben": "[]", "local": "[]"} {
		if got := fmt.Sprint(s.vectorPayers(t.Context(), owner)); got != want {
			t.Errorf("%s: %s, want %s", owner, got, want)
		}
	}
	if got := fmt.Sprint(s.vectorPayers(l.ctx, "anna")); got != "[anna]" {
		t.Errorf("who asks: %s", got)
	}
}

func TestUsedByAnOwner(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	s := l.Serve()
	for _, id := range []ponder.ThreadID{"thr_1", "thr_2"} {
		if _, err := l.startSession(s, id, 100_000); err != nil {
			t.Fatal(err)
		}
		l.appendEvents(id, callEvents(50_000)...)
	}
	if err := l.store.Remove(l.ctx, "thr_1"); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := 0
	m := vectorsAt(ponder.Price{Source: ponder.PriceTable, Input: 1}, 300, &asked, &mu)
	for range 2 {
		if _, _, err := s.embedFor(l.ctx, "anna", "anna", m, []string{strings.Repeat("text", 500)}); err != nil {
			t.Fatal(err)
		}
	}
	for by, want := range map[ponder.GroupBy]string{
		ponder.ByRole:  "slow 2 100000, embed 2 600",
		ponder.ByModel: "sim/a 2 100000, sim/vectors 2 600",
	} {
		for _, all := range []bool{false, true} {
			rows, err := s.Used(l.ctx, "anna", all, by, time.Time{})
			var list []string
			for _, r := range rows {
				list = append(list, fmt.Sprintf("%s %d %d", r.Key, r.Calls, r.Money))
			}
			if got := strings.Join(list, ", "); got != want || err != nil {
				t.Errorf("%s: %s: %v; want %s", by, got, err, want)
			}
		}
	}
	if rows, err := s.Used(l.ctx, "ben", false, ponder.ByRole, time.Time{}); err != nil || len(rows) != 0 {
		t.Errorf("another has used %v: %v", rows, err)
	}
}
