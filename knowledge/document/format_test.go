package document

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ponder/internal/racetest"
)

func formatContent(c Content) string {
	var b strings.Builder
	if c.Title != "" {
		fmt.Fprintf(&b, "T %s\n", c.Title)
	}
	for _, block := range c.Blocks {
		s := normaliseText(block)
		if s == "" {
			continue
		}
		kind := string("PHIRC"[block.Kind])
		if block.Kind == Heading {
			kind += fmt.Sprint(block.Level)
		}
		fmt.Fprintf(&b, "%s %s\n", kind, strings.ReplaceAll(s, "\n", "⏎"))
	}
	return b.String()
}

type formatCase struct{ name, in, want string }

func checkFormat(t *testing.T, cases []formatCase, read func(string) (Content, error)) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := read(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, formatContent(got)); diff != "" {
				t.Errorf("outline (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarkdown(t *testing.T) {
	checkFormat(t, []formatCase{
		{"headings", "# One #\n\ntext\n\nTwo\n---\n### Three {#id}\n#hash", "T One\nH1 One\nP text\nH2 Two\nH3 Three\nP #hash\n"},
		{"underlined title", "Big\n===\n\ntext", "T Big\nH1 Big\nP text\n"},
		{"wrapped", "A line that is long enough to be wrapped here\nAnd goes on.\n\nSecond.", "P A line that is long enough to be wrapped here And goes on.\nP Second.\n"},
		{"short lines", "Call Anna\nBuy milk\nand bread", "I Call Anna\nI Buy milk and bread\n"},
		{"wrapped Chinese", "今天的天气非常好，我们决定一起去城外的公园里散步，\n看花和树。", "P 今天的天气非常好，我们决定一起去城外的公园里散步，看花和树。\n"},
		{"hard break", "one  \nTwo\\\nthree", "I one\nI Two\nI three\n"},
		{"emphasis", "*a* **b** ***c*** _d_ __e__ ~~f~~ ==g== snake_case 2*3 2 * 3 a~b", "P a b c d e f g snake_case 2*3 2 * 3 a~b\n"},
		{"links", `[a](http://x "t") ![pic](p.png) [b][ref] [[Page]] [[Page|c]] <http://y.z> [d] text[^1].` + "\n\n[ref]: http://q", "P a pic b Page c http://y.z [d] text.\n"},
		{"link in link", "[![badge](b.svg)](http://x) and [a [b] c](u(v)w)", "P badge and a [b] c\n"},
		{"code", "Use `a*b*` and ``x`y``:\n\n```go\nfunc f() {\n\n}\n```\nafter", "P Use a*b* and x`y:\nC func f() {⏎⏎}\nP after\n"},
		{"longer fence", "````\n```\n````\nx", "C ```\nP x\n"},
		{"open fence", "~~~\nabc", "C abc\n"},
		{"indented code", "text\n\n    code\n\n    more\n\nend", "P text\nC code⏎⏎more\nP end\n"},
		{"list", "- one\n- two\n  goes on\n\n  still two\n* [x] three\n1. four\n2) five\n    - six\n\n        deep", "I one\nI two goes on\nP still two\nI three\nI 1. four\nI 2) five\nI six\nP deep\n"},
		{"table", "| a | b |\n|---|:-:|\n| 1 | *2* |\n| 3 |  |\nend", "R a | b\nR 1 | 2\nR 3\nP end\n"},
		{"no table", "a | b", "P a | b\n"},
		{"quotation", "> said\n>> twice\n> \n> - item", "P said twice\nI item\n"},
		{"front matter", "---\ntitle: \"My Day\"\ntags: [a]\n---\n# Other\ntext", "T My Day\nH1 Other\nP text\n"},
		{"TOML front matter", "+++\ntitle = 'My Day'\n+++\ntext", "T My Day\nP text\n"},
		{"rule is no front matter", "---\ntext", "P text\n"},
		{"HTML", "a<br>b <b>c</b> <!-- gone --> &amp; &copy; 3 < 4 > 2\n<!-- all\ngone --> kept\n<script>no\n</script>\n<div>\n\nyes", "P a b c & © 3 < 4 > 2\nP kept\nP yes\n"},
		{"escapes", `\*not\* \# \[x\] C:\dir`, "P *not* # [x] C:\\dir\n"},
		{"rules", "a\n\n***\n\nb\n\n- - -", "P a\nP b\n"},
		{"footnote", "[^1]: The note.\n", "P The note.\n"},
		{"carriage returns", "# A\r\n\r\nb\r\n", "T A\nH1 A\nP b\n"},
		{"empty", "", ""},
	}, func(s string) (Content, error) { return Markdown(s), nil })
}

func TestPlain(t *testing.T) {
	checkFormat(t, []formatCase{
		{"paragraphs", "One line.\nIt goes.\n\nTwo.", "I One line.\nI It goes.\nP Two.\n"},
		{"wrapped", "This is a paragraph that was wrapped at a margin\nof a few dozen letters. It has no other lines.", "P This is a paragraph that was wrapped at a margin of a few dozen letters. It has no other lines.\n"},
		{"headings", "INTRODUCTION\n\nText here.\n\nHistory\n=======\n\n3. The Sea\n\nText, too.", "T INTRODUCTION\nH2 INTRODUCTION\nP Text here.\nH1 History\nI 3. The Sea\nP Text, too.\n"},
		{"list", "Bring:\n- rope\n- a very long rope that reaches down to the sea\n  and back\n* tape", "I Bring:\nI rope\nI a very long rope that reaches down to the sea and back\nI tape\n"},
		{"talk", "Anna: where were we, then, when all of this was going on?\nBen Moss: out.\nAnna: ah", "I Anna: where were we, then, when all of this was going on?\nI Ben Moss: out.\nI Anna: ah\n"},
		{"log", "2026-01-02 10:00 the first thing that happened on that day\n2026-01-02 10:05 The second", "I 2026-01-02 10:00 the first thing that happened on that day\nI 2026-01-02 10:05 The second\n"},
		{"no heading", "anna came\n\nWhat now?\n\nHe said so, once", "P anna came\nP What now?\nP He said so, once\n"},
		{"drawn line", "a\n-----\nb", "I a\nI b\n"},
		{"wrapped Chinese", "今天的天气非常好，我们决定一起去城外的公园里散步，\n  看花和树。 他说\n不去。\n\n今天的天气非常好，我们决定一起去城外的公园里散步，\n\u3000\u3000看花。", "I 今天的天气非常好，我们决定一起去城外的公园里散步，看花和树。 他说\nI 不去。\nI 今天的天气非常好，我们决定一起去城外的公园里散步，\nI 看花。\n"},
		{"wrapped Chinese with Latin", "今天的天气非常好，我们决定一起去城外的公园里散步，\nGo 语言。", "P 今天的天气非常好，我们决定一起去城外的公园里散步， Go 语言。\n"},
		{"wrapped Korean", "우리는 오늘 날씨가 아주 좋아서 함께 공원에 산책하러\n가기로 했다.", "P 우리는 오늘 날씨가 아주 좋아서 함께 공원에 산책하러 가기로 했다.\n"},
	}, func(s string) (Content, error) { return Plain(s), nil })
}

func TestHTML(t *testing.T) {
	checkFormat(t, []formatCase{
		{"page", "<!doctype html><html><head><title>Tides | Site</title><style>p{}</style></head><body><nav>Home</nav><h1>Tides</h1><p>High <b>ti</b>de.<p>Low.<footer>(c)</footer>", "T Tides\nH1 Tides\nP High tide.\nP Low.\n"},
		{"main part", "<title>x</title><div>menu</div><h1>Tides</h1><main><p>" + strings.Repeat("water ", 50) + "</main>end", "T x\nH1 Tides\nP " + strings.TrimSpace(strings.Repeat("water ", 50)) + "\n"},
		{"main part of a quarter", "<p>" + strings.Repeat("around ", 100) + "<main><p>" + strings.Repeat("water ", 40) + "</main>", "P " + strings.TrimSpace(strings.Repeat("water ", 40)) + "\n"},
		{"main part that is a trifle", "<p>" + strings.Repeat("around ", 150) + "<main><p>" + strings.Repeat("water ", 40) + "</main>",
			"P " + strings.TrimSpace(strings.Repeat("around ", 150)) + "\nP " + strings.TrimSpace(strings.Repeat("water ", 40)) + "\n"},
		{"title", "<title>A &amp; B</title><p>x", "T A & B\nP x\n"},
		{"breaks", "a<br>b<hr>c<div>d</div>e", "P a\nP b\nP c\nP d\nP e\n"},
		{"list", "<ul><li>one<li><p>two</p><ul><li>three</ul></ul><dl><dt>t<dd>d</dl>", "I one\nP two\nI three\nI t\nI d\n"},
		{"table", "<table><tr><th>a<th>b</tr><tr><td><p>1</p></td><td><a href=x>2</a><br>3</td></tr></table>z", "R a | b\nR 1 | 2 3\nP z\n"},
		{"code", "<pre><code>if x &lt; 1 {\n  y\n}</code></pre>z", "C if x < 1 {⏎  y⏎}\nP z\n"},
		{"hidden", `a<p hidden>no</p><div style="color:red; Display: None"><div>no</div>no</div><span aria-hidden=true>no</span> b<script>no</script><noscript>no</noscript><template>no</template>`, "P a\nP b\n"},
		{"hidden without an end tag", "<p>A<p hidden>no<b>no</b><br>no<p>B<div><p hidden>no</div>C<p hidden>no<hr>D", "P A\nP B\nP C\nP D\n"},
		{"hidden item without an end tag", "<ul><li aria-hidden=true>no<ul><li>no<li>no</ul>no<li>A<li hidden>no</ul><p>B", "I A\nP B\n"},
		{"hidden item with an end tag", "<ul><li hidden>no<ul><li>no<li>no</ul>no</li><li>A</ul>B", "I A\nP B\n"},
		{"hidden entry without an end tag", "<dl><dt>A<dd hidden>no<dl><dd>no</dl>no<dt hidden>no<dd>B<dd hidden>no</dl>C", "I A\nI B\nP C\n"},
		{"hidden cells without an end tag", "<table><tr><td>A<td hidden>no<table><tr><td>no</table>no<th>B<td hidden>no<tr hidden><td>no<td>no<tr><td>C<tr><td hidden>no</table>D", "R A | B\nR C\nP D\n"},
		{"hidden part of a table", "<table><thead hidden><tr><th>no<tbody><tr><td>A<tfoot hidden><tr><td>no</table>B", "R A\nP B\n"},
		{"hidden option", "<div>A<option hidden>no<option>B<option hidden>no</div><p>C", "P A\nP B\nP C\n"},
		{"hidden paragraph around blocks", "<p hidden>no<button><div>no</div></button>no</b>no<object><p>no</object>no<section>A</section>", "P A\n"},
		{"ruby without end tags", "<p><ruby>漢<rp>(<rt>kan<rp>)</ruby>字<p>B", "P 漢字\nP B\n"},
		{"entities", "&amp;lt; &lt;b&gt; caf&eacute; &#x41; &nosuch; &#xD800;", "P &lt; <b> café A &nosuch;\n"},
		{"unclosed", "<nav>menu<p>this is in a menu that nobody ever closed, so it is all there is", "P menu\nP this is in a menu that nobody ever closed, so it is all there is\n"},
		{"ruby and marks", "<p><ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>字 x<sup>2</sup>", "P 漢字 x2\n"},
		{"textarea, select", "<p>a<textarea>no</textarea><select><option>no</select>b", "P a\nP b\n"},
		{"broken", "<p <b>a</b></p></div></nav><><//><p/>b<![CDATA[c]]><!-->d", "P a\nP <>\nP bd\n"},
		{"Shift_JIS", "<meta charset=shift_jis><p>\x93\xfa\x96\x7b", "P 日本\n"},
		{"Latin-1", "<p>caf\xe9", "P café\n"},
	}, func(s string) (Content, error) { return HTML([]byte(s)) })
}

func TestHostileFormats(t *testing.T) {
	n := 1 << 18 / racetest.Stride(8)
	for name, unit := range map[string]string{
		"tags": "<div>", "hidden": "<div hidden>", "tables": "<table><tr><td>", "formatting": "<a><b>", "attributes": "<p a=b ",
		"entities": "&amp;", "entity starts": "&", "comments": "<!--", "closed comments": "<!-- -->", "brackets": "[", "links": "[](", "targets": "](", "ticks": "` ``",
		"one tick": "`", "stars": "*", "words in stars": "*a", "pipes": "|", "rows": "|a\n|-\n", "quotes": "> ", "marks": "-\n", "hashes": "#", "fences": "```\n",
		"escapes": "\\", "scripts": "<script></script>", "less": "<", "open tags": "<a", "stops": ". ", "all stops": ".", "closers": ".\")]", "letters": "x", "lines": "a\n",
		"notes": "[^", "pages": "[[", "numbers": "1. ", "colons": "A: ", "wide": "。", "plaintext": "<plaintext>", "pre": "<pre>", "br": "<br>",
		"hidden items": "<li hidden><ul>", "hidden paragraphs": "<p hidden><b>", "cells": "<td hidden></tr>", "initials": "a. A. ", "days": "am 9. 11. ", "Greek": "α; ",
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Repeat(unit, n/len(unit))
			began := time.Now()
			page, err := HTML([]byte(text))
			if err != nil {
				t.Errorf("HTML: %v", err)
			}
			for _, c := range []Content{page, Markdown(text), Plain(text)} {
				KeyTerms(NewDocument("x", "x", c).Text, 3)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			} else if took > 500*time.Millisecond {
				t.Logf("it took %v", took)
			}
		})
	}
}

