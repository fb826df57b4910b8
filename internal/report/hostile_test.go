package report

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"

	"ponder"
	"ponder/internal/racetest"
	"ponder/internal/textkit"
	"ponder/mode/session"
)

// hostile texts try to break a report.
var hostile = []string{
	"<script>alert(1)</script>",
	"</p></section></main></body><h2>Owned</h2><script src=//evil></script>",
	"<img src=x onerror=alert(1)> <svg/onload=alert(1)> <style>*{display:none}</style> <iframe src=javascript:alert(1)>",
	"<!-- open comment",
	"</details> <details open> </summary>",
	"[click](javascript:alert(1)) [a](JaVaScRiPt:alert(1)) [b](data:text/html,<script>x</script>) [c](vbscript:x) [d](file:///etc/passwd) [e](//evil) [f](/etc/passwd)",
	"[click](&#106;avascript:alert(1)) [x](java\nscript:alert(1)) [y](\x01javascript:alert(1))",
	"<javascript:alert(1)> <https://ok.example/> <data:text/html,x>",
	"![pixel](https://evil.example/track.png) ![x](javascript:alert(1))",
	"[e1]: javascript:alert(1)\n\n[e1] and [e1](javascript:alert(1)) and [e1]&#40;javascript:alert(1)&#41; and [e1]\\(x)",
	"[1]: https://evil.example\n\n[1]",
	"[^1] and\n\n[^1]: a footnote",
	"# Owned\n\n## Owned\n\nOwned\n=====\n\nOwned\n-----\n",
	"text\n## Owned", "text\r## Owned", "text\u2028## Owned", "a&#10;## Owned", "a&#13;&#10;&#10;# Owned", "a\v# Owned",
	"&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;b&amp;gt; \\<b> \\&lt;b>",
	"```\nunclosed fence", "~~~\nunclosed", "`` unclosed `code", "    indented <b>code</b>", "```<script>\nx\n```\n```js onclick=alert(1)\n</code></pre><script>x</script>\n```",
	"| a | b |\n|---|---|\n| <b>x</b> | `a|b` \\| c |\n| [x](javascript:y) |",
	"- a\n- b\n\n1. c\n1) d\n\n> q\n\n* * *\n---\n***",
	"+ plus\n- minus\n1. one\n1986. A great year.\n> quote\n=\n===\n-\n",
	"\x1b[31mred\x1b[0m \x1b]0;title\x07 \u202egnp.exe\u202c \u200f \x9b31m &#27;[31m &#x202e;x",
	"\xff\xfe invalid \xc3", "\x00nul", "", " ", "\n\n\n", "*", "**", "_", "****", "* *", "__init__ and a_b_c and *star", "**bold ** not** here",
	"' onmouseover=alert(1) x='", "\" onmouseover=\"alert(1)", "{{.Policy}} {{template}} ${x}",
	"@import url(//evil); </style><script>x</script>",
	strings.Repeat("> ", 300) + "deep", strings.Repeat("- ", 300) + "deep", strings.Repeat("[", 500) + "x", strings.Repeat("*", 600) + "x", strings.Repeat("**a", 300),
	strings.Repeat("a", 3000), "http://user:pass@evil.example/ <http://user:pass@evil.example/>",
	"[nested [link](https://a.example)](https://b.example)", "[e1, e2; e77] [e1][e2] [e1",
}

func hostileSession(text string) session.View {
	d := &eventRecorder{}
	w := []string{text}
	d.appendAt("0s", ponder.RunStarted{Mode: session.Name, Input: text})
	d.appendAt("1s", ponder.Progress{Stage: "focus", Content: text, Iteration: 1},
		ponder.Evidence{ID: "e1", Source: text, Title: text, Content: text, End: len(text)}, ponder.Evidence{ID: "e2", Source: "thread:" + text, Content: text},
		ponder.Evidence{ID: "e3", Source: "https://ok.example/" + text, Content: text},
		ponder.SubQuestion{ID: "q1", Content: text, Why: text, By: text, Priority: 3}, ponder.SubQuestion{ID: "q2", Parent: "q1", Content: text, Priority: -4},
		ponder.SubQuestion{ID: text, Content: text}, ponder.QuestionUpdated{ID: "q1", Explored: true, Insights: text, Reason: text}, ponder.QuestionUpdated{ID: "q2", Dropped: true})
	for i := range 15 {
		d.appendAt("2s", ponder.Thought{Content: text, Kind: text, Number: i, Focus: text, Question: text, Confidence: float64(i) / 3, Cites: []string{"e1", text}, Against: w, Offset: -5, Model: text})
	}
	d.appendAt("2s", ponder.Steer{Do: ponder.Correct, Content: text})
	ref := d.evs[len(d.evs)-1].ID
	d.appendAt("3s", ponder.Progress{Stage: "steered", Ref: ref, Label: text, Content: text, Cancelled: w}, ponder.Steer{Do: ponder.SteerOp(text), Content: text, Args: []byte(`{"source":"` + "x" + `"}`)})
	for _, b := range []ponder.Synthesis{{Content: text, Trend: text}, {Content: text, Final: true}} {
		b.Insights, b.Remaining, b.Cites, b.Confidence, b.Offset, b.Model = w, w, []string{"e3"}, 7, 1e300, text
		d.appendAt("4s", b)
	}
	d.appendCall(text, 1, 2, 3, text)
	one := 0.5
	d.appendAt("5s", ponder.SystemNote{Content: text}, ponder.RunFinished{Status: ponder.Completed, Answer: text, Reason: text}, ponder.Resolution{Content: text, Outcome: &one})
	return d.sessionView()
}

func TestHostile(t *testing.T) {
	for _, text := range hostile {
		t.Run(textkit.TruncateWords(textkit.OneLine(text), 30), func(t *testing.T) { checkReports(t, text) })
	}
}

