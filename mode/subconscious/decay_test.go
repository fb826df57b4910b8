package subconscious

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ponder"
)

// TestOwnClock checks that each entry decays by its own clock: an unreinforced one of strength 3 lives 15
// minutes, whenever ticks happen.
func TestOwnClock(t *testing.T) {
	s := NewState()
	created := []time.Duration{0, 4 * time.Minute, 7 * time.Minute, 12*time.Minute + 29*time.Second}
	texts := []string{"The boiler leaks.", "Tax papers are missing.", "Anna waits for the lease.", "A router was replaced."}
	last := s
	for at := time.Duration(0); at < 30*time.Minute; at += time.Second {
		now := noon.Add(at)
		for i := range created {
			if created[i] == at {
				s = Aggregate(s, newSupportedInput(i+1, reportOf("watcher", Finding{Summary: texts[i], Importance: 4})), now, rules).State
				last = s
			}
		}
		if at%(97*time.Second) == 0 { // a tick at some other time
			last = Aggregate(last, newInput(9, nil), now, rules).State
		}
		for name, got := range map[string]State{"idle": s.DecayTo(now), "ticking": last.DecayTo(now)} {
			for i := range created {
				want := 0
				if age := at - created[i]; age >= 0 && age < 15*time.Minute {
					want = 3 - int(age/DecayEvery)
				}
				strength := 0
				for _, e := range got.ActiveThreads {
					if e.Summary == texts[i] {
						strength = e.Strength
					}
				}
				if strength != want {
					t.Fatalf("%s, after %v, entry of %v: strength %d, not %d", name, at, created[i], strength, want)
				}
			}
		}
	}
}

// TestReinforcedClock checks that a reinforcement adds two and does not move the clock.
func TestReinforcedClock(t *testing.T) {
	one, two := newObserved(1, "system", "disk", "high", "Disk / is at 91%."), newObserved(2, "system", "disk", "higher", "The disk / is now at 95%.")
	f := func(o SeenObservation) Report {
		return reportOf("watcher", Finding{Summary: "The root disk is filling up.", Importance: 5, Rests: []string{o.ID}})
	}
	s := Aggregate(NewState(), newInput(1, []SeenObservation{one}, f(one)), noon, rules).State
	s = Aggregate(s, newInput(2, []SeenObservation{two}, f(two)), noon.Add(7*time.Minute), rules).State
	for after, want := range map[time.Duration]int{7 * time.Minute: 4, 10*time.Minute - time.Second: 4, 10 * time.Minute: 3, 25*time.Minute - time.Second: 1, 25 * time.Minute: 0} {
		strength := 0
		if got := s.DecayTo(noon.Add(after)).ActiveThreads; len(got) > 0 {
			strength = got[0].Strength
		}
		if strength != want {
			t.Errorf("after %v: strength %d, not %d", after, strength, want)
		}
	}
}

// TestEarlierLog checks that logs and checkpoints of earlier versions, whose entries had one clock, are
// read as before.
func TestEarlierLog(t *testing.T) {
	file, err := os.Open("testdata/log-1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	v, k := NewView(), newKnowledge()
	lines := bufio.NewScanner(file)
	for lines.Buffer(nil, 1<<20); lines.Scan(); {
		var ev ponder.Event
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			t.Fatal(err)
		}
		v, k = v.Apply(ev), k.applyEvent(ev, DefaultRoles())
	}
	js, err := os.ReadFile("testdata/view-1.json")
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := DecodeView(js)
	if err != nil {
		t.Fatal(err)
	}
	at := func(minute, second int) time.Time { return time.Date(2000, 1, 1, 0, minute, second, 0, time.UTC) }
	for name, s := range map[string]State{"log": v.State, "run": k.State, "checkpoint": decoded.State} {
		for now, want := range map[time.Time]int{at(7, 6): 6, at(9, 59): 6, at(10, 0): 5, at(34, 59): 1, at(35, 0): 0} {
			strength := 0
			if got := s.DecayTo(now); len(got.ActiveThreads) == 1 && got.Internal.Tick == 2 {
				strength = got.ActiveThreads[0].Strength
			}
			if strength != want {
				t.Errorf("%s: at %v the strength is %d, not %d", name, now, strength, want)
			}
		}
		again := Aggregate(s, newInput(3, nil), at(11, 0), rules).State
		if e := again.DecayTo(at(14, 59)).ActiveThreads; len(e) != 1 || e[0].Strength != 5 {
			t.Errorf("%s: merged again: %+v", name, e)
		}
	}
}

