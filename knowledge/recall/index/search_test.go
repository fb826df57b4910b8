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
	for _, h := range lookFor(t, x, q, 100) {
		out = append(out, h.Doc)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func day(s string) time.Time {
	t, _ := time.Parse(time.DateOnly, s)
	return t
}

func library(t *testing.T) *Index {
	x, _ := newIndex(t)
	docs := []Doc{
		doc(1, "I promised Anna to repair the garden fence. ", "She promised nothing."),
		doc(2, "Universities are older than universal suffrage."),
		doc(3, "The university ran a course on running shoes."),
		doc(4, "Der Vertrag mit den Universitäten; die Verträge sind unterschrieben."),
		doc(5, "図書館で本を読む"),
		doc(6, "To be or not to be."),
		doc(7, "A recipe for bread: water, flour and salt."),
		doc(8, "The naïve café, Łódź."),
		doc(9, "fence fence fence fence"),
	}
	docs[3].Language = "de"
	docs[4].Language = "ja"
	docs[6].Title, docs[6].Names = "Grandmother's kitchen", []string{"Berta Beispiel"}
	docs[6].Passages[0].Heading, docs[6].Passages[0].Speaker = "Baking", "Otto"
	for i := range docs {
		docs[i].Owner = "local"
		docs[i].Date = day("2024-03-01").AddDate(0, 0, i)
		docs[i].Kind = "document"
		docs[i].Source = "/notes/" + string(rune('a'+i)) + ".md"
	}
	docs[8].Owner, docs[8].Kind, docs[8].Tags, docs[8].Date = "other", "post", []string{"home", "wood"}, time.Time{}
	add(t, x, docs[:5]...)
	add(t, x, docs[5:]...)
	return x
}

func TestSearch(t *testing.T) {
	x := library(t)
	for _, c := range []struct {
		name string
		q    Query
		want []int64
	}{
		{"nothing", Query{}, nil},
		{"stems", Query{Terms: terms("promises")}, []int64{1}},
		{"a question", Query{Terms: []Term{{Word: "What did I promise to Anna?"}}}, []int64{1}},
		{"stops alone", Query{Terms: terms("to be or not to be")}, []int64{1, 6}},
		{"accents and case", Query{Terms: terms("NAIVE cafe")}, []int64{8}},
		{"letters with strokes", Query{Terms: terms("lodz")}, []int64{8}},
		{"German stems", Query{Terms: terms("vertrages")}, []int64{4}},
		{"without accents", Query{Terms: terms("vertrage")}, []int64{4}},
		{"a stem only in its language", Query{Terms: terms("universities")}, []int64{2, 3}},
		{"pairs of letters", Query{Terms: terms("図書")}, []int64{5}},
		{"a longer word", Query{Terms: terms("図書館")}, []int64{5}},
		{"a letter", Query{Terms: terms("本")}, []int64{5}},
		{"title", Query{Terms: terms("kitchens")}, []int64{7}},
		{"name", Query{Terms: terms("berta")}, []int64{7}},
		{"heading", Query{Terms: terms("bake")}, []int64{7}},
		{"speaker", Query{Terms: terms("otto")}, []int64{7}},
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
		{"phrase and words", Query{Phrases: []string{"fence fence"}, Terms: terms("garden")}, []int64{9}},
		{"owner", Query{Terms: terms("fence"), Filter: Filter{Owner: "other"}}, []int64{9}},
		{"kind", Query{Terms: terms("fence"), Filter: Filter{Kinds: []string{"memory", "document"}}}, []int64{1}},
		{"source", Query{Terms: terms("fence"), Filter: Filter{Sources: []string{"/notes/i.md"}}}, []int64{9}},
		{"source by its beginning", Query{Terms: terms("fence"), Filter: Filter{Sources: []string{"/notes/*"}}}, []int64{1, 9}},
		{"all tags", Query{Terms: terms("fence"), Filter: Filter{Tags: []string{"wood", "home"}}}, []int64{9}},
		{"a tag that is not", Query{Terms: terms("fence"), Filter: Filter{Tags: []string{"wood", "iron"}}}, nil},
		{"from", Query{Terms: terms("university"), Filter: Filter{From: day("2024-03-03")}}, []int64{3}},
		{"to", Query{Terms: terms("university"), Filter: Filter{To: day("2024-03-03")}}, []int64{2}},
		{"no date is in no range", Query{Terms: terms("fence"), Filter: Filter{From: day("1900-01-01")}}, []int64{1}},
		{"documents", Query{Terms: terms("fence"), Filter: Filter{Docs: []int64{2, 9}}}, []int64{9}},
		{"typo", Query{Terms: terms("gardne"), Typos: true}, []int64{1}},
		{"typo of a form", Query{Terms: terms("univversities"), Typos: true}, []int64{2, 3}},
		{"typo without leave", Query{Terms: terms("gardne")}, nil},
		{"a short word is no typo", Query{Terms: terms("wod"), Typos: true}, nil},
		{"two mistakes in a short word", Query{Terms: terms("gradne"), Typos: true}, nil},
		{"two mistakes in a long word", Query{Terms: terms("granmothr"), Typos: true}, []int64{7}},
		{"typo of what others wrote", Query{Terms: terms("gardne"), Typos: true, Filter: Filter{Owner: "other"}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := foundDocs(t, x, c.q); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func TestHit(t *testing.T) {
	x := library(t)
	hits := lookFor(t, x, Query{Terms: terms("Promised gardne Zebra fences"), Typos: true}, 1)
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
		docs = append(docs, doc(int64(i+1), "common words of every day stand here "+strings.Repeat("fill ", i%3)))
	}
	docs = append(docs, doc(300, "one rare zebra common words stand here quietly"), doc(301, "lion zebra giraffe okapi in one zoo"))
	add(t, x, docs...)
	for _, c := range []struct {
		query       string
		least, most float64
	}{
		{"zebra", 0.55, 0.75},
		{"common", 0.55, 0.75},
		{"lion zebra giraffe okapi", 0.55, 0.75},
		{"lion unicorn", 0.3, 0.5},
		{"lion unicorn griffin phoenix basilisk", 0.1, 0.25},
	} {
		for _, q := range []Query{{}, {Neighbours: 0.4, Whole: 0.5}} {
			q.Terms = terms(c.query)
			if got := lookFor(t, x, q, 1)[0].Relevance; got < c.least || got > c.most {
				t.Errorf("relevance of the best for %q is %.2f, want %.2f to %.2f", c.query, got, c.least, c.most)
			}
		}
	}
}

func TestConversation(t *testing.T) {
	x, _ := newIndex(t)
	add(t, x, doc(1, "What did you cook?", "Soup with leeks.", "Nice."), doc(2, "Soup is nice.", "Yes.", "The cook is out."))
	var got []int64
	for _, h := range lookFor(t, x, Query{Terms: terms("cook soup leek"), Neighbours: ConversationNeighbours, Whole: ConversationWhole}, 3) {
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
		docs = append(docs, doc(int64(i+1), "nothing of interest is said here at all"))
	}
	docs = append(docs, doc(100, "sourdough needs a starter and patience"), doc(101, "sourdough starter and flour"), doc(102, "feed the starter every day"))
	add(t, x, docs...)
	if got := foundDocs(t, x, Query{Terms: terms("sourdough"), Feedback: true}); !slices.Contains(got, 102) {
		t.Errorf("found %v, not what the best have in common", got)
	}
}

func TestKeep(t *testing.T) {
	x := library(t)
	remove(t, x, 2)
	keep := x.Keep(Filter{Owner: "local"})
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
