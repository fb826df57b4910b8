package extract

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// storyPage has all parts of a page.
func storyPage() string {
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
	c, err := Article([]byte(storyPage()), "https://post.example/news/2024/mill.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## What is left", "- The wheel, which is of oak", "| Year | Owner |", "| 1720 | Miller |",
		"[which came from **the town**](https://post.example/news/fire?x=1#top), needed", "have it rebuilt as soon",
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
		Links: []Link{{"https://post.example/news/fire?x=1#top", "which came from the town"}}, Markdown: c.Markdown, Text: c.Text}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
}

// The date is only that of publication, not of today or an event.
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
		"its first date":    {"<aside class=date>1 May 2001</aside><p class=post-date>5 March 2019</p>" + text, "https://a.example/x", day(2019, 3, 5)},
		"its own, not then": {"<time datetime=2010-01-01>then</time><span itemprop=datePublished content=2011-12-13>" + text, "https://a.example/x", day(2011, 12, 13)},
		"its data":          {`<script type="application/ld+json">{"@context":"https://schema.org","@type":"NewsArticle","datePublished":"2017-08-09T10:11:12Z"}</script>` + text, "https://a.example/x", time.Date(2017, 8, 9, 10, 11, 12, 0, time.UTC)},
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

func TestFindDay(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"2024-03-05", "2024-03-05"}, {"/2024/03/05/mill", "2024-03-05"}, {"20240305", "2024-03-05"}, {"2024-03-05T23:30:00+01:00", "2024-03-05"},
		{"5.3.2024", "2024-03-05"}, {"05/03/2024", "2024-03-05"}, {"on 5 March 2024, 10:30", "2024-03-05"}, {"Mar 5th, 2024", "2024-03-05"},
		{"March 5, 2024", "2024-03-05"}, {"Tuesday, 5 March 2024", "2024-03-05"}, {"Dienstag, 5. März 2024", "2024-03-05"}, {"1er août 2024", "2024-08-01"},
		{"5 de marzo de 2024", "2024-03-05"}, {"6 juin 2024", "2024-06-06"}, {"6 juillet 2024", "2024-07-06"}, {"6 luglio 2024", "2024-07-06"},
		{"31 February 2024", ""}, {"2024-13-05", ""}, {"5 sheep 2024", ""}, {"next week", ""}, {"10:30", ""}, {"1234567890", ""}, {"5 March 1850", ""}, {"", ""},
	} {
		got := ""
		if day := findDay(test.text); !day.IsZero() {
			got = day.Format(time.DateOnly)
		}
		if got != test.want {
			t.Errorf("findDay(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

// Pictures and captions are removed, tables in figures kept.
func TestPictures(t *testing.T) {
	p := strings.Repeat("<p>The mill on the river burned down in the night, and nobody was hurt when the roof fell in.</p>", 4)
	page := "<!doctype html><title>The mill</title><article>" + p + `<figure><img src=x.png alt="the mill"><figcaption>Below a picture</figcaption></figure>
<div class="image Caption-text"><p>Beside a picture</p></div><figure><table><tr><th>Year</th><th>Owner</th></tr><tr><td>1720</td><td>Miller</td></tr></table></figure>` + p + "</article>"
	c, err := Article([]byte(page), "https://a.example/")
	if err != nil || strings.Contains(c.Markdown, "picture") || strings.Contains(c.Markdown, "![") || !strings.Contains(c.Markdown, "| 1720 | Miller |") {
		t.Errorf("%v:\n%s", err, c.Markdown)
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

func TestConcurrent(t *testing.T) {
	want, err := Article([]byte(storyPage()), "https://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := Article([]byte(storyPage()), "https://a.example/"); err != nil || got.Markdown != want.Markdown {
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