func FuzzReports(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4000 {
			checkReports(t, text)
		}
	})
}

// checkReports checks that a text cannot break a report.
func checkReports(t *testing.T, text string) {
	t.Helper()
	v := hostileSession(text)
	md := Markdown(v)
	checkText(t, md)
	checkMarkdown(t, md)
	page, err := HTML(v)
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, string(page))
	checkPage(t, string(page))
}

// checkText checks that a text has no control sequences.
func checkText(t *testing.T, s string) {
	t.Helper()
	for i, r := range s {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || '\u202a' <= r && r <= '\u202e' || r == unicode.ReplacementChar && s[i] != 0xef {
			t.Fatalf("%q at %d of %q", r, i, s[max(0, i-40):min(len(s), i+40)])
		}
	}
}

// ourSections are the allowed headings.
var ourSections = []string{
	"Answer", "How the answer was reached", "Confidence over time", "Key insights", "Open questions", "Questions", "Questions and insights", "Sources", "Also read",
	"Syntheses", "Corrections", "Steering", "Thoughts", "Cost", "Notes",
	"Changes", "Conflicts between sources", "Not confirmed", "Claims", "Searches", "Course of the research",
}

// checkMarkdown renders a report with a permissive reader.
func checkMarkdown(t *testing.T, md string) {
	t.Helper()
	src := []byte(md)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote)).Parser().Parse(text.NewReader(src))
	var sections []string
	top := 0
	_ = ast.Walk(doc, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if !in {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 {
				top++
			}
			if n.Level == 2 {
				sections = append(sections, string(n.Lines().Value(src)))
			}
		case *ast.HTMLBlock:
			for line := range strings.SplitSeq(strings.TrimSpace(string(n.Lines().Value(src))), "\n") {
				if line != "<details>" && line != "</details>" && line != "<summary>15 thoughts</summary>" {
					t.Errorf("HTML: %q", line)
				}
			}
		case *ast.RawHTML:
			t.Errorf("HTML: %q", n.Segments.Value(src))
		case *ast.Image:
			t.Errorf("a picture of %q", n.Destination)
		case *ast.Link:
			checkLink(t, string(n.Destination))
		case *ast.AutoLink:
			checkLink(t, string(n.URL(src)))
		}
		return ast.WalkContinue, nil
	})
	for _, s := range sections {
		if !slices.Contains(ourSections, s) {
			t.Errorf("a section %q", s)
		}
	}
	if got := slices.Compact(slices.Sorted(slices.Values(sections))); len(got) != len(sections) || top != 1 {
		t.Errorf("%d titles, sections %q", top, sections)
	}
	if t.Failed() {
		t.Logf("the report:\n%s", md)
	}
}

func checkLink(t *testing.T, to string) {
	t.Helper()
	lower := strings.ToLower(to)
	for _, ok := range []string{"http://", "https://", "mailto:", "#source-", "#answer", "#claim-"} {
		if strings.HasPrefix(lower, ok) {
			return
		}
	}
	if strings.Contains(to, "@") && !strings.Contains(to, ":") {
		return
	}
	t.Errorf("a link to %q", to)
}

// Allowed elements and attributes of a page.
var (
	ourElements = strings.Fields("html head meta title style body a main header h1 h2 h3 h4 h5 h6 p section div figure svg desc g line text circle path figcaption ul ol li " +
		"img span strong em s code pre blockquote hr br details summary table thead tbody tr th td footer")
	ourAttributes = strings.Fields("lang charset http-equiv content name class href id dir rel aria-label aria-labelledby aria-hidden role tabindex start scope viewBox " +
		"x x1 x2 y y1 y2 dy cx cy r d text-anchor alt width height rowspan data-head src title")
)

func checkPage(t *testing.T, page string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids := make(map[string]bool)
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.CommentNode {
			t.Errorf("a comment %q", n.Data)
		}
		if n.Type == html.ElementNode {
			if !slices.Contains(ourElements, n.Data) {
				t.Errorf("an element %s", n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case !slices.Contains(ourAttributes, a.Key):
					t.Errorf("an attribute %s of %s", a.Key, n.Data)
				case a.Key == "src" && !pictureURI.MatchString(a.Val):
					t.Errorf("a picture of %q", a.Val)
				case a.Key == "href":
					checkLink(t, a.Val)
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("two of %s", a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				}
			}
			if n.Data == "h2" && !slices.Contains(ourSections, n.FirstChild.Data) {
				t.Errorf("a section %q", n.FirstChild.Data)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(doc)
	if n := strings.Count(page, "<h1"); n != 1 {
		t.Errorf("%d titles", n)
	}
}

// No text of a model slows down a report: linear work takes some 50 ms here, quadratic work
// half a minute.
func TestReadingIsQuick(t *testing.T) {
	racetest.Skip(t, "one goroutine, and it compares times")
	r := newReader(nil)
	for _, unit := range []string{
		"[", "[a](", "![", "*a ", "**a", "_a_", "~~a", "`", "`a``", "> ", "- ", "1. ", "1.\t", ">1.- ", "  - a\n", "<a", "<http://a", "&", "&#1", "\\", "| a ", "|-", "a\n|-\n", "# ", "=\n", "[a]: b\n", "***", "a*b_c", "](", "![](", "\t", "a  \n", "```\n", "> a\n\n",
	} {
		text := strings.Repeat(unit, maxProse/2/len(unit))
		for name, read := range map[string]func(){"prose": func() { r.parseProse(text) }, "inline": func() { r.parseInline(text) }} {
			start := time.Now()
			read()
			if took := time.Since(start); took > 15*time.Second {
				t.Errorf("%s of %q took %v", name, unit, took)
			}
		}
	}
}
