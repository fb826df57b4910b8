package llmtest

import (
	"time"

	"ponder/llm"
)

func failureTests() []conformTest {
	tests := []conformTest{
		refused(RateLimit, llm.RateLimited), refused(ServerError, llm.Transient), refused(BadGateway, llm.Transient),
		refused(Unavailable, llm.Transient), refused(Overloaded, llm.Transient), refused(WrongKey, llm.Auth),
		needing(NoPayment, refused(NoCredit, llm.Payment)), needing(NoFilter, refused(FilteredPrompt, llm.Filtered)), refused(NoModel, llm.NotFound), refused(ContextLength, llm.TooLong),
		refused(HTML, llm.Malformed),
		{name: "wrong key", config: SimConfig{Key: "another"}, run: func(r *rig) {
			if e := r.fail(r.Context(), question("Hello."), llm.Auth); e.Advice == "" {
				r.Error("no advice to someone with a wrong key")
			}
		}},
		{name: "unknown model", config: SimConfig{Models: []string{"no-other"}}, run: func(r *rig) {
			r.fail(r.Context(), question("Hello."), llm.NotFound)
		}},
		{name: "too long a prompt", config: SimConfig{Context: 5}, run: func(r *rig) {
			r.fail(r.Context(), question("This is more than five tokens, whichever way one counts."), llm.TooLong)
		}},
		{name: "nobody there", run: func(r *rig) {
			r.model = r.adapter.New(Server{URL: "http://127.0.0.1:1", Key: rigKey}).Model(r.adapter.Model)
			r.fail(r.Context(), question("Hello."), llm.Unreachable)
		}},
	}
	for form, want := range map[RetryForm]time.Duration{
		RetrySeconds: 3 * time.Second, RetryFraction: 2500 * time.Millisecond, RetryMillis: 2500 * time.Millisecond,
	} {
		tests = append(tests, conformTest{
			name: "retry " + string(form), config: SimConfig{
				RetryForm: form, RetryAfter: Delay{Mean: 2500 * time.Millisecond}, Behaviours: always(RateLimit),
			}, run: func(r *rig) {
				e := r.fail(r.Context(), question("Hello."), llm.RateLimited)
				if e.RetryAfter != want {
					r.Errorf("RetryAfter is %v, want %v", e.RetryAfter, want)
				}
			},
		})
	}
	return append(tests, conformTest{
		name: "retry date", config: SimConfig{RetryForm: RetryDate, RetryAfter: Delay{Mean: time.Minute}, Behaviours: always(RateLimit)},
		run: func(r *rig) {
			e := r.fail(r.Context(), question("Hello."), llm.RateLimited)
			if e.RetryAfter < 50*time.Second || e.RetryAfter > 62*time.Second {
				r.Errorf("RetryAfter is %v, want a minute", e.RetryAfter)
			}
		},
	})
}

func needing(l Lack, c conformTest) conformTest {
	c.needs = l
	return c
}

// refused checks the class of an error that comes before any answer, that it
// has the status, and that the adapter asked once: it is not the retry loop.
func refused(b Behaviour, class llm.Class) conformTest {
	return conformTest{name: string(b), config: SimConfig{Behaviours: always(b)}, run: func(r *rig) {
		e := r.fail(r.Context(), question("Will this fail?"), class)
		rec := r.record()
		if want := statusOf(rec); want != 0 && e.Status != want {
			r.Errorf("Status is %d, want %d", e.Status, want)
		}
		if b == RateLimit && e.RetryAfter <= 0 && r.adapter.has(NoRetryHeaders) {
			r.Error("RetryAfter is not set")
		}
		if n := r.sim.Stats().Behaviours[b]; n != 1 {
			r.Errorf("the question was asked %d times, want once", n)
		}
	}}
}

func breakTests() []conformTest {
	story := Script{on("", "Once upon a time there was a fox who lived in a small house at the edge of a great wood, and it read a lot.")}
	broken := func(b Behaviour, want ...llm.Class) conformTest {
		return conformTest{name: string(b), config: SimConfig{Behaviours: always(b), Script: story}, run: func(r *rig) {
			e := r.fail(r.Context(), question("Tell me a story."), want...)
			if !e.Class.Again() {
				r.Errorf("class %q is not worth trying again", e.Class)
			}
			if e.Usage.Total() <= 0 {
				r.Errorf("usage of the failed attempt is %+v", e.Usage)
			}
		}}
	}
	return []conformTest{
		broken(Cut, llm.Truncated), broken(NoEnd, llm.Truncated),
		broken(Drop, llm.Truncated, llm.Transient), broken(ResetMidway, llm.Truncated, llm.Transient),
		broken(OverloadedMidway, llm.Transient), broken(BadFrame, llm.Malformed, llm.Truncated),
		silent("silent before the answer", Hang), silent("silent in the middle", Stall),
		{name: "calls broken off", config: SimConfig{Behaviours: always(Cut), Chunks: 3}, run: func(r *rig) {
			req := question("Please add and multiply 2 and 3.")
			req.Tools = conformTools()
			r.fail(r.Context(), req, llm.Truncated)
		}},
	}
}

// silent checks that an adapter gives up on a server that says nothing.
func silent(name string, b Behaviour) conformTest {
	return conformTest{name: name, config: SimConfig{Behaviours: always(b)}, run: func(r *rig) {
		r.model = r.adapter.New(Server{URL: r.base, Key: rigKey, Patience: 50 * time.Millisecond}).Model(r.adapter.Model)
		e := r.fail(r.Context(), question("Are you there?"), llm.Transient)
		if e.Usage.Total() <= 0 {
			r.Errorf("usage of the attempt is %+v", e.Usage)
		}
		r.closed()
	}}
}
