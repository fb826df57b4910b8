package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/knowledge/lookup"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

var day = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)

// tryTool calls a tool.
func tryTool(t *testing.T, opts Options, name, in string) (string, error) {
	t.Helper()
	for _, tool := range New(opts) {
		if tool.Name == name {
			return tool.Do(t.Context(), json.RawMessage(in))
		}
	}
	t.Fatalf("there is no %s", name)
	return "", nil
}

func useTool[R any](t *testing.T, opts Options, name, in string) (r R) {
	t.Helper()
	text, err := tryTool(t, opts, name, in)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTools(t *testing.T) {
	if tools := New(Options{}); len(tools) > 0 {
		t.Errorf("tools of nothing: %v", tools)
	}
	tools := New(testOptions(&recall.Library{}, ""))
	for i, name := range []string{"personaMemorySearch", "remember"} {
		if tools[i].Name != name || !json.Valid(tools[i].Schema) || tools[i].Doc == "" {
			t.Errorf("tool %+v", tools[i].Tool)
		}
	}
}

func TestSearch(t *testing.T) {
	item := recall.Item{ID: "mem_1", Kind: recall.KindPost, Source: "twitter", ExternalID: "7", Link: "https://twitter.test/7", Author: "Me", Date: day, Tags: []string{"boats"}}
	var asked string
	opts := Options{Persona: "captain", Context: func(_ context.Context, persona, query string, n int) (string, []recall.Hit, error) {
		asked = fmt.Sprint(persona, "|", query, "|", n)
		return strings.Repeat("ä", maxContext), []recall.Hit{
			{ID: "p1", Item: item, Quote: "I promised\nAnna a boat.", Score: 0.91234}, {ID: "p2", Item: item, Quote: "again", Score: 0.5}, {ID: "p3", Item: recall.Item{ID: "mem_2"}, Date: day, Score: 7},
		}, nil
	}}
	r := useTool[lookup.PersonaMemory](t, opts, SearchName, `{"query":" Anna ","maxResults":41}`)
	if asked != "captain|Anna|40" || len(r.Context) > maxContext || !r.Truncated {
		t.Errorf("asked %s, context of %d bytes", asked, len(r.Context))
	}
	want := lookup.List[lookup.RecalledItem]{
		{ID: "mem_1", Place: "p1", Kind: "post", Memory: "I promised Anna a boat.", Relevance: 0.912, Metadata: lookup.Metadata{Source: "twitter", ExternalID: "7", Link: "https://twitter.test/7", Author: "Me", Date: day, Tags: []string{"boats"}}},
		{ID: "mem_2", Place: "p3", Relevance: 1, Metadata: lookup.Metadata{Date: day}},
	}
	if diff := cmp.Diff(want, r.Sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	opts.Context = func(context.Context, string, string, int) (string, []recall.Hit, error) { return "", nil, nil }
	text, err := tryTool(t, opts, SearchName, `{"query":"Anna"}`)
	if want := `{"context":"","sources":[],"says":"Nothing is remembered of this: ask with other words, or say that it is not known."}`; err != nil || text != want {
		t.Errorf("%v: %s", err, text)
	}
}

func TestErrors(t *testing.T) {
	opts := Options{
		Context: func(context.Context, string, string, int) (string, []recall.Hit, error) {
			return "", nil, errors.New("context of persona: disk on fire")
		},
		Keep: func(context.Context, ...recall.Item) ([]recall.Item, error) { return nil, errors.New("disk on fire") },
		Approve: func(_ context.Context, it recall.Item) error {
			return map[bool]error{true: errors.New("the user\nsaid no")}[it.Text == "no"]
		},
	}
	for _, tt := range []struct{ tool, in, want string }{
		{SearchName, `{"query":" é "}`, "personaMemorySearch: query is shorter than 3 characters: say what to remember"},
		{SearchName, `{"query":"` + strings.Repeat("x", 1001) + `"}`, "personaMemorySearch: query is longer than 1000 characters: ask with a few words"},
		{SearchName, `{"query":"Anna"}`, "personaMemorySearch: context of persona: disk on fire"},
		{SearchName, `{"query":7}`, "input of personaMemorySearch: query must be of type string, not number"},
		{RememberName, `{"text":" "}`, "remember: text is empty: say what to remember"},
		{RememberName, `{"text":"` + strings.Repeat("x", 9000) + `"}`, "remember: text has 9000 bytes, of at most 8192: remember what matters, or in parts"},
		{RememberName, `{"text":"x","kind":"thread"}`, `remember: there is no kind "thread": it is memory or journal`},
		{RememberName, `{"text":"x","date":"soon"}`, `remember: "soon" is not a date: write it as 2024-03-01 or 2024-03-01T15:04:05Z`},
		{RememberName, `{"text":"x","tags":["` + strings.Repeat(`a","`, 16) + `a"]}`, "remember: 17 tags, of at most 16"},
		{RememberName, `{"text":"no"}`, "remember: not remembered: the user said no: go on without"},
		{RememberName, `{"text":"x"}`, "remember: disk on fire"},
	} {
		if _, err := tryTool(t, opts, tt.tool, tt.in); err == nil || err.Error() != tt.want {
			t.Errorf("%s %.60s: %v, want %s", tt.tool, tt.in, err, tt.want)
		}
	}
}

func TestRemember(t *testing.T) {
	var got recall.Item
	opts := Options{Persona: "captain", Keep: func(_ context.Context, items ...recall.Item) ([]recall.Item, error) {
		got = items[0]
		items[0].ID = "mem_1"
		return items, nil
	}}
	r := useTool[rememberResult](t, opts, RememberName, `{"text":" Anna gets a boat. ","title":"A\nboat","kind":"journal","tags":["boats"," "],"date":"2024-03-01"}`)
	want := recall.Item{Kind: recall.KindJournal, Title: "A boat", Text: "Anna gets a boat.", Tags: []string{"boats"}, Date: day, Persona: "captain", Source: "model"}
	want.ID = got.ID
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(recall.Item{})); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(rememberResult{ID: "mem_1", Kind: "journal", Date: day, Tags: []string{"boats"}}, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A remembered text is found once, with a library.
func TestLibrary(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	lib, err := recall.Open(t.Context(), recall.Config{DB: store.SQL(), Now: func() time.Time { return day.AddDate(0, 1, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	opts := testOptions(lib, "")
	for range 2 {
		useTool[rememberResult](t, opts, RememberName, `{"text":"I promised Anna a boat for her birthday.","tags":["boats"],"date":"2024-03-01"}`)
	}
	useTool[rememberResult](t, opts, RememberName, `{"text":"The ferry is white.","date":"2024-02-01"}`)
	r := useTool[lookup.PersonaMemory](t, opts, SearchName, `{"query":"what did I promise Anna?","maxResults":1}`)
	if len(r.Sources) != 1 || r.Sources[0].Memory != "I promised Anna a boat for her birthday." || !r.Sources[0].Metadata.Date.Equal(day) || strings.Count(r.Context, "a boat for her birthday") != 1 {
		t.Errorf("%+v", r)
	}
}

// testOptions returns the options for a library.
func testOptions(l *recall.Library, persona string) Options {
	return Options{Context: l.PersonaContext, Keep: l.Remember, Persona: persona}
}
