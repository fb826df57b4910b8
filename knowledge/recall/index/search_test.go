package index

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func foundDocs(t *testing.T, x *Index, q Query) []int64 {
	t.Helper()
	var out []int64
	for _, h := range searchHits(t, x, q, 100) {
		out = append(out, h.Doc)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func parseDay(s string) time.Time {
	t, _ := time.Parse(time.DateOnly, s)
	return t
}

func newLibrary(t *testing.T) *Index {
	x, _ := newIndex(t)
	docs := []Doc{
		newDoc(1, "I promised Anna to repair the garden fence. ", "She promised nothing."),
		newDoc(2, "Universities are older than universal suffrage."),
		newDoc(3, "The university ran a course on running shoes."),
		newDoc(4, "Der Vertrag mit den Universitäten; die Verträge sind unterschrieben."),
		newDoc(5, "図書館で本を読む"),
		newDoc(6, "To be or not to be."),
		newDoc(7, "A recipe for bread: water, flour and salt."),
		newDoc(8, "The naïve café, Łódź."),
		newDoc(9, "fence fence fence fence"),
	}
	docs[3].Language = "de"
	docs[4].Language = "ja"
	docs[6].Title, docs[6].Names = "Grandmother's kitchen", []string{"Berta Beispiel"}
	docs[6].Passages[0].Heading, docs[6].Passages[0].Speaker = "Baking", "Otto"
	for i := range docs {
		docs[i].Owner = "local"
		docs[i].Date = parseDay("2024-03-01").AddDate(0, 0, i)
		docs[i].Kind = "document"
		docs[i].Source = "/notes/" + string(rune('a'+i)) + ".md"
	}
	docs[8].Owner, docs[8].Kind, docs[8].Tags, docs[8].Date = "other", "post", []string{"home", "wood"}, time.Time{}
	addDocs(t, x, docs[:5]...)
	addDocs(t, x, docs[5:]...)
	return x
}

func TestSearch(t *testing.T) {
	x := newLibrary(t)
	for _, c := range []struct {
		name string
		q    Query
		want []int64
	}{
		{"nothing", Query{}, nil},
		{"stems", Query{Terms: queryTerms("promises")}, []int64{1}},
		{"a question", Query{Terms: []Term{{Word: "What did I promise to Anna?"}}}, []int64{1}},
		{"stops alone", Query{Terms: queryTerms("to be or not to be")}, []int64{1, 6}},
		{"accents and case", Query{Terms: queryTerms("NAIVE cafe")}, []int64{8}},
		{"letters with strokes", Query{Terms: queryTerms("lodz")}, []int64{8}},
		{"German stems", Query{Terms: queryTerms("vertrages")}, []int64{4}},
		{"without accents", Query{Terms: queryTerms("vertrage")}, []int64{4}},
		{"a stem only in its language", Query{Terms: queryTerms("universities")}, []int64{2, 3}},
		{"pairs of letters", Query{Terms: queryTerms("図書")}, []int64{5}},
		{"a longer word", Query{Terms: queryTerms("図書館")}, []int64{5}},
		{"a letter", Query{Terms: queryTerms("本")}, []int64{5}},
		{"title", Query{Terms: queryTerms("kitchens")}, []int64{7}},
		{"name", Query{Terms: queryTerms("berta")}, []int64{7}},
		{"heading", Query{Terms: queryTerms("bake")}, []int64{7}},
		{"speaker", Query{Terms: queryTerms("otto")}, []int64{7}},
		{"prefix", Query{Terms: []Term{{Word: "universit", Prefix: true}}}, []int64{2, 3, 4}},
		{"prefix of an ending", Query{Terms: []Term{{Word: "runni", Prefix: true}}}, []int64{3}},
		{"prefix that is longer than the stem", Query{Terms: []Term{{Word: "universa", Prefix: true}}}, []int64{2}},
		{"prefix of nothing", Query{Terms: []Term{{Word: "zzz", Prefix: true}}}, nil},
		{"must", Query{Terms: []Term{{Word: "fence"}, {Word: "garden", Must: true}}}, []int64{1}},
		{"must that nobody wrote", Query{Terms: []Term{{Word: "fence"}, {Word: "zebra", Must: true}}}, nil},
		{"not", Query{Terms: []Term{{Word: "fence"}, {Word: "garden", Not: true}}}, []int64{9}},
		{"not alone", Query{Terms: []Term{{Word: "garden", Not: true}}}, nil},
		{"phrase", Query{Phrases: []string{"Garden fence"}}, []int64{1}},
		{"phrase in another order", Query{Phrases: []string{"fence garden"}}, nil},
		{"phrase of another form", Query{Phrases: []string{"gardens fence"}}, nil},
		{"phrase with stops", Query{Phrases: []string{"or not to be"}}, []int64{6}},
		{"phrase in a title", Query{Phrases: []string{"grandmother's kitchen"}}, []int64{7}},
		{"phrase of letters", Query{Phrases: []string{"図書館"}}, []int64{5}},
		{"phrase and words", Query{Phrases: []string{"fence fence"}, Terms: queryTerms("garden")}, []int64{9}},
		{"owner", Query{Terms: queryTerms("fence"), Filter: Filter{Owner: "other"}}, []int64{9}},
		{"kind", Query{Terms: queryTerms("fence"), Filter: Filter{Kinds: []string{"memory", "document"}}}, []int64{1}},
		{"source", Query{Terms: queryTerms("fence"), Filter: Filter{Sources: []string{"/notes/i.md"}}}, []int64{9}},
		{"source by its beginning", Query{Terms: queryTerms("fence"), Filter: Filter{Sources: []string{"/notes/*"}}}, []int64{1, 9}},
		{"all tags", Query{Terms: queryTerms("fence"), Filter: Filter{Tags: []string{"wood", "home"}}}, []int64{9}},
		{"a tag that is not", Query{Terms: queryTerms("fence"), Filter: Filter{Tags: []string{"wood", "iron"}}}, nil},
		{"from", Query{Terms: queryTerms("university"), Filter: Filter{From: parseDay("2024-03-03")}}, []int64{3}},
		{"to", Query{Terms: queryTerms("university"), Filter: Filter{To: parseDay("2024-03-03")}}, []int64{2}},
		{"no date is in no range", Query{Terms: queryTerms("fence"), Filter: Filter{From: parseDay("1900-01-01")}}, []int64{1}},
		{"documents", Query{Terms: queryTerms("fence"), Filter: Filter{Docs: []int64{2, 9}}}, []int64{9}},
		{"typo", Query{Terms: queryTerms("gardne"), Typos: true}, []int64{1}},
		{"typo of a form", Query{Terms: queryTerms("univversities"), Typos: true}, []int64{2, 3}},
		{"typo without leave", Query{Terms: queryTerms("gardne")}, nil},
		{"a short word is no typo", Query{Terms: queryTerms("wod"), Typos: true}, nil},
		{"two mistakes in a short word", Query{Terms: queryTerms("gradne"), Typos: true}, nil},
		{"two mistakes in a long word", Query{Terms: queryTerms("granmothr"), Typos: true}, []int64{7}},
		{"typo of what others wrote", Query{Terms: queryTerms("gardne"), Typos: true, Filter: Filter{Owner: "other"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := foundDocs(t, x, c.q); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func TestHit(t *testing.T) {
	x := newLibrary(t)
	hits := searchHits(t, x, Query{Terms: queryTerms("Promised gardne Zebra fences"), Typos: true}, 1)
	want := []Hit{{Doc: 1, Passage: 1, Words: []string{"Promised", "gardne", "fences"}, Corrected: map[string]string{"gardne": "garden"}}}
	if len(hits) == 1 {
		want[0].Score, want[0].Relevance = hits[0].Score, hits[0].Relevance
	}
	if diff := cmp.Diff(want, hits); diff != "" {
		t.Error(diff)
	}
}

// TestRelevance checks that relevance reflects the matched share of a query.
func TestRelevance(t *testing.T) {
	x, _ := newIndex(t)
	var docs []Doc
	for i := range 200 {
		docs = append(docs, newDoc(int64(i+1), "common words of every day stand here "+strings.Repeat("fill ", i%3)))
	}
	docs = append(docs, newDoc(300, "one rare zebra common words stand here quietly"), newDoc(301, "lion zebra giraffe okapi in one zoo"))
	addDocs(t, x, docs...)
	for _, c := range []struct {
		query              string
		minScore, maxScore float64
	}{
		{"zebra", 0.55, 0.75},
		{"common", 0.55, 0.75},
		{"lion zebra giraffe okapi", 0.55, 0.75},
		{"lion unicorn", 0.3, 0.5},
		{"lion unicorn griffin phoenix basilisk", 0.1, 0.25},
	} {
		for _, q := range []Query{{}, {Neighbours: 0.4, Whole: 0.5}} {
			q.Terms = queryTerms(c.query)
			if got := searchHits(t, x, q, 1)[0].Relevance; got < c.minScore || got > c.maxScore {
				t.Errorf("relevance of the best for %q is %.2f, want %.2f to %.2f", c.query, got, c.minScore, c.maxScore)
			}
		}
	}
}

func TestConversation(t *testing.T) {
	x, _ := newIndex(t)
	addDocs(t, x, newDoc(1, "What did you cook?", "Soup with leeks.", "Nice."), newDoc(2, "Soup is nice.", "Yes.", "The cook is out."))
	var got []int64
	for _, h := range searchHits(t, x, Query{Terms: queryTerms("cook soup leek"), Neighbours: ConversationNeighbours, Whole: ConversationWhole}, 3) {
		got = append(got, h.Passage)
	}
	if want := []int64{2, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("passages %v, want %v", got, want)
	}
}

func TestFeedback(t *testing.T) {
	x, _ := newIndex(t)
	var docs []Doc
	for i := range 60 {
		docs = append(docs, newDoc(int64(i+1), "nothing of interest is said here at all"))
	}
	docs = append(docs, newDoc(100, "sourdough needs a starter and patience"), newDoc(101, "sourdough starter and flour"), newDoc(102, "feed the starter every day"))
	addDocs(t, x, docs...)
	if got := foundDocs(t, x, Query{Terms: queryTerms("sourdough"), Feedback: true}); !slices.Contains(got, 102) {
		t.Errorf("found %v, not what the best have in common", got)
	}
}

func TestKeep(t *testing.T) {
	x := newLibrary(t)
	removeDocs(t, x, 2)
	keep := x.FilterPassages(Filter{Owner: "local"})
	var got []int64
	for num := int64(-1); num < 20; num++ {
		if keep(num) {
			got = append(got, num)
		}
	}
	if want := []int64{1, 2, 4, 5, 6, 7, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("keeps %v, want %v", got, want)
	}
}
