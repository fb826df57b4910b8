package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ponder/knowledge/web/search"
	"ponder/knowledge/web/search/searchtest"
)

const key = "sk-SECRET-0123456789"

func newEngines(at string) map[string]search.Provider {
	s := func(name string) search.Service { return search.Service{Key: key, URL: at + "/" + name} }
	return map[string]search.Provider{
		searchtest.Exa: search.Exa(s("exa")), searchtest.Brave: search.Brave(s("brave")),
		searchtest.Tavily: search.Tavily(s("tavily")), searchtest.SearXNG: search.SearXNG(s("searxng")),
	}
}

var mill = searchtest.Page{URL: "https://post.example/mill?utm_source=feed", Title: "The old mill burns", Author: "Anna Weber",
	Text: "It is an old mill.\nThe mill on the river burned down & nobody was hurt.", Published: time.Date(2024, 3, 5, 0, 0, 0, 0, time.UTC)}

func testPages() []searchtest.Page {
	return []searchtest.Page{mill,
		{URL: "https://paper.example/mill", Title: "Mill", Text: "A mill burned in another town.", Published: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
		{URL: "https://zoo.example/", Title: "Zoo", Text: "Of bears."}}
}

func startServer(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// Answers from each engine's documentation.
func TestPublishedForms(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		want   search.Result
	}{
		searchtest.Exa: {`{"requestId":"b5947044c4b78efa9552a7c89b306d95","resolvedSearchType":"neural","results":[{"title":"A Comprehensive Overview of Large Language Models",
			"url":"https://arxiv.org/pdf/2307.06435.pdf","publishedDate":"2023-11-16T01:36:32.547Z","author":"Humza  Naveed, University of Engineering and Technology","id":"https://arxiv.org/abs/2307.06435",
			"image":"https://arxiv.org/pdf/2307.06435.pdf/page_1.png","favicon":"https://arxiv.org/favicon.ico","text":"Abstract Large Language Models (LLMs) have...","highlights":["Such requirements have limited their adoption..."],
			"highlightScores":[0.4600165784358978],"summary":"This overview paper on Large Language Models..."}],"searchType":"auto","costDollars":{"total":0.005}}`,
			search.Result{URL: "https://arxiv.org/pdf/2307.06435.pdf", Title: "A Comprehensive Overview of Large Language Models", Author: "Humza Naveed, University of Engineering and Technology",
				Text: "Abstract Large Language Models (LLMs) have...", Summary: "This overview paper on Large Language Models...", Highlights: []string{"Such requirements have limited their adoption..."},
				Snippet: "Such requirements have limited their adoption...", Published: time.Date(2023, 11, 16, 1, 36, 32, 547e6, time.UTC)}},
		searchtest.Brave: {`{"type":"search","query":{"original":"brave search","more_results_available":true},"mixed":{"type":"mixed","main":[{"type":"web","index":0,"all":false}]},
			"web":{"type":"search","results":[{"title":"Brave Search","url":"https://search.brave.com/","is_source_local":false,"description":"Search the Web. <strong>Privately</strong> &amp; truly useful.","page_age":"2023-08-12T08:56:11",
			"profile":{"name":"Brave","url":"https://search.brave.com/"},"language":"en","family_friendly":true,"type":"search_result","subtype":"generic","meta_url":{"scheme":"https"},"age":"August 12, 2023","extra_snippets":["One <strong>more</strong>"]}],"family_friendly":true}}`,
			search.Result{URL: "https://search.brave.com/", Title: "Brave Search", Snippet: "Search the Web. Privately & truly useful.", Highlights: []string{"One more"}, Published: time.Date(2023, 8, 12, 8, 56, 11, 0, time.UTC)}},
		searchtest.Tavily: {`{"query":"who is Leo Messi?","answer":null,"images":[],"follow_up_questions":null,"results":[{"title":"Lionel Messi Facts | Britannica","url":"https://www.britannica.com/facts/Lionel-Messi",
			"content":"Lionel Messi, an Argentine footballer, is widely regarded as one of the greatest.","score":0.81025416,"raw_content":null,"favicon":"https://britannica.com/favicon.png"}],"response_time":"1.67","request_id":"123e4567"}`,
			search.Result{URL: "https://www.britannica.com/facts/Lionel-Messi", Title: "Lionel Messi Facts | Britannica", Snippet: "Lionel Messi, an Argentine footballer, is widely regarded as one of the greatest."}},
		searchtest.SearXNG: {`{"query":"searxng","number_of_results":0,"results":[{"url":"https://docs.searxng.org/","title":"SearXNG &amp; friends","content":"A metasearch engine","thumbnail":null,"engine":"duckduckgo","template":"default.html",
			"parsed_url":["https","docs.searxng.org","/","","",""],"img_src":"","priority":"","engines":["duckduckgo","google"],"positions":[1,2],"score":3.0,"category":"general","publishedDate":"2024-05-17T00:00:00"}],
			"answers":[],"corrections":[],"infoboxes":[],"suggestions":[],"unresponsive_engines":[["qwant","Suspended: CAPTCHA"]]}`,
			search.Result{URL: "https://docs.searxng.org/", Title: "SearXNG & friends", Snippet: "A metasearch engine", Published: time.Date(2024, 5, 17, 0, 0, 0, 0, time.UTC)}},
	} {
		t.Run(name, func(t *testing.T) {
			at := startServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, test.answer) }))
			f, err := search.New([]search.Provider{newEngines(at)[name]}, nil, search.Options{}).Search(t.Context(), search.Query{Text: "x"})
			if err != nil {
				t.Fatal(err)
			}
			test.want.Providers, test.want.Rank, test.want.Score = []string{name}, 1, 1
			if d := cmp.Diff([]search.Result{test.want}, f.Results); d != "" {
				t.Error(d)
			}
		})
	}
}

