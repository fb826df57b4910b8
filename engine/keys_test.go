package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestFinishedKeys(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 20 {
		set, want := make(finishedKeys), make(map[string]bool)
		for range 100 {
			key := []string{"a", "final", "b-", fmt.Sprintf("c-%d", rnd.IntN(40)), fmt.Sprintf("c-%d~2", rnd.IntN(40)), fmt.Sprintf("d-0%d", rnd.IntN(9))}[rnd.IntN(6)]
			set.add(key, kindCall)
			want[key] = true
			js, err := json.Marshal(set)
			if err != nil {
				t.Fatal(err)
			}
			set = nil
			if err := json.Unmarshal(js, &set); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 45 {
			for _, key := range []string{"a", "b-", "final", fmt.Sprintf("c-%d", n), fmt.Sprintf("c-%d~2", n), fmt.Sprintf("d-0%d", n), fmt.Sprintf("e-%d", n)} {
				if set.contains(key) != want[key] {
					t.Fatalf("round %d: has(%s) = %v, want %v", round, key, set.contains(key), want[key])
				}
			}
		}
	}
}

func TestFinishedKeysAreSmall(t *testing.T) {
	for _, first := range []int{0, 1} {
		set := make(finishedKeys)
		for n := first; n < 10_000; n++ {
			set.add(fmt.Sprintf("thoughts-%d", n), kindCall)
			set.add(fmt.Sprintf("note-%d", n), kindWrite)
		}
		js, err := json.Marshal(set)
		if err != nil || len(js) > 100 {
			t.Errorf("20,000 keys from %d on take %d bytes (%v)", first, len(js), err)
		}
		if !set.conflicts("thoughts-3", kindTool) || set.conflicts("thoughts-3", kindCall) || set.conflicts("new", kindTool) {
			t.Error("kinds are not told apart")
		}
	}
}

func TestCause(t *testing.T) {
	for _, s := range []string{attemptCause("step-1", 3), partCause("note-2", 1, 4)} {
		c, ok := parseCause(s)
		if !ok {
			t.Errorf("%q is not understood", s)
		}
		if again := map[bool]string{true: attemptCause(c.key, c.attempt), false: partCause(c.key, c.i, c.n)}[c.attempt > 0]; again != s {
			t.Errorf("%q became %q", s, again)
		}
	}
	for _, s := range []string{"", "x", "x#", "x#0", "x#-1", "x/1", "x/0.1", "x/2.1", "x/a.b", "steer-01J"} {
		if c, ok := parseCause(s); ok {
			t.Errorf("%q became %+v", s, c)
		}
	}
}
