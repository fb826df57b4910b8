package recall_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/racetest"
	"ponder/knowledge/recall"
)

func TestIngestFolder(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"anna.md":        "# Anna\n\nI promised Anna to send her the photographs of the lake by Friday.\n",
		"deep/boat.txt":  "The boat needs new paint before summer.\n",
		".gitignore":     "secret.md\n",
		"secret.md":      "Nobody may read this.",
		"broken.pdf":     "%PDF-1.7 and then nothing",
		"2024-03-05.md":  "Rain all day. Wrote to Ben about the roof.",
		"empty.txt":      "",
		"binary.md":      "\x00\x01\x02\xff\xfe",
		"image.png":      "\x89PNG",
		"node_modules/x": "y",
	})
	r := newRig(t)
	report := r.ingestPaths(recall.IngestOptions{Tags: []string{"notes"}}, dir)
	if report.Added != 3 || report.Items != 3 {
		t.Errorf("added %d files and %d items, want 3 and 3: %+v", report.Added, report.Items, report)
	}
	skipped := map[string]bool{}
	for _, s := range report.Skipped {
		skipped[filepath.Base(s.Path)] = true
	}
	for _, name := range []string{"broken.pdf", "binary.md", "empty.txt"} {
		if !skipped[name] {
			t.Errorf("%s is not reported as skipped: %v", name, report.Skipped)
		}
	}
	got := r.searchText("what did I promise Anna", recall.SearchOptions{})
	if len(got.Hits) == 0 || !strings.Contains(got.Hits[0].Quote, "photographs of the lake") {
		t.Fatalf("hits %q", hitQuotes(got))
	}
	h := got.Hits[0]
	if h.Item.Path != filepath.Join(dir, "anna.md") || h.Item.Kind != recall.KindDocument || !slices.Contains(h.Item.Tags, "notes") || h.Item.Original == "" {
		t.Errorf("item %+v", h.Item)
	}
	if h.Score < 0.3 || h.Score > 1 || !strings.Contains(h.Snippet, recall.MarkOpen+"promised"+recall.MarkClose) {
		t.Errorf("score %.2f, snippet %q", h.Score, h.Snippet)
	}
	if hits := r.searchText("nobody read secret", recall.SearchOptions{}).Hits; len(hits) > 0 && strings.Contains(hits[0].Quote, "Nobody") {
		t.Errorf("an ignored file is found: %q", hits[0].Quote)
	}
	day := r.searchText("roof", recall.SearchOptions{Kinds: []recall.Kind{recall.KindJournal}})
	if len(day.Hits) != 1 || !day.Hits[0].Date.Equal(time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("journal %+v", day.Hits)
	}
}

// A file written in several steps counts as one new file.
func TestIngestLarge(t *testing.T) {
	dir := writeFolder(t, map[string]string{"large.txt": strings.Repeat("A paragraph of a text that goes on and on, and says nothing else.\n\n", 40_000)})
	r := newRig(t)
	if report := r.ingestPaths(recall.IngestOptions{}, dir); report.Added != 1 || report.Changed != 0 {
		t.Errorf("%d files are new and %d changed, want 1 and 0", report.Added, report.Changed)
	}
}

func TestIngestFollows(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.md": "Apples are red.", "b.md": "Bananas are yellow.", "c/c.md": "Cherries are dark."})
	r := newRig(t)
	steps := []struct {
		name   string
		change func()
		want   recall.Report
	}{
		{"first", func() {}, recall.Report{Added: 3, Items: 3, Passages: 3}},
		{"nothing changed", func() {}, recall.Report{Unchanged: 3}},
		{"touched", func() {
			os.Chtimes(filepath.Join(dir, "a.md"), old.Add(time.Hour), old.Add(time.Hour))
		}, recall.Report{Unchanged: 3}},
		{"changed", func() {
			writeFile(t, filepath.Join(dir, "a.md"), "Apples are green.")
			os.Chtimes(filepath.Join(dir, "a.md"), old.Add(2*time.Hour), old.Add(2*time.Hour))
		}, recall.Report{Changed: 1, Unchanged: 2, Items: 1, Passages: 1}},
		{"removed", func() { os.RemoveAll(filepath.Join(dir, "c")) }, recall.Report{Unchanged: 2, Removed: 1, Forgotten: 1}},
		{"ignored", func() { writeFile(t, filepath.Join(dir, ".gitignore"), "b.md\n") }, recall.Report{Unchanged: 1, Removed: 1, Forgotten: 1}},
		{"moved", func() { os.Rename(filepath.Join(dir, "a.md"), filepath.Join(dir, "d.md")) },
			recall.Report{Added: 1, Removed: 1, Items: 1, Passages: 1, Forgotten: 1}},
	}
	for _, s := range steps {
		s.change()
		if diff := cmp.Diff(s.want, r.ingestPaths(recall.IngestOptions{}, dir)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", s.name, diff)
		}
	}
	if got := hitQuotes(r.searchText("apples cherries bananas", recall.SearchOptions{})); !slices.Equal(got, []string{"Apples are green."}) {
		t.Errorf("found %q", got)
	}
	if left := r.countRows("archive_blob"); left != 4 { // including changed and removed files
		t.Errorf("%d originals are left, want 4", left)
	}
}

