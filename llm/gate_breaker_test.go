package llm

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGateBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		result := overloadedError()
		g := NewGate(GateConfig{MinRequests: 4})
		p := g.Provider(fakeProvider{fakeModel{f: func(ctx context.Context, _ *Request) error {
			calls++
			return result
		}}})
		m := p.Model("m")
		for _, wait := range []time.Duration{0, 0, 0, 30 * time.Second} { // the last one opens the breaker
			if err := asError(askModel(t.Context(), m), ""); err.Status != 503 || err.Message != "overloaded" || err.RetryAfter != wait {
				t.Fatalf("error = %#v, want it to wait %s", err, wait)
			}
		}
		time.Sleep(10 * time.Second)
		want := &Error{Class: Transient, Model: "p/m", Status: 503, RetryAfter: 20 * time.Second,
			Message: "not sent: the model failed too often just now: overloaded", Unsent: true}
		if diff := cmp.Diff(want, asError(askModel(t.Context(), m), "")); diff != "" {
			t.Error(diff)
		}
		if askModel(t.Context(), p.Model("other")); calls != 5 {
			t.Errorf("%d calls, want 5: 4 and the other model's", calls)
		}

		time.Sleep(20 * time.Second) // the probe fails
		if err := asError(askModel(t.Context(), m), ""); err.Message != "overloaded" || calls != 6 {
			t.Errorf("probe: %v, %d calls", err, calls)
		}
		if err := asError(askModel(t.Context(), m), ""); err.RetryAfter != 30*time.Second || calls != 6 {
			t.Errorf("after the probe: %#v, %d calls", err, calls)
		}

		time.Sleep(30 * time.Second) // the probe succeeds
		result = nil
		for range 3 {
			if err := askModel(t.Context(), m); err != nil {
				t.Error(err)
			}
		}
	})
}

// One request probes, others get RetryAfter; the first delta suffices.
func TestGateProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(GateConfig{MinRequests: 1})
		fail := g.Model(fakeModel{"p/m", answerAfter(0, overloadedError())})
		askModel(t.Context(), fail)
		time.Sleep(30 * time.Second)

		mute := make(chan struct{})
		probe := g.Model(silentModel{"p/m", mute})
		go askModel(t.Context(), probe)
		synctest.Wait()
		ok := g.Model(fakeModel{"p/m", answerAfter(0, nil)})
		if err := asError(askModel(t.Context(), ok), ""); err.RetryAfter != probeWait {
			t.Errorf("during the probe: %#v", err)
		}
		close(mute)
		synctest.Wait()
		if err := askModel(t.Context(), ok); err != nil {
			t.Errorf("after the first delta: %v", err)
		}

		askModel(t.Context(), fail)
		askModel(t.Context(), fail)
		time.Sleep(30 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		go askModel(ctx, g.Model(silentModel{"p/m", nil}))
		synctest.Wait()
		cancel() // a cancelled probe decides nothing
		synctest.Wait()
		if err := askModel(t.Context(), ok); err != nil {
			t.Errorf("after a cancelled probe: %v", err)
		}
	})
}

// A silentModel model waits for its channel to close.
type silentModel struct {
	name string
	mute chan struct{}
}

func (m silentModel) Name() string { return m.name }

func (m silentModel) Generate(ctx context.Context, _ *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		select {
		case <-m.mute:
			if yield(Delta{Text: "x"}, nil) {
				<-ctx.Done()
			}
		case <-ctx.Done():
			yield(Delta{}, &Error{Class: Cancelled})
		}
	}
}

// A refused key fails the requests that were sent. Then one request at a time tests it, and
// after three refusals the rest fails unsent until the next probe.
func TestGateDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		refused := error(&Error{Class: Auth, Model: "p/m", Status: 401, Message: "key rejected", Advice: "set P_KEY"})
		result := refused
		g := NewGate(GateConfig{})
		m := g.Model(fakeModel{"p/m", func(context.Context, *Request) error {
			calls.Add(1)
			err := result
			time.Sleep(time.Second)
			return err
		}})
		askMany := func(n, wantCalls, wantFailed int) {
			t.Helper()
			calls.Store(0)
			var wg sync.WaitGroup
			var failed atomic.Int32
			for range n {
				wg.Go(func() {
					if err := askModel(t.Context(), m); err != nil {
						failed.Add(1)
						if got := err.Error(); got != "p/m: key rejected (401): set P_KEY" {
							t.Error(got)
						}
					}
				})
			}
			wg.Wait()
			if int(calls.Load()) != wantCalls || int(failed.Load()) != wantFailed {
				t.Errorf("%d calls, %d failed; want %d and %d", calls.Load(), failed.Load(), wantCalls, wantFailed)
			}
		}
		askMany(1, 1, 1)
		askMany(6, maxRefusals-1, 6) // two probes, one after the other
		if faults := g.Faults(); len(faults) != 1 || faults[0].Class != Auth || faults[0].Model != "p/m" || faults[0].RetryAfter <= 0 {
			t.Errorf("faults: %+v", faults)
		}
		if wait, open := Available(m); open || wait <= 0 || wait > denialBase {
			t.Errorf("open %v, wait %v", open, wait)
		}
		time.Sleep(denialBase)
		askMany(3, 1, 3)
		g.ResetAuthErrors()
		if _, open := Available(m); !open || len(g.Faults()) > 0 {
			t.Error("it is denied still")
		}
		askMany(4, 1, 4)
		time.Sleep(denialCap)
		result = nil
		askMany(1, 1, 0)
		askMany(9, 9, 0)
		if len(g.Faults()) > 0 {
			t.Error("it is denied still")
		}
	})
}

// A refusal among answers fails only its request, and slows the others down for moments.
func TestGateSuspect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		g := NewGate(GateConfig{})
		m := g.Model(fakeModel{"p/m", func(ctx context.Context, _ *Request) error {
			if n := calls.Add(1); n%5 == 0 { // long before the others
				return &Error{Class: Auth, Status: 401, Message: "key rejected"}
			}
			return answerAfter(time.Second, nil)(ctx, nil)
		}})
		var wg sync.WaitGroup
		var failed atomic.Int32
		for range 300 {
			wg.Go(func() {
				if askModel(t.Context(), m) != nil {
					failed.Add(1)
				}
			})
		}
		wg.Wait()
		if calls.Load() != 300 || failed.Load() != 60 {
			t.Errorf("%d calls, %d failed; want 300 and those that were refused, 60", calls.Load(), failed.Load())
		}
	})
}

// A stalled call that is cancelled is the model's failure; an unwanted one is not.
func TestGateCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := NewGate(GateConfig{MinRequests: 4})
		m := g.Model(fakeModel{"p/m", func(ctx context.Context, _ *Request) error {
			calls++
			<-ctx.Done()
			return &Error{Class: Cancelled, Err: ctx.Err()}
		}})
		end := func(cause error) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(cause) })
			_ = askModel(ctx, m)
		}
		for range 8 {
			end(nil)
		}
		if calls != 8 {
			t.Errorf("%d calls, want 8: it is not the model's fault", calls)
		}
		for range 8 {
			end(&Error{Class: Transient, Message: "too slow"})
		}
		if calls >= 16 {
			t.Errorf("%d calls, and it is asked still", calls)
		}
	})
}
