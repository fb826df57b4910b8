package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 792}, {1 << 20, 792}, {16 << 20, 792}, {32 << 20, 396}, {64 << 20, 192}, {100 << 20, 120},
		{Room, 96}, {Room + Room/4, 72}, {2 * Room, 50}, {2*Room + 1, 50}, {1 << 40, 50}, {1 << 63, 50},
	} {
		if got := percent(c.live); got != c.want {
			t.Errorf("of %d bytes live: %d, want %d", c.live, got, c.want)
		}
	}
}

// However large the heap is, it may grow by Room or by half, and by little more than that.
func FuzzPercent(f *testing.F) {
	f.Add(uint64(0))
	f.Add(uint64(Room))
	f.Fuzz(func(t *testing.T, live uint64) {
		live %= 1 << 45
		p := uint64(percent(live))
		if grown := live * p / usual; grown > max(live/2, Room) || p > most {
			t.Errorf("%d bytes may grow by %d", live, grown)
		}
		if grown := live * (p + step) / usual; p < most-step && grown < Room-usual {
			t.Errorf("%d bytes may grow by no more than %d", live, grown)
		}
	})
}

// A collection is noticed, time and again.
func TestWatch(t *testing.T) {
	before := debug.SetGCPercent(usual)
	defer debug.SetGCPercent(before)
	set := make(chan int, 10)
	w := &watch{set: func(p int) int { set <- p; return 0 }}
	w.look()
	first := <-set
	keep := make([]byte, 2*Room) // so that the next look sees another heap
	runtime.GC()
	if p := <-set; p != least || first < p {
		t.Errorf("%d and then %d with twice the room in use", first, p)
	}
	runtime.KeepAlive(keep)
	keep = nil
	runtime.GC()
	if p := <-set; p <= least {
		t.Errorf("%d when it is free again", p)
	}
}

// Who says how often to collect is heard.
func TestEnvironment(t *testing.T) {
	before := debug.SetGCPercent(57)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "57")
	Relax()
	if got := debug.SetGCPercent(57); got != 57 {
		t.Errorf("it is %d", got)
	}
}
