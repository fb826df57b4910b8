package llm

import (
	"context"
	"iter"
	"sync"
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

func TestGateDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := NewGate(GateConfig{MaxConcurrent: 1})
		m := g.Model(fakeModel{"p/m", func(context.Context, *Request) error {
			calls++
			time.Sleep(time.Second)
			return &Error{Class: Auth, Model: "p/m", Status: 401, Message: "key rejected", Advice: "set P_KEY"}
		}})
		var wg sync.WaitGroup
		for range 5 { // four fail unsent
			wg.Go(func() {
				if got := askModel(t.Context(), m).Error(); got != "p/m: key rejected (401): set P_KEY" {
					t.Error(got)
				}
			})
		}
		wg.Wait()
		time.Sleep(24 * time.Hour)
		askModel(t.Context(), m)
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
		for i, again := range []func(){g.ResetAuthErrors, g.Reset} {
			again()
			if _, open := Available(m); !open {
				t.Error("it is closed still")
			}
			askModel(t.Context(), m)
			askModel(t.Context(), m)
			if wait, open := Available(m); open || wait != 0 || calls != 2+i {
				t.Errorf("%d calls, want %d; closed %v, for %v", calls, 2+i, !open, wait)
			}
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