// Requests as documented.
func TestRequests(t *testing.T) {
	q := search.Query{Text: "old mill", N: 7, From: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC),
		Domains: []string{"Post.example", "*.zoo.example"}, Without: []string{"https://spam.example/x"}, Language: "de"}
	for name, want := range map[string]string{
		searchtest.Exa: `POST /search {"contents":{"highlights":{"highlightsPerUrl":3,"numSentences":3,"query":"old mill"},"summary":{"query":"old mill"},"text":{"maxCharacters":8000}},` +
			`"endPublishedDate":"2024-07-01T00:00:00.000Z","excludeDomains":["spam.example"],"includeDomains":["post.example","zoo.example"],"numResults":7,"query":"old mill","startPublishedDate":"2024-01-01T00:00:00.000Z","type":"neural","useAutoprompt":true}`,
		searchtest.Brave: `GET /res/v1/web/search count=7 freshness=2024-01-01to2024-06-30 q=old mill site:post.example OR site:zoo.example -site:spam.example result_filter=web,news search_lang=de text_decorations=false`,
		searchtest.Tavily: `POST /search {"end_date":"2024-06-30","exclude_domains":["spam.example"],"include_domains":["post.example","zoo.example"],"include_raw_content":true,"max_results":7,` +
			`"query":"old mill","search_depth":"basic","start_date":"2024-01-01"}`,
		searchtest.SearXNG: `GET /search format=json language=de pageno=1 q=old mill site:post.example OR site:zoo.example -site:spam.example`,
	} {
		t.Run(name, func(t *testing.T) {
			server := searchtest.New(testPages(), searchtest.Options{Keys: map[string]string{name: key}})
			f, err := search.New([]search.Provider{newEngines(startServer(t, server))[name]}, nil, search.Options{}).Search(t.Context(), q)
			if err != nil || len(f.Results) != 1 || f.Results[0].URL != "https://post.example/mill" || f.Results[0].Published != mill.Published {
				t.Errorf("%v %+v", err, f)
			}
			r := server.Requests()[0]
			if d := cmp.Diff(want, r.Method+" "+r.Path+" "+sortedForm(t, r.Body)); d != "" {
				t.Error(d)
			}
			if strings.Contains(r.Body+r.Path, key) {
				t.Error("the key is in the address or the body")
			}
		})
	}
}

