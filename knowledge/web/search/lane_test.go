package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scriptedProvider returns a provider with given answers.
func scriptedProvider(name string, answers ...any) (Provider, *[]time.Duration) {
	var mu sync.Mutex
	var at []time.Duration
	start := time.Now()
	return Provider{Name: name, Search: func(ctx context.Context, q Query) ([]Result, error) {
		mu.Lock()
		n := len(at)
		at = append(at, time.Since(start))
		mu.Unlock()
		switch a := answers[min(n, len(answers)-1)].(type) {
		case error:
			return nil, a
		case time.Duration:
			time.Sleep(a)
			return nil, nil
		case string:
			var list []Result
			for _, u := range strings.Fields(a) {
				list = append(list, Result{URL: u, Title: name + " " + u})
			}
			return list, nil
		}
		panic("hurt")
	}}, &at
}

func TestLimits(t *testing.T) {
	const page = "https://a.example/"
	busy := func(retry time.Duration) error {
		return fmt.Errorf("asked: %w", &StatusError{Status: 429, Retry: retry})
	}
	for _, test := range []struct {
		name    string
		answers []any
		at      []time.Duration
		err     string
	}{
		{"answers", []any{page}, []time.Duration{0}, ""},
		{"comes back when it is told to", []any{busy(3 * time.Second), page}, []time.Duration{0, 3 * time.Second}, ""},
		{"is busy and does not say how long", []any{busy(0), page}, []time.Duration{0, time.Second}, ""},
		{"does not wait longer than there is time", []any{busy(time.Hour), page}, []time.Duration{0}, "provider is rate-limited; try again in 1h0m0s"},
		{"gives up", []any{busy(time.Second)}, []time.Duration{0, time.Second, 2 * time.Second}, "asked: status 429 too many requests; try again in 1s"},
		{"fails once", []any{&StatusError{Status: 500}, page}, []time.Duration{0, time.Second / 2}, ""},
		{"fails twice", []any{&StatusError{Status: 500}, &StatusError{Status: 500}}, []time.Duration{0, time.Second / 2}, "status 500 internal server error"},
		{"is not asked again with a wrong key", []any{&StatusError{Status: 401, Message: "no"}}, []time.Duration{0}, "status 401 unauthorized: no"},
		{"breaks down", []any{nil}, []time.Duration{0}, "provider panicked"},
		{"takes too long", []any{time.Hour}, []time.Duration{0}, "no answer in time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, at := scriptedProvider("one", test.answers...)
				f, err := New([]Provider{p}, nil, Options{}).Search(t.Context(), Query{Text: "x"})
				if got := errorText(err); got != strings.TrimSuffix("search the web: one: "+test.err, "search the web: one: ") {
					t.Errorf("error %q", got)
				}
				if err == nil && (len(f.Results) != 1 || f.Results[0].URL != page) {
					t.Errorf("found %+v", f)
				}
				time.Sleep(time.Hour) // ends abandoned requests
				synctest.Wait()
				if d := cmp.Diff(test.at, *at); d != "" {
					t.Error(d)
				}
			})
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSpacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, at := scriptedProvider("one", "https://a.example/")
		p.Every = time.Second
		s := New([]Provider{p}, nil, Options{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := s.Search(t.Context(), Query{Text: "x"}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		slices.Sort(*at)
		if d := cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, *at); d != "" {
			t.Error(d)
		}
	})
}

func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, at := scriptedProvider("one", time.Second)
		p.Max = 2
		s := New([]Provider{p}, nil, Options{})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { _, _ = s.Search(t.Context(), Query{Text: "x"}) })
		}
		wg.Wait()
		slices.Sort(*at)
		if d := cmp.Diff([]time.Duration{0, 0, time.Second, time.Second}, *at); d != "" {
			t.Error(d)
		}
	})
}

// Providers run in parallel, and failures do not affect others.
func TestSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := scriptedProvider("a", "https://x.example/1 https://x.example/2?utm_source=a https://y.example/")
		b, _ := scriptedProvider("b", &StatusError{Status: 403, Message: "no money"})
		c, _ := scriptedProvider("c", "http://www.x.example/2 https://z.example/")
		slow, _ := scriptedProvider("slow", time.Hour)
		start := time.Now()
		f, err := New([]Provider{a, b, c, slow}, nil, Options{}).Search(t.Context(), Query{Text: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != defaultTimeout {
			t.Errorf("took %v", took)
		}
		var urls []string
		for _, r := range f.Results {
			urls = append(urls, fmt.Sprintf("%d %s %.2f %v", r.Rank, r.URL, r.Score, r.Providers))
		}
		want := []string{"1 https://x.example/2 0.99 [c a]", "2 https://x.example/1 0.50 [a]", "3 https://z.example/ 0.49 [c]", "4 https://y.example/ 0.48 [a]"}
		if d := cmp.Diff(want, urls); d != "" {
			t.Error(d)
		}
		var outcomes []string
		for _, o := range f.Providers {
			outcomes = append(outcomes, fmt.Sprintf("%s %d %v", o.Name, o.Count, o.Err))
		}
		if d := cmp.Diff([]string{"a 3 <nil>", "b 0 status 403 forbidden: no money", "c 2 <nil>", "slow 0 no answer in time"}, outcomes); d != "" {
			t.Error(d)
		}
		time.Sleep(time.Hour) // ends abandoned requests
	})
}

func TestNothingToAsk(t *testing.T) {
	if _, err := New(nil, nil, Options{}).Search(t.Context(), Query{Text: "x"}); !errors.Is(err, ErrNoProvider) {
		t.Error(err)
	}
	p, _ := scriptedProvider("a", "")
	if _, err := New([]Provider{p}, nil, Options{}).Search(t.Context(), Query{Text: " \n\x00"}); !errors.Is(err, ErrNoQuery) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New([]Provider{p}, nil, Options{}).Search(ctx, Query{Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