func checkDocument(t *testing.T, d *Document) {
	t.Helper()
	if !utf8.ValidString(d.Text) {
		t.Fatal("the text is not UTF-8")
	}
	var spans []span
	for i, s := range d.Sentences {
		spans = append(spans, span{s.Start, s.End})
		if !d.Verify(d.Quote(i), s.Start, s.End) || d.SentenceAt(s.Start) != i {
			t.Fatalf("sentence %d is not at its place", i)
		}
		if s.Section >= len(d.Sections) {
			t.Fatalf("sentence %d is in section %d of %d", i, s.Section, len(d.Sections))
		}
	}
	checkSpans(t, d.Text, spans)
	for i, s := range d.Sections {
		if s.Parent >= i || s.Start > s.End || s.End > len(d.Text) || !strings.HasPrefix(d.Text[s.Start:], s.Title) {
			t.Fatalf("section %d: %+v", i, s)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# A\n\n- *b* [c](d) `e`\n\n| f | g |\n|--|--|\n| h |\n\n```\ni\n```\n<!-- j -->")
	f.Fuzz(func(t *testing.T, text string) { checkDocument(t, NewDocument("/f.md", "f", Markdown(text))) })
}

func FuzzPlain(f *testing.F) {
	f.Add("TITLE\n\n- a\n- b\n\nAnna: c\n2026-01-02 d\n====\n")
	f.Fuzz(func(t *testing.T, text string) { checkDocument(t, NewDocument("/f.txt", "f", Plain(text))) })
}

func FuzzHTML(f *testing.F) {
	f.Add([]byte("<title>a</title><h1>b</h1><p hidden>c<table><tr><td>d<td>e</table><pre>f\n</pre><ul><li>&amp;"))
	f.Fuzz(func(t *testing.T, page []byte) {
		c, err := HTML(page)
		if err != nil {
			return
		}
		checkDocument(t, NewDocument("/f.html", "f", c))
	})
}
