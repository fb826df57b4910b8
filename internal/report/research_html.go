package report

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"ponder/internal/textkit"
	"ponder/knowledge/claim"
)

//go:embed research.css
var researchStyle string

// HTML returns the report as one page that needs no script and nothing from
// elsewhere. In it is the report in its JSON form: see [ReadResearch].
func (r Research) HTML() ([]byte, error) {
	r.fill()
	f := newFinding(&r)
	p := &researchPage{page: page{doc: &document{numbers: f.numbers, Costs: f.costRows(), Title: f.title}, read: newReader()}, f: f}
	p.write()
	return sealed(p.b.String(), scriptOpens, &r, scriptCloses, "\n</body>\n</html>\n")
}

// A researchPage writes a report of research as HTML.
type researchPage struct {
	page
	f *finding
}

func (p *researchPage) write() {
	p.head()
	p.answer()
	p.since()
	p.conflicts()
	p.bullets("open", "What could not be confirmed", p.f.unconfirmed())
	p.claims()
	p.sources()
	p.timeline()
	p.queries()
	p.steering()
	p.cost()
	p.bullets("notes", "Notes", p.f.Notes)
	p.put("</main>\n<footer>%s</footer>\n", p.f.colophon())
}

func (p *researchPage) head() {
	p.begin(p.f.title, style+researchStyle, "img-src data:; ")
	p.putIf("\n"+`<blockquote class="question" dir="auto">%s</blockquote>`, textkit.Clean(p.f.asked))
	p.put("\n"+`<p class="lead">%s</p>`, p.f.lead())
	p.putIf("\n"+`<p class="remark">%s</p>`, p.f.remark())
	p.putIf("\n"+`<p class="remark">%s</p>`, p.f.noAnswer())
	p.put("\n</header>\n")
}

func (p *researchPage) answer() {
	blocks := p.f.numbers.blocks(p.read.prose(claim.Unmark(p.f.Answer))) // a page has marks of its own
	markClaims(blocks, p.f.Claims)
	w := &htmlWriter{numbers: p.f.numbers, claim: p.standing}
	w.blocks(blocks, false)
	p.put(`
<section id="answer" aria-labelledby="h-answer">
<h2 id="h-answer">Answer</h2>`)
	p.legend()
	p.put("\n"+`<div class="prose">%s</div>`+"\n</section>\n", markup(w.b.String()))
}

// standing returns how a claim is shown in the text.
func (p *researchPage) standing(number string) (known, mark, why string) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(p.f.Claims) {
		return "", "", ""
	}
	c := p.f.Claims[n-1]
	known, mark = status(c.Status)
	if known == string(claim.Supported) {
		mark = ""
	}
	return known, mark, textkit.OneLine(c.Reason)
}

// legend explains the marks that the text has.
func (p *researchPage) legend() {
	if len(p.f.Claims) == 0 {
		return
	}
	n := p.f.Counts()
	p.put("\n" + `<ul class="legend" aria-label="How claims are marked">`)
	for _, s := range statuses {
		if n[s.name] > 0 {
			p.put(`<li><span class="claim %s">%s</span> <span aria-hidden="true">%s</span> %s (%d)</li>`, s.name, s.name, s.sign, s.means, n[s.name])
		}
	}
	p.put("</ul>")
}

// bullets writes a section of plain texts, if there are any. The id and the title are ours.
func (p *researchPage) bullets(id, title string, list []string) {
	if len(list) == 0 {
		return
	}
	p.section(id, title, func() { p.list(list) })
}

func (p *researchPage) list(list []string) {
	p.put("\n<ul>")
	for _, text := range list {
		p.put(`<li dir="auto">%s</li>`, textkit.OneLine(text))
	}
	p.put("</ul>")
}

