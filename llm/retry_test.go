package llm

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPolicyNext(t *testing.T) {
	fail := func(class Class, after time.Duration) error {
		return fmt.Errorf("call: %w", &Error{Class: class, RetryAfter: after})
	}
	again := func(wait time.Duration, model int) Decision {
		return Decision{Retry: true, Wait: wait, Model: model}
	}
	give := Decision{}
	s := time.Second
	shut := func(class Class) error {
		return &Error{Class: class, RetryAfter: 30 * time.Second, Unsent: true}
	}
	tests := []struct {
		name string
		p    Policy
		err  error
		at   Position
		rnd  float64
		want Decision
	}{
		{"first failure", Policy{}, fail(Transient, 0), Position{0, 2, 1}, 0.5, again(250*time.Millisecond, 0)},
		{"second failure", Policy{}, fail(Truncated, 0), Position{0, 2, 2}, 0.5, again(500*time.Millisecond, 0)},
		{"no chance", Policy{}, fail(Malformed, 0), Position{0, 2, 2}, 0, again(0, 0)},
		{"back-off is capped", Policy{Attempts: 100}, fail(Transient, 0), Position{0, 1, 60}, 0.75, again(6*s, 0)},
		{"absurd chance", Policy{}, fail(Transient, 0), Position{0, 1, 1}, math.NaN(), again(0, 0)},
		{"attempts used up", Policy{}, fail(Transient, 0), Position{0, 2, 3}, 0.5, again(0, 1)},
		{"attempts used up, last model", Policy{}, fail(Transient, 0), Position{1, 2, 3}, 0.5, give},
		{"one attempt", Policy{Attempts: 1}, fail(Transient, 0), Position{0, 2, 1}, 0.5, again(0, 1)},
		{"a hint", Policy{}, fail(RateLimited, 7*s), Position{0, 2, 1}, 0.5, again(7*s, 0)},
		{"a hint with an overload", Policy{}, fail(Transient, 60*s), Position{0, 2, 1}, 0.5, again(60*s, 0)},
		{"a hint beyond patience", Policy{}, fail(RateLimited, 61*s), Position{0, 2, 1}, 0.5, again(0, 1)},
		{"a hint beyond fast patience", FastPolicy(), fail(RateLimited, 11*s), Position{0, 2, 1}, 0.5, again(0, 1)},
		{"a hint at the end", FastPolicy(), fail(RateLimited, 5*time.Minute), Position{1, 2, 1}, 0.5, again(5*time.Minute, 1)},
		{"too long a hint at the end", FastPolicy(), fail(RateLimited, 5*time.Minute+1), Position{1, 2, 1}, 0.5, give},
		{"rate limits too end", Policy{}, fail(RateLimited, s), Position{0, 1, 3}, 0.5, give},
		{"overload beyond patience at the end", FastPolicy(), fail(Transient, 30*s), Position{1, 2, 1}, 0.5, give},
		{"closed for now", Policy{}, shut(Unreachable), Position{0, 2, 1}, 0.5, again(0, 1)},
		{"closed for now by a rate limit", Policy{}, shut(RateLimited), Position{0, 3, 2}, 0.5, again(0, 1)},
		{"closed for now, at the end", Policy{}, shut(Unreachable), Position{1, 2, 1}, 0.5, again(30*s, 1)},
		{"a negative hint", Policy{}, fail(Transient, -s), Position{0, 1, 1}, 0.5, again(250*time.Millisecond, 0)},
		{"any other error", Policy{}, errors.New("x"), Position{0, 1, 1}, 0.5, again(250*time.Millisecond, 0)},
		{"cancelled", Policy{}, fail(Cancelled, 0), Position{0, 2, 1}, 0.5, give},
		{"auth", Policy{}, fail(Auth, 0), Position{0, 2, 1}, 0.5, again(0, 1)},
		{"payment", Policy{}, fail(Payment, s), Position{0, 3, 1}, 0.5, again(0, 1)},
		{"not found", Policy{}, fail(NotFound, 0), Position{1, 3, 1}, 0.5, again(0, 2)},
		{"too long", Policy{}, fail(TooLong, 0), Position{1, 2, 1}, 0.5, give},
		{"bad request", Policy{}, fail(BadRequest, 0), Position{0, 1, 1}, 0.5, give},
		{"filtered", Policy{}, fail(Filtered, 0), Position{0, 2, 1}, 0.5, again(0, 1)},
		{"unreachable", Policy{}, fail(Unreachable, 0), Position{0, 2, 1}, 0.5, again(250*time.Millisecond, 0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.p.Next(test.err, test.at, test.rnd)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Next (-want +got):\n%s", diff)
			}
		})
	}
}

// An action ends after Attempts for each model and never goes back.
func TestPolicyEnds(t *testing.T) {
	classes := []Class{Transient, RateLimited, Truncated, Unreachable, Auth, Payment, NotFound, TooLong, Filtered, BadRequest, Malformed, Cancelled}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 5_000 {
		p := Policy{Attempts: rng.IntN(5), Patience: time.Duration(rng.IntN(100)) * time.Second}
		at := Position{Chain: 1 + rng.IntN(4), Fails: 1}
		tries := 1
		for {
			err := &Error{Class: classes[rng.IntN(len(classes))], RetryAfter: time.Duration(rng.IntN(3)*rng.IntN(400)) * time.Second}
			d := p.Next(err, at, rng.Float64())
			if !d.Retry {
				break
			}
			if d.Model < at.Model || d.Model >= at.Chain || d.Model == at.Model && !err.Class.Retryable() || d.Wait < 0 || d.Wait > 5*time.Minute {
				t.Fatalf("%+v: %v at %+v: %+v", p, err.Class, at, d)
			}
			if d.Model > at.Model {
				at.Fails = 0
			}
			at.Model, at.Fails = d.Model, at.Fails+1
			tries++
		}
		if maxTries := at.Chain * max(3, p.Attempts); tries > maxTries {
			t.Fatalf("%d tries, want at most %d", tries, maxTries)
		}
	}
}

func TestRetryBudget(t *testing.T) {
	take := func(b *RetryBudget, limit int) (n int) {
		for n < limit && b.Retry() {
			n++
		}
		return n
	}
	synctest.Test(t, func(t *testing.T) {
		var b RetryBudget
		if got := take(&b, 100); got != 10 {
			t.Errorf("a new budget has %d retries, want 10", got)
		}
		for range 50 {
			b.Request()
		}
		if got := take(&b, 100); got != 5 {
			t.Errorf("50 requests earn %d retries, want 5", got)
		}
		time.Sleep(30 * time.Second)
		if got := take(&b, 100); got != 5 {
			t.Errorf("half a minute gives %d retries, want 5", got)
		}
		time.Sleep(time.Hour)
		if got := take(&b, 100); got != 10 {
			t.Errorf("an hour gives %d retries, want 10", got)
		}
		for range 100_000 {
			b.Request()
		}
		if got := take(&b, 1000); got != 100 {
			t.Errorf("many requests earn %d retries, want 100", got)
		}
	})
}

// Beyond the floor, retries are a tenth of the requests.
func TestRetryBudgetShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b RetryBudget
		retries := 0
		for range 10_000 {
			b.Request()
			for range 2 {
				if b.Retry() {
					retries++
				}
			}
		}
		if retries < 1000 || retries > 1010 {
			t.Errorf("%d retries, want 1,000 and the floor of 10", retries)
		}
	})
}
