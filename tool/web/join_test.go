package web

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ponder/knowledge/archive"
	"ponder/knowledge/lookup"
	fetching "ponder/knowledge/web"
	"ponder/knowledge/web/search"
	"ponder/store/sqlite"
)

const article = `<html><head><title>The deepest place</title><meta name="author" content="Anna Diver"></head><body><article>
<h1>The deepest place</h1><p>The Challenger Deep has a depth of 10,935 metres, as divers have measured again and again with ropes, with sound and with pressure.</p>
<p>It is in the western Pacific, near the southern end of a trench that is five times as long as it is deep, and hardly anybody has been there.</p>
<p>Light does not reach it, and what lives there feeds on what falls from above, which is little and takes weeks to come down.</p></article></body></html>`

// With the real searcher, fetcher and judge, a found page can be read, and the archive has
// it under the hash in the result.
func TestRealPackages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/deep" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(article))
	}))
	defer server.Close()
	store, err := sqlite.Open(t.Context(), t.TempDir()+"/ponder.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	arch, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	s := search.New([]search.Provider{
		{Name: "broken", Search: func(context.Context, search.Query) ([]search.Result, error) { return nil, errors.New("out of order") }},
		{Name: "made", Search: func(context.Context, search.Query) ([]search.Result, error) {
			return []search.Result{{URL: "https://sea.test/other", Title: "Other", Text: "Boats. The sea is deep in the west."}, {URL: server.URL + "/deep", Title: "Deep", Snippet: "The deepest place."}}, nil
		}},
	}, arch, search.Options{})
	f := fetching.New(fetching.Options{Archive: arch, Allow: []string{"127.0.0.1"}, Delay: -1})
	defer f.Close()
	opts := Options{Search: NewSearch(s.Search), Fetch: f.Fetch, Judge: NewJudge(time.Now)}

	r := useTool[lookup.WebFound](t, opts, SearchName, searchInput{Query: "how deep is the sea"})
	if len(r.Results) != 2 || len(r.Failed) != 1 || r.Failed[0].Provider != "broken" || !strings.Contains(r.Failed[0].Error, "out of order") || r.Results[0].Provider != "made" || len(r.Results[0].Quality) == 0 {
		t.Fatalf("%+v", r)
	}
	url := ""
	for _, x := range r.Results {
		if x.Title == "Deep" {
			url = x.URL
		} else if !strings.Contains(x.Snippet, "The sea is deep in the west.") {
			t.Errorf("snippet %q", x.Snippet)
		}
	}
	p := useTool[lookup.Page](t, opts, FetchName, fetchInput{URL: url, Query: "depth of the Challenger Deep"})
	if len(p.Hits) == 0 || !strings.HasPrefix(p.Hits[0].Quote, "The Challenger Deep has a depth of 10,935 metres") || p.Author != "Anna Diver" || p.Fetched.IsZero() || len(p.Quality) == 0 {
		t.Errorf("%+v", p)
	}
	if again, err := f.Archived(t.Context(), p.Original); err != nil {
		t.Error(err)
	} else if d := Document(again); d.Hash != p.Hits[0].Hash || !d.Verify(p.Hits[0].Quote, p.Hits[0].Start, p.Hits[0].End) {
		t.Error("the quote is not found again in the archive")
	}
	if o, err := arch.Get(t.Context(), p.Original); err != nil || string(o.Bytes) != article {
		t.Errorf("the original: %v", err)
	}
	if _, err := tryTool(t, opts, FetchName, fetchInput{URL: server.URL + "/none"}); err == nil || !strings.Contains(err.Error(), "there is no such page") {
		t.Errorf("error %v", err)
	}
	if _, err := tryTool(t, Options{Fetch: fetching.New(fetching.Options{}).Fetch}, FetchName, fetchInput{URL: server.URL + "/deep"}); !errors.Is(err, fetching.ErrRefused) {
		t.Errorf("error %v", err)
	}
}

// A fresh search does not use cached answers.
func TestFresh(t *testing.T) {
	store, err := sqlite.Open(t.Context(), t.TempDir()+"/ponder.db")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	arch, err := archive.Open(t.Context(), store.SQL())
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	s := search.New([]search.Provider{{Name: "made", Search: func(context.Context, search.Query) ([]search.Result, error) {
		asked++
		return []search.Result{{URL: "https://sea.test/", Title: "Sea", Text: "The sea is deep."}}, nil
	}}}, arch, search.Options{MaxAge: time.Hour})
	opts := Options{Search: NewSearch(s.Search)}
	for i, test := range []struct {
		fresh bool
		want  int
	}{{false, 1}, {false, 1}, {true, 2}, {false, 2}} {
		if r := useTool[lookup.WebFound](t, opts, SearchName, searchInput{Query: "how deep is the sea", Fresh: test.fresh}); len(r.Results) != 1 || asked != test.want {
			t.Errorf("search %d: the provider was asked %d times, want %d; %+v", i, asked, test.want, r)
		}
	}
}
