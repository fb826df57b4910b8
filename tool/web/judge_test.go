package web

import (
	"slices"
	"testing"
	"time"

	"ponder"
	fetching "ponder/knowledge/web"
)

// Results of a local folder did not come over the network.
func TestLocal(t *testing.T) {
	var judged []Piece
	s := &searcher{Options: Options{Judge: func(list []Piece) []Judgement { judged = list; return make([]Judgement, len(list)) }}}
	s.describeResults("sea", []Result{{URL: "https://a.test/", Providers: []string{"folder"}}, {URL: "https://b.test/", Providers: []string{"brave", "folder"}}, {URL: "https://c.test/"}})
	for i, want := range []bool{true, false, false} {
		if judged[i].Local != want {
			t.Errorf("%s is local: %v", judged[i].URL, judged[i].Local)
		}
	}
	for i, j := range NewJudge(time.Now)(judged[:2]) {
		came := slices.ContainsFunc(j.Quality, func(g ponder.Signal) bool { return g.Name == "transport" })
		if came == judged[i].Local {
			t.Errorf("%s: %+v", judged[i].URL, j.Quality)
		}
	}
}

// The same holds for a fetched page of the folder.
func TestLocalPages(t *testing.T) {
	for _, local := range []bool{true, false} {
		f := &fetcher{Options: Options{Judge: NewJudge(time.Now)}}
		p := f.describePage(&fetching.Page{Final: "https://a.test/", Title: "A", Markdown: "The sea is deep.", Local: local}, "https://a.test/")
		if came := slices.ContainsFunc(p.Quality, func(g ponder.Signal) bool { return g.Name == "transport" }); came == local {
			t.Errorf("local %v: %+v", local, p.Quality)
		}
	}
}

func TestJudging(t *testing.T) {
	report := "Divers have measured the depth of the Challenger Deep again, and found it to be ten thousand nine hundred and thirty five metres deep, the ministry said."
	list := NewJudge(func() time.Time { return published })([]Piece{
		{URL: "https://a.test/1", Text: report, Author: "A. Diver", Published: published},
		{URL: "https://b.test/2", Text: "The harbour has forty boats."},
		{URL: "https://c.test/3", Text: report + " More soon."},
	})
	var clusters []string
	for _, j := range list {
		clusters = append(clusters, j.Cluster)
		if len(j.Quality) < 4 || j.Quality[0].Description == "" || j.Voices != 1 {
			t.Errorf("%+v", j)
		}
	}
	if want := []string{"https://a.test/1", "", "https://a.test/1"}; !slices.Equal(clusters, want) {
		t.Errorf("clusters %q, want %q", clusters, want)
	}
	if one := NewJudge(time.Now)([]Piece{{URL: "https://a.test/1", Text: report}})[0]; one.Cluster != "" || one.Voices != 0 || len(one.Quality) == 0 {
		t.Errorf("alone: %+v", one)
	}
}
