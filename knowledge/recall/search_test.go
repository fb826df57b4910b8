package recall_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ponder/knowledge/recall"
	"ponder/knowledge/recall/vector"
)

func parseDay(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func newSampleRig(t testing.TB, change ...func(*recall.Config)) *rig {
	r := newRig(t, change...)
	r.rememberItems(
		recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-03-12"), Text: "The launch of the new shop took place today. Forty guests came, and the cake was gone by noon."},
		recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-02-20"), Text: "Met the builders about the counter. The price for the oak counter is 2,400 euros."},
		recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-04-02"), Text: "The counter got a scratch already. The builders will polish it next week."},
		recall.Item{Kind: recall.KindJournal, Date: parseDay("2024-06-05"), Text: "Budget meeting: we agreed to spend less on flowers."},
		recall.Item{Kind: recall.KindPost, Source: "twitter", Date: parseDay("2024-05-01"), Text: "Sourdough again. The starter is five years old today."},
		recall.Item{Kind: recall.KindDocument, Title: "Manual", Text: "# Coffee machine\n\n## How to descale the machine\n\n1. Empty the tank.\n2. Fill in the descaler.\n3. Press both buttons.\n\n## Warranty\n\nThe machine has a warranty of two years.\n"},
		recall.Item{Kind: recall.KindMemory, Date: parseDay("2024-01-05"), Text: "Anna Petrova prefers tea and does not like phone calls."},
		recall.Item{Kind: recall.KindMemory, Date: parseDay("2023-01-05"), Text: "Ben prefers coffee without sugar."},
	)
	return r
}

func TestSearch(t *testing.T) {
	r := newSampleRig(t)
	for _, c := range []struct {
		name, query string
		opts        recall.SearchOptions
		want        string // part of the best quote; "" for none
	}{
		{name: "a fact", query: "what is the price of the oak counter", want: "2,400 euros"},
		{name: "a person", query: "what does Anna prefer", want: "prefers tea"},
		{name: "how to", query: "how to descale the coffee machine", want: "tank"},
		{name: "before an event", query: "what about the counter before the launch", want: "oak counter"},
		{name: "after an event", query: "what about the counter after the launch", want: "scratch"},
		{name: "a time", query: "counter in February 2024", want: "oak counter"},
		{name: "another time", query: "counter in April 2024", want: "scratch"},
		{name: "a time alone", query: "last week", want: "Budget meeting"},
		{name: "a phrase", query: `"forty guests"`, want: "Forty guests"},
		{name: "a phrase that is not there", query: `"guests forty"`, want: ""},
		{name: "a beginning", query: "sourd*", want: "Sourdough"},
		{name: "without", query: "prefers -tea", want: "Ben"},
		{name: "a typo", query: "sourdugh starter", want: "Sourdough"},
		{name: "a kind", query: "kind:post sourdough", want: "Sourdough"},
		{name: "a source", query: "years old", opts: recall.SearchOptions{Sources: []string{"twi*"}}, want: "starter"},
		{name: "a kind and another", query: "kind:post sourdough", opts: recall.SearchOptions{Kinds: []recall.Kind{recall.KindMemory}}, want: ""},
		{name: "nothing", query: "", want: ""},
		{name: "signs", query: "?!* -- \"\" ()", want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := r.searchText(c.query, c.opts)
			switch {
			case c.want == "" && len(got.Hits) > 0:
				t.Errorf("found %q", hitQuotes(got))
			case c.want == "" && got.Reason == "":
				t.Error("it does not say so")
			case c.want != "" && (len(got.Hits) == 0 || !strings.Contains(got.Hits[0].Quote, c.want) && c.name != "how to" || !strings.Contains(got.Hits[0].Context, c.want)):
				t.Errorf("found %q, want %q first; %s %v", hitQuotes(got), c.want, got.Reason, got.Strategies)
			}
			for _, h := range got.Hits {
				if h.Score < 0 || h.Score > 1 || got.Confidence < 0 || got.Confidence > 1 {
					t.Errorf("score %v, confidence %v", h.Score, got.Confidence)
				}
				x, err := r.Read(t.Context(), h.ID, recall.ReadOptions{Before: -1, After: -1})
				if err != nil || x.Text != h.Quote {
					t.Errorf("at %s is %q, want %q (%v)", h.ID, x.Text, h.Quote, err)
				}
			}
		})
	}
}

