package textkit

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0:00", -time.Second: "0:00", 59*time.Second + 999*time.Millisecond: "0:59", 10 * time.Minute: "10:00", 25*time.Hour + time.Second: "25:00:01",
	} {
		if got := Clock(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