func (r *rig) countRows(table string) (n int) {
	r.t.Helper()
	if err := r.store.SQL().Read.QueryRowContext(r.t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

func TestUnchangedIDs(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.md": "Apples are red."})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	before := r.listItems(recall.Filter{})[0].ID
	writeFile(t, filepath.Join(dir, "a.md"), "Apples are green and large.")
	r.ingestPaths(recall.IngestOptions{}, dir)
	if after := r.listItems(recall.Filter{})[0].ID; after != before {
		t.Errorf("the item of a file that changed has the id %s, had %s", after, before)
	}
}

// A line break in a file name makes no part.
func TestOddName(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a\nb.md": "Apples are red."})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	if it := r.listItems(recall.Filter{})[0]; it.Part != "" || it.Path != filepath.Join(dir, "a\nb.md") || it.Title != `a\nb` {
		t.Errorf("item %+v", it)
	}
}

func TestNamedFileThatCannotBeRead(t *testing.T) {
	dir := writeFolder(t, map[string]string{"good.md": "Good text here.", "bad.md": "\x00\x01"})
	r := newRig(t)
	report, err := r.Ingest(t.Context(), []string{filepath.Join(dir, "bad.md"), filepath.Join(dir, "good.md")}, recall.IngestOptions{})
	if err == nil || !strings.Contains(err.Error(), "bad.md") || report.Items != 1 {
		t.Errorf("error %v, report %+v", err, report)
	}
	if _, err := r.Ingest(t.Context(), []string{filepath.Join(dir, "none")}, recall.IngestOptions{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("error %v of a missing folder", err)
	}
}

func TestPosts(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"posts.jsonl": `{"external_id":"17","source":"twitter","text":"Prefers trains to planes.","raw":"ugh, airports again. never flying when there is a train!!","date":"2024-03-05T10:00:00Z","link":"https://example.com/17","tags":["travel"]}
{"external_id":"18","source":"twitter","content":"The night train to Vienna was wonderful.","created_at":"Wed Mar 06 09:00:00 +0000 2024"}
not json
{"external_id":"18","source":"twitter","content":"The night train to Vienna was wonderful!","created_at":"Wed Mar 06 09:00:00 +0000 2024"}
`,
		"posts.csv": "id,source,text,date\n1,mastodon,\"Baking bread, slowly\",2024-02-01\n2,mastodon,Second loaf was better,2024-02-02\n",
	})
	r := newRig(t)
	report := r.ingestPaths(recall.IngestOptions{}, dir)
	if report.Items != 4 || len(report.Skipped) != 1 || !strings.Contains(report.Skipped[0].Reason, "line 3") {
		t.Errorf("report %+v", report)
	}
	for _, it := range r.listItems(recall.Filter{}) {
		if it.Kind != recall.KindPost {
			t.Errorf("%q is a %s", it.Text, it.Kind)
		}
	}
	got := r.searchText("airports", recall.SearchOptions{Sources: []string{"twitter"}})
	if len(got.Hits) == 0 || got.Hits[0].Item.ExternalID != "17" {
		t.Fatalf("raw text is not found: %+v", got.Hits)
	}
	it, err := r.Item(t.Context(), got.Hits[0].Item.ID)
	if err != nil {
		t.Fatal(err)
	}
	if it.Text != "Prefers trains to planes." || !strings.HasPrefix(it.Raw, "ugh, airports") || it.Link != "https://example.com/17" ||
		!it.Date.Equal(time.Date(2024, 3, 5, 10, 0, 0, 0, time.UTC)) || !slices.Equal(it.Tags, []string{"travel"}) {
		t.Errorf("item %+v", it)
	}
	if got := hitQuotes(r.searchText("+Vienna night", recall.SearchOptions{})); len(got) != 1 || got[0] != "The night train to Vienna was wonderful!" {
		t.Errorf("found %q, want the last of the posts with one id", got)
	}

	f, err := os.OpenFile(filepath.Join(dir, "posts.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, `{"external_id":"19","source":"twitter","text":"Snow in April."}`)
	f.Close()
	if report := r.ingestPaths(recall.IngestOptions{}, dir); report.Items != 1 || report.Forgotten != 0 || report.Changed != 1 {
		t.Errorf("a post that was added: %+v", report)
	}
}

func TestConversation(t *testing.T) {
	dir := writeFolder(t, map[string]string{"talk.jsonl": `{"speaker":"Anna","text":"I moved to Lisbon.","time":"2023-05-08T13:56:00Z"}
{"speaker":"Ben","text":"How is the flat there?","time":"2023-05-08T13:57:00Z"}
{"speaker":"Anna","text":"Small, but it has a balcony.","time":"2023-05-08T13:58:00Z"}
{"speaker":"Ben","text":"I bought a kayak.","time":"2023-06-01T10:00:00Z"}
`})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	if n := len(r.listItems(recall.Filter{Kinds: []recall.Kind{recall.KindThread}})); n != 2 {
		t.Errorf("%d threads, want one for each day", n)
	}
	h := r.searchText("balcony", recall.SearchOptions{}).Hits
	if len(h) == 0 || h[0].Speaker != "Anna" || h[0].Quote != "Anna: Small, but it has a balcony." || h[0].Date.Month() != time.May {
		t.Errorf("hits %+v", h)
	}
}

func TestJournal(t *testing.T) {
	dir := writeFolder(t, map[string]string{"journal.md": "# Journal\n\nMy days.\n\n## 2024-03-05\n\nPlanted the beans.\n\n## Wednesday, 6 March 2024\n\nFrost. The beans are dead.\n"})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	dates := map[string]bool{}
	for _, it := range r.listItems(recall.Filter{Kinds: []recall.Kind{recall.KindJournal}}) {
		dates[it.Date.Format(time.DateOnly)] = true
	}
	if !dates["2024-03-05"] || !dates["2024-03-06"] {
		t.Errorf("dates %v", dates)
	}
	h := r.searchText("frost", recall.SearchOptions{}).Hits
	if len(h) == 0 || h[0].Date.Day() != 6 {
		t.Fatalf("hits %+v", h)
	}
	c, err := r.Check(t.Context(), h[0].ID)
	if err != nil || !c.Stored || !c.Exact || !c.Original {
		t.Errorf("checked %+v, %v", c, err)
	}
}

func TestHostileFolder(t *testing.T) {
	dir := writeFolder(t, map[string]string{
		"deep.json":      strings.Repeat("[", 100_000),
		"deep.jsonl":     `{"text":` + strings.Repeat(`{"a":`, 50_000) + "\n",
		"long.csv":       "text,id\n\"" + strings.Repeat("x", 1<<20) + "\n",
		"headings.md":    strings.Repeat("# A\n", 50_000),
		"line.txt":       strings.Repeat("word ", 400_000),
		"zero.docx":      "PK\x03\x04" + strings.Repeat("\x00", 1000),
		"wide.jsonl":     `{"text":"t","id":"` + strings.Repeat("i", 1<<20) + `","tags":["` + strings.Repeat(`t","`, 100_000) + `"]}` + "\n",
		"marks.md":       "The key \u27e6is\u27e7 under the mat.\u202e",
		"good.md":        "The good text survives.",
		"bad\nname.md":   "Names may have line ends.",
		"dates.md":       strings.Repeat("# 2024-01-01\n\nx\n\n", 2000),
		"mail.mbox":      "From x\nSubject: =?utf-8?q?" + strings.Repeat("=", 10_000) + "\n\n" + strings.Repeat("From \n", 5000),
		"speakers.jsonl": strings.Repeat(`{"speaker":"`+strings.Repeat("s", 5000)+`","text":"x"}`+"\n", 200),
	})
	if runtime.GOOS == "linux" {
		os.Symlink("/etc", filepath.Join(dir, "etc"))
		os.Symlink(dir, filepath.Join(dir, "loop"))
	}
	r := newRig(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := r.Ingest(ctx, []string{dir}, recall.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	if h := r.searchText("good text survives", recall.SearchOptions{}).Hits; len(h) == 0 || h[0].Quote != "The good text survives." {
		t.Errorf("hits %+v", h)
	}
	h := r.searchText("key under the mat", recall.SearchOptions{}).Hits
	if len(h) == 0 || strings.Count(h[0].Snippet, recall.MarkOpen) != strings.Count(h[0].Snippet, recall.MarkClose) || strings.Contains(h[0].Snippet, recall.MarkOpen+"is") {
		t.Errorf("hits %+v", h)
	}
}

func TestManySmallFiles(t *testing.T) {
	racetest.Skip(t, "5,000 files")
	files := map[string]string{}
	for i := range 5_000 {
		files[fmt.Sprintf("%02d/%d.md", i%50, i)] = fmt.Sprintf("# Note %d\n\nThis is note number %d about topic%d and the weather.\n", i, i, i%100)
	}
	dir := writeFolder(t, files)
	r := newRig(t)
	began := time.Now()
	if got := r.ingestPaths(recall.IngestOptions{}, dir); got.Added != 5_000 {
		t.Fatalf("added %d", got.Added)
	}
	first := time.Since(began)
	began = time.Now()
	if got := r.ingestPaths(recall.IngestOptions{}, dir); got.Unchanged != 5_000 || got.Items != 0 {
		t.Fatalf("the second time: %+v", got)
	}
	t.Logf("first %v, second %v", first, time.Since(began))
	if h := r.searchText("note 1234", recall.SearchOptions{}).Hits; len(h) == 0 || h[0].Item.Title != "Note 1234" {
		t.Errorf("hits %q", hitQuotes(r.searchText("note 1234", recall.SearchOptions{})))
	}
}