func TestSearchSays(t *testing.T) {
	r := newSampleRig(t)
	sure := r.searchText("oak counter price", recall.SearchOptions{})
	unsure := r.searchText("submarine price of vanadium", recall.SearchOptions{})
	if sure.Confidence < 0.6 || unsure.Confidence > 0.5 || sure.Confidence <= unsure.Confidence {
		t.Errorf("confidence %.2f of a known subject, %.2f of an unknown one: %s / %s", sure.Confidence, unsure.Confidence, sure.Reason, unsure.Reason)
	}
	typo := r.searchText("sourdugh", recall.SearchOptions{})
	if typo.Corrected["sourdugh"] == "" || !strings.Contains(typo.Reason, "sourdugh") || !strings.Contains(typo.Hits[0].Snippet, recall.MarkOpen+"Sourdough") {
		t.Errorf("%v, %q, %q", typo.Corrected, typo.Reason, hitQuotes(typo))
	}
	anchored := r.searchText("the counter before the launch", recall.SearchOptions{})
	if !strings.Contains(anchored.Reason, "12 March 2024") {
		t.Errorf("says %q", anchored.Reason)
	}
	if none := r.searchText("the counter before the eclipse", recall.SearchOptions{}); !strings.Contains(none.Reason, "is unknown") || len(none.Hits) == 0 {
		t.Errorf("says %q, hits %q", none.Reason, hitQuotes(none))
	}
}

func TestSearchRecent(t *testing.T) {
	r := newRig(t)
	r.rememberItems(recall.Item{Text: "The rent is 800 euros now.", Date: parseDay("2019-05-01")}, recall.Item{Text: "The rent has become 950 euros.", Date: parseDay("2024-06-01")})
	if h := r.searchText("latest rent", recall.SearchOptions{}).Hits; len(h) != 2 || !strings.Contains(h[0].Quote, "950") {
		t.Errorf("hits %+v", h)
	}
}

func TestNearDuplicates(t *testing.T) {
	text := "The council has decided to close the old bridge for all traffic from September on, as the engineers found cracks in %s of the pillars."
	files := map[string]string{}
	for i := range 5 {
		files[fmt.Sprintf("%d.md", i)] = fmt.Sprintf("# Paper %d\n\n%s", i, fmt.Sprintf(text, "two"))
	}
	files["other.md"] = "# Another\n\n" + fmt.Sprintf(text, "7")
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, writeFolder(t, files))
	got := r.searchText("bridge closed for traffic", recall.SearchOptions{})
	total := len(got.Hits)
	for _, h := range got.Hits {
		total += h.Similar
	}
	if len(got.Hits) > 3 || total != 6 {
		t.Errorf("%d hits with %d in all: %q", len(got.Hits), total, hitQuotes(got))
	}
}

func TestExclude(t *testing.T) {
	r := newSampleRig(t)
	var seen []string
	for range 4 {
		got := r.searchText("counter builders", recall.SearchOptions{N: 1, Exclude: seen})
		if len(got.Hits) == 0 {
			break
		}
		if slices.Contains(seen, got.Hits[0].ID) {
			t.Fatalf("%s comes again", got.Hits[0].ID)
		}
		seen = append(seen, got.Hits[0].ID)
	}
	if len(seen) < 2 {
		t.Errorf("only %v", seen)
	}
}

func TestPreferAndWithout(t *testing.T) {
	dir := writeFolder(t, map[string]string{"a/one.md": "Bees make honey in the garden.", "b/two.md": "Bees make honey in the forest, and bees sting."})
	r := newRig(t)
	r.ingestPaths(recall.IngestOptions{}, dir)
	if h := r.searchText("bees honey", recall.SearchOptions{Prefer: []string{filepath.Join(dir, "a")}}).Hits; len(h) != 2 || h[0].Item.Title != "one" {
		t.Errorf("preferred: %+v", h)
	}
	if h := r.searchText("bees honey", recall.SearchOptions{ExcludeSources: []string{"one.md"}}).Hits; len(h) != 1 || h[0].Item.Title != "two" {
		t.Errorf("without: %+v", h)
	}
}

