package search

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"ponder/internal/textkit"
)

// Exa searches by meaning and returns text, highlights and a summary.
func Exa(s Service) Provider {
	a := newAPI(s, "https://api.exa.ai", http.Header{"X-Api-Key": {s.Key}})
	return Provider{Name: "exa", Max: 3, Every: 200 * time.Millisecond, Timeout: 30 * time.Second, Search: func(ctx context.Context, q Query) ([]Result, error) {
		var answer exaAnswer
		err := a.postJSON(ctx, "/search", exaRequest(q), &answer)
		return checkResults(answer.toResults(), answer.Results != nil, err)
	}}
}

type exaQuery struct {
	Query          string   `json:"query"`
	Type           string   `json:"type"`
	UseAutoprompt  bool     `json:"useAutoprompt"`
	NumResults     int      `json:"numResults"`
	IncludeDomains []string `json:"includeDomains,omitempty"`
	ExcludeDomains []string `json:"excludeDomains,omitempty"`
	Start          string   `json:"startPublishedDate,omitempty"`
	End            string   `json:"endPublishedDate,omitempty"`
	Contents       struct {
		Text struct {
			MaxCharacters int `json:"maxCharacters"`
		} `json:"text"`
		Highlights struct {
			NumSentences     int    `json:"numSentences"`
			HighlightsPerURL int    `json:"highlightsPerUrl"`
			Query            string `json:"query"`
		} `json:"highlights"`
		Summary struct {
			Query string `json:"query"`
		} `json:"summary"`
	} `json:"contents"`
}

func exaRequest(q Query) exaQuery {
	r := exaQuery{Query: q.Text, Type: "neural", UseAutoprompt: true, NumResults: min(q.N, 100), IncludeDomains: q.Domains, ExcludeDomains: q.Without}
	r.Start, r.End = formatTime(q.From), formatTime(q.To)
	r.Contents.Text.MaxCharacters = 8000
	r.Contents.Highlights.NumSentences, r.Contents.Highlights.HighlightsPerURL, r.Contents.Highlights.Query = 3, 3, q.Text
	r.Contents.Summary.Query = q.Text
	return r
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

type exaAnswer struct {
	Results []struct {
		Title, URL, Author, Text, Summary string
		PublishedDate                     string
		Score                             float64
		Highlights                        []string
	}
}

func (a exaAnswer) toResults() (list []Result) {
	for _, r := range a.Results {
		list = append(list, Result{URL: r.URL, Title: r.Title, Author: r.Author, Text: r.Text, Summary: r.Summary,
			Highlights: r.Highlights, Published: textkit.ParseDate(r.PublishedDate), Score: r.Score})
	}
	return list
}

// Brave has its own index. Its free plan allows one search a second.
func Brave(s Service) Provider {
	a := newAPI(s, "https://api.search.brave.com", http.Header{"X-Subscription-Token": {s.Key}})
	return Provider{Name: "brave", Max: 1, Every: 1100 * time.Millisecond, Search: func(ctx context.Context, q Query) ([]Result, error) {
		var answer braveAnswer
		err := a.getJSON(ctx, "/res/v1/web/search", braveParams(q), &answer)
		return checkResults(answer.toResults(), answer.Type == "search", err)
	}}
}

func braveParams(q Query) url.Values {
	v := url.Values{"q": {withSiteOperators(q, 400, 50)}, "count": {strconv.Itoa(min(q.N, 20))}, "text_decorations": {"false"}, "result_filter": {"web,news"}}
	if !q.From.IsZero() || !q.To.IsZero() {
		from, to := q.From, q.To
		if from.IsZero() {
			from = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)
		}
		if to.IsZero() {
			to = q.now.AddDate(0, 0, 2)
		}
		v.Set("freshness", from.UTC().Format(time.DateOnly)+"to"+lastDay(to))
	}
	if l := braveLanguage(q.Language); l != "" {
		v.Set("search_lang", l)
	}
	return v
}

func lastDay(to time.Time) string {
	return to.UTC().Add(-time.Nanosecond).Format(time.DateOnly)
}

// braveLanguage returns Brave's name of a language, or "", since it refuses others.
func braveLanguage(code string) string {
	switch code {
	case "zh":
		return "zh-hans"
	case "ja":
		return "jp"
	case "pt":
		return "pt-pt"
	case "no":
		return "nb"
	}
	if slices.Contains(strings.Fields("ar eu bn bg ca hr cs da nl en et fi fr gl de gu he hi hu is it kn ko lv lt ms ml mr nb pl pa ro ru sr sk sl es sv ta te th tr uk vi"), code) {
		return code
	}
	return ""
}

// withSiteOperators adds hosts as operators, for engines without such parameters, if they fit.
func withSiteOperators(q Query, most, words int) string {
	var with, without []string
	for _, d := range q.Domains {
		with = append(with, "site:"+d)
	}
	for _, d := range q.Without {
		without = append(without, "-site:"+d)
	}
	text := firstWords(q.Text, most, words)
	s := strings.Join(append([]string{text, strings.Join(with, " OR ")}, without...), " ")
	if s = strings.Join(strings.Fields(s), " "); len(s) <= most && len(strings.Fields(s)) <= words {
		return s
	}
	return text
}

