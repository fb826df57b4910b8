package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/engine"
	"ponder/mode/session"
	"ponder/store/memory"
)

func fakeSession(t *testing.T, store ponder.Store, id ponder.ThreadID, bodies ...ponder.Body) {
	t.Helper()
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	evs := []ponder.Event{{ID: "evt_" + string(id), Time: at, Run: "run_1", Body: ponder.RunStarted{Input: "Why?", Mode: session.Name, Budget: ponder.Budget{Time: time.Minute}}}}
	for _, b := range bodies {
		evs = append(evs, ponder.Event{Time: at, Run: "run_1", Elapsed: time.Duration(len(evs)) * time.Second, Body: b})
		evs[min(1, len(evs)-1)].Cause = "focus-1/1.1"
	}
	if err := store.Create(t.Context(), ponder.Thread{ID: id, Kind: ponder.KindSession, Title: "Why?", Created: at}, evs...); err != nil {
		t.Fatal(err)
	}
}

func compareSessions(t *testing.T, store ponder.Store, ids ...ponder.ThreadID) *Comparison {
	t.Helper()
	var infos []ponder.Info
	for _, id := range ids {
		info, err := store.Thread(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	c, err := Compare(t.Context(), store, session.Calibration{}, infos[0], infos[1])
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCompareText(t *testing.T) {
	const evil = "red\x1b[31m alert\x07 \u202ebackwards\r\n\tand more"
	store := memory.New()
	fakeSession(t, store, "thr_A",
		ponder.Thought{Content: "The sea is deep.", Kind: "insight", Confidence: 0.5},
		ponder.SubQuestion{ID: "q1", Content: "How deep?", Priority: 5},
		ponder.CallFinished{Model: "m" + evil},
		ponder.Thought{Content: "It is " + evil, Number: 1, Kind: "critique", Confidence: 0.4},
		ponder.QuestionUpdated{ID: "q1", Explored: true},
		ponder.Synthesis{Content: "Salt and " + evil, Insights: []string{"Rivers carry salt into the sea", "深い海は暗い。" + evil}, Confidence: 0.6, Final: true},
		ponder.RunFinished{Status: ponder.Completed, Answer: "Salt and " + evil, Reason: "time is spent" + evil},
	)
	err := engine.Fork(t.Context(), store, "thr_A", 4, ponder.Thread{ID: "thr_B", Created: time.Unix(0, 0)},
		ponder.Event{ID: "evt_s", Time: time.Unix(0, 0), Run: "run_1", Body: ponder.Steer{Do: ponder.Correct, Content: "It is sweet " + evil}})
	if err != nil {
		t.Fatal(err)
	}
	fakeSession(t, store, "thr_C")
	forks := compareSessions(t, store, "thr_A", "thr_B")
	if forks.Common.Events != 4 || forks.Common.Thoughts != 1 || forks.B.ForkedFrom != "thr_A" || forks.A.Since.Thoughts != 1 {
		t.Errorf("common %+v, since %+v", forks.Common, forks.A.Since)
	}
	for _, tt := range []struct {
		name  string
		c     *Comparison
		width int
	}{
		{"wide", forks, 100},
		{"narrow", forks, 50},
		{"nothing in common", compareSessions(t, store, "thr_C", "thr_B"), 80},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.c.Text(tt.width)
			file := filepath.Join("testdata", "compare", strings.ReplaceAll(tt.name, " ", "-")+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
			if strings.ContainsAny(got, "\x1b\x07\r\t\u202e") {
				t.Errorf("control sequence in %q", got)
			}
			for line := range strings.Lines(got) {
				if n := lipgloss.Width(strings.TrimSuffix(line, "\n")); n > tt.width {
					t.Errorf("%d cells: %q", n, line)
				}
			}
		})
	}
}

func TestDiffer(t *testing.T) {
	for _, tt := range []struct {
		name               string
		a, b               []string
		onlyA, onlyB, both []string
	}{
		{name: "nothing"},
		{name: "one side", a: []string{"The sea is salty."}, onlyA: []string{"The sea is salty."}},
		{name: "same", a: []string{"The sea is salty."}, b: []string{"the sea is salty"}, both: []string{"The sea is salty."}},
		{
			name: "different", a: []string{"Rivers carry salt into the sea"}, b: []string{"The moon pulls at the water"},
			onlyA: []string{"Rivers carry salt into the sea"}, onlyB: []string{"The moon pulls at the water"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onlyA, onlyB, both, opposed := compareTexts(tt.a, tt.b)
			for _, pair := range [][2][]string{{tt.onlyA, onlyA}, {tt.onlyB, onlyB}, {tt.both, both}} {
				if strings.Join(pair[0], "|") != strings.Join(pair[1], "|") {
					t.Errorf("got %q, want %q", pair[1], pair[0])
				}
			}
			if len(opposed) != 0 {
				t.Errorf("opposed %q", opposed)
			}
		})
	}
	if _, _, _, opposed := compareTexts([]string{"The method is reliable."}, []string{"The method is not reliable."}); len(opposed) != 1 {
		t.Errorf("opposed %q", opposed)
	}
}
