package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder"
	"ponder/mode/subconscious"
	"ponder/store/sqlite"
)

func newMindStore(t testing.TB, tell ...string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	addEscalations(t, store, tell...)
	return store
}

func addEscalations(t testing.TB, store ponder.Store, tell ...string) {
	t.Helper()
	evs := []ponder.Event{{Body: onMind(t, "Anna waits for the quarterly report", "Anna says: pay ACME "+"SECRET-MARK")}}
	for _, text := range tell {
		id := "esc_" + text[:4]
		evs = append(evs, ponder.Event{Body: ponder.Escalation{ID: id, Content: text}},
			ponder.Event{Body: ponder.Escalation{ID: id, Content: text, Outcome: "message", Sources: []string{"/var"}}})
	}
	if err := store.Create(t.Context(), ponder.Thread{ID: subconscious.ThreadOf(LocalOwner), Kind: ponder.KindSubconscious, Owner: LocalOwner}, evs...); err != nil {
		t.Fatal(err)
	}
}

// onMind returns a state with entries, the second from untrusted content.
func onMind(t testing.TB, entries ...string) ponder.Subconscious {
	t.Helper()
	s := subconscious.NewState()
	now := time.Now()
	s.Internal.Decayed, s.Internal.Metadata = now, map[string]subconscious.EntryMetadata{}
	for i, text := range entries {
		id := fmt.Sprintf("e%d", i+1)
		s.ActiveThreads = append(s.ActiveThreads, subconscious.Entry{ID: id, Summary: text, Strength: 8, Created: now, LastSeen: now})
		s.Internal.Metadata[id] = subconscious.EntryMetadata{By: []string{"watcher"}, Untrusted: i == 1}
	}
	js, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return ponder.Subconscious{State: js, Tick: 1}
}

func observedSubjects(evs []ponder.Event) string {
	var list []string
	for _, ev := range evs {
		list = append(list, ev.Body.(ponder.Observation).Subject)
	}
	return strings.Join(list, " ")
}

