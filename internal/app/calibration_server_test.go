package app

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
	"ponder/internal/config"
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

// The end of a session reads no other session: their number grows without bound.
func TestEndOfSessionReadsNoOther(t *testing.T) {
	l := NewTill(t, config.Token{})
	s := l.serveLibraries()
	for _, id := range []ponder.ThreadID{"thr_1", "thr_2"} {
		if _, err := l.startSession(s, id, 0); err != nil {
			t.Fatal(err)
		}
	}
	before, err := l.store.Thread(l.ctx, "thr_2")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []ponder.ThreadID{"thr_1", "thr_2"} {
		l.appendEvents(id, ponder.RunFinished{Status: ponder.Completed, Answer: "x"})
	}
	damage := `UPDATE ponder_batch SET lines = x'00' WHERE num = (SELECT num FROM ponder_thread WHERE id = 'thr_1')`
	if _, err := l.store.DB().ExecContext(l.ctx, damage); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	s.finishWork(l.ctx, before)
	if text := log.String(); strings.Contains(text, "damaged") {
		t.Errorf("the end of thr_2 read thr_1: %s", text)
	}
	list, err := l.store.List(l.ctx, ponder.Filter{Kind: ponder.KindSession})
	if _, failed := ResolvedSessions(l.ctx, l.store, "anna"); err != nil || len(list) != 2 || failed == nil {
		t.Errorf("%d sessions, %v; reading them all: %v", len(list), err, failed)
	}
}
