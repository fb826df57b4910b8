package report

import (
	"fmt"
	"html"
	"ponder/internal/textkit"
	"strings"
)

func (p *page) answer() {
	p.put(`
<section id="answer" aria-labelledby="h-answer">
<h2 id="h-answer">Answer</h2>`)
	p.putIf(`<p class="remark">%s</p>`, p.doc.Remark)
	if p.doc.NoAnswer != "" {
		p.put(`<p class="remark">%s</p>`, textkit.OneLine(p.doc.NoAnswer))
	}
	p.put("\n"+`<div class="prose">%s</div>`+"\n</section>\n", p.prose(p.doc.AnswerMD))
}

func (p *page) insights() {
	if len(p.doc.InsightsMD) == 0 {
		return
	}
	p.section("insights", "Key insights", func() {
		p.put("\n" + `<ul class="insights">`)
		p.items(p.doc.InsightsMD)
		p.put("</ul>")
	})
}

// items writes lines of Markdown as what is in a list.
func (p *page) items(list []string) {
	for _, md := range list {
		p.put(`<li dir="auto">%s</li>`, p.line(md))
	}
}

func (p *page) open() {
	if len(p.doc.Open) == 0 {
		return
	}
	p.section("open", "What is still open", func() {
		p.put("\n" + `<ul class="still">`)
		for _, o := range p.doc.Open {
			p.put(`<li dir="auto">%s`, p.line(o.TextMD))
			if o.Priority != 0 {
				p.put(` <span class="marks">priority %d`, o.Priority)
				if o.Mark != "" {
					p.put(" · %s", textkit.OneLine(o.Mark))
				}
				p.put("</span>")
			}
			p.put("</li>")
		}
		p.put("</ul>")
	})
}

func (p *page) tree() {
	if len(p.doc.Tree) > 0 {
		p.section("questions", "Questions, and what was learned", func() { p.put("\n%s", p.nodes()) })
	}
}

// nodes returns the questions as lists in lists, as deep as they are.
func (p *page) nodes() markup {
	var b strings.Builder
	depth := -1
	for _, n := range p.doc.Tree {
		switch {
		case n.Depth > depth:
			b.WriteString(`<ul class="tree">`)
			depth++ // a tree is never more than one deeper than what it is below
		default:
			b.WriteString("</li>" + strings.Repeat("</ul></li>", depth-n.Depth))
			depth = n.Depth
		}
		state := html.EscapeString(string(n.State))
		fmt.Fprintf(&b, `<li class="%s"><div class="q"><span class="state" aria-hidden="true">%s</span> <span class="qtext" dir="auto">%s</span> <span class="marks">%s</span></div>`,
			state, stateMarks[n.State], p.line(n.Text), html.EscapeString(strings.Join(append([]string{string(n.State)}, questionMarks(n.Question)...), " · ")))
		if n.Insights != "" {
			fmt.Fprintf(&b, `<p class="learned" dir="auto">%s</p>`, p.line(n.Insights))
		}
	}
	if depth >= 0 {
		b.WriteString("</li></ul>" + strings.Repeat("</li></ul>", depth))
	}
	return markup(b.String())
}

func (p *page) sources() {
	p.list("sources", "Sources", p.doc.Sources, len(p.doc.AlsoRead) == 0)
	p.list("also-read", "Also read", p.doc.AlsoRead, true)
}

// list lists sources by their numbers; the last list says how much is not cited.
func (p *page) list(id, title string, sources []source, last bool) {
	if len(sources) == 0 {
		return
	}
	p.section(id, title, func() {
		p.put("\n"+`<ol class="sources" start="%d">`, sources[0].N)
		for _, s := range sources {
			p.source(s)
		}
		p.put("\n</ol>")
		if n := p.doc.Uncited; n > 0 && last {
			p.put(`<p class="marks">%s found and not cited.</p>`, count(n, "more passage was", "more passages were"))
		}
	})
}

func (p *page) source(s source) {
	p.put("\n"+`<li id="source-%d" dir="auto">`, s.N)
	if s.Title != "" {
		p.put("<strong>%s</strong> ", textkit.OneLine(s.Title))
	}
	p.put(`<span class="where">`)
	if s.URL != "" {
		p.put(`<a href="%s" rel="noopener noreferrer nofollow">%s</a>`, address(s.URL), s.Where)
	} else {
		p.put("%s", textkit.OneLine(s.Where))
	}
	p.put("</span>")
	p.putIf(` <span class="marks">%s</span>`, s.Place)
	p.putIf(` <span class="marks">%s</span>`, s.Mark)
	p.putIf("<blockquote>%s</blockquote>", textkit.OneLine(s.Quote))
	p.put("</li>")
}
