package web

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
)

// What a search says of a page is kept as it is returned.
func TestSearchIsKept(t *testing.T) {
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
	text, err := try(t, opts, SearchName, map[string]any{"query": "sea"})
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
