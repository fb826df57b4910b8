package app

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ponder"
	"ponder/engine"
	"ponder/internal/mindrunner"
	"ponder/internal/placement"
	"ponder/llm"
	"ponder/mode/session"
	"ponder/mode/subconscious"
	"ponder/sensor"
	ponderthreads "ponder/sensor/ponder"
	"ponder/store/sqlite"
)

// A requestRecorder is a model that finds nothing and records its requests by role.
type requestRecorder struct {
	mu    sync.Mutex
	asked map[string]string
}

func (l *requestRecorder) modelFor(role string) llm.Model { return recordingModel{l, role} }

type recordingModel struct {
	*requestRecorder
	role string
}

func (l recordingModel) Name() string { return "fake/" + l.role }

func (l recordingModel) Generate(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		l.mu.Lock()
		l.asked[l.role] += req.Messages[0].Text()
		l.mu.Unlock()
		yield(llm.Delta{Done: &llm.Response{Message: llm.Say(llm.Assistant, `{"findings":[],"escalate":false}`), Finish: llm.FinishStop, Model: l.Name()}}, nil)
	}
}

// The Librarian gets results and open questions of sessions; the Watcher does not. No role gets
// delivered escalations.
func TestSessionsFeedTheLibrarian(t *testing.T) {
	ctx := t.Context()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	l := &requestRecorder{asked: map[string]string{}}
	m := newRecordedMind(t, store, l)
	if _, err := m.Tick(ctx, false); err != nil { // the first look reports little of the past
		t.Fatal(err)
	}
	const run = ponder.RunID("run_1")
	add := func(id ponder.ThreadID, kind ponder.Kind, evs ...ponder.Event) {
		t.Helper()
		if err := store.Create(ctx, ponder.Thread{ID: id, Kind: kind, Owner: LocalOwner, Title: "How do reefs grow?"}, evs...); err != nil {
			t.Fatal(err)
		}
	}
	add("thr_A", ponder.KindSession,
		ponder.Event{Run: run, Body: ponder.RunStarted{Mode: session.Name, Version: 2, Input: "How do reefs grow?"}},
		ponder.Event{Run: run, Body: ponder.Synthesis{Content: "Slowly.", Insights: []string{"Reefs grow a centimetre a year"}, Remaining: []string{"What do warm years do to the polyps?"}, Final: true}},
		ponder.Event{Run: run, Body: ponder.RunFinished{Status: ponder.Completed, Answer: "Slowly."}})
	add("thr_B", ponder.KindConversation,
		ponder.Event{Internal: true, Body: ponder.Observation{Sensor: subconscious.FeedSensor, Subject: "e1", State: "strength 9", Content: "Promise: I will water the ferns tomorrow"}},
		ponder.Event{Internal: true, Body: ponder.Observation{Sensor: subconscious.FeedSensor, Subject: "esc_1", State: subconscious.EscalatedState, Content: "I promise to water the ferns tomorrow"}},
		ponder.Event{Body: ponder.UserMessage{Content: "I promise that I will call Anna tomorrow."}})
	if _, err := m.Tick(ctx, false); err != nil {
		t.Fatal(err)
	}
	asked := l.asked["librarian"]
	for _, want := range []string{"Reefs grow a centimetre a year", "What do warm years do to the polyps?", "call Anna tomorrow"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the Librarian is not told %q:\n%s", want, asked)
		}
	}
	if strings.Contains(l.asked["watcher"], "Reefs") {
		t.Error("the Watcher is told of sessions")
	}
	for role, asked := range l.asked {
		if strings.Contains(asked, "ferns") {
			t.Errorf("the %s receives the subconscious' own output:\n%s", role, asked)
		}
	}
}

func newRecordedMind(t *testing.T, store *sqlite.Store, l *requestRecorder) *mindrunner.Runner {
	t.Helper()
	ctx, logger := t.Context(), slog.New(slog.DiscardHandler)
	models := map[ponder.Role][]ponder.Model{ponder.Frontier: {{Model: l.modelFor("decision")}}}
	for _, r := range subconscious.DefaultRoles() {
		models[subconscious.ModelOf(r.Name)] = []ponder.Model{{Model: l.modelFor(r.Name)}}
	}
	mind, err := engine.New(engine.Config{Store: store, Modes: subconscious.New(subconscious.Options{}), Models: models, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	if err := mind.Open(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mind.Close(context.Background()) })
	worker := placement.Memory(placement.Config{Store: store, Work: mind.Work, Logger: logger})
	t.Cleanup(func() { _ = worker.Close(context.Background()) })
	m, err := mindrunner.New(mindrunner.Config{Store: store, Placement: worker, Owner: LocalOwner, Logger: logger, Sensors: []sensor.Sensor{ponderthreads.New(ponderthreads.Options{Store: store, Owner: LocalOwner})}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