func sortedForm(t *testing.T, s string) string {
	if strings.HasPrefix(s, "{") {
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	v, err := url.ParseQuery(s)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := url.QueryUnescape(strings.ReplaceAll(v.Encode(), "&", " "))
	return out
}

func TestAllAtOnce(t *testing.T) {
	server := searchtest.New(testPages(), searchtest.Options{})
	var all []search.Provider
	at := startServer(t, server)
	for _, name := range []string{searchtest.Exa, searchtest.Brave, searchtest.Tavily, searchtest.SearXNG} {
		all = append(all, newEngines(at)[name])
	}
	f, err := search.New(all, nil, search.Options{}).Search(t.Context(), search.Query{Text: "mill river burned"})
	if err != nil || len(f.Results) != 2 {
		t.Fatalf("%v %+v", err, f)
	}
	want := search.Result{URL: "https://post.example/mill", Title: "The old mill burns", Author: "Anna Weber", Published: mill.Published,
		Snippet: "The mill on the river burned down & nobody was hurt.", Text: mill.Text, Summary: "A page that says: The mill on the river burned down & nobody was hurt.",
		Highlights: []string{"The mill on the river burned down & nobody was hurt."}, Providers: []string{"exa", "brave", "tavily", "searxng"}, Score: 1, Rank: 1}
	if d := cmp.Diff(want, f.Results[0]); d != "" {
		t.Error(d)
	}
}

func TestFaults(t *testing.T) {
	for _, test := range []struct {
		fault  searchtest.Fault
		err    error
		status int
	}{
		{searchtest.Error, nil, 500},
		{searchtest.Denied, nil, 401},
		{searchtest.Redirect, nil, 307},
		{searchtest.Hang, context.DeadlineExceeded, 0},
		{searchtest.Garbage, search.ErrAnswer, 0},
		{searchtest.Odd, search.ErrAnswer, 0},
		{searchtest.Half, nil, 0},
		{searchtest.Huge, search.ErrTooBig, 0},
	} {
		for _, name := range []string{searchtest.Exa, searchtest.Brave, searchtest.Tavily, searchtest.SearXNG} {
			t.Run(string(test.fault)+" of "+name, func(t *testing.T) {
				t.Parallel()
				f := []searchtest.Fault{test.fault, test.fault, test.fault}
				p := newEngines(startServer(t, searchtest.New(testPages(), searchtest.Options{Faults: map[string][]searchtest.Fault{name: f}})))[name]
				ctx, cancel := context.WithTimeout(t.Context(), map[bool]time.Duration{true: 50 * time.Millisecond, false: time.Minute}[test.fault == searchtest.Hang])
				defer cancel()
				list, err := p.Search(ctx, search.Query{Text: "mill", N: 5})
				if err == nil || len(list) > 0 || test.err != nil && !errors.Is(err, test.err) {
					t.Errorf("%v, %d results", err, len(list))
				}
				var status *search.StatusError
				if errors.As(err, &status); test.status > 0 && (status == nil || status.Status != test.status && !(name == searchtest.Brave && status.Status == 422)) {
					t.Errorf("%v", err)
				}
				if s := fmt.Sprint(err); strings.Contains(s, key) || strings.Contains(s, "mill") || strings.Contains(s, "\n") {
					t.Errorf("says %q", s)
				}
			})
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for name, test := range map[string]struct {
		header http.Header
		want   time.Duration
	}{
		"seconds":  {http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		"a time":   {http.Header{"Retry-After": {"Mon, 02 Jan 2023 15:04:15 GMT"}, "Date": {"Mon, 02 Jan 2023 15:04:05 GMT"}}, 10 * time.Second},
		"for ever": {http.Header{"Retry-After": {"4000000000"}}, 24 * time.Hour},
		"quotas":   {http.Header{"X-Ratelimit-Remaining": {"0, 1000"}, "X-Ratelimit-Reset": {"1, 1419704"}}, time.Second},
		"nonsense": {http.Header{"Retry-After": {"-5"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			at := startServer(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range test.header {
					w.Header()[k] = v
				}
				w.WriteHeader(429)
			}))
			_, err := newEngines(at)[searchtest.Brave].Search(t.Context(), search.Query{Text: "x"})
			var status *search.StatusError
			if !errors.As(err, &status) || status.Status != 429 || status.Retry != test.want {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestHostile(t *testing.T) {
	for name := range newEngines("") {
		t.Run(name, func(t *testing.T) {
			p := newEngines(startServer(t, searchtest.New(nil, searchtest.Options{Faults: map[string][]searchtest.Fault{name: {searchtest.Hostile}}})))[name]
			f, err := search.New([]search.Provider{p}, nil, search.Options{}).Search(t.Context(), search.Query{Text: "x", N: 50})
			if err != nil {
				t.Fatal(err)
			}
			var urls []string
			for _, r := range f.Results {
				urls = append(urls, r.URL)
				size := len(r.Title) + len(r.Snippet) + len(r.Text) + len(r.Summary) + len(r.Author) + len(strings.Join(r.Highlights, ""))
				if size > 120_000 || len(r.Title) > 300 {
					t.Errorf("%s has %d bytes", r.URL, size)
				}
				if strings.ContainsAny(fmt.Sprint(r), "\x1b\x00\x07\u202e\u200b") || strings.Contains(r.Author, "\n") {
					t.Errorf("contains invisible characters: %q", fmt.Sprint(r))
				}
			}
			if d := cmp.Diff([]string{"https://good.example/", "https://loud.example/"}, urls); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNoAddress(t *testing.T) {
	for _, at := range []string{"", "ftp://example.com", "searx.example", "http://"} {
		if _, err := search.SearXNG(search.Service{URL: at}).Search(t.Context(), search.Query{Text: "x"}); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("%q: %v", at, err)
		}
	}
}

// A password in the address is sent but not reported.
func TestBasicAuth(t *testing.T) {
	var got string
	at := startServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, got, _ = r.BasicAuth()
		http.Error(w, `{"error":"no such user, with hunter22"}`, 403)
	}))
	_, err := search.SearXNG(search.Service{URL: strings.Replace(at, "http://", "http://me:hunter22@", 1)}).Search(t.Context(), search.Query{Text: "x"})
	if got != "hunter22" || err == nil || strings.Contains(err.Error(), "hunter22") {
		t.Errorf("sent %q, %v", got, err)
	}
}
