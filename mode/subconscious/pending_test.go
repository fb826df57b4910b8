package subconscious

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder"
)

func foldWatcher(list ...ponder.Observation) (knowledge, Options) {
	o := Options{Roles: DefaultRoles()[:1]}
	k := newKnowledge()
	for i, b := range list {
		k = k.applyEvent(ponder.Event{ID: fmt.Sprintf("evt_%d", i+1), Seq: ponder.Seq(i + 1), Time: dawn.Add(time.Duration(i) * time.Second), Body: b}, o.Roles)
	}
	return k, o
}

func urgentMails(n, level int) (list []ponder.Observation) {
	for i := range n {
		list = append(list, ponder.Observation{Sensor: "mail", Subject: fmt.Sprint("m", i), State: "new", Untrusted: true, Level: level, Content: "Mail of x: urgent " + strings.Repeat("bla ", 90)})
	}
	return list
}

// simulateTicks lets the role look while observations wait, and returns the seqs shown at each look.
func (k *knowledge) simulateTicks(t *testing.T, o Options, at time.Time, in TickInput) (ticks [][]int64) {
	t.Helper()
	for n := range 200 {
		in.Upto = noSeqLimit
		s := planTick(o, *k, at, in)[0]
		if s.skip != "" {
			return ticks
		}
		var shown []int64
		for _, o := range s.seen {
			shown = append(shown, o.Seq)
		}
		ticks = append(ticks, shown)
		run := tickRun{o: o}
		run.run.Started, run.Looks = at, map[string]lookResult{s.role.Name: {Given: s.given}}
		for _, b := range run.buildMerge(*k, []roleStep{s}) {
			*k = k.applyEvent(ponder.Event{Seq: ponder.Seq(10000 + n), Time: at, Body: b}, o.Roles)
		}
	}
	t.Fatal("it does not come to an end")
	return nil
}

// A flood of untrusted mail hides no other sensor and is shown bit by bit.
func TestFlood(t *testing.T) {
	for _, unaided := range []bool{false, true} {
		backup := ponder.Observation{Sensor: "system", Subject: "backup", State: "failed", Content: "The unit backup.service failed.", Level: 6}
		k, o := foldWatcher(slices.Concat([]ponder.Observation{backup}, urgentMails(120, 8))...)
		ticks := k.simulateTicks(t, o, dawn.Add(time.Hour), TickInput{WithoutModel: unaided})
		if len(ticks) == 0 || ticks[0][0] != 1 {
			t.Fatalf("unaided %v: first it is shown %v", unaided, ticks)
		}
		shown := map[int64]bool{}
		for _, seqs := range ticks {
			for _, seq := range seqs {
				shown[seq] = true
			}
			if !slices.IsSorted(seqs) || len(seqs) > maxNews || !unaided && len(seqs) > maxShown {
				t.Errorf("unaided %v: %v", unaided, seqs)
			}
		}
		if len(shown) != 121 || k.Left != nil && len(k.Left["watcher"]) > 0 {
			t.Errorf("unaided %v: %d of 121 are shown in %d looks, left %v", unaided, len(shown), len(ticks), k.Left)
		}
	}
}

// Observations beyond the limit or older than two days are lost and counted.
func TestLost(t *testing.T) {
	k, o := foldWatcher(urgentMails(1, 3)...)
	at := dawn.Add(time.Hour)
	k.simulateTicks(t, o, at, TickInput{})
	for i, b := range urgentMails(1500, 3) {
		k = k.applyEvent(ponder.Event{ID: fmt.Sprintf("evt_%d", 20000+i), Seq: ponder.Seq(20000 + i), Time: at, Body: b}, o.Roles)
	}
	if len(k.News) > maxWaiting+maxNews+2*trimEvery {
		t.Errorf("%d are kept", len(k.News))
	}
	shown, lost := 0, 0
	for range 2 {
		s := planTick(o, k, at, TickInput{Upto: noSeqLimit})[0]
		run := tickRun{o: o, Looks: map[string]lookResult{s.role.Name: {Given: s.given}}}
		run.run.Started = at
		ran, _ := run.roleOutcome(s, k)
		if n := len(ran.Left); n == 0 || n > maxWaiting || !slices.IsSorted(ran.Left) {
			t.Errorf("%d are left", n)
		}
		shown, lost = shown+ran.New, lost+ran.Lost
		for _, b := range run.buildMerge(k, []roleStep{s}) {
			k = k.applyEvent(ponder.Event{Seq: 30000, Time: at, Body: b}, o.Roles)
		}
	}
	if sum := shown + lost + len(k.Left["watcher"]); lost == 0 || sum != 1500 {
		t.Errorf("%d are shown, %d lost, %d left", shown, lost, len(k.Left["watcher"]))
	}
	s := planTick(o, k, at.Add(maxNewsAge), TickInput{Upto: noSeqLimit, All: true})[0]
	if len(s.seen) != 0 || s.lostCount != maxWaiting-shown/2 && s.lostCount == 0 {
		t.Errorf("after two days %d are shown, and %d lost", len(s.seen), s.lostCount)
	}
}

// A clock set back hides nothing; observations during a tick wait for the next.
func TestClockSetBack(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, 24 * 365 * time.Hour} {
		o := Options{Roles: DefaultRoles()[:1]}
		k := newKnowledge()
		k = k.applyEvent(ponder.Event{ID: "evt_1", Seq: 10, Time: dawn.Add(ahead), Body: diskFull}, o.Roles)
		k = k.applyEvent(ponder.Event{ID: "evt_2", Seq: 11, Time: dawn, Body: ponder.Observation{Sensor: "system", Subject: "load", State: "high", Content: "The load is high.", Level: 3}}, o.Roles)
		k.trimNews(o.Roles)
		for upto, want := range map[int64]string{0: "evt_1 evt_2", 10: "evt_1", 11: "evt_1 evt_2", noSeqLimit: "evt_1 evt_2"} {
			s := planTick(o, k, dawn.Add(time.Minute), TickInput{Upto: upto})[0]
			var ids []string
			for _, o := range s.seen {
				ids = append(ids, o.ID)
			}
			if got := strings.Join(ids, " "); got != want || s.given != s.seen[len(s.seen)-1].Seq {
				t.Errorf("up to %d: %s, read to %d, want %s", upto, got, s.given, want)
			}
		}
	}
}

// All urgent findings are reported at once, up to a report's limit.
func TestAllUrgent(t *testing.T) {
	rooms := strings.Fields("kitchen cellar attic garage office lobby roof hall pantry study bath porch stable barn chapel tower vault crypt foyer annex depot wharf quay mill forge loft nook shed yard gate")
	for _, n := range []int{9, 12, 20, 30} {
		var list []ponder.Observation
		for i := range n {
			list = append(list, ponder.Observation{Sensor: "system", Subject: rooms[i], State: "warm", Level: 8, Content: fmt.Sprintf("The freezer of the %s at house %d is warm.", rooms[i], i*17+3)})
		}
		k, o := foldWatcher(list...)
		s := planTick(o, k, dawn.Add(time.Hour), TickInput{WithoutModel: true})[0]
		r := FindByRules(s.role, k.State, s.seen, dawn.Add(time.Hour))
		if want := min(n, maxFindings); len(r.Findings) != want || len(r.Omitted) != n-want {
			t.Errorf("%d: %d are found, %d unsaid", n, len(r.Findings), len(r.Omitted))
		}
		k.simulateTicks(t, o, dawn.Add(time.Hour), TickInput{WithoutModel: true})
		if got := len(k.State.Internal.Alerts); got != n {
			t.Errorf("%d of %d are escalated", got, n)
		}
	}
}
