package app

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/auth"
)

func newTestMinds(thinks func() (string, error)) *minds {
	m := newMinds(nil)
	m.modelNames = func(context.Context, string) (string, error) { return thinks() }
	m.make = func(_ context.Context, _ string, k *pooledMind) (err error) {
		k.models, err = thinks()
		return err
	}
	return m
}

func TestMindIsMadeOfTheModelsThatAreThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, closed := "rules", 0
		var failed error
		m := newTestMinds(func() (string, error) { return model, failed })
		lend := func() (*pooledMind, func()) {
			k, back, err := m.acquire(t.Context(), LocalOwner)
			checkOK(t, err)
			return k, back
		}
		first, back := lend()
		first.closers = append(first.closers, func() error { closed++; return nil })
		back()
		back() // idempotent
		if same, back := lend(); same != first {
			t.Error("rebuilt at once")
		} else {
			back()
		}
		model = "llama"
		time.Sleep(engineLife)
		first.users++
		if using, back := lend(); using != first || closed > 0 {
			t.Error("rebuilt while in use")
		} else {
			back()
		}
		first.users--
		now, back := lend()
		if now == first || now.models != "llama" || closed != 1 {
			t.Errorf("not rebuilt: %s, closed %d times", now.models, closed)
		}
		back()
		time.Sleep(2 * engineLife)
		failed = errors.New("no answer")
		if same, back := lend(); same != now {
			t.Error("rebuilt without a known owner")
		} else {
			back()
		}
		if len(m.list) != 1 {
			t.Errorf("%d are kept of one owner", len(m.list))
		}
	})
}

func TestMindThatCannotBeMadeIsMadeLater(t *testing.T) {
	broken := errors.New("broken")
	m := newTestMinds(func() (string, error) { return "llama", broken })
	if _, _, err := m.acquire(t.Context(), LocalOwner); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	broken = nil
	_, back, err := m.acquire(t.Context(), LocalOwner)
	checkOK(t, err)
	back()
}

func TestMindIsWatchedUntilItIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var model atomic.Value
		model.Store("rules")
		m := newTestMinds(func() (string, error) { return model.Load().(string), nil })
		k, back, err := m.acquire(t.Context(), LocalOwner)
		checkOK(t, err)
		defer back()
		over := make(chan time.Time, 1)
		begun := time.Now()
		go func() { m.waitOutdated(t.Context(), LocalOwner, k); over <- time.Now() }()
		time.Sleep(time.Hour)
		synctest.Wait()
		model.Store("llama")
		if took := (<-over).Sub(begun); took < time.Hour || took > time.Hour+2*engineLife {
			t.Errorf("it is old after %s", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		k.outdated = false
		m.waitOutdated(ctx, LocalOwner, k)
	})
}

func TestWhoseMindsAreKept(t *testing.T) {
	think := []auth.Scope{auth.Read, auth.Think}
	got := MindOwners(auth.Config{Tokens: []auth.Token{
		{Owner: LocalOwner, Scopes: auth.Scopes()}, {Owner: "anna", Scopes: think}, {Owner: "anna", Scopes: think}, {Owner: "eve", Scopes: []auth.Scope{auth.Read}},
	}})
	if !slices.Equal(got, []string{LocalOwner, "anna"}) {
		t.Errorf("got %q", got)
	}
}
