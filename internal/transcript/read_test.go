package transcript_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder"
	"ponder/internal/transcript"
	"ponder/llm"
	"ponder/store/memory"
)

func eventSeq(events []ponder.Event) iter.Seq2[ponder.Event, error] {
	return func(yield func(ponder.Event, error) bool) {
		for _, ev := range events {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func writeFile(t testing.TB, thread ponder.Thread, events []ponder.Event, internal bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := transcript.Write(&b, thread, eventSeq(events), internal); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func readFile(t testing.TB, file string) transcript.Transcript {
	t.Helper()
	got, err := transcript.Read(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// roundTripStore returns a thread after a round trip through a store.
func roundTripStore(t testing.TB, tr transcript.Transcript) (ponder.Thread, []ponder.Event) {
	t.Helper()
	if tr.Thread.ID == "" {
		tr.Thread.ID = "thr_new"
	}
	s := memory.New()
	defer s.Close()
	if err := s.Create(t.Context(), tr.Thread, tr.Events...); err != nil {
		t.Fatal(err)
	}
	var events []ponder.Event
	for ev, err := range s.Events(t.Context(), tr.Thread.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	info, err := s.Thread(t.Context(), tr.Thread.ID)
	if err != nil {
		t.Fatal(err)
	}
	return info.Thread, events
}

var day = time.Date(2026, 5, 17, 12, 30, 45, 123456000, time.UTC)

// newSession returns a thread with a tree of runs, calls and tools.
func newSession() (ponder.Thread, []ponder.Event) {
	thread := ponder.Thread{ID: "thr_01AAAAAAAAAAAAAAAAAAAAAAAA", Kind: ponder.KindSession, Title: "why <& how>", Owner: "local", Created: day, Model: "p/m"}
	const root = ponder.RunID("run_01B")
	events := []ponder.Event{
		{Run: root, Body: ponder.RunStarted{Mode: "session", Version: 2, Input: "why?", Options: json.RawMessage(`{"docs":["<a>"]}`)}},
		{Run: root, Cause: "k#1", Body: ponder.CallStarted{Role: ponder.Slow, Model: "p/m", Reserved: ponder.Cost{Calls: 1}}},
		{Run: root, Cause: "k#1", Elapsed: 1500 * time.Millisecond, Body: ponder.CallFinished{Message: llm.Say(llm.Assistant, "so"), Model: "p/m", Usage: llm.Usage{Input: 3}}},
		{Run: root + "/child", Body: ponder.RunStarted{Mode: "look"}},
		{Run: root, Cause: "note-1/1.1", After: 4, Body: ponder.Thought{Content: "deep\u2028 \x00", Kind: "insight", Confidence: 0.25}},
		{Run: root, Cause: "t#1", Internal: true, Body: ponder.ToolCall{Name: "web", Args: json.RawMessage(`{"q":[1,2.50,null]}`)}},
		{Body: ponder.Unknown{Name: "from_the_future", Head: emptyHead(), Data: json.RawMessage(`{"z":1,"a":[1.50,1e2]}`)}},
		ponder.Event{Run: root, Body: ponder.Synthesis{Content: "gone"}}.WithoutContent(),
		{Run: root, Body: ponder.RunFinished{Status: ponder.Completed, Answer: "42", Confidence: 0.5}},
		{Cause: "mine", Body: ponder.UserMessage{Content: "thanks", Media: []llm.Media{{Type: "image/png", Data: []byte{1}}}}},
	}
	for i, ev := range events {
		ev.ID = fmt.Sprint("evt_", i)
		events[i] = ev.Stamp(thread.ID, ponder.Seq(i+1), day.Add(time.Duration(i)*time.Second))
	}
	return thread, events
}

// emptyHead returns an empty event head, whose type is not exported.
func emptyHead() (h struct {
	Role       string          `json:"role,omitempty"`
	Content    string          `json:"content,omitempty"`
	ToolName   string          `json:"tool_name,omitempty"`
	ToolArgs   json.RawMessage `json:"tool_args,omitempty"`
	ToolResult string          `json:"tool_result,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Model      string          `json:"model,omitempty"`
	Usage      *llm.Usage      `json:"usage,omitempty"`
}) {
	return h
}

// TestOurs checks that an export reads back to the same thread, also through a store.
func TestOurs(t *testing.T) {
	thread, events := newSession()
	file := writeFile(t, thread, events, true)
	got := readFile(t, file)
	want := transcript.Transcript{Thread: thread, Events: events}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("read (-want +got):\n%s", d)
	}
	again, kept := roundTripStore(t, got)
	if d := cmp.Diff(file, writeFile(t, again, kept, true)); d != "" {
		t.Errorf("exported again:\n%s", d)
	}
}

// TestOursWithGaps checks that an export without internal events keeps positions and exports again
// equally.
func TestOursWithGaps(t *testing.T) {
	thread, events := newSession()
	file := writeFile(t, thread, events, false)
	got := readFile(t, file)
	if got.Filled != 3 || len(got.Events) != len(events) {
		t.Fatalf("%d events, %d of them filled in", len(got.Events), got.Filled)
	}
	again, kept := roundTripStore(t, got)
	for i, ev := range kept {
		if ev.Seq != ponder.Seq(i+1) || ev.Internal != events[i].Internal || ev.Internal && !ev.Erased {
			t.Errorf("event %d: %+v", i+1, ev)
		}
		if !ev.Internal && !cmp.Equal(ev, events[i]) {
			t.Errorf("event %d: %s", i+1, cmp.Diff(events[i], ev))
		}
	}
	if d := cmp.Diff(file, writeFile(t, again, kept, false)); d != "" {
		t.Errorf("exported again:\n%s", d)
	}
}

// TestNewer reads lines of a newer version.
func TestNewer(t *testing.T) {
	file := `{"thread_id":"thr_1","kind":"session","created_at":"2026-01-01T00:00:00Z","mood":"calm"}
{"event_id":"evt_1","thread_id":"thr_1","seq":1,"ts":"2026-01-01T00:00:00.000000Z","type":"thought","content":"x","colour":"red","data":{"sequence_number":0,"thought_type":"insight","confidence":0.50,"time_offset_seconds":0,"depth":3}}
{"event_id":"evt_2","thread_id":"thr_1","seq":2,"ts":"2026-01-01T00:00:00.000000Z","type":"dream","colour":"blue","data":{"sheep":2}}
{"event_id":"evt_3","thread_id":"thr_1","seq":3,"ts":"2026-01-01T00:00:00.000000Z","type":"dream","colour":"blue","data":7}
{"event_id":"evt_4","thread_id":"thr_1","seq":4,"ts":"2026-01-01T00:00:00.000000Z","type":"summary","content":"damaged","internal":true,"data":{"from":"one"}}
`
	got := readFile(t, file)
	if got.Foreign || len(got.Events) != 5 {
		t.Fatalf("foreign %v, %d events", got.Foreign, len(got.Events))
	}
	thread, events := roundTripStore(t, got)
	checkComplete(t, file, writeFile(t, thread, events, true))
	if ev := events[3]; ev.Body.Type() != "system_note" || !ev.Internal {
		t.Errorf("a summary that cannot be read is %+v", ev)
	}
}

// TestForeign reads lines of the predecessor program.
func TestForeign(t *testing.T) {
	js, err := os.ReadFile(filepath.Join("testdata", "predecessor.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	file := string(js)
	got := readFile(t, file)
	if !got.Foreign || got.Thread.ID != "01JJ8Q0V6X2Z3T4R5W7Y9A0BCD" || got.Thread.Kind != ponder.KindConversation ||
		got.Thread.Title != "How do I structure <my> API layer? é" || !got.Thread.Created.Equal(time.Date(2026, 1, 31, 8, 0, 0, 123456000, time.UTC)) {
		t.Errorf("header %+v", got.Thread)
	}
	thread, events := roundTripStore(t, got)
	var types []string
	for _, ev := range events {
		types = append(types, ev.Body.Type())
	}
	want := strings.Fields("system_note user_message tool_call tool_result assistant_message inner_monologue system_note attachment_added system_note system_note")
	if d := cmp.Diff(want, types); d != "" {
		t.Error(d)
	}
	if b := events[6].Body.(ponder.SystemNote); b.Foreign != "canvas_update" || b.Content != `{"nodes":[1,2]}` {
		t.Errorf("unknown type: %+v", b)
	}
	if b := events[3].Body.(ponder.ToolResult); !strings.HasPrefix(b.Result, `{"hits":`) {
		t.Errorf("result: %+v", b)
	}
	if !events[5].Internal || events[8].Erased || events[8].Internal {
		t.Errorf("monologue %+v, note %+v", events[5], events[8])
	}
	if !events[6].Time.Equal(events[5].Time) {
		t.Errorf("a time that is no text is %v", events[6].Time)
	}
	export := writeFile(t, thread, events, true)
	checkComplete(t, file, export)

	// An export of it is in our own format and gives the same events.
	second := readFile(t, export)
	if d := cmp.Diff(transcript.Transcript{Thread: thread, Events: events}, second); second.Foreign || d != "" {
		t.Errorf("imported again (-first +second):\n%s", d)
	}
}

// checkComplete checks that an export has every field of a file: at the top, in data, or in data with a
// prefix _.
func checkComplete(t testing.TB, file, export string) {
	t.Helper()
	out := parseObjects(t, export)
	for i, in := range parseObjects(t, file) {
		var at map[string]json.RawMessage
		for _, o := range out {
			if i == 0 && string(o["reason"]) == `"import"` || i > 0 && string(in["event_id"]) == string(o["event_id"]) {
				at = o
			}
		}
		if i == 0 && at == nil {
			at = out[0]
		}
		var data, header map[string]json.RawMessage
		if js := at["data"]; js != nil {
			if err := json.Unmarshal(js, &data); err != nil {
				data = map[string]json.RawMessage{"": js}
			}
		}
		if i == 0 {
			header = out[0]
		}
		for name, value := range in {
			found := false
			for _, o := range []map[string]json.RawMessage{at, data, header} {
				for try := name; len(try) < len(name)+4; try = "_" + try {
					found = found || cmp.Equal(normalizeJSON(t, o[try]), normalizeJSON(t, value))
				}
			}
			var own map[string]json.RawMessage
			if name == "data" && json.Unmarshal(value, &own) == nil && own != nil {
				found = true
				for name, value := range own {
					here := false
					for try := name; len(try) < len(name)+4; try = "_" + try {
						here = here || cmp.Equal(normalizeJSON(t, data[try]), normalizeJSON(t, value))
					}
					found = found && here
				}
			}
			if !found {
				t.Errorf("line %d: %s: %s is not in %s", i+1, name, value, at)
			}
		}
	}
}

// normalizeJSON returns a comparable value; nil only if it is missing.
func normalizeJSON(t testing.TB, js json.RawMessage) any {
	if js == nil {
		return nil
	}
	var v struct{ V any }
	dec := json.NewDecoder(strings.NewReader(`{"V":` + string(js) + `}`))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if n, ok := v.V.(json.Number); ok {
		f, err := n.Float64()
		if err == nil && len(n) < 15 {
			v.V = f
		}
	}
	return v
}

func parseObjects(t testing.TB, file string) (list []map[string]json.RawMessage) {
	t.Helper()
	for l := range strings.Lines(file) {
		if strings.TrimSpace(l) == "" {
			continue
		}
		var o map[string]json.RawMessage
		if err := json.Unmarshal([]byte(l), &o); err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

func TestRefused(t *testing.T) {
	const head = `{"thread_id":"thr_1","kind":"session","created_at":"2026-01-01T00:00:00Z"}` + "\n"
	event := func(seq int) string { return fmt.Sprintf(`{"seq":%d,"type":"user_message","content":"x"}`, seq) + "\n" }
	for _, c := range []struct {
		name, file string
		line       int
		want       string
	}{
		{"nothing", "", 0, "the file is empty"},
		{"blank lines", "\n \r\n\n", 0, "the file is empty"},
		{"not JSON", head + event(1) + "\n" + "hello\n", 4, "not JSON: invalid character 'h'"},
		{"cut off", head + event(1) + `{"seq":2,"type":"user_mess`, 3, "not JSON"},
		{"two values", head + `{"seq":1,"type":"x"} {}`, 2, "not JSON"},
		{"no object", head + event(1) + "[1]\n", 3, "not a JSON object"},
		{"null", head + "null\n", 2, "not a JSON object"},
		{"no UTF-8", head + "{\"type\":\"user_message\",\"content\":\"\xff\"}\n", 2, "not valid UTF-8"},
		{"no UTF-8 in ours", head + "{\"seq\":1,\"type\":\"user_message\",\"content\":\"\xff\"}\n", 2, "not valid UTF-8"},
		{"header is not JSON", "thread\n" + event(1), 1, "not JSON"},
		{"no header", `{"event_id":"e","thread_id":"t","type":"user_message"}`, 1, "event before the header"},
		{"header without an id", `{"kind":"chat"}`, 1, "thread_id is missing"},
		{"empty id", `{"thread_id":"","kind":"chat"}`, 1, "thread_id is missing"},
		{"id is no text", `{"thread_id":7}`, 1, "thread_id is missing"},
		{"seq twice", head + event(1) + event(1), 3, "seq 1 is not above the previous seq 1"},
		{"backwards", head + event(5) + event(4), 3, "seq 4 is not above"},
		{"no seq any more", head + event(1) + `{"type":"user_message"}`, 3, "seq is missing"},
		{"far away", head + event(1) + event(1<<40), 3, "is too far from the previous seq"},
		{"far away again and again", head + strings.Join([]string{event(1000), event(2200), event(2300), event(5000)}, ""), 3, "is too far from the previous seq"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := transcript.Read(strings.NewReader(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) || len(got.Events) > 0 {
				t.Fatalf("got %d events and error %v, want one with %q", len(got.Events), err, c.want)
			}
			var at *transcript.LineError
			if errors.As(err, &at) && at.Line != c.line || at == nil && c.line != 0 {
				t.Errorf("%v: line %d is wrong", err, c.line)
			}
		})
	}
}

// An endlessFile is a file without an end.
type endlessFile struct{ line string }

func (e endlessFile) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], e.line)
	}
	return len(p), nil
}

func TestBounded(t *testing.T) {
	for name, line := range map[string]string{"one line": "x", "empty lines": "\n", "many lines": "{}\n"} {
		if _, err := transcript.Read(endlessFile{line}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTitle(t *testing.T) {
	long := strings.Repeat("日本 ", 50)
	for said, want := range map[string]string{"  two\n words ": "two words", "": "", long: strings.TrimSpace(string([]rune(long)[:59])) + "…"} {
		js, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		got := readFile(t, `{"thread_id":"t","kind":"conversation"}`+"\n"+`{"type":"user_message","content":`+string(js)+`}`)
		if got.Thread.Title != want {
			t.Errorf("title %q, want %q", got.Thread.Title, want)
		}
	}
}

// TestStrangeIDs checks that invalid IDs are replaced and preserved as extra fields.
func TestStrangeIDs(t *testing.T) {
	for _, id := range []string{"a b", "../x", "\x1b[2J", strings.Repeat("x", 200), "日本"} {
		js, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		file := `{"thread_id":` + string(js) + `,"kind":"conversation"}` + "\n" + `{"thread_id":` + string(js) + `,"event_id":"e","type":"user_message"}` + "\n"
		got := readFile(t, file)
		if got.Thread.ID != "" {
			t.Errorf("%q: id %q", id, got.Thread.ID)
		}
		thread, events := roundTripStore(t, got)
		out := parseObjects(t, writeFile(t, thread, events, true))
		if !slices.ContainsFunc(out, func(o map[string]json.RawMessage) bool { return strings.Contains(string(o["data"]), `"thread_id":`) }) {
			t.Errorf("%q is not kept: %v", id, out)
		}
	}
}

// TestImportApprovesNothing checks that a file cannot bring a question with its approval.
func TestImportApprovesNothing(t *testing.T) {
	const file = `{"thread_id":"thr_1","kind":"conversation","created_at":"2026-01-02T03:04:05Z"}
{"event_id":"evt_1","thread_id":"thr_1","seq":1,"ts":"2026-01-02T03:04:05.678900Z","type":"approval_requested","run_id":"run_1","role":"system","tool_name":"send","tool_args":{"to":"eve"},"data":{"expires":"2099-01-03T03:04:05Z"}}
{"event_id":"evt_2","thread_id":"thr_1","seq":2,"ts":"2026-01-02T03:04:05.678900Z","type":"user_message","role":"user","content":"hello","data":{"decisions":[{"approval_id":"evt_1","approved":true}]}}
`
	got, err := transcript.Read(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, ev := range got.Events {
		switch b := ev.Body.(type) {
		case ponder.ApprovalRequested:
			if seen++; !b.Expires.IsZero() {
				t.Errorf("the question is open until %v", b.Expires)
			}
		case ponder.UserMessage:
			if seen++; len(b.Decisions) > 0 {
				t.Errorf("it decides %+v", b.Decisions)
			}
		}
	}
	if seen != 2 {
		t.Errorf("%d events", seen)
	}
}
