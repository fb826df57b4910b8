package recall_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ponder/knowledge/recall"
)

func (r *rig) findPlace(question string) string {
	r.t.Helper()
	h := r.searchText(question, recall.SearchOptions{}).Hits
	if len(h) == 0 {
		r.t.Fatalf("nothing is found of %q", question)
	}
	return h[0].ID
}

func (r *rig) checkPlace(id string) recall.CheckResult {
	r.t.Helper()
	c, err := r.Check(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func TestEarlierOriginals(t *testing.T) {
	dir := writeFolder(t, map[string]string{"x.md": "The harbour opens at nine.", "log.md": "# 2024-03-05\n\nPlanted the beans.\n\n# 2024-03-06\n\nFrost came.\n"})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	note, day := r.findPlace("when does the harbour open"), r.findPlace("beans planted")

	writeFile(t, filepath.Join(dir, "x.md"), "The harbour opens at ten o'clock.")
	writeFile(t, filepath.Join(dir, "log.md"), "# 2024-03-05\n\nPlanted the beans and the peas.\n\n# 2024-03-06\n\nFrost came.\n")
	r.ingestPaths(recall.IngestOptions{}, dir)
	if c := r.checkPlace(note); !c.Stored || !c.Original || !c.Exact || !c.Earlier || c.Quote != "The harbour opens at nine." {
		t.Errorf("a file that changed: %+v", c)
	}
	if c := r.checkPlace(day); !c.Exact || !c.Earlier || c.Quote != "Planted the beans." || c.Item.Kind != recall.KindJournal {
		t.Errorf("a day that changed: %+v", c)
	}
	later := r.findPlace("when does the harbour open")
	if c := r.checkPlace(later); !c.Exact || c.Earlier {
		t.Errorf("got citation %+v", c)
	}

	os.Remove(filepath.Join(dir, "x.md"))
	r.ingestPaths(recall.IngestOptions{}, dir)
	for _, id := range []string{note, later} {
		if c := r.checkPlace(id); !c.Exact || !c.Earlier {
			t.Errorf("a file that is gone: %+v", c)
		}
	}
	if _, err := r.ForgetSource(t.Context(), filepath.Join(dir, "x.md")); err != nil {
		t.Fatal(err)
	}
	if c := r.checkPlace(note); c.Stored || c.Quote != "" {
		t.Errorf("a file that is forgotten: %+v", c)
	}
	if n := r.countRows("archive_blob"); n != 2 {
		t.Errorf("%d originals are left, want the two of the other file", n)
	}
	if _, err := r.ForgetSource(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if a, b := r.countRows("archive_blob"), r.countRows("recall_earlier"); a+b != 0 {
		t.Errorf("%d originals and %d rows of forgotten items remain", a, b)
	}
}

func TestForgetItemOfFile(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.md": "Apples are red.", "b.md": "Bananas are yellow."})
	path := filepath.Join(dir, "a.md")
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	before := r.findPlace("apples red")
	writeFile(t, path, "Apples are green now.")
	r.ingestPaths(recall.IngestOptions{}, dir)
	forget := func() {
		t.Helper()
		for _, it := range r.listItems(recall.Filter{}) {
			if it.Path == path {
				if _, err := r.Forget(t.Context(), it.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	forget()
	if c := r.checkPlace(before); c.Stored || r.countRows("archive_blob") != 1 {
		t.Errorf("%d originals of forgotten items remain: %+v", r.countRows("archive_blob")-1, c)
	}
	if report := r.ingestPaths(recall.IngestOptions{}, dir); report.Unchanged != 2 || report.Items != 0 {
		t.Errorf("importing a folder restored forgotten items: %+v", report)
	}
	if report := r.ingestPaths(recall.IngestOptions{}, path); report.Items != 1 {
		t.Errorf("a file that is named again is not read: %+v", report)
	}
	if c := r.checkPlace(r.findPlace("apples green")); !c.Exact {
		t.Errorf("got citation after the second import: %+v", c)
	}
	forget()
	if _, err := r.ForgetSource(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if report := r.ingestPaths(recall.IngestOptions{}, dir); report.Items != 1 || report.Added != 1 {
		t.Errorf("a file whose state was cleared: %+v", report)
	}
}

func TestNamedStays(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.md": "Apples are red.", ".gitignore": "*.log\n", "debug.log": "The pump failed at noon."})
	log := filepath.Join(dir, "debug.log")
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{Tags: []string{"pump"}}, log)
	if report := r.ingestPaths(recall.IngestOptions{}, dir); report.Forgotten != 0 || report.Added != 1 || report.Unchanged != 1 {
		t.Errorf("the folder of a file that was named: %+v", report)
	}
	writeFile(t, log, "The pump failed at noon and again at midnight.")
	if report := r.ingestPaths(recall.IngestOptions{}, dir); report.Changed != 1 {
		t.Errorf("a named file that changed: %+v", report)
	}
	r.ingestPaths(recall.IngestOptions{Kind: recall.KindJournal}, log)
	h := r.searchText("pump midnight", recall.SearchOptions{}).Hits
	if len(h) == 0 || h[0].Item.Kind != recall.KindJournal || !slices.Equal(h[0].Item.Tags, []string{"pump"}) {
		t.Errorf("named again with a kind: %+v", h)
	}
	r.ingestPaths(recall.IngestOptions{Tags: []string{"water"}}, log)
	if h := r.searchText("pump midnight", recall.SearchOptions{}).Hits; !slices.Equal(h[0].Item.Tags, []string{"water"}) || h[0].Item.Kind != recall.KindJournal {
		t.Errorf("named again with tags: %+v", h[0].Item)
	}
	os.Remove(log)
	if report := r.ingestPaths(recall.IngestOptions{}, dir); report.Removed != 1 {
		t.Errorf("a named file that is gone: %+v", report)
	}
}

func TestLeftOutIsToldAgain(t *testing.T) {
	dir := writeFolder(t, map[string]string{"p.jsonl": `{"external_id":"1","source":"x","text":"One post of two."}` + "\nnot json\n"})
	r := newRig(t)
	for range 3 {
		report := r.ingestPaths(recall.IngestOptions{}, dir)
		if len(report.Skipped) != 1 || !strings.Contains(report.Skipped[0].Reason, "line 2") {
			t.Errorf("skipped %v", report.Skipped)
		}
	}
}