// table writes a table with the heads of its columns, which are ours.
func (p *researchPage) table(label string, heads []string, body func()) {
	p.put("\n"+`<div class="wide stack" tabindex="0" role="group" aria-label="%s"><table>`+"\n<thead><tr>", label)
	for _, h := range heads {
		p.put(`<th scope="col">%s</th>`, h)
	}
	p.put("</tr></thead>\n<tbody>")
	body()
	p.put("</tbody>\n</table></div>")
}

func (p *researchPage) since() {
	d := p.f.Since
	if d == nil {
		return
	}
	p.section("since", "What has changed", func() {
		p.put("\n<p>%s</p>", d.says())
		for _, part := range []struct {
			name string
			list []string
		}{{"New", d.New}, {"Gone", d.Gone}} {
			if len(part.list) > 0 {
				p.put("<h3>%s</h3>", part.name)
				p.list(part.list)
			}
		}
		if len(d.Changed) > 0 {
			p.table("Claims that have changed", []string{"Was", "Is"}, func() {
				for _, c := range d.Changed {
					was, now := c.line()
					p.put(`<tr><td dir="auto" data-head="Was">%s</td><td dir="auto" data-head="Is">%s</td></tr>`, was, now)
				}
			})
		}
	})
}

func (p *researchPage) conflicts() {
	if len(p.f.Conflicts) == 0 {
		return
	}
	p.section("conflicts", "Where sources disagree", func() {
		p.table("Where sources disagree", []string{"About", "What is said", "By how many", "Sources"}, func() {
			for _, c := range p.f.Conflicts {
				for j, s := range c.Sides {
					p.put("<tr>")
					if j == 0 {
						p.put(`<th scope="rowgroup" rowspan="%d" dir="auto">%s</th>`, len(c.Sides), about(c))
					}
					p.put(`<td dir="auto" data-head="What is said">%s</td><td data-head="By how many">%s</td><td data-head="Sources">%s</td></tr>`, textkit.OneLine(s.Value), voices(s), p.refs(p.f.refs(s.Quotes)))
				}
			}
		})
	})
}

// refs writes numbers of sources as links.
func (p *researchPage) refs(list []int) markup {
	var b strings.Builder
	for _, n := range list {
		fmt.Fprintf(&b, `<a class="cite" href="#source-%d" aria-label="source %d">%d</a>`, n, n, n)
	}
	return markup(b.String())
}

func (p *researchPage) claims() {
	if len(p.f.Claims) == 0 {
		return
	}
	p.section("claims", "Claims", func() {
		p.table("Claims", []string{"Claim", "Status", "Sources", "Why"}, func() {
			for i, c := range p.f.Claims {
				known, sign := status(c.Status)
				p.put("\n"+`<tr id="claim-%d"><td dir="auto">%s</td><td class="status" data-head="Status"><span class="claim %s">%s</span> <span aria-hidden="true">%s</span></td><td data-head="Sources">%s</td><td dir="auto" data-head="Why">%s`,
					i+1, textkit.OneLine(c.Text), known, known, sign, p.refs(p.f.cites(c)), textkit.OneLine(c.Reason))
				p.putIf(` <span class="marks">asked: %s</span>`, textkit.OneLine(c.Judge))
				p.put("</td></tr>")
			}
		})
	})
}

func (p *researchPage) sources() {
	if len(p.f.cited) == 0 {
		return
	}
	p.section("sources", "Sources", func() {
		p.put("\n" + `<ol class="sources">`)
		for i, e := range p.f.cited {
			p.evidence(i+1, e)
		}
		p.put("\n</ol>")
		if p.f.uncited > 0 {
			p.put(`<p class="marks">%s found and not cited.</p>`, count(p.f.uncited, "more passage was", "more passages were"))
		}
	})
}

