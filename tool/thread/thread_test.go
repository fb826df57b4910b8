package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/textkit"
	"ponder/store/memory"
)

var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// countingStore is a store that counts the events it returns.
type countingStore struct {
	*memory.Store
	events int
}

func (c *countingStore) Events(ctx context.Context, id ponder.ThreadID, after ponder.Seq) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for ev, err := range c.Store.Events(ctx, id, after) {
			c.events++
			if !yield(ev, err) {
				return
			}
		}
	}
}

func newStore(t testing.TB) *countingStore {
	s := memory.New()
	t.Cleanup(func() { s.Close() })
	return &countingStore{Store: s}
}

// addSession creates a thread with a session that has answered after so many thoughts, and
// further events.
func (c *countingStore) addSession(t testing.TB, id ponder.ThreadID, owner, question, answer string, thoughts int, more ...ponder.Event) {
	t.Helper()
	evs := []ponder.Event{{Run: "run_1", Body: ponder.RunStarted{Mode: "session", Input: question}}}
	for n := range thoughts {
		evs = append(evs, ponder.Event{Run: "run_1", Cause: fmt.Sprintf("note-%d/1.1", n), Body: ponder.Thought{Content: "Hm.", Number: n}})
	}
	if answer != "" {
		evs = append(evs, ponder.Event{Run: "run_1", Time: day, Body: ponder.RunFinished{Answer: answer, Status: ponder.Completed, Confidence: 0.7}})
	}
	err := c.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindSession, Owner: owner}, append(evs, more...)...)
	if err != nil {
		t.Fatal(err)
	}
}

