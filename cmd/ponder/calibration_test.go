package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/app"
	"ponder/mode/session"
	"ponder/store/memory"
	"ponder/store/sqlite"
)

const sessionSeed = 3

// endedSessionEvents returns the events of an ended session with a claim.
func endedSessionEvents(run ponder.RunID, claimed float64, model string) []ponder.Event {
	return []ponder.Event{
		{Run: run, Body: ponder.RunStarted{Mode: session.Name, Input: "Is it so?"}},
		{Run: run, Body: ponder.Synthesis{Content: "Perhaps.", Confidence: 0.3, Model: model}},
		{Run: run, Body: ponder.Synthesis{Content: "It is.", Confidence: claimed, Basis: ponder.Basis{Agreement: 0.5}, Final: true, Model: model}},
		{Run: run, Body: ponder.RunFinished{Answer: "It is.", Status: ponder.Completed, Confidence: claimed}},
	}
}

func resolvedEvent(run ponder.RunID, outcome float64) ponder.Event {
	return ponder.Event{Run: run, Body: ponder.Resolution{Ref: string(run), Outcome: &outcome}}
}

func createSession(t *testing.T, store ponder.Store, id ponder.ThreadID, events ...ponder.Event) ponder.Info {
	t.Helper()
	thread := ponder.Thread{ID: id, Kind: ponder.KindSession, Owner: app.LocalOwner, Title: "Is it so?", Created: time.Now()}
	if err := store.Create(t.Context(), thread, events...); err != nil {
		t.Fatal(err)
	}
	info, err := store.Thread(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestJudge(t *testing.T) {
	right := 1.0
	many := make([]ponder.Event, 300)
	for i := range many {
		many[i] = ponder.Event{Body: ponder.Observation{Content: "rain"}}
	}
	steered := make([]ponder.Event, 100)
	for i := range steered {
		steered[i] = ponder.Event{Run: "run_1", Body: ponder.Progress{Content: "x"}}
	}
	ended := endedSessionEvents("run_1", 0.9, "m")
	late := append(append(append([]ponder.Event{}, ended[:3]...), steered...), ended[3])
	for _, tt := range []struct {
		name    string
		events  []ponder.Event
		whole   bool
		claimed float64
		run     ponder.RunID
		outcome *float64
	}{
		{"has not ended", ended[:3], true, 0, "", nil},
		{"without a claim", append(endedSessionEvents("run_1", 0.9, "m")[:3:3], ponder.Event{Run: "run_1", Body: ponder.Synthesis{Assumed: true, Final: true}}, ended[3]), true, 0, "run_1", nil},
		{"not resolved", ended, true, 0.9, "run_1", nil},
		{"resolved", append(endedSessionEvents("run_1", 0.9, "m"), resolvedEvent("run_1", 0), resolvedEvent("run_1", 1)), false, 0.9, "run_1", &right},
		{"taken back", append(endedSessionEvents("run_1", 0.9, "m"), resolvedEvent("run_1", 0), ponder.Event{Run: "run_1", Body: ponder.Resolution{Ref: "run_1"}}), true, 0.9, "run_1", nil},
		{"resolved long after", append(append(endedSessionEvents("run_1", 0.9, "m"), many...), resolvedEvent("run_1", 1)), false, 0.9, "run_1", &right},
		{"resolved long ago", append(append(endedSessionEvents("run_1", 0.9, "m"), resolvedEvent("run_1", 1)), many...), false, 0.9, "run_1", &right},
		{"claimed long before", append(append([]ponder.Event{}, late...), resolvedEvent("run_1", 1)), false, 0.9, "run_1", &right},
		{"of another run", append(endedSessionEvents("run_1", 0.9, "m"), resolvedEvent("run_2", 1)), true, 0.9, "run_1", nil},
		{"the newest session", append(append(endedSessionEvents("run_1", 0.9, "m"), resolvedEvent("run_1", 0)), append(endedSessionEvents("run_2", 0.4, "m"), resolvedEvent("run_2", 1))...), false, 0.4, "run_2", &right},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := memory.New()
			j, err := app.JudgeSession(t.Context(), store, createSession(t, store, "thr_1", tt.events...), tt.whole)
			if err != nil {
				t.Fatal(err)
			}
			if j.Claim.Confidence != tt.claimed || j.Run != tt.run || j.Claimed() != (tt.claimed > 0) {
				t.Errorf("%+v", j)
			}
			if d := cmp.Diff(tt.outcome, j.Outcome); d != "" {
				t.Error(d)
			}
		})
	}
}

