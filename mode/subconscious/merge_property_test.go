package subconscious

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/racetest"
)

type world struct {
	*rand.Rand
	n   int
	now time.Time
}

func newWorld(seed uint64) *world { return &world{rand.New(rand.NewPCG(seed, 7)), 0, noon} }

var (
	subjects = strings.Fields("disk backup invoice printer contract flight server garden passport kitchen Anna Tom Kessler router dentist")
	verbs    = strings.Fields("is was grew failed waits expires arrived moved leaks rises sent closed answered")
	details  = []string{"again", "since Monday", "for 3 days", "at 91 percent", "not yet", "in May", "after the update", "twice", "", "\x1b[2Jbefore noon", strings.Repeat("very ", 20)}
	kinds    = strings.Fields("observation pattern forgotten upcoming idea question")
)

func pickOne[T any](w *world, list []T) T { return list[w.IntN(len(list))] }

func (w *world) randomText() string {
	return fmt.Sprintf("The %s %s %s.", pickOne(w, subjects), pickOne(w, verbs), pickOne(w, details))
}

func (w *world) randomInput(s State) Input {
	in := Input{Tick: s.Internal.Tick + 1, Seen: make(map[string]SeenObservation), Given: make(map[string]int64)}
	var ids []string
	for range w.IntN(8) {
		w.n++
		o := newObserved(w.n, pickOne(w, []string{"mail", "system", "own:chat", "feed:news", LookUpSensor("oracle")}), pickOne(w, subjects), pickOne(w, verbs), w.randomText())
		o.At, o.Untrusted = w.now, w.IntN(4) == 0
		in.Seen[o.ID] = o
		ids = append(ids, o.ID)
	}
	for _, role := range testRoles() {
		if w.IntN(4) == 0 {
			continue
		}
		r := Report{Role: role.Name, Journal: w.randomText(), Hints: map[string]string{pickOne(w, testRoles()).Name: w.randomText()}}
		if w.IntN(3) == 0 {
			r.Escalate, r.LookUp = w.randomText(), w.randomText()
		}
		for range w.IntN(6) {
			f := Finding{Type: pickOne(w, kinds), Summary: w.randomText(), Importance: w.IntN(14) - 2}
			for range w.IntN(3) {
				f.Reinforces = append(f.Reinforces, fmt.Sprintf("e%d", 1+w.IntN(s.Internal.Next+1)))
			}
			for range min(len(ids), w.IntN(3)) {
				f.Rests = append(f.Rests, pickOne(w, ids))
			}
			r.Findings = append(r.Findings, f)
		}
		in.Reports = append(in.Reports, r)
		in.Given[role.Name] = int64(w.n)
	}
	return in
}

func (w *world) randomTick(s State) (Input, MergeResult) {
	w.now = w.now.Add(time.Duration(w.IntN(int(12 * time.Minute))))
	in := w.randomInput(s)
	return in, Aggregate(s, in, w.now, rules)
}

func (w *world) applyOutcomes(s State, m MergeResult) State {
	ev := ponder.Event{Seq: ponder.Seq(w.n), Time: w.now}
	for _, e := range m.Escalations {
		ev.Body = e
		s = s.Apply(ev)
		e.Outcome = pickOne(w, []string{"message", "dismiss", "remember"})
		ev.Body = e
		s = s.Apply(ev)
	}
	if w.IntN(5) == 0 {
		ev.Body = ponder.Resolution{Ref: fmt.Sprintf("e%d", w.IntN(s.Internal.Next+1)), Content: w.randomText(), As: pickOne(w, []string{"", "forgotten"})}
		s = s.Apply(ev)
	}
	return s
}

func encodeJSON(t testing.TB, v any) string {
	t.Helper()
	js, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(js)
}

// describeInvalid returns a violated invariant of s, or "".
func describeInvalid(s State) string {
	for _, c := range categories {
		list := *s.categoryEntries(c)
		if len(list) > c.maxEntries() {
			return fmt.Sprintf("%d entries in %s", len(list), c)
		}
		for _, e := range list {
			if e.Strength < 1 || e.Strength > MaxStrength || len(strings.Fields(e.Summary)) > MaxWords || strings.ContainsRune(e.Summary, 0x1b) {
				return fmt.Sprintf("%+v", e)
			}
		}
	}
	if len(s.Internal.LookUpRequests) > maxLookUpRequests || len(s.Internal.LookUpRecords) > maxLookUpRecords || slices.ContainsFunc(s.Internal.LookUpRequests, func(w LookUpRequest) bool { return w.Role != "oracle" || w.Text != cleanLookUp(w.Text) }) {
		return fmt.Sprintf("%+v", s.Internal.LookUpRequests)
	}
	for name, r := range s.ThreadState {
		if r.NoveltyPressure < 0 || r.NoveltyPressure > MaxPressure || len(r.LastFindings) > maxFound {
			return fmt.Sprintf("%s: %+v", name, r)
		}
	}
	a := s.Internal
	switch {
	case len(s.EscalationHistory) > maxHistory, s.countTokens() > MaxTokens:
		return fmt.Sprintf("%d escalated, %d tokens", len(s.EscalationHistory), s.countTokens())
	case len(a.Topics) > maxTopics, len(a.Alerts) > maxAlerts, len(a.Pending) > maxPending, len(a.Settled) > maxSettled, len(a.Hints) > maxHints:
		return "an aside that is too long"
	}
	return ""
}