func TestHybrid(t *testing.T) {
	r := newSampleRig(t, func(c *recall.Config) {
		c.Embedder = bagEmbedder("car automobile counter", "sugar sweetener", "cake pastry")
	})
	if err := r.WaitIndexed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	got := r.searchText("pastry", recall.SearchOptions{})
	if !got.Hybrid || len(got.Hits) == 0 || !strings.Contains(got.Hits[0].Context, "cake") || got.Hits[0].MatchedBy != "meaning" {
		t.Errorf("hits %q, hybrid %v", hitQuotes(got), got.Hybrid)
	}
	if got := r.searchText("pastry", recall.SearchOptions{Kinds: []recall.Kind{recall.KindMemory}}); slices.ContainsFunc(got.Hits, func(h recall.Hit) bool { return h.Item.Kind != recall.KindMemory }) {
		t.Errorf("the filter does not hold: %q", hitQuotes(got))
	}
	items := r.listItems(recall.Filter{})
	for _, it := range items {
		if _, err := r.Forget(t.Context(), it.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.searchText("pastry", recall.SearchOptions{}); len(got.Hits) != 0 {
		t.Errorf("forgotten items are found: %q", hitQuotes(got))
	}
}

func TestModelFails(t *testing.T) {
	fails := false
	e := bagEmbedder("cake pastry")
	r := newSampleRig(t, func(c *recall.Config) {
		c.Embedder = vector.Embedder{Model: e.Model, Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			if fails {
				return nil, errors.New("the model is away")
			}
			return e.Embed(ctx, texts)
		}}
	})
	if err := r.WaitIndexed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	fails = true
	got := r.searchText("oak counter", recall.SearchOptions{})
	if len(got.Hits) == 0 || !strings.Contains(got.Reason, "the model is away") || got.Hybrid {
		t.Errorf("hits %q, says %q", hitQuotes(got), got.Reason)
	}
}

// Search uses vectors of the previous model until the new ones exist.
func TestChangeOfModel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	e := bagEmbedder("cake pastry")
	first := openRig(t, file, func(c *recall.Config) { c.Embedder = e })
	first.rememberItems(recall.Item{Text: "The cake was gone by noon."}, recall.Item{Text: "It rained."})
	if err := first.WaitIndexed(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	next := vector.Embedder{Model: "next", Embed: e.Embed}
	r := openRig(t, file, func(c *recall.Config) {
		c.Embedder = next
		c.EarlierEmbedder = func(model string) vector.Embedder {
			if model == e.Model {
				return e
			}
			return vector.Embedder{}
		}
	})
	for range 2 {
		got := r.searchText("pastry", recall.SearchOptions{})
		if len(got.Hits) == 0 || !strings.Contains(got.Hits[0].Quote, "cake") {
			t.Errorf("hits %q", hitQuotes(got))
		}
		if err := r.WaitIndexed(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTend(t *testing.T) {
	r := newRig(t, func(c *recall.Config) { c.Embedder = bagEmbedder("cake pastry") })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Maintain(ctx) }()
	r.rememberItems(recall.Item{Text: "The cake was gone by noon."})
	deadline := time.After(20 * time.Second)
	for len(r.searchText("pastry", recall.SearchOptions{}).Hits) == 0 {
		select {
		case <-deadline:
			t.Fatal("no vectors are made")
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestOtherSees(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	a, b := openRig(t, file), openRig(t, file)
	a.searchText("cake", recall.SearchOptions{})
	it := b.rememberItems(recall.Item{Text: "The cake was gone by noon."})
	if h := a.searchText("cake", recall.SearchOptions{}).Hits; len(h) != 1 {
		t.Errorf("hits %+v", h)
	}
	b.Forget(t.Context(), it[0].ID)
	if h := a.searchText("cake", recall.SearchOptions{}).Hits; len(h) != 0 {
		t.Errorf("hits %+v", h)
	}
}

func TestOwners(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ponder.db")
	a, b := openRig(t, file), openRig(t, file, func(c *recall.Config) { c.Owner = "ben" })
	dir := writeFolder(t, map[string]string{"a.md": "Apples are red."})
	a.ingestPaths(recall.IngestOptions{}, dir)
	b.ingestPaths(recall.IngestOptions{}, dir)
	b.rememberItems(recall.Item{Text: "Ben's pears."})
	if h := a.searchText("pears", recall.SearchOptions{}).Hits; len(h) != 0 {
		t.Errorf("found an item of another owner: %+v", h)
	}
	if n, err := b.ForgetSource(t.Context(), dir); n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	h := a.searchText("apples", recall.SearchOptions{}).Hits
	if len(h) != 1 {
		t.Fatalf("hits %+v", h)
	}
	if c, err := a.Check(t.Context(), h[0].ID); err != nil || !c.Original || !c.Exact {
		t.Errorf("checked %+v, %v", c, err)
	}
}

func FuzzSearch(f *testing.F) {
	r := newSampleRig(f)
	for _, q := range []string{"what did I promise Anna", `"a phrase" -not +must kind:post after:2024`, "before the launch", "\xff\x00", "漢字", "last week"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		if _, err := r.Search(t.Context(), q, recall.SearchOptions{}); err != nil {
			t.Error(err)
		}
	})
}
