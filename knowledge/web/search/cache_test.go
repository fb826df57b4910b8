package search_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"ponder/knowledge/archive"
	"ponder/knowledge/web/search"
	"ponder/store/sqlite"
)

func TestCache(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	a, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	asked := 0
	var fails error
	p := search.Provider{Name: "one", Search: func(context.Context, search.Query) ([]search.Result, error) {
		asked++
		return []search.Result{{URL: "https://a.example/", Title: "A\x00", Published: now.AddDate(0, 0, -1)}, {URL: "javascript:x"}}, fails
	}}
	s := search.New([]search.Provider{p}, a, search.Options{Now: func() time.Time { return now }, MaxAge: time.Hour, Keep: 48 * time.Hour})
	for _, step := range []struct {
		name   string
		q      search.Query
		later  time.Duration
		fails  error
		cached bool
	}{
		{name: "the first time", q: search.Query{Text: "x"}},
		{name: "again", q: search.Query{Text: " x "}, later: 59 * time.Minute, cached: true},
		{name: "another number", q: search.Query{Text: "x", N: 3}},
		{name: "only new", q: search.Query{Text: "x", MaxAge: -1}},
		{name: "too old", q: search.Query{Text: "x"}, later: 61 * time.Minute},
		{name: "not too old for this one", q: search.Query{Text: "x", MaxAge: 24 * time.Hour}, later: 2 * time.Hour, cached: true},
		{name: "fails", q: search.Query{Text: "y"}, fails: errors.New("no")},
		{name: "errors are not kept", q: search.Query{Text: "y"}},
	} {
		now = now.Add(step.later)
		fails = step.fails
		before := asked
		f, err := s.Search(t.Context(), step.q)
		o := f.Providers[0]
		if (err != nil) != (step.fails != nil) || o.Cached != step.cached || (asked == before) != step.cached {
			t.Errorf("%s: %v, cached %v, asked %v", step.name, err, o.Cached, asked > before)
		}
		if err == nil && (len(f.Results) != 1 || f.Results[0].Title != "A" || o.Count != 1 || now.Sub(o.At) > 3*time.Hour) {
			t.Errorf("%s: %+v", step.name, f)
		}
	}
}
