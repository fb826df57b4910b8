package extract

import (
	"sort"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ponder/internal/racetest"
)

// hostilePages pages aim at unlimited time, memory or stack.
func hostilePages() map[string]string {
	n := func(s string, times int) string { return strings.Repeat(s, times/4) }
	return map[string]string{
		"deep divs":             n("<div>", 1_000_000) + "the text" + n("</div>", 1_000_000),
		"deep lists":            n("<ul><li>x", 300_000),
		"deep quotes":           n("<blockquote>line ", 200_000),
		"deep tables":           n("<table><tr><td>x", 200_000),
		"styles and paragraphs": n("<b><font color=x>", 100_000) + n("<p>x", 300_000),
		"different styles":      n("<font size=1><b class=a><i class=b>", 5_000) + n("<p>word word", 100_000),
		"misnested":             n("<a href=x><div><b>y</a></div>", 100_000),
		"paragraphs":            n("<p>A short line of text here.", 300_000),
		"one long line":         "<p>" + n("word ", 2_000_000),
		"no blanks":             "<p>" + n("x", 5_000_000),
		"a wide row":            "<table><tr>" + n("<td>x", 50_000) + n("<tr><td>y", 50_000) + "</table>",
		"huge spans":            "<table>" + n("<tr><td colspan=1000000 rowspan=1000000>x", 1000) + "</table>",
		"a wide cell":           "<table><tr><td>" + n("x", 1_000_000) + n("<tr><td>y", 50_000) + "</table>",
		"attributes":            "<div " + n("a=b ", 500_000) + ">x</div>" + n("<body c=d e=f>", 100_000),
		"many names":            attrList(50_000),
		"an open comment":       "<p>text</p><!--" + n("-", 5_000_000),
		"an open tag":           "<p>text</p><a href=" + n("x", 5_000_000),
		"an open script":        "<p>text</p><script>" + n("<!--<script>", 500_000),
		"links":                 n("<a href=/x>A link to read more</a> ", 200_000),
		"entities":              n("&amp;&#1114111;&CounterClockwiseContourIntegral;", 100_000),
		"zeros":                 n("\x00<p>\x00x", 300_000),
		"select":                n("<select><option>x<table>", 100_000),
		"templates":             n("<template><tr>", 100_000),
		"svg":                   n("<svg><foreignObject><math><mi>", 50_000),
		"frames":                "<frameset>" + n("<frame>", 100_000),
		"dates":                 n("<span>2024-01-02 03/04/2021 12. März 1999</span>", 50_000),
		"json":                  `<script type="application/ld+json">` + n(`{"@graph":[`, 200_000) + "</script><p>text",
		"headings":              n("<h1>x</h1><h2>y</h2>", 100_000),
		"forms":                 n("<form><input><label>x", 100_000),
	}
}

func attrList(n int) string {
	var b strings.Builder
	b.WriteString("<p ")
	for i := range n {
		b.WriteString("a")
		for ; i > 0; i /= 10 {
			b.WriteByte(byte('0' + i%10))
		}
		b.WriteString("=1 ")
	}
	return b.String() + ">text"
}

const forever = time.Minute

// Each usually takes less than a second.
func TestHostile(t *testing.T) {
	racetest.Skip(t, "one goroutine a page")
	for name, page := range hostilePages() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			c, _ := Article([]byte(page), "https://a.example/")
			took := time.Since(start)
			if took > forever {
				t.Errorf("took %v", took)
			}
			if len(c.Markdown) > 3*len(page)+1000 {
				t.Errorf("%d bytes made of %d", len(c.Markdown), len(page))
			}
			t.Logf("%s: %v, %d bytes, plain %v, truncated %v", name, took.Round(time.Millisecond), len(c.Text), c.Plain, c.Truncated)
		})
	}
}

// Even the largest tree of each takes the libraries only seconds.
func TestHostileTree(t *testing.T) {
	racetest.Skip(t, "one goroutine a page, and minutes for all of them")
	for name, page := range hostilePages() {
		t.Run(name, func(t *testing.T) {
			n := sort.Search(len(page), func(n int) bool { return boundPage(page[:n]).large })
			start := time.Now()
			c, _ := Article([]byte(page[:max(0, n-1)]), "https://a.example/")
			took := time.Since(start)
			if took > forever {
				t.Errorf("%s: took %v", name, took)
			}
			t.Logf("%v for %d bytes of %s, %d bytes made, plain %v", took.Round(time.Millisecond), n, name, len(c.Markdown), c.Plain)
		})
	}
}

func TestTooLong(t *testing.T) {
	page := strings.Repeat("<p>Ein Müller mahlt.</p>\n", MaxPage/20)
	c, err := Article([]byte(page), "https://a.example/")
	if err != nil || !c.Truncated || !strings.HasPrefix(c.Text, "Ein Müller mahlt.") {
		t.Errorf("%v, truncated %v, %.40q", err, c.Truncated, c.Text)
	}
}

// Pages are read even if the libraries fail.
func TestPlain(t *testing.T) {
	b := boundPage(storyPage())
	c := readPlain(b.page, b.metadata)
	if !strings.Contains(c.Markdown, "## What is left") || strings.Contains(c.Text, "Imprint") || strings.Contains(c.Text, "Sport") {
		t.Error(c.Markdown)
	}
	if c.Title != "The old mill burns | Daily Post" || c.Author != "Anna Weber" || c.Published.IsZero() || !c.Plain {
		t.Errorf("%+v", c)
	}
	if _, ok := readWithTimeout(b.page, b.metadata, 0); ok {
		t.Error("a reading that had no time is taken")
	}
}

func TestEncodings(t *testing.T) {
	for name, test := range map[string]struct{ page, want string }{
		"utf-8, said to be another": {`<meta charset="iso-8859-1"><p>Grüße`, "Grüße"},
		"latin-1":                   {"<meta charset=iso-8859-1><p>Gr\xfc\xdfe", "Grüße"},
		"not said":                  {"<p>Gr\xfc\xdfe", "Grüße"},
		"utf-16":                    {"\xff\xfe<\x00p\x00>\x00h\x00i\x00", "hi"},
		"shift-jis":                 {"<meta charset=shift_jis><p>\x93\xfa\x96{", "日本"},
		"broken":                    {"<meta charset=utf-8><p>a\xff\xfeb", "a\uFFFD\uFFFDb"},
		"controls":                  {"<p>a\x1b[31mb\u202ec\u200bd&#7;&#x202e;e", "abcde"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Article([]byte(test.page), "https://a.example/")
			if err != nil || c.Text != test.want {
				t.Errorf("%q, %v", c.Text, err)
			}
		})
	}
}

func FuzzArticle(f *testing.F) {
	f.Add([]byte(storyPage()))
	for _, page := range hostilePages() {
		f.Add([]byte(page[:min(len(page), 2000)]))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		c, err := Article(page, "https://a.example/b/c")
		if (err == nil) != (c.Text != "") || !utf8.ValidString(c.Markdown) || !utf8.ValidString(c.Title) {
			t.Errorf("%v: %+v", err, c)
		}
		for _, l := range c.Links {
			if !strings.HasPrefix(l.URL, "http") {
				t.Errorf("link to %q", l.URL)
			}
		}
	})
}
