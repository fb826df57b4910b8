package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ponder/internal/textkit"
	"ponder/mode/session"
)

func (p *page) syntheses() {
	if len(p.doc.Syntheses) == 0 {
		return
	}
	p.section("evolved", "How understanding evolved", func() {
		for i, s := range p.doc.Syntheses {
			p.synthesis(s, i == len(p.doc.Syntheses)-1)
		}
	})
}

func (p *page) synthesis(s session.Synthesis, last bool) {
	p.put("\n" + `<details class="synthesis">`)
	p.summary(s)
	p.putIf(`<p class="marks">What speaks for it: %s.</p>`, basis(s.Basis))
	if s.Final && last {
		p.put("<p>It is the answer above.</p>")
	} else {
		p.put(`<div class="prose">%s</div>`, p.prose(s.Text))
	}
	p.named("Insights", s.Insights)
	p.named("Open then", s.Remaining)
	p.put("\n</details>")
}

// summary writes what is shown of a synthesis while it is folded.
func (p *page) summary(s session.Synthesis) {
	gist := "The answer"
	if !s.Final {
		gist = textkit.TruncateWords(textOf(p.read.prose(s.Text)), maxGist)
	}
	p.put(`<summary><span class="at">%s</span> <span class="what">%s</span> <span class="marks">%s</span></summary>`, clock(s.Offset), gist, strings.Join(synthesisMarks(s, textkit.OneLine(s.Trend)), " · "))
}

// named writes a list with a title of ours, unless it is empty.
func (p *page) named(title string, list []string) {
	if len(list) > 0 {
		p.put("<h3>%s</h3><ul>", title)
		p.items(list)
		p.put("</ul>")
	}
}

// maxGist is how many letters of a synthesis are shown while it is folded.
const maxGist = 80

// textOf returns the words of the first block that has any.
func textOf(blocks []block) string {
	for _, b := range blocks {
		if text := cmp.Or(textkit.OneLine(wordsOf(b.spans)), textOf(b.blocks)); text != "" {
			return text
		}
	}
	return ""
}

func wordsOf(spans []span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s.kind {
		case plain, codeSpan:
			b.WriteString(s.text)
		case softBreak, hardBreak:
			b.WriteByte(' ')
		}
		b.WriteString(wordsOf(s.spans))
	}
	return b.String()
}

func (p *page) corrections() {
	if len(p.doc.Corrections) == 0 {
		return
	}
	p.section("corrections", "Corrections", func() {
		p.put("\n<ul>")
		for _, c := range p.doc.Corrections {
			p.put(`<li dir="auto"><span class="at">%s</span> <strong>%s</strong> %s`, clock(c.Offset), c.ID, c.Text)
			if n := len(c.Against); n > 0 {
				p.put(` <span class="marks">%s</span>`, count(n, "later thought contradicts it", "later thoughts contradict it"))
			}
			p.put("</li>")
		}
		p.put("</ul>")
	})
}

func (p *page) steering() {
	if len(p.doc.Steering) == 0 {
		return
	}
	p.section("steering", "Steering", func() {
		p.put(`
<div class="wide" tabindex="0" role="group" aria-label="Steering"><table>
<thead><tr><th scope="col" class="right">Time</th><th scope="col">Wish</th><th scope="col">What came of it</th></tr></thead>
<tbody>`)
		for _, s := range p.doc.Steering {
			class := markup("")
			if s.Refused {
				class = ` class="refused"`
			}
			wish, came := steerLine(s)
			p.put(`<tr%s><td class="right">%s</td><td dir="auto">%s</td><td dir="auto">%s</td></tr>`, class, clock(s.Offset), wish, came)
		}
		p.put("</tbody>\n</table></div>")
	})
}

func (p *page) stream() {
	if len(p.doc.Stream) == 0 {
		return
	}
	p.section("stream", "The stream of thought", func() {
		p.put("\n"+`<details class="stream"><summary>%s, in the order in which they came</summary>`, count(len(p.doc.View.Thoughts), "thought", "thoughts"))
		for _, s := range p.doc.Stream {
			p.put("\n"+`<h3 dir="auto">%s</h3>`+"\n"+`<ol class="thoughts">`, p.line(s.FocusMD))
			for _, t := range s.Thoughts {
				p.thought(t)
			}
			p.put("\n</ol>")
		}
		p.put("\n</details>")
	})
}

func (p *page) thought(t session.Thought) {
	p.put("\n"+`<li><span class="at">%s</span><span class="kind %s">%s</span>`, clock(t.Offset), kindClass(t.Kind), textkit.OneLine(t.Kind))
	if t.Assumed {
		p.put(`<span class="bar c0">–</span>`)
	} else {
		p.put(`<span class="bar c%d">%s</span>`, int(unit(t.Confidence)*10+0.5), two(t.Confidence))
	}
	p.put(`<span class="text" dir="auto">%s`, p.line(t.Text))
	p.putIf(` <span class="marks">%s</span>`, strings.Join(thoughtMarks(t), " · "))
	p.put("</span></li>")
}

// kindClass returns the kind of a thought if it is one that has a colour.
func kindClass(kind string) string {
	if slices.Contains([]string{"exploration", "critique", "connection", "insight", "question", "synthesis"}, kind) {
		return kind
	}
	return "other"
}

// two writes a share with two digits.
func two(x float64) string { return strconv.FormatFloat(unit(x), 'f', 2, 64) }

func (p *page) cost() {
	p.section("cost", "Cost", func() {
		if len(p.doc.Costs) == 0 {
			p.put("<p>No model was asked.</p>")
			return
		}
		p.put(`
<div class="wide" tabindex="0" role="group" aria-label="Cost"><table class="costs">
<thead><tr><th scope="col">Model</th><th scope="col">Calls</th><th scope="col">Failed</th><th scope="col">Tokens in</th><th scope="col">Tokens out</th><th scope="col">Cost</th></tr></thead>
<tbody>`)
		for _, r := range p.doc.Costs {
			class := markup("")
			if r.All {
				class = ` class="all"`
			}
			p.put(`<tr%s><th scope="row">%s</th><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>`, class, r.Model, r.Calls, r.Failed, r.Input, r.Output, r.Cost)
		}
		p.put("</tbody>\n</table></div>")
	})
}

// notes writes them right below the section before, of which they are the small print.
func (p *page) notes() {
	if len(p.doc.Notes) == 0 {
		return
	}
	p.put(`<section aria-labelledby="h-notes">
<h2 id="h-notes">Notes</h2>
<ul>`)
	for _, n := range p.doc.Notes {
		p.put(`<li dir="auto">%s</li>`, n)
	}
	p.put("</ul>\n</section>\n")
}
