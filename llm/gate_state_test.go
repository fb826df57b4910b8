package llm

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLaneNext(t *testing.T) {
	tests := []struct {
		name                    string
		interactive, background bool
		passed                  int
		wantBackground          bool
		wantPassed              int
	}{
		{"only interactive", true, false, 3, false, 0},
		{"only background", false, true, 3, true, 0},
		{"interactive first", true, true, 0, false, 1},
		{"and again", true, true, backgroundShare - 1, false, backgroundShare},
		{"then one of the background", true, true, backgroundShare, true, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			after, class := lane{passed: test.passed}.next(test.interactive, test.background)
			if class == 1 != test.wantBackground || after.passed != test.wantPassed || after.inFlight != 1 {
				t.Errorf("next = %+v, %v", after, class)
			}
		})
	}
}

func TestOutcomeOf(t *testing.T) {
	tests := map[Class]outcome{
		Transient: outcomeFailed, Unreachable: outcomeFailed, Truncated: outcomeFailed, Malformed: outcomeFailed,
		RateLimited: outcomeLimited, Auth: outcomeDenied, Payment: outcomeDenied, Cancelled: outcomeUnknown,
		NotFound: outcomeRefused, TooLong: outcomeRefused, Filtered: outcomeRefused, BadRequest: outcomeRefused,
	}
	for class, want := range tests {
		if got := outcomeOf(&Error{Class: class}); got != want {
			t.Errorf("outcomeOf(%s) = %d, want %d", class, got, want)
		}
	}
	if got := outcomeOf(&Error{Class: Payment, OfRequest: true}); got != outcomeRefused {
		t.Errorf("a refusal that depends on the request is %d", got)
	}
	if outcomeOf(nil) != outcomeGood || outcomeOf(errors.New("x")) != outcomeFailed {
		t.Error("nil is not good, or a plain error not a failure")
	}
}

