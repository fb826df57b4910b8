package app

import (
	"errors"
	"fmt"
	"testing"

	"ponder"
	"ponder/internal/config"
	"ponder/mode/session"
)

func (t *quotaTest) limitIn(id ponder.ThreadID, run ponder.RunID) (most ponder.Money) {
	t.Helper()
	for ev, err := range t.store.Events(t.ctx, id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case ponder.RunStarted:
			most = b.Budget.Money
		case ponder.Steer:
			if m := commandBudget(ev); m > 0 && ev.Run == run {
				most = m
			}
		}
	}
	return most
}

func TestForkIsHeldWithinItsGrant(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	if m, err := l.startSession(l.Serve(), "thr_1", 500_000); err != nil || m != 500_000 {
		t.Fatal(m, err)
	}
	l.appendEvents("thr_1", callEvents(200_000)...)
	if _, err := ponder.SendCommands(l.ctx, l.store, "thr_1", ponder.Event{Run: "run_1", Body: ponder.RunPaused{}}); err != nil {
		t.Fatal(err)
	}
	s := l.Serve()
	info, err := l.store.Thread(l.ctx, "thr_1")
	if err != nil {
		t.Fatal(err)
	}
	seen := session.Session{Run: "run_1"}
	for id, tt := range map[ponder.ThreadID]struct {
		commands []ponder.Event
		grant    ponder.Money
		most     ponder.Money
	}{
		"thr_plain":  {nil, 100_000, 300_000},
		"thr_roomy":  {nil, 400_000, 500_000},
		"thr_raised": {[]ponder.Event{limitTo(seen, 5_000_000)}, 100_000, 300_000},
		"thr_less":   {[]ponder.Event{limitTo(seen, 250_000)}, 100_000, 250_000},
		"thr_free":   {[]ponder.Event{limitTo(seen, 5_000_000)}, 0, 5_000_000},
	} {
		f := Fork{At: info.Head, Paused: true, Commands: tt.commands}
		if err := s.forkSession(l.ctx, s.App, info, id, f, tt.grant); err != nil {
			t.Fatal(err)
		}
		if most := l.limitIn(id, "run_1"); most != tt.most {
			t.Errorf("%s may cost %d, want %d", id, most, tt.most)
		}
	}
}

// A reservation to resume lasts until the command is appended. A refused resumption and a
// failed start leave none.
func TestGoesOnOnceItIsGranted(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	s := l.Serve()
	if _, err := l.startSession(s, "thr_1", 600_000); err != nil {
		t.Fatal(err)
	}
	pause := ponder.Event{Run: "run_1", Body: ponder.RunPaused{}}
	if _, err := ponder.SendCommands(l.ctx, l.store, "thr_1", pause); err != nil {
		t.Fatal(err)
	}
	info, err := l.store.Thread(l.ctx, "thr_1")
	if err != nil {
		t.Fatal(err)
	}
	err = s.continueThinking(l.ctx, info, func() error {
		if m, err := l.startSession(l.Serve(), "thr_2", 900_000); err != nil || m != 400_000 {
			t.Errorf("another is granted %d meanwhile: %v", m, err)
		}
		return ponder.ErrStale
	})
	if !errors.Is(err, ponder.ErrStale) {
		t.Error(err)
	}
	if m, err := l.startSession(s, "thr_3", 900_000); err != nil || m != 600_000 {
		t.Errorf("one that was not told to go on leaves %d: %v", m, err)
	}
	told := false
	l.checkRefused(OverBudget, s.continueThinking(l.ctx, info, func() error { told = true; return nil }))
	if told {
		t.Error("what is refused is told to go on")
	}
	b := ponder.Budget{}
	free := NewTill(t, config.Token{Cost: 1})
	s = free.Serve()
	if err := s.startWithQuota(free.ctx, "thr_failed", &b, func() error { return errors.New("no") }); err == nil {
		t.Error("it was begun")
	}
	rows := 0
	if err := free.store.SQL().Read.QueryRow(`SELECT count(*) FROM serve_thread`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows are left of it: %v", rows, err)
	}
}

func TestEndedThreadsReserveNothing(t *testing.T) {
	l := NewTill(t, config.Token{Cost: 1})
	s := l.Serve()
	for i := range 20 {
		id := ponder.ThreadID(fmt.Sprintf("thr_%d", i))
		if _, err := l.startSession(s, id, 10_000); err != nil {
			t.Fatal(err)
		}
		l.appendEvents(id, append(callEvents(1_000), ponder.RunFinished{Status: ponder.Completed, Answer: "!"})...)
	}
	if _, err := l.startSession(s, "thr_last", 10_000); err != nil {
		t.Fatal(err)
	}
	if left := l.quotaLeft(s); left != 970_000 {
		t.Errorf("%d is left", left)
	}
	if sum := l.reservedCost(""); sum != 10_000 {
		t.Errorf("%d is reserved for ended threads", sum)
	}
}
