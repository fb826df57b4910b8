package llmtest

import "ponder/llm"

func usageTests() []conformTest {
	return []conformTest{
		{name: "as counted", run: func(r *rig) {
			done, rec := r.ask(question("How many tokens is this?")), r.record()
			if got := done.Usage; got.Input != rec.Input || got.Output != rec.Output || got.Estimated || got.CacheRead != 0 {
				r.Errorf("usage is %+v, the server counted %d and %d", got, rec.Input, rec.Output)
			}
		}},
		{name: "with reasoning", config: SimConfig{Behaviours: always(Reason)}, run: func(r *rig) {
			done, rec := r.ask(question("How many tokens is this?")), r.record()
			if got := done.Usage; got.Output != rec.Output || got.Reasoning > got.Output {
				r.Errorf("usage is %+v, the server wrote %d with reasoning", got, rec.Output)
			}
		}},
		{name: "from a cache", needs: NoCache, config: SimConfig{Cached: 0.5}, run: func(r *rig) {
			done, rec := r.ask(question("How many tokens is this, if half of them are cached?")), r.record()
			if got := done.Usage; got.CacheRead != rec.Input/2 || got.Input+got.CacheRead != rec.Input {
				r.Errorf("usage is %+v, the server counted %d with half of it cached", got, rec.Input)
			}
		}},
		{name: "missing", config: SimConfig{Behaviours: always(UsageMissing)}, run: func(r *rig) {
			if got := r.ask(question("Say something.")).Usage; !got.Estimated || got.Input <= 0 || got.Output <= 0 {
				r.Errorf("usage is %+v, want an estimate", got)
			}
		}},
		{name: "negative", config: SimConfig{Behaviours: always(UsageNegative)}, run: conformSane},
		{name: "huge", config: SimConfig{Behaviours: always(UsageHuge)}, run: conformSane},
		{name: "zero", config: SimConfig{Behaviours: always(UsageZero)}, run: conformSane},
		{name: "of a broken answer", config: SimConfig{Behaviours: always(Cut)}, run: func(r *rig) {
			e := r.fail(r.Context(), question("Tell a story that breaks off."), llm.Truncated)
			if e.Usage.Total() <= 0 {
				r.Errorf("usage of the failed attempt is %+v, want what was streamed", e.Usage)
			}
		}},
	}
}

// conformSane checks that no count is below zero, whatever the server claims.
func conformSane(r *rig) {
	u := r.ask(question("Say something.")).Usage
	for _, n := range []int{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.Total()} {
		if n < 0 {
			r.Errorf("usage is %+v: a count is below zero", u)
			return
		}
	}
}
