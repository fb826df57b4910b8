package simulation

import (
	"flag"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder/internal/racetest"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "replay this seed and print its trace")
	seedsFlag = flag.Int("seeds", 10_000, "number of seeds")
	firstFlag = flag.Uint64("first", 1, "the first seed")
	stopFlag  = flag.Bool("stop", false, "stop at the first seed that fails")
)

// simulate returns the result of a seed. The trace goes to lines, if set.
func simulate(t *testing.T, seed uint64, lines io.Writer) (r result) {
	synctest.Test(t, func(*testing.T) { r = newWorld(seed, lines).run() })
	return r
}

// TestSeeds simulates many seeds. Nothing is lost, doubled or paid twice.
func TestSeeds(t *testing.T) {
	if *seedFlag != 0 {
		replay(t, *seedFlag)
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a seed is small, and its garbage is most of the time
	var sum result
	began := time.Now()
	for seed := *firstFlag; seed < *firstFlag+uint64(*seedsFlag); seed += uint64(racetest.Stride(20)) {
		r := simulate(t, seed, nil)
		sum.threads += r.threads
		sum.events += r.events
		sum.calls += r.calls
		sum.repeated += r.repeated
		sum.kills += r.kills
		sum.virtual += r.virtual
		if len(r.problems) > 0 {
			t.Errorf("seed %d: %s\nreplay it with: go test ./test/simulation -run TestSeeds -seed %d -v", seed, strings.Join(r.problems, "\n\t"), seed)
			if *stopFlag {
				return
			}
		}
	}
	t.Logf("%d seeds in %v: %v of virtual time, %d threads, %d events, %d calls of which %d repeated, %d kills",
		*seedsFlag, time.Since(began).Round(time.Millisecond), sum.virtual.Round(time.Minute), sum.threads, sum.events, sum.calls, sum.repeated, sum.kills)
}

// replay prints the trace of a seed, and checks that it is always the same.
func replay(t *testing.T, seed uint64) {
	first := simulate(t, seed, os.Stdout)
	second := simulate(t, seed, nil)
	if first.trace != second.trace {
		t.Errorf("seed %d: the traces are %x and %x", seed, first.trace, second.trace)
	}
	if len(first.problems) > 0 {
		t.Errorf("seed %d: %s", seed, strings.Join(first.problems, "\n\t"))
	}
}

// TestReplay simulates some seeds twice. The traces are equal.
func TestReplay(t *testing.T) {
	for seed := uint64(1); seed <= 30; seed++ {
		var a, b strings.Builder
		if first, second := simulate(t, seed, &a), simulate(t, seed, &b); first.trace != second.trace {
			t.Errorf("seed %d: the traces differ: %s", seed, firstDifference(a.String(), b.String()))
		}
	}
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return strings.Join(as[max(0, i-3):i], "\n") + "\n-" + as[i] + "\n+" + bs[i]
		}
	}
	return "one is longer"
}
