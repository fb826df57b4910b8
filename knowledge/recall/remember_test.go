package recall_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder/knowledge/recall"
)

func TestRemember(t *testing.T) {
	r := newRig(t)
	first := r.rememberItems(recall.Item{Text: "Anna's birthday is on the 3rd of May."}, recall.Item{Kind: recall.KindThread, ExternalID: "thr_1", Title: "Moving house",
		Text: "Ben: Where shall we move?\n\nAnna: To the sea, I think."})
	if len(first) != 2 || !strings.HasPrefix(first[0].ID, "mem_") || len(first[0].ID) != 30 || first[0].Kind != recall.KindMemory || !first[0].Date.Equal(now) {
		t.Fatalf("remembered %+v", first)
	}
	again := r.rememberItems(recall.Item{Text: "Anna's birthday is on the 3rd of May.", Tags: []string{"family"}},
		recall.Item{Kind: recall.KindThread, ExternalID: "thr_1", Title: "Moving house", Text: "Ben: Where shall we move?\n\nAnna: To the mountains."})
	for i := range again {
		if again[i].ID != first[i].ID {
			t.Errorf("item %d has another id", i)
		}
	}
	list := r.listItems(recall.Filter{})
	if len(list) != 2 {
		t.Fatalf("%d items, want 2", len(list))
	}
	if got := r.listItems(recall.Filter{Tags: []string{"family"}}); len(got) != 1 || got[0].ID != first[0].ID {
		t.Errorf("with the tag: %+v", got)
	}
	h := r.searchText("where shall we move", recall.SearchOptions{}).Hits
	if len(h) == 0 || !strings.Contains(h[0].Context+h[len(h)-1].Context, "mountains") || strings.Contains(h[0].Context, "sea") {
		t.Errorf("hits %+v", h)
	}
	if h := r.searchText("sea", recall.SearchOptions{}).Hits; len(h) != 0 {
		t.Errorf("replaced items are found: %+v", h)
	}
}