// An outcome shared by two threads counts once.
func TestForksCountOnce(t *testing.T) {
	store := memory.New()
	createSession(t, store, "thr_1", append(endedSessionEvents("run_1", 0.9, "m"), resolvedEvent("run_1", 1))...)
	var copied []ponder.Event
	for ev, err := range store.Events(t.Context(), "thr_1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		ev.Thread, ev.Seq = "", 0
		copied = append(copied, ev)
	}
	createSession(t, store, "thr_2", copied...)
	list, err := app.ResolvedSessions(t.Context(), store, app.LocalOwner)
	if err != nil || len(list) != 1 {
		t.Errorf("%d cases, %v", len(list), err)
	}
}

// Once confidences are calibrated, all outputs use the calibration: half of the claims of 0.9
// are right.
func TestCalibrated(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "PONDER_CONFIG"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	db := filepath.Join(t.TempDir(), "p.db")
	store, err := sqlite.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(sessionSeed, 0))
	for i := range 60 {
		run, model := ponder.RunID(ponder.NewID("run")), fmt.Sprintf("test/m%d", i%2)
		createSession(t, store, ponder.ThreadID(ponder.NewID("thr")), append(endedSessionEvents(run, 0.8+0.19*r.Float64(), model), resolvedEvent(run, float64(i/2%2)))...)
	}
	last := createSession(t, store, ponder.ThreadID(ponder.NewID("thr")), endedSessionEvents(ponder.RunID(ponder.NewID("run")), 0.9, "test/m0")...).ID
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	ponderOf := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), append(args, "--db", db), strings.NewReader(""), &out, &errs); code != exitDone {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}

	var shown struct {
		Claimed     float64  `json:"confidence"`
		Calibrated  *float64 `json:"calibrated_confidence"`
		Calibration string   `json:"calibration"`
	}
	for _, args := range [][]string{{"session", "show", string(last), "--json"}, {"session", "list", "--limit", "1", "--json"}} {
		if err := json.Unmarshal([]byte(ponderOf(args...)), &shown); err != nil {
			t.Fatal(err)
		}
		if p := shown.Calibrated; shown.Claimed != 0.9 || p == nil || *p < 0.4 || *p > 0.65 || shown.Calibration != "60 resolved sessions" {
			t.Errorf("%v: %+v", args, shown)
		}
	}
	want := fmt.Sprintf("%.2f (claimed 0.90", *shown.Calibrated)
	for _, args := range [][]string{{"session", "show", string(last)}, {"session", "list", "--limit", "1"}, {"session", "watch", string(last)}} {
		if text := ponderOf(args...); !strings.Contains(text, want) {
			t.Errorf("%v: no %q in:\n%s", args, want, text)
		}
	}

	text := ponderOf("usage", "--calibration")
	for _, want := range []string{"60 resolved sessions: 30 right, 30 wrong, 0 partly right", "\nclaimed ", "\ncalibrated ", "LOG LOSS", "test/m0", "┃"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	var got app.Reliability
	if err := json.Unmarshal([]byte(ponderOf("usage", "--calibration", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Claimed.ECE < 0.35 || got.Calibrated.ECE > 1.5*got.Calibrated.Chance || got.Calibrated.Brier > got.Claimed.Brier-0.1 || len(got.Models) != 2 || got.Models[0].Sessions != 30 {
		t.Errorf("%+v, %+v", got.Claimed, got.Calibrated)
	}
	if text := ponderOf("session", "resolve", string(last), "--outcome", "wrong"); !strings.Contains(text, "wrong (claimed 0.90)\ncalibrated from 61 resolved sessions") {
		t.Errorf("session resolve prints:\n%s", text)
	}
}