func (p *researchPage) evidence(n int, e Evidence) {
	url, path := where(e)
	p.put("\n"+`<li id="source-%d" dir="auto">%s`, n, icon(e))
	if title := textkit.OneLine(e.Title); title != "" && title != e.Source {
		p.put("<strong>%s</strong> ", textkit.TruncateWords(title, 200))
	}
	if url != "" {
		p.put(`<span class="where"><a href="%s" rel="noopener noreferrer nofollow">%s</a></span>`, address(url), textkit.TruncateWords(url, 120))
	} else {
		p.put(`<span class="where">%s</span>`, path)
	}
	p.putIf(` <span class="marks">%s</span>`, strings.Join(facts(e), " · "))
	p.putIf("<blockquote>%s</blockquote>", textkit.OneLine(e.Quote))
	for _, text := range []string{strings.Join(quality(e), "; "), foundBy(e), hashes(e)} {
		p.putIf(`<p class="marks">%s</p>`, text)
	}
	p.put("</li>")
}

// maxIcon bounds an icon, in bytes of its URI.
const maxIcon = 64 << 10

// pictureURI is what an icon may be: bytes of a kind that runs nothing.
var pictureURI = regexp.MustCompile(`^data:image/(?:png|gif|jpeg|webp|x-icon|vnd\.microsoft\.icon);base64,[A-Za-z0-9+/]+={0,2}$`)

// icon returns the picture of a source's site, or letters for it.
func icon(e Evidence) markup {
	if len(e.Icon) <= maxIcon && pictureURI.MatchString(e.Icon) {
		return markup(`<img class="icon" alt="" width="16" height="16" src="` + strings.ReplaceAll(e.Icon, "+", "&#43;") + `">`)
	}
	letter, hue := monogram(e)
	return markup(fmt.Sprintf(`<span class="icon m%d" aria-hidden="true">%s</span>`, hue, inPage(letter)))
}

// hues is how many colours monograms have.
const hues = 8

// monogram returns the letter that stands for a site or a file, and its colour.
func monogram(e Evidence) (letter string, hue int) {
	url, path := where(e)
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if _, rest, ok := strings.Cut(url, "://"); ok {
		name, _, _ = strings.Cut(rest, "/")
		name = strings.TrimPrefix(name, "www.")
	}
	for _, r := range name {
		hue = (hue*31 + int(r)) % hues
	}
	key, _ := letters(name)
	for _, r := range strings.ToUpper(key) {
		return string(r), hue
	}
	return "·", hue
}

func (p *researchPage) timeline() {
	if len(p.f.Timeline) == 0 {
		return
	}
	p.section("timeline", "How it was researched", func() {
		p.put("\n" + `<ol class="timeline">`)
		for _, m := range p.f.Timeline {
			p.put("\n"+`<li><span class="at">%s</span> <span class="kind">%s</span> <span class="text" dir="auto">%s</span></li>`, clock(m.At), textkit.OneLine(m.Kind), textkit.TruncateWords(textkit.OneLine(m.Text), 400))
		}
		p.put("\n</ol>")
	})
}

func (p *researchPage) queries() {
	if len(p.f.Queries) == 0 {
		return
	}
	p.section("queries", "What was searched", func() {
		p.table("What was searched", []string{"Round", "Query", "Asked", "Found"}, func() {
			for _, q := range p.f.Queries {
				p.put(`<tr><td data-head="Round">%d</td><td dir="auto" data-head="Query">%s</td><td data-head="Asked">%s</td><td data-head="Found">%d</td></tr>`, q.Round, textkit.OneLine(q.Text), q.asked(), q.Found)
			}
		})
	})
}

func (p *researchPage) steering() {
	if len(p.f.Steering) == 0 {
		return
	}
	p.section("steering", "Steering", func() {
		p.table("Steering", []string{"Time", "Wish", "What came of it"}, func() {
			for _, s := range p.f.Steering {
				class := markup("")
				if s.Refused {
					class = ` class="refused"`
				}
				p.put(`<tr%s><td class="right">%s</td><td dir="auto">%s</td><td dir="auto">%s</td></tr>`, class, clock(s.At), textkit.OneLine(s.Wish), textkit.OneLine(s.outcome()))
			}
		})
	})
}
