package web

import (
	"slices"
	"testing"
	"time"
)

func TestJudging(t *testing.T) {
	report := "Divers have measured the depth of the Challenger Deep again, and found it to be ten thousand nine hundred and thirty five metres deep, the ministry said."
	list := Judging(func() time.Time { return published })([]Piece{
		{URL: "https://a.test/1", Text: report, Author: "A. Diver", Published: published},
		{URL: "https://b.test/2", Text: "The harbour has forty boats."},
		{URL: "https://c.test/3", Text: report + " More soon."},
	})
	var clusters []string
	for _, j := range list {
		clusters = append(clusters, j.Cluster)
		if len(j.Quality) < 4 || j.Quality[0].Says == "" || j.Voices != 1 {
			t.Errorf("%+v", j)
		}
	}
	if want := []string{"https://a.test/1", "", "https://a.test/1"}; !slices.Equal(clusters, want) {
		t.Errorf("clusters %q, want %q", clusters, want)
	}
	if one := Judging(time.Now)([]Piece{{URL: "https://a.test/1", Text: report}})[0]; one.Cluster != "" || one.Voices != 0 || len(one.Quality) == 0 {
		t.Errorf("alone: %+v", one)
	}
}