// useTool calls the tool for the owner ann.
func useTool(t testing.TB, store Store, in input) result {
	t.Helper()
	js, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := New(store, "ann").Do(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

const reefs = "Why do coral reefs bleach?"

func newResolved(outcome float64) ponder.Event {
	return ponder.Event{Body: ponder.Resolution{Ref: "run_1", Outcome: &outcome}}
}

func TestFind(t *testing.T) {
	s := newStore(t)
	s.addSession(t, "thr_a", "ann", "Why do coral reefs bleach, and can they recover?", "Heat expels their algae.", 5, newResolved(1))
	s.addSession(t, "thr_b", "ann", "How fast do trains go?", "Fast.", 5)
	s.addSession(t, "thr_c", "bob", reefs, "Bob's secret.", 5)
	s.addSession(t, "thr_d", "ann", reefs, "", 5) // still thinking
	s.addSession(t, "thr_e", "ann", reefs, "The one that asks.", 5)
	if err := s.Create(t.Context(), ponder.Thread{ID: "thr_f", Kind: ponder.KindResearch, Owner: "ann"},
		ponder.Event{Run: "run_1", Body: ponder.RunStarted{Input: reefs}},
		ponder.Event{Run: "run_1", Body: ponder.RunFinished{Answer: "No session.", Status: ponder.Completed}}); err != nil {
		t.Fatal(err)
	}
	got := useTool(t, s, input{Question: reefs, Exclude: "thr_e"})
	one := 1.0
	want := result{Sessions: 2, Hits: []hit{{
		Thread: "thr_a", Question: "Why do coral reefs bleach, and can they recover?", Answer: "Heat expels their algae.", Confidence: 0.7,
		Status: ponder.Completed, Ended: day, Resolved: &one,
	}}}
	if len(got.Hits) == 1 {
		if got.Hits[0].Score < 0.5 || got.Hits[0].Score > 1 {
			t.Errorf("score %v", got.Hits[0].Score)
		}
		got.Hits[0].Score = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r := useTool(t, s, input{Question: "How do tides make electricity?"}); len(r.Hits) != 0 || r.Hits == nil {
		t.Errorf("hits of nothing: %+v", r.Hits)
	}
}

// A session that found nothing has no conclusion. Quotations, thoughts with an assumed
// confidence, and uncertain answers do count.
func TestFindNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		sum  ponder.Synthesis
		hits int
	}{
		"nothing found":       {ponder.Synthesis{Final: true, WithoutModel: true}, 0},
		"quotations":          {ponder.Synthesis{Final: true, WithoutModel: true, Confidence: 0.1}, 1},
		"thoughts":            {ponder.Synthesis{Final: true, WithoutModel: true, Assumed: true}, 1},
		"a model that doubts": {ponder.Synthesis{Final: true}, 1},
	} {
		for _, long := range []int{1, 3 * tail} {
			s := newStore(t)
			evs := []ponder.Event{{Run: "run_1", Body: ponder.RunStarted{Mode: "session", Input: reefs, Options: []byte(`{"earlier":true}`)}}}
			for n := range long {
				evs = append(evs, ponder.Event{Run: "run_1", Cause: fmt.Sprintf("note-%d/1.1", n), Body: ponder.Thought{Content: "Hm.", Number: n}})
			}
			evs = append(evs, ponder.Event{Run: "run_1", Body: tt.sum}, ponder.Event{Run: "run_1", Time: day, Body: ponder.RunFinished{Answer: "An answer.", Status: ponder.Completed}})
			if err := s.Create(t.Context(), ponder.Thread{ID: "thr_a", Kind: ponder.KindSession, Owner: "ann"}, evs...); err != nil {
				t.Fatal(err)
			}
			for range 2 { // with a new summary, and with the stored one
				if r := useTool(t, s, input{Question: reefs}); len(r.Hits) != tt.hits {
					t.Errorf("%s, of %d events: %d hits, want %d", name, len(evs), len(r.Hits), tt.hits)
				}
			}
		}
	}
}

func TestNoOwnerNoQuestion(t *testing.T) {
	s := newStore(t)
	s.addSession(t, "thr_a", "", reefs, "Heat.", 1)
	text, err := New(s, "").Do(t.Context(), json.RawMessage(`{"question":"`+reefs+`"}`))
	if err != nil || text != `{"hits":[],"sessions":0}` {
		t.Errorf("without an owner: %s, %v", text, err)
	}
	for _, in := range []string{`{}`, `{"question":" \u0000\n"}`, `{"question":7}`, `[`} {
		if _, err := New(s, "ann").Do(t.Context(), json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), Name) {
			t.Errorf("%s: %v", in, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(s, "ann").Do(ctx, json.RawMessage(`{"question":"x"}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestReadOnce checks that the tool reads a long session partially, stores its summary, and
// reads only new events later.
func TestReadOnce(t *testing.T) {
	s := newStore(t)
	s.addSession(t, "thr_a", "ann", reefs, "Heat.", 5000)
	if r := useTool(t, s, input{Question: reefs}); len(r.Hits) != 1 || s.events > 2*tail {
		t.Fatalf("%d hits, %d events read", len(r.Hits), s.events)
	}
	s.events = 0
	if r := useTool(t, s, input{Question: reefs}); len(r.Hits) != 1 || r.Hits[0].Resolved != nil || s.events != 0 {
		t.Errorf("again: %+v, %d events read", r.Hits, s.events)
	}
	if _, err := s.Append(t.Context(), "thr_a", 0, newResolved(0)); err != nil {
		t.Fatal(err)
	}
	if r := useTool(t, s, input{Question: reefs}); len(r.Hits) != 1 || r.Hits[0].Resolved == nil || *r.Hits[0].Resolved != 0 || s.events != 1 {
		t.Errorf("resolved since: %+v, %d events read", r.Hits, s.events)
	}
}

// TestConcurrentUses checks that uses at the same time read a session once.
func TestConcurrentUses(t *testing.T) {
	const uses, thoughts = 8, 20
	s := &meetingStore{countingStore: newStore(t)}
	s.addSession(t, "thr_a", "ann", reefs, "Heat.", thoughts)
	s.left.Store(uses)
	s.all.Add(uses)
	tool := New(s, "ann")
	var work sync.WaitGroup
	for range uses {
		work.Go(func() {
			if text, err := tool.Do(t.Context(), json.RawMessage(`{"question":"`+reefs+`"}`)); err != nil || !strings.Contains(text, "Heat.") {
				t.Errorf("%s, %v", text, err)
			}
		})
	}
	work.Wait()
	if want := thoughts + 2; s.events != want {
		t.Errorf("%d uses read %d events, want %d", uses, s.events, want)
	}
}

// A meetingStore holds the first loads of checkpoints until all have begun.
type meetingStore struct {
	*countingStore
	left atomic.Int32
	all  sync.WaitGroup
}

func (s *meetingStore) LoadCheckpoint(ctx context.Context, id ponder.ThreadID, fold, version string) (ponder.Seq, []byte, error) {
	if s.left.Add(-1) >= 0 {
		s.all.Done()
		s.all.Wait()
	}
	return s.countingStore.LoadCheckpoint(ctx, id, fold, version)
}

// TestAnswerFarBack finds an answer that is not among the newest events.
func TestAnswerFarBack(t *testing.T) {
	s := newStore(t)
	var notes []ponder.Event
	for range 2 * tail {
		notes = append(notes, ponder.Event{Body: ponder.UserMessage{Content: "Thanks."}})
	}
	s.addSession(t, "thr_a", "ann", reefs, "Heat.", 3*tail, notes...)
	if r := useTool(t, s, input{Question: reefs}); len(r.Hits) != 1 || r.Hits[0].Answer != "Heat." {
		t.Errorf("hits: %+v", r.Hits)
	}
}

// TestUntrusted checks the mark of answers that rest on text of strangers, wherever in the
// thread the evidence is, also before the session.
func TestUntrusted(t *testing.T) {
	strange := ponder.Evidence{ID: "e1", Source: "https://a.example/", Content: "Heat.", Untrusted: true}
	own := ponder.Evidence{ID: "e1", Source: "notes.md", Content: "Heat."}
	web := json.RawMessage(`{"web":true}`)
	for name, test := range map[string]struct {
		options json.RawMessage
		before  int // thoughts before the evidence
		after   int
		body    ponder.Body
		want    bool
	}{
		"strangers":                     {web, 0, 0, strange, true},
		"the user's own":                {web, 0, 0, own, false},
		"at the beginning of many":      {web, 3, 5 * tail, strange, true},
		"in the middle of many":         {web, 3 * tail, 5 * tail, strange, true},
		"among many of the user's own":  {web, 3 * tail, 5 * tail, own, false},
		"by way of an earlier session":  {json.RawMessage(`{"earlier":true}`), 3 * tail, 3 * tail, strange, true},
		"options that can't be read":    {json.RawMessage(`{"web":"yes"}`), 3 * tail, 3 * tail, strange, true},
		"erased":                        {web, 0, 0, ponder.Evidence{ID: "e1", Untrusted: true}, true},
		"long, with nothing to look in": {nil, 3 * tail, 3 * tail, ponder.Thought{Content: "Hm."}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			evs := []ponder.Event{{Run: "run_1", Body: ponder.RunStarted{Mode: "session", Input: reefs, Options: test.options}}}
			for range test.before {
				evs = append(evs, ponder.Event{Run: "run_1", Body: ponder.Thought{Content: "Hm."}})
			}
			evs = append(evs, ponder.Event{Run: "run_1", Body: test.body})
			for range test.after {
				evs = append(evs, ponder.Event{Run: "run_1", Body: ponder.Thought{Content: "Hm."}})
			}
			evs = append(evs, ponder.Event{Run: "run_1", Time: day, Body: ponder.RunFinished{Answer: "Heat.", Status: ponder.Completed}})
			if err := s.Create(t.Context(), ponder.Thread{ID: "thr_a", Kind: ponder.KindSession, Owner: "ann"}, evs...); err != nil {
				t.Fatal(err)
			}
			for _, when := range []string{"first", "from what was kept"} {
				r := useTool(t, s, input{Question: reefs})
				if len(r.Hits) != 1 || r.Hits[0].Untrusted != test.want || r.Untrusted != test.want || (r.Notice != "") != test.want {
					t.Errorf("%s: %+v, want untrusted %v", when, r, test.want)
				}
			}
		})
	}
	s := newStore(t)
	s.addSession(t, "thr_a", "ann", "How fast do trains go?", "Fast.", 1, ponder.Event{Run: "run_1", Body: strange},
		ponder.Event{Run: "run_2", Body: ponder.RunStarted{Input: reefs}},
		ponder.Event{Run: "run_2", Body: ponder.RunFinished{Answer: "Heat.", Status: ponder.Completed}})
	if r := useTool(t, s, input{Question: reefs}); len(r.Hits) != 1 || !r.Hits[0].Untrusted {
		t.Errorf("after another session on the thread: %+v", r.Hits)
	}
}

// TestNewestSession ignores an earlier session on the same thread.
func TestNewestSession(t *testing.T) {
	s := newStore(t)
	s.addSession(t, "thr_a", "ann", "How fast do trains go?", "Fast.", 1, newResolved(1),
		ponder.Event{Run: "run_2", Body: ponder.RunStarted{Input: reefs}},
		ponder.Event{Run: "run_2/part", Body: ponder.RunStarted{Input: "a part"}},
		ponder.Event{Run: "run_2/part", Body: ponder.RunFinished{Answer: "of it", Status: ponder.Completed}},
		ponder.Event{Run: "run_2", Body: ponder.RunFinished{Answer: "Heat.", Status: ponder.Completed, Confidence: 7}})
	r := useTool(t, s, input{Question: reefs})
	if len(r.Hits) != 1 || r.Hits[0].Question != reefs || r.Hits[0].Answer != "Heat." || r.Hits[0].Confidence != 1 || r.Hits[0].Resolved != nil {
		t.Errorf("hits: %+v", r.Hits)
	}
}

// TestHostile checks that contents of sessions are limited and cleaned.
func TestHostile(t *testing.T) {
	s := newStore(t)
	long := strings.Repeat("Coral reefs bleach. ü\x1b[2J\u202e\x00 ", 8_000)
	s.addSession(t, "thr_a", "ann", reefs+long, long+"\xff", 1)
	if err := s.SaveCheckpoint(t.Context(), "thr_a", fold, version, 1, []byte(`{"question":7,`)); err != nil {
		t.Fatal(err)
	}
	r := useTool(t, s, input{Question: long, Limit: 1 << 40})
	if len(r.Hits) != 1 {
		t.Fatalf("hits: %+v", r.Hits)
	}
	for _, text := range []string{r.Hits[0].Question, r.Hits[0].Answer} {
		if len(text) > maxAnswer || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\x00\u202e") {
			t.Errorf("not cleaned: %q", text)
		}
	}
}

// TestManySessions checks that the tool considers a limited number of sessions, and reads a limited
// number of new ones, newest first.
func TestManySessions(t *testing.T) {
	s := newStore(t)
	for i := range 3 * maxUnread {
		s.addSession(t, ponder.ThreadID(fmt.Sprintf("thr_%04d", i)), "ann", fmt.Sprintf("What is thing %d?", i), "It is so.", 1)
	}
	for use1 := 1; use1 <= 4; use1++ {
		r := useTool(t, s, input{Question: "thing"})
		if want := min(use1, 3) * maxUnread; r.Sessions != want || r.More != 3*maxUnread-want {
			t.Errorf("use %d looked at %d and left %d", use1, r.Sessions, r.More)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\xff\u202eb\n\x00…", 5)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 3 + max(0, limit)%2000
		got := textkit.Line(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.Contains(got, "\n") {
			t.Errorf("oneLine(%q, %d) = %q", text, limit, got)
		}
		if got := textkit.TruncateBytes(textkit.CleanTrim(textkit.Prefix(text, 2*limit)), limit); len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("clip(%q, %d) = %q", text, limit, got)
		}
	})
}