func TestBreaker(t *testing.T) {
	cfg := GateConfig{MinRequests: 4, Window: time.Minute, CoolDown: 30 * time.Second}.withDefaults()
	t0 := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	failed := &Error{Class: Unreachable, Message: "refused"}
	type event struct {
		at    int
		o     outcome
		e     *Error
		probe bool
		asks  bool // has no outcome yet
	}
	good := func(at int) event { return event{at: at, o: outcomeGood} }
	fail := func(at int) event { return event{at: at, o: outcomeFailed, e: failed} }
	open := []event{fail(0), fail(0), fail(0), fail(0)}
	then := func(more ...event) []event { return append(open[:len(open):len(open)], more...) }
	noCredit := &Error{Class: Payment, Message: "no credit"}
	deny := func(at int) event { return event{at: at, o: outcomeDenied, e: noCredit} }
	denyProbe := func(at int) event { return event{at: at, o: outcomeDenied, e: noCredit, probe: true} }
	ask := func(at int) event { return event{at: at, asks: true} }
	denied := func(after time.Duration) admission {
		return admission{refusal: &Error{Class: Payment, Message: "no credit", RetryAfter: after, Unsent: true}}
	}
	pass := admission{}
	refused := func(after time.Duration) admission {
		return admission{refusal: &Error{Class: Unreachable, Message: "not sent: the model failed too often just now: refused", RetryAfter: after, Unsent: true}}
	}
	tests := []struct {
		name   string
		events []event
		at     int
		want   admission
	}{
		{"new", nil, 0, pass},
		{"too few requests", []event{fail(0), fail(1), fail(2)}, 3, pass},
		{"too few failures", []event{good(0), good(0), good(0), fail(1), fail(1)}, 2, pass},
		{"half of them failed", []event{good(0), good(0), fail(1), fail(1)}, 2, refused(29 * time.Second)},
		{"failures grow old", []event{fail(0), fail(1), fail(2), fail(90)}, 91, pass},
		{"half a window counts", []event{fail(0), fail(1), fail(2), fail(45)}, 46, refused(29 * time.Second)},
		{"open", open, 29, refused(time.Second)},
		{"half open", open, 30, admission{probe: true}},
		{"late results change nothing", then(good(10), fail(20)), 29, refused(time.Second)},
		{"probe succeeds", then(event{at: 31, o: outcomeGood, probe: true}), 32, pass},
		{"probe is refused", then(event{at: 31, o: outcomeRefused, e: &Error{Class: BadRequest}, probe: true}), 32, pass},
		{"probe fails", then(event{at: 31, o: outcomeFailed, e: failed, probe: true}), 32, refused(29 * time.Second)},
		{"probe is cancelled", then(event{at: 31, o: outcomeUnknown, probe: true}), 32, admission{probe: true}},
		{"probe is limited", then(event{at: 31, o: outcomeLimited, e: &Error{Class: RateLimited, RetryAfter: 5 * time.Second}, probe: true}), 32, admission{wait: 4 * time.Second}},
		{"content errors do not count", []event{
			{o: outcomeRefused, e: &Error{}}, {o: outcomeRefused, e: &Error{}}, {o: outcomeRefused, e: &Error{}}, {o: outcomeRefused, e: &Error{}}}, 1, pass},
		{"rate limits do not count", []event{
			{o: outcomeLimited, e: &Error{}}, {o: outcomeLimited, e: &Error{}}, {o: outcomeLimited, e: &Error{}}, {o: outcomeLimited, e: &Error{}}}, 1, pass},
		{"rate limit with a hint", []event{{o: outcomeLimited, e: &Error{RetryAfter: 9 * time.Second}}}, 1, admission{wait: 8 * time.Second}},
		{"the longer hint counts", []event{{o: outcomeLimited, e: &Error{RetryAfter: 9 * time.Second}}, {o: outcomeLimited, e: &Error{RetryAfter: time.Second}}}, 1, admission{wait: 8 * time.Second}},
		{"a hint is over", []event{{o: outcomeLimited, e: &Error{RetryAfter: 9 * time.Second}}}, 9, pass},
		{"an absurd hint", []event{{o: outcomeLimited, e: &Error{RetryAfter: 1e6 * time.Hour}}}, 0, admission{wait: maxLimited}},
		{"a refused key makes it suspect", []event{deny(0)}, 0, admission{probe: true}},
		{"others wait for the probe", []event{deny(0), ask(1)}, 2, admission{suspect: true, wait: 4 * time.Second}},
		{"a silent probe gets a successor", []event{deny(0), ask(1)}, 6, admission{probe: true}},
		{"refusals in flight count once", []event{deny(0), deny(0), deny(1), deny(1)}, 2, admission{probe: true}},
		{"any later answer clears it", []event{deny(0), good(1)}, 1, pass},
		{"also while a probe runs", []event{deny(0), ask(1), good(1)}, 1, pass},
		{"a refused request shows that the key works", []event{deny(0), {at: 1, o: outcomeRefused, e: &Error{}, probe: true}}, 1, pass},
		{"a failure shows nothing about the key", []event{deny(0), {at: 1, o: outcomeFailed, e: failed, probe: true}}, 1, pass},
		{"a cancelled probe", []event{deny(0), {at: 1, o: outcomeUnknown, probe: true}}, 1, admission{probe: true}},
		{"two refusals", []event{deny(0), denyProbe(1)}, 1, admission{probe: true}},
		{"denied", []event{deny(0), denyProbe(1), denyProbe(2)}, 2, denied(3750 * time.Millisecond)},
		{"denied, and the hint is longer", []event{deny(0), denyProbe(1), {at: 2, o: outcomeDenied, e: &Error{Class: Payment, RetryAfter: time.Minute, Message: "no credit"}, probe: true}}, 2, denied(time.Minute)},
		{"denied until a probe", []event{deny(0), denyProbe(1), denyProbe(2)}, 6, admission{probe: true}},
		{"one probe at a time", []event{deny(0), denyProbe(1), denyProbe(2), ask(6)}, 7, denied(probeWait)},
		{"the delay doubles", []event{deny(0), denyProbe(1), denyProbe(2), denyProbe(6)}, 6, denied(7500 * time.Millisecond)},
		{"a failed probe tells nothing", []event{deny(0), denyProbe(1), denyProbe(2), {at: 6, o: outcomeFailed, e: failed, probe: true}}, 6, denied(3750 * time.Millisecond)},
		{"an answered probe clears it", []event{deny(0), denyProbe(1), denyProbe(2), {at: 6, o: outcomeGood, probe: true}}, 6, pass},
		{"refused while open", then(event{at: 9, o: outcomeDenied, e: &Error{Class: Auth, Message: "no"}}), 9, admission{probe: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b breaker
			for _, e := range test.events {
				at := t0.Add(time.Duration(e.at) * time.Second)
				if e.probe || e.asks {
					var a admission
					if b, a = b.checkAdmission(at); !a.probe {
						t.Fatalf("at %d: %+v, want a probe", e.at, a)
					}
				}
				if !e.asks {
					b = b.recordOutcome(verdict{e.o, e.e, e.probe, at, 0.5}, cfg)
				}
			}
			_, got := b.checkAdmission(t0.Add(time.Duration(test.at) * time.Second))
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(admission{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the outcomes, a probe is admitted within the longest delay, and one at a time.
func TestBreakerAlwaysProbes(t *testing.T) {
	cfg := GateConfig{}.withDefaults()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var b breaker
		for range 100 {
			o := outcome(rng.IntN(int(outcomeDenied) + 1))
			var a admission
			if b, a = b.checkAdmission(now); a.refusal == nil && a.wait == 0 {
				b = b.recordOutcome(verdict{o, &Error{Class: Auth, Message: "x"}, a.probe, now, rng.Float64()}, cfg)
			}
			now = now.Add(time.Duration(rng.Int64N(int64(time.Second))))
		}
		now = now.Add(denialCap)
		b, first := b.checkAdmission(now)
		if first.refusal != nil || first.wait > 0 {
			t.Fatalf("seed %d: after %v, %+v admits nothing: %+v", seed, denialCap, b, first)
		}
		if _, second := b.checkAdmission(now); first.probe && (second.probe || second == admission{}) {
			t.Fatalf("seed %d: %+v admits two requests at once", seed, b)
		}
	}
}

func TestDenialDelay(t *testing.T) {
	last := time.Duration(0)
	for n := range 40 {
		low, high := denialDelay(n, 0), denialDelay(n, 1)
		if high < last || low != high/2 || high > denialCap {
			t.Errorf("after %d refusals: %v to %v, before: %v", n, low, high, last)
		}
		last = high
	}
	if last != denialCap {
		t.Errorf("the longest delay is %v", last)
	}
}

func TestGateForgets(t *testing.T) {
	g := NewGate(GateConfig{})
	denied := 0
	for i := range 5 * maxBreakers {
		model := string(rune('a'+i%26)) + time.Duration(i).String()
		p, err := g.acquireSlot(t.Context(), model, false)
		if err != nil {
			t.Fatal(err)
		}
		o, e := outcomeGood, error(nil)
		if i%2 == 0 {
			o, e = outcomeDenied, &Error{Class: Auth}
			denied++
		}
		g.releaseSlot(p, o, e)
	}
	if n := len(g.breakers); n > 2*maxBreakers {
		t.Errorf("%d breakers after %d denied models", n, denied)
	}
}