// TestQuietPressure checks that novelty pressure rises by one for each quiet hour, in any steps.
func TestQuietPressure(t *testing.T) {
	s := Aggregate(NewState(), newInput(1, nil, reportOf("watcher"), reportOf("oracle")), noon, rules).State
	s = Aggregate(s, newSupportedInput(2, reportOf("watcher", Finding{Summary: "The boiler leaks.", Importance: 4})), noon.Add(30*time.Minute), rules).State
	steps := s
	for minute := range 20 * 60 {
		now := noon.Add(time.Duration(minute) * time.Minute)
		if now.Before(noon.Add(30 * time.Minute)) {
			continue
		}
		steps = steps.DecayTo(now)
		watcher, oracle := min((minute-30)/60, MaxPressure), min(1+minute/60, MaxPressure)
		for name, got := range map[string]State{"once": s.DecayTo(now), "in steps": steps} {
			if w, o := got.ThreadState["watcher"].NoveltyPressure, got.ThreadState["oracle"].NoveltyPressure; w != watcher || o != oracle {
				t.Fatalf("%s, after %d minutes: pressure %d and %d, not %d and %d", name, minute, w, o, watcher, oracle)
			}
		}
	}
}

// TestQuietDays checks the cost of quiet days: each role that saw something looks once more after a day,
// with pressure, and then no more.
func TestQuietDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSilentBench(t)
		_, ticks := b.runDays(5, map[int]ponder.Observation{0: {Sensor: "system", Subject: "disk /home", State: "high", Level: 6, Content: "The disk /home is 93% full."}})
		v := b.foldView()
		if ticks != 2 || allCalls(b.models) != 4 || len(v.Ticks) != 2 || v.Ticks[1].At.Sub(v.Ticks[0].At) < scanEvery {
			t.Fatalf("%d ticks, %d calls, %+v", ticks, allCalls(b.models), v.Ticks)
		}
		for _, r := range v.Ticks[1].Roles {
			if want := r.Role == watcher || r.Role == dreamer; want != (r.Skipped == "") || want && (r.Again != 1 || r.New != 0) {
				t.Errorf("%+v", r)
			}
		}
		requests := b.models[ModelOf(watcher)].requests
		scan := requests[len(requests)-1].Messages[0].Text()
		for _, want := range []string{"Nothing is new. You have been shown these observations before", "The disk /home is 93% full.", "Novelty pressure: 10 of 10.", pressureRequest(10)} {
			if !strings.Contains(scan, want) {
				t.Errorf("the second request lacks %q:\n%s", want, scan)
			}
		}
		if p := v.DecayTo(time.Now()).ThreadState[watcher].NoveltyPressure; p != MaxPressure {
			t.Errorf("pressure %d", p)
		}
	})
}

// TestDryRunOfAll checks that a rehearsal with all roles shows the requests of the tick.
func TestDryRunOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newSilentBench(t)
		for n, in := range []TickInput{{All: true}, {All: true}, {}, {All: true}} {
			time.Sleep(7 * time.Minute)
			if n%2 == 0 {
				b.putObservation(ponder.Observation{Sensor: "system", Subject: "disk /home", State: "at " + time.Now().String(), Level: 6, Content: "The disk /home is nearly full."})
			}
			dry := NewDryRun(b.o)
			for _, ev := range b.Events() {
				dry.Apply(ev)
			}
			shown, calls := dry.Requests(time.Now(), in), allCalls(b.models)
			b.runTick(in, ponder.Budget{})
			ran := 0
			for _, r := range shown {
				if r.Skipped != "" {
					continue
				}
				ran++
				list := b.models[ModelOf(r.Role)].requests
				if got := list[len(list)-1]; got.System != r.Request.System || got.Messages[0].Text() != r.Request.Messages[0].Text() {
					t.Errorf("tick %d, %s:\n%s\nshown:\n%s", n, r.Role, got.Messages[0].Text(), r.Request.Messages[0].Text())
				}
			}
			if allCalls(b.models)-calls != ran || in.All && ran != 4 {
				t.Errorf("tick %d: %d calls, %d shown", n, allCalls(b.models)-calls, ran)
			}
		}
	})
}
