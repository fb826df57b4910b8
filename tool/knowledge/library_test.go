package knowledge

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ponder/knowledge/archive"
	"ponder/knowledge/recall"
	"ponder/store/sqlite"
)

// Ingested documents are found with their places, and can be read there.
func TestLibrary(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ponder.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	arch, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	lib, err := recall.Open(t.Context(), recall.Config{DB: store.SQL(), Archive: arch, Now: func() time.Time { return day }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lib.Close() })
	dir := writeFolder(t, map[string]string{"boats.md": boats, "anna.md": "# Promises\n\nI promised Anna a boat. She has not forgotten it."})
	if _, err := lib.Ingest(t.Context(), []string{dir}, recall.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := lib.Remember(t.Context(), recall.Item{Kind: recall.KindMemory, Text: "Anna likes blue ferries.", Date: day.AddDate(0, -1, 0)}); err != nil {
		t.Fatal(err)
	}
	tools := Tools(Options{Library: lib})
	r := useTool(t, tools[0].Do, input{Query: "what did I promise Anna?"})
	if len(r.Hits) == 0 || !strings.Contains(r.Hits[0].Quote, "I promised Anna a boat.") || r.Hits[0].Source != filepath.Join(dir, "anna.md") || r.Hits[0].Kind != "document" || r.Hits[0].Untrusted {
		t.Fatalf("hits %+v", r.Hits)
	}
	for _, h := range r.Hits {
		if x := readExcerpt(t, tools[1], fmt.Sprintf(`{"id":%q}`, h.ID)); !strings.Contains(x.Text, h.Quote) || x.Text[h.Start-x.Start:h.End-x.Start] != h.Quote {
			t.Errorf("%+v is not where it is said to be: %+v", h, x)
		}
		if h.Item == "" || h.Score <= 0 || h.Score > 1 {
			t.Errorf("hit %+v", h)
		}
	}
	yes := true
	both := useTool(t, tools[0].Do, input{Query: "what did I promise Anna?", Paths: []string{dir}, Memory: &yes})
	n := 0
	for _, h := range both.Hits {
		n += strings.Count(h.Quote, "I promised Anna a boat.")
	}
	if n != 1 {
		t.Errorf("found %d times: %+v", n, both.Hits)
	}
	if r := useTool(t, tools[0].Do, input{Query: "Anna", Kinds: []string{"memory"}, Exclude: []string{r.Hits[0].ID}}); len(r.Hits) != 1 || r.Hits[0].Source == "" || !r.Hits[0].Published.Equal(day.AddDate(0, -1, 0)) {
		t.Errorf("memories %+v", r.Hits)
	}
}
