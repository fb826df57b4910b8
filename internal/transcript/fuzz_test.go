package transcript_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/transcript"
)

// checkRoundTrip reads a file and, if that succeeds, checks that an export has all fields and that reading
// it again changes nothing.
func checkRoundTrip(t *testing.T, file string) {
	tr, err := transcript.Read(strings.NewReader(file))
	if err != nil {
		if len(tr.Events) > 0 {
			t.Error("something was read in spite of an error")
		}
		return
	}
	thread, events := roundTripStore(t, tr)
	export := writeFile(t, thread, events, true)
	second, err := transcript.Read(strings.NewReader(export))
	if err != nil {
		t.Fatalf("an export cannot be read: %v", err)
	}
	if d := cmp.Diff(transcript.Transcript{Thread: thread, Events: events}, second); d != "" {
		t.Fatalf("an export is read as something else (-written +read):\n%s", d)
	}
	if tr.Foreign && hasDistinctIDs(t, file) {
		checkComplete(t, strings.TrimPrefix(file, "\ufeff"), export)
	}
}

// hasDistinctIDs reports whether the event IDs of a file are unique.
func hasDistinctIDs(t *testing.T, file string) bool {
	seen := make(map[string]bool)
	for i, o := range parseObjects(t, strings.TrimPrefix(file, "\ufeff")) {
		id := string(o["event_id"])
		if i > 0 && (seen[id] || len(id) < 3 || id[0] != '"' || strings.ContainsAny(id, `\`)) {
			return false
		}
		seen[id] = true
	}
	return true
}

func FuzzRead(f *testing.F) {
	js, err := os.ReadFile(filepath.Join("testdata", "predecessor.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(js))
	for l := range strings.Lines(string(js)) {
		f.Add(`{"thread_id":"t","kind":"conversation"}` + "\n" + l)
	}
	thread, events := newSession()
	f.Add(writeFile(f, thread, events, true))
	f.Add(writeFile(f, thread, events, false))
	f.Fuzz(func(t *testing.T, file string) {
		if len(file) > 1<<16 {
			return
		}
		checkRoundTrip(t, file)
	})
}

// TestRandomLines reads random files of another program with fields of any name and type.
func TestRandomLines(t *testing.T) {
	names := strings.Fields("event_id thread_id ts type role content tool_name tool_args tool_result reason engine model data foreign _foreign erased " +
		"internal name media_type hash bytes from_thread media usage run_id cause after elapsed_ms x Content untrusted error")
	types := strings.Fields("user_message assistant_message tool_call tool_result system_note attachment_added inner_monologue canvas run_started thought")
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var value func(depth int) any
		value = func(depth int) any {
			switch n := rnd.IntN(9); {
			case n < 3:
				return fmt.Sprintf("text %d <&> \u00e9\n", rnd.IntN(100))
			case n == 3:
				return nil
			case n == 4:
				return rnd.IntN(2) == 0
			case n == 5:
				return json.Number(fmt.Sprint(rnd.IntN(1000), ".50"))
			case n == 6 && depth < 3:
				return []any{value(depth + 1), value(depth + 1)}
			case n == 7 && depth < 3:
				return map[string]any{names[rnd.IntN(len(names))]: value(depth + 1), "k": value(depth + 1)}
			}
			return rnd.IntN(1 << 30)
		}
		object := func(must map[string]any) string {
			for range rnd.IntN(12) {
				name := names[rnd.IntN(len(names))]
				if _, set := must[name]; !set {
					must[name] = value(0)
				}
			}
			js, err := json.Marshal(must)
			if err != nil {
				t.Fatal(err)
			}
			return string(js) + "\n"
		}
		header := map[string]any{"thread_id": "t1", "kind": value(0), "event_id": nil}
		file := object(header)
		file = strings.Replace(file, `"event_id":null,`, "", 1)
		for i := range 1 + rnd.IntN(10) {
			line := map[string]any{"event_id": fmt.Sprint("e", i)}
			if rnd.IntN(8) > 0 {
				line["type"] = types[rnd.IntN(len(types))]
			}
			file += object(line)
		}
		checkRoundTrip(t, file)
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, file)
		}
	}
}
