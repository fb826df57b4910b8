package web

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"ponder/knowledge/web/search"
)

// The archive stores a search result in the form that the tool returns.
func TestSearchIsArchived(t *testing.T) {
	var kept []string
	opts := Options{
		Search: func(context.Context, Query) (Found, error) {
			return Found{Results: []Result{
				{URL: "https://a.example/", Snippet: "The sea\n is deep."}, {URL: "https://b.example/", Snippet: "full"}, {URL: "https://c.example/"},
			}}, nil
		},
		Keep: func(_ context.Context, r Result) (string, error) {
			if r.Snippet == "full" {
				return "", errors.New("the disk is full")
			}
			kept = append(kept, r.Snippet)
			return "11ee", nil
		},
	}
	text, err := tryTool(t, opts, SearchName, map[string]any{"query": "sea"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Results []struct{ URL, Snippet, Original string }
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Results) != 3 {
		t.Fatalf("%v: %s", err, text)
	}
	if len(kept) != 1 || kept[0] != got.Results[0].Snippet || kept[0] != "The sea is deep." {
		t.Errorf("kept %q, returned %q", kept, got.Results[0].Snippet)
	}
	for i, want := range []string{"11ee", "", ""} {
		if got.Results[i].Original != want {
			t.Errorf("%s is kept as %q, want %q", got.Results[i].URL, got.Results[i].Original, want)
		}
	}
}

// A cached answer has its age.
func TestCachedAnswersHaveAge(t *testing.T) {
	kept := func(at ...time.Time) (f search.Response) {
		for _, t := range at {
			f.Providers = append(f.Providers, search.Outcome{Name: "x", Cached: !t.IsZero(), At: t})
		}
		return f
	}
	for _, c := range []struct {
		found  search.Response
		minAge time.Duration
	}{{kept(time.Time{}), 0}, {kept(time.Time{}, time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)), time.Hour}} {
		got, err := NewSearch(func(context.Context, search.Query) (search.Response, error) { return c.found, nil })(t.Context(), Query{Text: "sea"})
		if err != nil || got.Age < c.minAge || c.minAge == 0 && got.Age != 0 {
			t.Errorf("%v, %v, want at least %v", got.Age, err, c.minAge)
		}
	}
}

// The sentences of a snippet are in the order of the page, whichever is more relevant.
func TestSnippetOrder(t *testing.T) {
	const first, second = "A new coffee machine was bought in Rome.", "The coffee machine cost 1,450 euros in spring."
	for _, c := range []struct{ text, want string }{
		{first + " Nobody else was there. " + second, first + " … " + second},
		{second + " Nobody else was there. " + first, second + " … " + first},
	} {
		if got := snippetOf(search.Result{URL: "https://a.test/", Title: "A", Text: c.text}, "cost of the coffee machine"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
