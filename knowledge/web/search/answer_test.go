package search

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ponder/internal/textkit"
)

// Answers are read within bounds, or refused.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"type":"search","results":[{"url":"https://a.example/","title":"<b>x","publishedDate":"2024-01-02","score":1e400,"highlights":["y",null]}]}`))
	f.Add([]byte(`{"type":"search","web":{"results":[{"url":"http://m.b.example/?utm_x=1","description":"&lt;&amp;","age":"3 days ago"}]}}`))
	f.Add([]byte(`{"results":[{"url":"https://` + strings.Repeat("x.", 50) + `","content":"\u001b[2J","raw_content":"\u202e"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var exa exaAnswer
		var brave braveAnswer
		var tavily tavilyAnswer
		var searx searxAnswer
		for _, to := range []any{&exa, &brave, &tavily, &searx} {
			_ = json.Unmarshal(b, to)
		}
		q := Query{now: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)}
		for _, list := range [][]Result{exa.toResults(), brave.toResults(), tavily.toResults(), searx.toResults()} {
			for _, r := range validateResults(list, q) {
				all := r.Title + r.Snippet + r.Text + r.Author + r.Summary + strings.Join(r.Highlights, "")
				if !utf8.ValidString(all) || strings.ContainsAny(all, "\x00\x1b\u202e") || len(r.Text) > maxText || len(r.Snippet) > maxSnippet {
					t.Errorf("%+v", r)
				}
			}
		}
		_ = errorMessage(b)
		_ = stripTags(string(b))
	})
}

func FuzzPage(f *testing.F) {
	f.Add("<title>x</title><nav><nav></nav>y<p>z", "z")
	f.Add("<script>", "")
	f.Fuzz(func(t *testing.T, page, query string) {
		p := readHTML(page)
		rank := rankWords([]Page{p, {Text: page}})
		for _, h := range rank(query, 5) {
			if h.Page > 1 {
				t.Errorf("%+v", h)
			}
		}
		if s := bestSnippet(page, query); len(s) > 500 {
			t.Errorf("%d bytes", len(s))
		}
	})
}

func TestDates(t *testing.T) {
	for in, want := range map[string]string{
		"2023-11-16T01:36:32.547Z":      "2023-11-16T01:36:32",
		"2023-08-12T08:56:11":           "2023-08-12T08:56:11",
		"2024-05-17 00:00:00":           "2024-05-17T00:00:00",
		"2024-05-17":                    "2024-05-17T00:00:00",
		"Tue, 19 Nov 2024 10:00:00 GMT": "2024-11-19T10:00:00",
		"August 12, 2023":               "2023-08-12T00:00:00",
		"3 days ago":                    "0001-01-01T00:00:00",
		"":                              "0001-01-01T00:00:00",
	} {
		if got := textkit.ParseDate(in).Format("2006-01-02T15:04:05"); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

// Too long queries lose operators first, then words.
func TestOperators(t *testing.T) {
	long := strings.Repeat("word ", 60)
	for name, test := range map[string]struct {
		q    Query
		want string
	}{
		"hosts":         {Query{Text: "a b", Domains: []string{"x.example"}, Without: []string{"y.example", "z.example"}}, "a b site:x.example -site:y.example -site:z.example"},
		"too long":      {Query{Text: long, Domains: []string{"x.example"}}, strings.TrimSpace(strings.Repeat("word ", 50))},
		"one long word": {Query{Text: strings.Repeat("ü", 300)}, strings.Repeat("ü", 200)},
	} {
		if got := withSiteOperators(test.q, 400, 50); got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
