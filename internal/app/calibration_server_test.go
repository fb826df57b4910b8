package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"ponder/mode/session"
)

func TestWhatTakesLongToReckonHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, found := calibrations{list: make(map[string]cachedCalibration)}, 0
		find := func(ctx context.Context) session.Calibration {
			select {
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			found++
			return session.Calibration{Cases: found}
		}
		look := func() (cases int, took time.Duration) {
			begun := time.Now()
			ctx, gone := context.WithCancel(t.Context())
			defer gone()
			return w.forOwner(ctx, "anna", find).Cases, time.Since(begun)
		}
		if cases, took := look(); cases != 0 || took > calibrationWait {
			t.Errorf("the first look shows %d cases after %s", cases, took)
		}
		time.Sleep(time.Minute)
		if cases, took := look(); cases != 1 || took > 0 {
			t.Errorf("the second look shows %d cases after %s", cases, took)
		}
		time.Sleep(10 * time.Minute)
		if look(); found != 1 {
			t.Errorf("it is found %d times in ten minutes, of which each takes one", found)
		}
		time.Sleep(15 * time.Minute)
		if cases, took := look(); cases != 1 || took > 0 {
			t.Errorf("stale calibration of %d cases after %s", cases, took)
		}
		w.close()
		if cases, _ := look(); cases != 1 || found != 2 {
			t.Errorf("at the end there are %d cases, found %d times", cases, found)
		}
	})
}