func TestRememberRefuses(t *testing.T) {
	r := newRig(t)
	for name, it := range map[string]recall.Item{
		"no text":       {Text: " \n"},
		"another kind":  {Text: "x", Kind: "thought"},
		"not UTF-8":     {Text: "\xff"},
		"too many tags": {Text: "x", Tags: slices.Repeat([]string{"t"}, 100)},
		"unseen text":   {Text: "\u200b"},
	} {
		if _, err := r.Remember(t.Context(), recall.Item{Text: "good"}, it); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if n := len(r.listItems(recall.Filter{})); n != 0 {
		t.Errorf("%d items were kept in spite of an error", n)
	}
}

func TestForget(t *testing.T) {
	r := newRig(t)
	items := r.rememberItems(recall.Item{Text: "The safe is behind the zebra picture.", Raw: "zebra zebra"}, recall.Item{Text: "Milk, eggs.", Source: "shopping"})
	if n, err := r.Forget(t.Context(), items[0].ID, "mem_none"); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	if n, err := r.ForgetSource(t.Context(), "shopping"); n != 1 || err != nil {
		t.Errorf("forgot %d of the source, %v", n, err)
	}
	if err := r.WaitIndexed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Item(t.Context(), items[0].ID); !errors.Is(err, recall.ErrNone) {
		t.Errorf("error %v, want ErrNone", err)
	}
	for _, table := range []string{"recall_item", "index_doc", "index_passage", "archive_blob"} {
		if n := r.countRows(table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}

func TestForgetFolder(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a.md": "Apples are red.", "b.md": "Bananas are yellow."})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	if n, err := r.ForgetSource(t.Context(), dir); n != 2 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	for _, table := range []string{"recall_item", "recall_file", "index_doc", "archive_blob"} {
		if n := r.countRows(table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if got := r.ingestPaths(recall.IngestOptions{}, dir); got.Added != 2 {
		t.Errorf("then added %d", got.Added)
	}
}

func TestReaderAndPage(t *testing.T) {
	r := newRig(t)
	report, err := r.IngestReader(t.Context(), "standard input", strings.NewReader("The meeting is moved to Thursday.\n"), recall.IngestOptions{})
	if err != nil || report.Items != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, err := r.IngestReader(t.Context(), "standard input", strings.NewReader("The meeting is moved to Thursday.\n"), recall.IngestOptions{}); err != nil {
		t.Fatal(err)
	}
	page := recall.Page{URL: "https://example.com/a", Type: "text/html", Title: "On rivers", Published: old, Markdown: "# On rivers\n\nThe Danube has ten countries.\n",
		Raw: []byte("<html><body><h1>On rivers</h1><p>The <b>Danube</b> has ten countries.</p></body></html>")}
	for range 2 {
		if _, err := r.IngestPage(t.Context(), page, recall.IngestOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.listItems(recall.Filter{})); n != 2 {
		t.Errorf("%d items, want 2", n)
	}
	for _, q := range []string{"meeting Thursday", "Danube countries"} {
		h := r.searchText(q, recall.SearchOptions{}).Hits
		if len(h) == 0 {
			t.Fatalf("%s: nothing found", q)
		}
		c, err := r.Check(t.Context(), h[0].ID)
		if err != nil || !c.Stored || !c.Original || !c.Exact || c.Quote != h[0].Quote {
			t.Errorf("%s: checked %+v, %v", q, c, err)
		}
	}
	if h := r.searchText("Danube", recall.SearchOptions{}).Hits; h[0].Item.Link != page.URL || !h[0].Date.Equal(old) {
		t.Errorf("hit %+v", h[0])
	}
}

func TestRead(t *testing.T) {
	r := newRig(t)
	var b strings.Builder
	for i := range 400 {
		b.WriteString("This is sentence number ")
		b.WriteString(strings.Repeat("i", i%7+1))
		b.WriteString(" of a long text with Grüße in it.\n\n")
	}
	it := r.rememberItems(recall.Item{Kind: recall.KindDocument, Title: "Long", Text: b.String() + "The needle is here.\n\n" + b.String()})[0]
	h := r.searchText("needle", recall.SearchOptions{}).Hits[0]
	x, err := r.Read(t.Context(), h.ID, recall.ReadOptions{Before: 100, After: 100})
	if err != nil || !strings.Contains(x.Text, "The needle is here.") || len(x.Text) > 200+h.End-h.Start {
		t.Fatalf("read %q, %v", x.Text, err)
	}
	back, err := r.Read(t.Context(), x.Earlier, recall.ReadOptions{Before: -1, After: -1})
	if err != nil || back.End != x.Start {
		t.Errorf("read the text before: %d to %d, %v", back.Start, back.End, err)
	}
	// Excerpts from the start on join to the text.
	var all strings.Builder
	for id := it.ID; id != ""; {
		x, err := r.Read(t.Context(), id, recall.ReadOptions{Before: -1, After: -1})
		if id == it.ID {
			x, err = r.Read(t.Context(), id, recall.ReadOptions{Before: -1})
		}
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(x.Text)
		id = x.Later
	}
	if all.Len() != it.Size {
		t.Errorf("read %d bytes, want %d", all.Len(), it.Size)
	}
	if _, err := r.Read(t.Context(), "000000000000:1-2", recall.ReadOptions{}); !errors.Is(err, recall.ErrNone) {
		t.Errorf("error %v, want ErrNone", err)
	}
}

func TestListFilters(t *testing.T) {
	r := newRig(t)
	day := func(d int) time.Time { return time.Date(2024, 5, d, 0, 0, 0, 0, time.UTC) }
	r.rememberItems(recall.Item{Text: "one", Date: day(1), Source: "a/x"}, recall.Item{Text: "two", Date: day(2), Source: "a/y", Kind: recall.KindPost},
		recall.Item{Text: "three", Date: day(3), Source: "b", Persona: "Ada"})
	for name, c := range map[string]struct {
		f    recall.Filter
		want int
	}{
		"all": {recall.Filter{}, 3}, "kind": {recall.Filter{Kinds: []recall.Kind{recall.KindPost}}, 1}, "source": {recall.Filter{Sources: []string{"a/*"}}, 2},
		"exact source": {recall.Filter{Sources: []string{"b", "a/x"}}, 2}, "persona": {recall.Filter{Persona: "Ada"}, 1},
		"from": {recall.Filter{From: day(2)}, 2}, "to": {recall.Filter{To: day(2)}, 1}, "n": {recall.Filter{N: 2}, 2},
		"kind and source": {recall.Filter{Kinds: []recall.Kind{recall.KindPost}, Sources: []string{"b", "a/*"}}, 1},
	} {
		if got := len(r.listItems(c.f)); got != c.want {
			t.Errorf("%s: %d items, want %d", name, got, c.want)
		}
	}
}