func firstWords(s string, most, n int) string {
	list := strings.Fields(s)
	list = list[:min(len(list), n)]
	for len(list) > 1 && len(strings.Join(list, " ")) > most {
		list = list[:len(list)-1]
	}
	return textkit.Prefix(strings.Join(list, " "), most)
}

type braveAnswer struct {
	Type      string
	Web, News struct{ Results []braveResult } // either may be missing
}

type braveResult struct {
	Title, URL, Description string
	Age                     string
	PageAge                 string   `json:"page_age"`
	ExtraSnippets           []string `json:"extra_snippets"`
}

func (a braveAnswer) toResults() (list []Result) {
	for _, r := range append(a.Web.Results, a.News.Results...) {
		var extra []string
		for _, s := range r.ExtraSnippets[:min(len(r.ExtraSnippets), maxHighlights)] {
			extra = append(extra, stripTags(s))
		}
		published := textkit.ParseDate(r.PageAge)
		if published.IsZero() {
			published = textkit.ParseDate(r.Age)
		}
		list = append(list, Result{URL: r.URL, Title: stripTags(r.Title), Snippet: stripTags(r.Description), Highlights: extra, Published: published})
	}
	return list
}

// Tavily answers questions and returns the text of pages.
func Tavily(s Service) Provider {
	a := newAPI(s, "https://api.tavily.com", http.Header{"Authorization": {"Bearer " + s.Key}})
	return Provider{Name: "tavily", Max: 3, Every: 200 * time.Millisecond, Timeout: 30 * time.Second, Search: func(ctx context.Context, q Query) ([]Result, error) {
		var answer tavilyAnswer
		err := a.postJSON(ctx, "/search", tavilyRequest(q), &answer)
		return checkResults(answer.toResults(), answer.Results != nil, err)
	}}
}

type tavilyQuery struct {
	Query             string   `json:"query"`
	Depth             string   `json:"search_depth"`
	MaxResults        int      `json:"max_results"`
	IncludeRawContent bool     `json:"include_raw_content"`
	IncludeDomains    []string `json:"include_domains,omitempty"`
	ExcludeDomains    []string `json:"exclude_domains,omitempty"`
	StartDate         string   `json:"start_date,omitempty"`
	EndDate           string   `json:"end_date,omitempty"`
}

func tavilyRequest(q Query) tavilyQuery {
	r := tavilyQuery{Query: firstWords(q.Text, 400, 400), Depth: "basic", MaxResults: min(q.N, 20), IncludeRawContent: true, IncludeDomains: q.Domains, ExcludeDomains: q.Without}
	if !q.From.IsZero() {
		r.StartDate = q.From.UTC().Format(time.DateOnly)
	}
	if !q.To.IsZero() {
		r.EndDate = lastDay(q.To)
	}
	return r
}

type tavilyAnswer struct {
	Results []struct {
		Title, URL, Content string
		Score               float64
		RawContent          string `json:"raw_content"`
		PublishedDate       string `json:"published_date"`
	}
}

func (a tavilyAnswer) toResults() (list []Result) {
	for _, r := range a.Results {
		list = append(list, Result{URL: r.URL, Title: r.Title, Snippet: r.Content, Text: r.RawContent, Published: textkit.ParseDate(r.PublishedDate), Score: r.Score})
	}
	return list
}

// SearXNG queries an instance at the service's URL, which must allow the format json.
func SearXNG(s Service) Provider {
	a := newAPI(s, "", http.Header{})
	return Provider{Name: "searxng", Max: 2, Every: 500 * time.Millisecond, Search: func(ctx context.Context, q Query) ([]Result, error) {
		var answer searxAnswer
		err := a.getJSON(ctx, "/search", searxParams(q), &answer)
		return checkResults(answer.toResults(), answer.Results != nil, err)
	}}
}

func searxParams(q Query) url.Values {
	v := url.Values{"q": {withSiteOperators(q, 1000, 100)}, "format": {"json"}, "pageno": {"1"}}
	if q.Language != "" {
		v.Set("language", q.Language)
	}
	if span := q.now.Sub(q.From); !q.From.IsZero() && (q.To.IsZero() || q.To.After(q.now)) {
		switch day := 24 * time.Hour; { // no others exist
		case span <= day:
			v.Set("time_range", "day")
		case span <= 31*day:
			v.Set("time_range", "month")
		case span <= 365*day:
			v.Set("time_range", "year")
		}
	}
	return v
}

type searxAnswer struct {
	Results []struct {
		Title, URL, Content, Author string
		Score                       float64
		PublishedDate               string `json:"publishedDate"`
		Pubdate                     string `json:"pubdate"`
	}
}

func (a searxAnswer) toResults() (list []Result) {
	for _, r := range a.Results {
		list = append(list, Result{URL: r.URL, Title: stripTags(r.Title), Snippet: stripTags(r.Content), Author: r.Author,
			Published: textkit.ParseDate(cmp.Or(r.PublishedDate, r.Pubdate)), Score: r.Score})
	}
	return list
}
