package recall_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder/knowledge/recall"
	"ponder/knowledge/recall/vector"
)

func TestDates(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"standup-2026-05-02.md":  "We shipped the harbour page.",
		"2026_05_03 notes.md":    "Cleaned the boat.",
		"meeting.md":             "# Standup, 4 May 2026\n\nBen was ill.\n",
		"front.md":               "---\ntitle: On tides\ndate: 2026-05-05\ntags: [sea, moon]\n---\n\nThe tide turns.\n",
		"list.md":                "---\ntags:\n  - boats\n  - \"old ropes\"\nauthor: Anna\n---\n\nThe ropes are worn.\n",
		"plain.md":               "No day is told here.",
		"report-2026-05-06.html": "<p>Numbers went up.</p>",
		"build 12345678.md":      "It is no day.",
	})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	type item struct {
		kind        recall.Kind
		date, dated string
		tags        string
	}
	want := map[string]item{
		"standup-2026-05-02.md":  {recall.KindJournal, "2026-05-02", "name", ""},
		"2026_05_03 notes.md":    {recall.KindJournal, "2026-05-03", "name", ""},
		"meeting.md":             {recall.KindDocument, "2026-05-04", "text", ""},
		"front.md":               {recall.KindDocument, "2026-05-05", "text", "sea,moon"},
		"list.md":                {recall.KindDocument, "2024-01-10", "file", "boats,old ropes"},
		"plain.md":               {recall.KindDocument, "2024-01-10", "file", ""},
		"report-2026-05-06.html": {recall.KindDocument, "2026-05-06", "name", ""},
		"build 12345678.md":      {recall.KindDocument, "2024-01-10", "file", ""},
	}
	for _, it := range r.listItems(recall.Filter{N: -1}) {
		name := filepath.Base(it.Path)
		got := item{it.Kind, it.Date.Format(time.DateOnly), it.Meta["dated"], strings.Join(it.Tags, ",")}
		if got != want[name] {
			t.Errorf("%s: %+v, want %+v", name, got, want[name])
		}
		if name == "front.md" && it.Title != "On tides" {
			t.Errorf("title %q", it.Title)
		}
	}
}

func TestMailIsThread(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.mbox": "From me@x.org Mon Mar  4 12:00:00 2024\nFrom: me@example.com\nTo: Ben <ben@x.org>\nSubject: Tides\nDate: Tue, 5 Mar 2024 10:00:00 +0100\n\nThe tide comes at seven.\n"})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	list := r.listItems(recall.Filter{Kinds: []recall.Kind{recall.KindThread}})
	if len(list) != 1 || list[0].Author != "me@example.com" {
		t.Fatalf("items %+v", list)
	}
	for _, question := range []string{"me@example.com", "mail to Ben", "when does the tide come"} {
		for _, q := range hitQuotes(r.searchText(question, recall.SearchOptions{})) {
			if strings.Contains(q, "example.com") || strings.Contains(q, "ben@") {
				t.Errorf("%s: the head of a message is quoted: %q", question, q)
			}
		}
	}
	if c := r.checkPlace(r.findPlace("when does the tide come")); !c.Exact {
		t.Errorf("checked %+v", c)
	}
}

func TestSettleFor(t *testing.T) {
	slow := func(c *recall.Config) {
		e := bagEmbedder("tide sea")
		embed := e.Embed
		e.Batch = 1
		e.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
			if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "slow") }) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return embed(ctx, texts)
		}
		c.Embedder = vector.Embedder(e)
	}
	r := newRig(t, slow)
	r.rememberItems(recall.Item{Text: "The tide turns."})
	progress := 0
	done, err := r.WaitIndexedFor(t.Context(), time.Minute, func(vectors, of int) {
		if progress = vectors; of != 1 {
			t.Errorf("of %d passages, want 1", of)
		}
	})
	if !done || err != nil || progress != 1 {
		t.Errorf("done %v, %v, %d vectors", done, err, progress)
	}
	r.rememberItems(recall.Item{Text: "This is slow to embed."})
	if done, err := r.WaitIndexedFor(t.Context(), 50*time.Millisecond, nil); done || err != nil {
		t.Errorf("done %v, %v", done, err)
	}
}
