package extract

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story is a page with all that a page has.
func story() string {
	p := func(s string) string { return "<p>" + strings.Repeat(s+" ", 12) + "</p>" }
	return `<!doctype html><html lang="de"><head><title>The old mill burns | Daily Post</title>
<meta property="og:title" content="The old mill burns"><meta property="og:site_name" content="Daily Post">
<meta name="author" content="Anna Weber"><meta name="description" content="A fire in the night.">
<meta property="article:published_time" content="2024-03-05T07:30:00+01:00">
<link rel="canonical" href="/news/mill"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/sport">Sport</a></li></ul></nav>
<article><h1>The old mill burns</h1>` +
		p("The old mill on the river burned down in the night, and nobody was hurt when the roof fell in.") +
		`<p>The fire brigade, <a href="../fire?x=1#top">which came from <b>the town</b></a>, needed four hours to put it out, and the mayor said that she would <a href="javascript:alert(1)">have it rebuilt</a> as soon as the money was found.</p>
<h2>What is left</h2>` + p("Only the walls are left of the mill that stood there for three hundred years, and the wheel in the water.") +
		`<ul><li>The wheel, which is of oak and weighs two tons</li><li>The walls, which are a yard thick</li></ul>
<table><tr><th>Year</th><th>Owner</th></tr><tr><td>1720</td><td>Miller</td></tr><tr><td>1980</td><td>Town</td></tr></table>` +
		p("The town had bought it in the year nineteen hundred and eighty and made it a museum for children.") + `</article>
<footer>Copyright Daily Post. All rights reserved. <a href="/imprint">Imprint</a></footer></body></html>`
}

func TestArticle(t *testing.T) {
	c, err := Article([]byte(story()), "https://post.example/news/2024/mill.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## What is left", "- The wheel, which is of oak", "| Year | Owner |", "| 1720 | Miller |",
		"[which came from](https://post.example/news/fire?x=1#top) [**the town**](https://post.example/news/fire?x=1#top), needed", "have it rebuilt as soon",
	} {
		if !strings.Contains(c.Markdown, want) {
			t.Errorf("Markdown lacks %q:\n%s", want, c.Markdown)
		}
	}
	for _, not := range []string{"Sport", "Imprint", "javascript", "All rights"} {
		if strings.Contains(c.Markdown, not) || strings.Contains(c.Text, not) {
			t.Errorf("has %q:\n%s", not, c.Markdown)
		}
	}
	want := Content{Title: "The old mill burns", Author: "Anna Weber", Site: "Daily Post", Description: "A fire in the night.", Language: "en",
		Published: time.Date(2024, 3, 5, 6, 30, 0, 0, time.UTC), Canonical: "https://post.example/news/mill",
		Links: []Link{{"https://post.example/news/fire?x=1#top", "which came from"}}, Markdown: c.Markdown, Text: c.Text}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
}

// A page is of the day that it names as its own, and of no other: neither of today, nor
// of a day of which it tells.
func TestPublished(t *testing.T) {
	text := strings.Repeat("<p>The mill on the river burned down in the night, and nobody was hurt when the roof fell in.</p>", 5)
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	for name, test := range map[string]struct {
		page, address string
		want          time.Time
	}{
		"no date":           {text, "https://a.example/x", time.Time{}},
		"copyright":         {text + "<footer>Copyright 2026 Mill</footer>", "https://a.example/x", time.Time{}},
		"a day it tells of": {text + "<p>It happened on 5 March 1998.</p><p>It is 2024-11-20.</p>", "https://a.example/x", time.Time{}},
		"today":             {text + "<div class=date>today</div>", "https://a.example/x", time.Time{}},
		"a clock":           {text + "<time>10:30</time><div class=date>10:30 AM</div>", "https://a.example/x", time.Time{}},
		"a kept page":       {text, "https://folder.invalid/x.html", time.Time{}},
		"its time":          {text + "<time datetime=2020-02-03>then</time>", "https://a.example/x", day(2020, 2, 3)},
		"its address":       {text, "https://a.example/2018/07/09/x", day(2018, 7, 9)},
		"its head":          {"<meta property=article:published_time content=2019-05-06>" + text, "https://a.example/x", day(2019, 5, 6)},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Article([]byte("<!doctype html><title>The mill</title>"+test.page), test.address)
			if err != nil || !c.Published.Equal(test.want) {
				t.Errorf("published %v, want %v (%v)", c.Published, test.want, err)
			}
		})
	}
}

func TestSmallPages(t *testing.T) {
	for name, test := range map[string]struct{ page, title, text string }{
		"empty":       {"", "", ""},
		"no text":     {"<title>Nothing</title><body></body>", "Nothing", ""},
		"a word":      {"<title>One</title><p>Hello</p>", "One", "Hello"},
		"no markup":   {"only words here", "", "only words here"},
		"in a script": {"<script>document.write('x')</script>", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Article([]byte(test.page), "http://a.example/")
			if errors.Is(err, ErrNoText) != (test.text == "") || c.Title != test.title || c.Text != test.text {
				t.Errorf("title %q, text %q, %v", c.Title, c.Text, err)
			}
		})
	}
}

// Pages are read at once by several without minding each other.
func TestConcurrent(t *testing.T) {
	want, err := Article([]byte(story()), "https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := Article([]byte(story()), "https://a.example/"); err != nil || got.Markdown != want.Markdown {
				t.Errorf("%v, %d bytes rather than %d", err, len(got.Markdown), len(want.Markdown))
			}
		})
	}
	wg.Wait()
}

func TestAddress(t *testing.T) {
	if _, err := Article([]byte("<p>x"), "http://a b\x7f/"); err == nil || strings.Contains(err.Error(), "\x7f") {
		t.Error(err)
	}
}