func TestMergeProperties(t *testing.T) {
	racetest.Skip(t, "one goroutine, which tries thousands of random states")
	for seed := range uint64(12) {
		w := newWorld(seed)
		s := NewState()
		for n := range 25 {
			before := encodeJSON(t, s)
			in, got := w.randomTick(s)
			input := encodeJSON(t, in)
			if why := describeInvalid(got.State); why != "" {
				t.Fatalf("seed %d, tick %d: %s", seed, n, why)
			}
			want := encodeJSON(t, got)
			for range 3 {
				other := in
				other.Reports = append([]Report(nil), in.Reports...)
				w.Shuffle(len(other.Reports), func(i, j int) { other.Reports[i], other.Reports[j] = other.Reports[j], other.Reports[i] })
				for i, r := range other.Reports {
					other.Reports[i].Findings = append([]Finding(nil), r.Findings...)
					list := other.Reports[i].Findings
					w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				}
				if diff := cmp.Diff(want, encodeJSON(t, Aggregate(s, other, w.now, rules))); diff != "" {
					t.Fatalf("seed %d, tick %d: another order: %s", seed, n, diff)
				}
			}
			if encodeJSON(t, s) != before || encodeJSON(t, in) != input {
				t.Fatalf("seed %d, tick %d: what is merged was changed", seed, n)
			}
			next := s.Apply(ponder.Event{Body: ponder.Subconscious{State: json.RawMessage(encodeJSON(t, got.State))}})
			if encodeJSON(t, next) != encodeJSON(t, got.State) {
				t.Fatalf("seed %d, tick %d: stored, it is another: %s", seed, n, cmp.Diff(encodeJSON(t, got.State), encodeJSON(t, next)))
			}
			s = w.applyOutcomes(next, got)
			if why := describeInvalid(s); why != "" {
				t.Fatalf("seed %d, tick %d, after events: %s", seed, n, why)
			}
		}
	}
}

// TestFadeProperties checks that decay is monotonic and independent of its steps.
func TestFadeProperties(t *testing.T) {
	racetest.Skip(t, "one goroutine, which tries thousands of random states")
	for seed := range uint64(10) {
		w := newWorld(seed)
		s := NewState()
		for range 5 {
			_, got := w.randomTick(s)
			s = got.State
		}
		last := s
		now := w.now
		for range 30 {
			now = now.Add(time.Duration(w.IntN(int(4 * time.Minute))))
			next, once := last.DecayTo(now), s.DecayTo(now)
			if encodeJSON(t, next) != encodeJSON(t, once) {
				t.Fatalf("seed %d: in steps %s, at once %s", seed, encodeJSON(t, next), encodeJSON(t, once))
			}
			for _, c := range categories {
				for _, e := range *next.categoryEntries(c) {
					if was, _ := last.findEntry(e.ID); was == nil || was.Strength < e.Strength {
						t.Fatalf("seed %d: %+v became %+v", seed, was, e)
					}
				}
			}
			last = next
		}
		if len(last.DecayTo(now.Add(time.Hour)).Patterns) > 0 {
			t.Errorf("seed %d: something never fades", seed)
		}
	}
}

// TestEchoProperty checks that feeding back its own text never strengthens an entry.
func TestEchoProperty(t *testing.T) {
	racetest.Skip(t, "one goroutine, which tries thousands of random states")
	for seed := range uint64(20) {
		w := newWorld(seed)
		s := NewState()
		for range 6 {
			_, got := w.randomTick(s)
			s = got.State
		}
		for _, c := range categories {
			for _, e := range *s.categoryEntries(c) {
				o := newObserved(900, pickOne(w, []string{"own:chat", "own:memory", "mail"}), "somewhere else", "new", e.Summary)
				for _, f := range []Finding{
					{Summary: e.Summary, Importance: 10},
					{Summary: e.Summary, Importance: 10, Reinforces: []string{e.ID}},
					{Summary: e.Summary, Importance: 10, Rests: []string{o.ID}},
					{Summary: e.Summary, Importance: 10, Rests: []string{o.ID}, Reinforces: []string{e.ID}},
				} {
					got := Aggregate(s, newInput(s.Internal.Tick+1, []SeenObservation{o}, reportOf(pickOne(w, testRoles()).Name, f)), s.Internal.Decayed, rules)
					if is, _ := got.State.findEntry(e.ID); is != nil && is.Strength > e.Strength {
						t.Fatalf("seed %d: %+v became %+v by %+v", seed, e, is, f)
					}
				}
			}
		}
	}
}