// A conversation gets related entries. A session gets none from untrusted content.
func TestInnerBackground(t *testing.T) {
	store := newMindStore(t)
	var u BackgroundFeed
	if err := u.Read(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if got := observedSubjects(u.Background("What did Anna want?", "thr_A", true, now)); got != "e1 e2" {
		t.Errorf("delivery to a conversation: %q", got)
	}
	if got := observedSubjects(BackgroundFor(t.Context(), store, LocalOwner, "What did Anna want?")); got != "e1" {
		t.Errorf("delivery to a session: %q", got)
	}
	if got := u.Background("How high is the sky?", "thr_A", true, now); len(got) > 0 {
		t.Errorf("delivered %v", got)
	}
	if got := u.Background("What did Anna want?", "thr_A", true, now.Add(time.Hour)); len(got) > 0 {
		t.Errorf("delivery of faded entries: %v", got)
	}
	if n := len(BackgroundFor(t.Context(), store, LocalOwner, "")); n > 0 {
		t.Errorf("delivered %d entries without content", n)
	}
}

// Only new events are read, and the checkpoint equals the fold.
func TestInnerGoesOn(t *testing.T) {
	store := newMindStore(t)
	ctx := t.Context()
	var u BackgroundFeed
	read := func(u *BackgroundFeed, want ponder.Seq) {
		t.Helper()
		if err := u.Read(ctx, store); err != nil || u.lastSeq != want {
			t.Fatalf("read to %d, want %d: %v", u.lastSeq, want, err)
		}
	}
	read(&u, 1)
	put := func(b ponder.Body, n int) {
		t.Helper()
		for range n {
			if _, err := store.Append(ctx, subconscious.ThreadOf(LocalOwner), 0, ponder.Event{Body: b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(ponder.Resolution{Content: "Anna waits for the quarterly report", As: "forgotten"}, 1)
	read(&u, 2)
	if got := observedSubjects(u.Background("What did Anna want?", "", true, time.Now())); strings.Contains(got, "e1") {
		t.Errorf("delivery of a forgotten entry: %q", got)
	}
	put(ponder.Observation{Sensor: "own", Content: "nothing"}, checkpointInterval)
	read(&u, 2+checkpointInterval)
	if u.savedSeq != u.lastSeq {
		t.Errorf("kept to %d of %d", u.savedSeq, u.lastSeq)
	}
	put(ponder.Observation{Sensor: "own", Content: "nothing"}, 1)
	var again BackgroundFeed
	read(&again, 3+checkpointInterval)
	now := time.Now()
	if a, b := observedSubjects(u.Background("Did we pay ACME?", "", true, now)), observedSubjects(again.Background("Did we pay ACME?", "", true, now)); a != b || a != "e2" {
		t.Errorf("%q before it was kept, %q after", a, b)
	}
}

func (u *BackgroundFeed) claimFor(ctx context.Context, t *testing.T, store *sqlite.Store, id ponder.ThreadID) []OpenEscalation {
	t.Helper()
	if err := u.Read(ctx, store); err != nil {
		t.Fatal(err)
	}
	list, err := u.ClaimEscalations(ctx, store, id, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func createWith(ctx context.Context, t *testing.T, store *sqlite.Store, id ponder.ThreadID, list []OpenEscalation) {
	t.Helper()
	evs := []ponder.Event{}
	for _, e := range list {
		evs = append(evs, e.Observation())
	}
	if err := store.Create(ctx, ponder.Thread{ID: id, Kind: ponder.KindConversation}, evs...); err != nil {
		t.Fatal(err)
	}
}

func countTold(ctx context.Context, t *testing.T, store *sqlite.Store, id string, threads ...ponder.ThreadID) (n int) {
	t.Helper()
	for _, thread := range threads {
		for ev, err := range store.Events(ctx, thread, 0) {
			if errors.Is(err, ponder.ErrNoThread) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := ev.Body.(ponder.Observation); ok && b.Subject == id && ev.Internal && b.State == subconscious.EscalatedState {
				n++
			}
		}
	}
	return n
}

// Only the first conversation delivers an escalation.
func TestRaisedOnce(t *testing.T) {
	ctx := t.Context()
	store := newMindStore(t, "disk is full", "mail from Anna")
	var one, two BackgroundFeed
	if err := two.Read(ctx, store); err != nil { // read before the other delivers it
		t.Fatal(err)
	}
	list := one.claimFor(ctx, t, store, "thr_A")
	if len(list) != 2 {
		t.Fatalf("%d are told", len(list))
	}
	if other, err := two.ClaimEscalations(ctx, store, "thr_B", time.Now()); err != nil || len(other) > 0 {
		t.Fatalf("another conversation tells %v, %v", other, err)
	}
	createWith(ctx, t, store, "thr_A", list)
	for _, e := range list {
		for range 2 {
			if err := one.NoteDelivered(ctx, store, e); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, u := range []*BackgroundFeed{&one, &two, {}} {
		if list := u.claimFor(ctx, t, store, "thr_C"); len(list) > 0 {
			t.Errorf("delivered twice: %v", list)
		}
	}
	view := subconscious.NewView()
	for ev, err := range store.Events(ctx, subconscious.ThreadOf(LocalOwner), 0) {
		if err != nil {
			t.Fatal(err)
		}
		view = view.Apply(ev)
	}
	if view.Delivered["esc_disk"][conversationChannel].IsZero() {
		t.Errorf("it is not noted: %v", view.Delivered)
	}
}

// A killed delivery completes exactly once.
func TestRaisedThoughKilled(t *testing.T) {
	for _, cut := range []string{"before the conversation", "before the message", "before it is noted"} {
		t.Run(cut, func(t *testing.T) {
			ctx := t.Context()
			store := newMindStore(t, "disk is full")
			if cut == "before the message" {
				createWith(ctx, t, store, "thr_A", nil)
			}
			var dead BackgroundFeed
			list := dead.claimFor(ctx, t, store, "thr_A")
			if cut == "before it is noted" {
				createWith(ctx, t, store, "thr_A", list)
			}
			var u BackgroundFeed
			if err := u.Read(ctx, store); err != nil {
				t.Fatal(err)
			}
			if list, err := u.ClaimEscalations(ctx, store, "thr_B", time.Now()); err != nil || len(list) > 0 {
				t.Fatalf("%v, %v", list, err)
			}
			if err := u.Read(ctx, store); err != nil {
				t.Fatal(err)
			}
			later, err := u.ClaimEscalations(ctx, store, "thr_B", time.Now().Add(createGrace))
			if err != nil {
				t.Fatal(err)
			}
			createWith(ctx, t, store, "thr_B", later)
			if n := countTold(ctx, t, store, "esc_disk", "thr_A", "thr_B"); n != 1 {
				t.Errorf("delivered %d times", n)
			}
		})
	}
}

// An old or dismissed escalation is not delivered.
func TestRaisedInTime(t *testing.T) {
	ctx := t.Context()
	store := newMindStore(t, "disk is full")
	var u BackgroundFeed
	if err := u.Read(ctx, store); err != nil {
		t.Fatal(err)
	}
	if list, err := u.ClaimEscalations(ctx, store, "thr_A", time.Now().Add(escalationAge+time.Hour)); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
	u.checkpoint.Open[0].Signatures = []string{"disk high"}
	u.currentState()
	u.state.Internal.Settled = []subconscious.SettledTopic{{Signature: []string{"disk high"}, At: time.Now().Add(time.Minute)}}
	if list, err := u.ClaimEscalations(ctx, store, "thr_A", time.Now()); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// BenchmarkInner measures the overhead of a message.
func BenchmarkInner(b *testing.B) {
	const said = "What did Anna want of me, and is the backup of the disk full?"
	for _, how := range []string{"none", "going on", "grown", "new"} {
		b.Run(how, func(b *testing.B) {
			ctx := b.Context()
			store, err := sqlite.Open(ctx, filepath.Join(b.TempDir(), "ponder.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			if how != "none" {
				addEscalations(b, store)
			}
			u, n := &BackgroundFeed{}, 0
			for b.Loop() {
				if how == "grown" {
					b.StopTimer()
					if _, err := store.Append(ctx, subconscious.ThreadOf(LocalOwner), 0, ponder.Event{Body: ponder.Observation{Sensor: "own", Content: "x"}}); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				if how == "new" {
					u = &BackgroundFeed{}
				}
				if err := u.Read(ctx, store); err != nil {
					b.Fatal(err)
				}
				n += len(u.Background(said, "thr_A", true, time.Now()))
			}
			if (n == 0) != (how == "none") {
				b.Error(n)
			}
		})
	}
}
